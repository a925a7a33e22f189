"""The smallest run that shows what a large one has shown."""

from __future__ import annotations

from itertools import islice

from msgspec.structs import replace

from impl.oracles.verdict import Violation
from impl.sim.check import CheckResult, Question, check
from impl.sim.options import Options
from impl.sim.small import FAULTS, OPERATIONS, SEEDS, SIZES, recorded, small_runs, smallest

BROKEN = Question(seed=0, options=Options(operations=300), without=("ST-14",))


def test_small_runs_show_a_missing_rule() -> None:
    """They are made again from their tapes; with all rules they violate nothing."""
    for found in islice(small_runs(BROKEN, "log"), 2):
        assert len(found.options.operations_of or ()) == SIZES[0][0]
        assert "log" in {violation.oracle for violation in check(found).violations}
        assert not check(replace(found, without=())).violations


def test_none_is_found_where_there_is_none() -> None:
    """After all that are tried."""
    calls: list[Question] = []

    def ask(question: Question) -> CheckResult:
        calls.append(question)
        return CheckResult(None, (Violation("lost", 0, ""),), {})  # type: ignore[arg-type]

    assert not list(small_runs(BROKEN, "log", ask))
    assert len(calls) == len(SIZES) * SEEDS * 2
    assert len({(each.seed, each.options.operations, each.options.streams) for each in calls}) == len(calls)


def test_a_run_that_violates_something_with_all_rules_does_not_count() -> None:
    """It shows something else. Without a missing rule no run is asked at all."""
    checked = check(replace(BROKEN, options=Options(operations=12, span_ms=5_000)))

    def ask(question: Question) -> CheckResult:
        del question
        return CheckResult(checked.run, (Violation("log", 0, ""),), {})

    assert not list(small_runs(BROKEN, "log", ask))
    assert not list(small_runs(replace(BROKEN, without=()), "log", ask))


def test_the_smallest_run_can_be_read() -> None:
    """From three hundred operations to one; the large run needs not be made smaller any more."""
    large = check(BROKEN)
    found = smallest(BROKEN, large, "log")
    options = found.question.options
    assert len(options.operations_of or ()) <= OPERATIONS
    assert len(options.recorded or ()) <= FAULTS
    assert found.complete
    assert found.runs < 300
    assert "log" in {violation.oracle for violation in check(found.question).violations}


def test_without_a_small_run_the_large_one_is_made_small() -> None:
    """Its own parts are all that is there, if no rule is missing."""
    question = replace(BROKEN, options=Options(operations=40, span_ms=10_000))
    checked = check(question)
    needed = {checked.run.script[3], checked.run.script[30]}

    def ask(candidate: Question) -> CheckResult:
        there = needed <= set(candidate.options.operations_of or ())
        return CheckResult(None, (Violation("lost", 0, ""),) if there else (), {})  # type: ignore[arg-type]

    found = smallest(replace(question, without=()), checked, "lost", ask)
    assert set(found.question.options.operations_of or ()) == needed


def test_the_search_can_be_stopped() -> None:
    """Before each run: the answer is the large run as it is."""
    large = check(BROKEN)
    found = smallest(BROKEN, large, "log", go_on=lambda: False)
    assert (found.question, found.runs, found.complete) == (recorded(BROKEN, large), 0, False)


def test_a_recorded_run_is_the_same_run() -> None:
    """All that its seed has decided, but for the weather, is in the script and on the tape."""
    question = replace(BROKEN, seed=3, options=Options(operations=40, span_ms=10_000))
    checked = check(question)
    again = check(recorded(question, checked))
    assert again.run.history.ops == checked.run.history.ops
    assert again.violations == checked.violations
