"""The report of the slowest tests, their record, and which of them are left out of `make test`."""

from __future__ import annotations

import json

import pytest

from tests.durations import as_json, recorded, slowest
from tests.tiers import COLLECTED, KEPT, long_tests

MANY = 3_000
"""The functions of the whole suite, at least: of one folder, most may be long."""
THIS = "tests/repo/test_durations.py::test_the_slowest_come_first"


def test_the_slowest_come_first() -> None:
    """At most ten tests are shown, with their recorded times. Equally slow tests are sorted by name."""
    seconds = {f"tests/{number}.py::test": float(number) for number in range(12)} | {"tests/a.py::test": 11.0}
    lines = slowest(seconds, {"tests/11.py::test": 4.0})
    assert len(lines) == 10
    assert lines[:3] == [
        "  11.0  (recorded 4)  tests/11.py::test",
        "  11.0  (not recorded)  tests/a.py::test",
        "  10.0  (not recorded)  tests/10.py::test",
    ]


def test_the_record_has_tests_that_are_there_and_take_long() -> None:
    """The record leaves out tests whose file is gone, and short tests."""
    measured = {"tests/gone.py::test": 9.0, THIS: 1.04, "tests/repo/test_durations.py::test": 0.39}
    assert json.loads(as_json(measured)) == {THIS: 1.0}


@pytest.mark.parametrize(
    ("seconds", "left_out"),
    [
        ({}, ""),
        ({"a": 0.4, "b": 0.4, "c": 0.4}, ""),
        ({"a": 0.5, "b": 0.5}, "ab"),
        ({"a": 0.6, "b": 0.7, "c": 0.8}, "bc"),
        ({"a": 2.9, "b": 9.0, "c": 9.0}, "bc"),
        ({"a": 3.0, "b": 9.0, "c": 9.0}, "abc"),
    ],
)
def test_the_shortest_case_stays_unless_it_takes_very_long(seconds: dict[str, float], left_out: str) -> None:
    """Long cases are left out. Of a function that has only long cases the shortest one stays, up to three seconds."""
    found = long_tests((f"tests/x.py::test[{case}]" for case in "abc"), named(seconds))
    assert found == {f"tests/x.py::test[{case}]" for case in left_out}


def named(seconds: dict[str, float]) -> dict[str, float]:
    """A record of the cases of one function."""
    return {f"tests/x.py::test[{case}]": took for case, took in seconds.items()}


@pytest.mark.parametrize("beginning", KEPT)
def test_what_is_kept_is_never_long(beginning: str) -> None:
    """Tests that any change may break, and those that draw their own cases, stay however long they take."""
    assert not long_tests([f"{beginning}::test"], {f"{beginning}::test": 99.0})


def test_tests_of_one_function_only_are_cases() -> None:
    """Two functions are no cases of each other, also if the name of one begins with that of the other."""
    seconds = {"tests/x.py::test_a": 1.0, "tests/x.py::test_ab": 2.0, "tests/x.py::Test::test_a": 2.5}
    assert not long_tests(seconds, seconds)


def test_nearly_every_function_keeps_a_case(request: pytest.FixtureRequest) -> None:
    """At most one in twenty functions has no case in `make test`. Make a case shorter before this number grows."""
    collected = request.config.stash[COLLECTED]
    left_out = long_tests(collected, recorded())
    functions = {test.partition("[")[0] for test in collected}
    kept = {test.partition("[")[0] for test in collected - left_out}
    if len(functions) > MANY:
        assert len(functions - kept) <= len(functions) // 20


def test_every_recorded_test_exists(request: pytest.FixtureRequest) -> None:
    """A test that got another name would come back into `make test`, whatever it takes."""
    collected = request.config.stash[COLLECTED]
    files = {test.partition("::")[0] for test in collected}
    wholly = files if not any("::" in argument for argument in request.config.args) else set()
    missing = [test for test in recorded() if test.partition("::")[0] in wholly and test not in collected]
    assert not missing, "run these with --store-durations under their new names, or remove their lines"
