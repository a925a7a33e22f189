"""One mutable kernel serves all mutants that lack some of a model's rules."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from holdfast.check.search.engine import search
from holdfast.check.search.kernel_search import mutable_kernel
from holdfast.ir.compile import compile_model
from holdfast.ir.load import load_model
from holdfast.ir.removal import remove_rules
from holdfast.ir.system import System
from tests.differential.running import rules_of
from tests.kernel.comparing import Engines, differences
from tests.kernel.searching import equal_searches

MANIFEST = Path(__file__).parents[2] / "models" / "manifest.json"
PINNED: list[dict[str, Any]] = json.loads(MANIFEST.read_text(encoding="utf-8"))
OF_OWNERSHIP = [entry for entry in PINNED if (entry["model"], entry["scope"]) == ("ownership", "tiny")]
MUTANTS = [entry for entry in OF_OWNERSHIP if "without" in entry and "engine" not in entry]


def compare_mutants(system: System, scope: str, states: int) -> None:
    """Fail with the first differences on the whole system, without each single rule, and without all rules."""
    kernel = Engines(system, system.scopes[scope]).make_kernel(mutable=True)
    every = tuple(rule.label for rule in system.rules)
    for removed in ((), *((text,) for text in rules_of(system)), every):
        mutant = remove_rules(system, removed)
        engines = Engines(mutant, mutant.scopes[scope], kernel.without(removed))
        assert differences(engines, states) == [], removed


@pytest.mark.usefixtures("uncompiled")
def test_a_mutable_kernel_agrees_without_any_rule(streams: System, gauges: System) -> None:
    """Steps, refusals and notes equal those of the system without the rule."""
    compare_mutants(streams, "tiny", states=4)
    compare_mutants(gauges, "tiny", states=1)


def test_a_compiled_mutable_kernel_agrees_without_any_rule(streams: System) -> None:
    """The compiled kernel agrees too."""
    compare_mutants(streams, "default", states=4)


def test_a_mutable_kernel_searches_a_lock_service_without_any_rule(locks: System) -> None:
    """Both engines find the same violations by the same runs, whichever rule is removed."""
    kernel = mutable_kernel(locks, locks.scopes["tiny"])
    verdicts = [
        equal_searches(remove_rules(locks, labels), "tiny", kernel=kernel).verdict
        for labels in ((), *((rule.label,) for rule in locks.rules), ("LS-03", "LS-05"))
    ]
    assert set(verdicts) == {"exhausted", "violated"}


@pytest.mark.slow
def test_a_mutable_kernel_searches_ownership_without_each_rule() -> None:
    """One kernel gives the pinned answers of all mutants, which come from the interpreter."""
    whole = compile_model(load_model("ownership"))
    kernel = mutable_kernel(whole, whole.scopes["tiny"])
    for entry in MUTANTS:
        result = equal_searches(remove_rules(whole, entry["without"]), "tiny", kernel=kernel, cores=[2])
        assert (result.figures.distinct, result.figures.depth) == (entry["states"], entry["depth"]), entry["without"]
        assert [trace.claim.name for trace in result.findings] == [entry["property"]], entry["without"]


def test_mutants_leave_one_another_alone(locks: System) -> None:
    """A mutant's removed rules and notes do not affect the next mutant."""
    kernel = mutable_kernel(locks, locks.scopes["tiny"])
    without = remove_rules(locks, ["LS-03"])
    first = search(without, without.scopes["tiny"], kernel=kernel)
    whole = search(locks, locks.scopes["tiny"], kernel=kernel)
    again = search(without, without.scopes["tiny"], kernel=kernel)

    assert (first.verdict, whole.verdict) == ("violated", "exhausted")
    assert first == again
