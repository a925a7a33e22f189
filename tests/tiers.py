"""Which tests are left out of `make test` since they take long: `make test-slow` runs them, with the same examples.

A test is long by the seconds that ``tests/durations.json`` has of it. If all cases of a function are long, the shortest
one stays, unless it takes very long: nearly every behaviour is tested before each change, in a small case, and the
larger cases every night. Tests that are marked ``slow`` in their files are another matter: they try many more examples.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

import pytest

COLLECTED = pytest.StashKey[set[str]]()
"""The key of the names of all tests in pytest's configuration. Tests that are left out have their names there, too."""

LONG = 0.5
"""Seconds from which on a test is long."""

VERY_LONG = 3.0
"""Seconds from which on even the shortest case of a function is long."""

KEPT = (
    # Any change may break the rules of the repository, and the names in its pages.
    "tests/repo/",
    "tests/docs/test_glossary.py",
    "tests/hostile/test_remedies.py",
    # What draws its own cases finds what nobody thought of.
    "stateful_tests/",
    "tests/hostile/test_sample.py",
    "tests/generated/test_generated.py",
)
"""How the names of tests begin that are never long, and why."""


def long_tests(tests: Iterable[str], seconds: Mapping[str, float]) -> set[str]:
    """Those of all tests that are long. ``seconds``: the record, in which short tests are missing."""
    cases = defaultdict(list)
    for test in tests:
        if not test.startswith(KEPT):
            cases[test.partition("[")[0]].append((seconds.get(test, 0.0), test))
    found: set[str] = set()
    for shortest, *others in map(sorted, cases.values()):
        found |= {test for took, test in others if took >= LONG}
        if shortest[0] >= VERY_LONG:
            found.add(shortest[1])
    return found
