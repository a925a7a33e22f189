"""A search for the smallest run that shows the violation of a large one."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice

import pytest
from msgspec.structs import replace

from impl.oracles.verdict import Violation
from impl.sim.check import CheckResult, Question, check
from impl.sim.options import Options
from impl.sim.script import ScriptOperation
from impl.sim.shrink import Ask
from impl.sim.small import FAULTS, OPERATIONS, ROUND, SEEDS, SIZES, recorded, small_runs, smallest

BROKEN = Question(seed=0, options=Options(operations=300), without=("ST-14",))


def test_small_runs_show_a_missing_rule() -> None:
    """Small runs are repeated from their tapes. With all rules they violate nothing."""
    for found in islice(small_runs(BROKEN, "log"), 2):
        assert len(found.options.operations_of or ()) in {operations for operations, _ in SIZES}
        assert "log" in {violation.oracle for violation in check(found).violations}
        assert not check(replace(found, without=())).violations


@pytest.mark.parametrize(("streams", "keys"), [(4, 2), (1, 1)])
def test_none_is_found_where_there_is_none(streams: int, keys: int) -> None:
    """If no small run shows the violation, all candidates were tried, each once."""
    calls: list[Question] = []

    def ask(question: Question) -> CheckResult:
        calls.append(question)
        return CheckResult(None, (Violation("lost", 0, ""),), {})

    assert not list(small_runs(replace(BROKEN, options=Options(streams=streams)), "log", ask))
    assert len(calls) == len(SIZES) * SEEDS * keys
    assert len({(each.seed, each.options.operations, each.options.streams) for each in calls}) == len(calls)
    # A search may end early, so all sizes have a turn before the next seeds, and the smallest comes first.
    turns = [(each.seed // ROUND, each.options.operations) for each in calls]
    assert turns == sorted(turns)


def test_a_run_that_violates_something_with_all_rules_does_not_count() -> None:
    """A run that violates with all rules does not count, nor one that cannot be judged with them.

    If no rule is missing, no small run is tried.
    """
    checked = check(replace(BROKEN, options=Options(operations=12, span_ms=5_000)))
    violated = CheckResult(checked.run, (Violation("log", 0, ""),), {})

    def asking(mended: CheckResult) -> Ask:
        return lambda question: violated if question.without else mended

    assert list(small_runs(BROKEN, "log", asking(CheckResult(checked.run, (), {}))))
    for mended in (violated, CheckResult(checked.run, (), {}, "no answer")):
        assert not list(small_runs(BROKEN, "log", asking(mended)))
    assert not list(small_runs(replace(BROKEN, without=()), "log", asking(violated)))


def test_the_smallest_run_can_be_read() -> None:
    """Three hundred operations become one, so the large run does not need to shrink."""
    large = check(BROKEN)
    found = smallest(BROKEN, large, "log")
    options = found.question.options
    assert len(options.operations_of or ()) <= OPERATIONS
    assert len(options.recorded or ()) <= FAULTS
    assert found.complete
    assert found.runs < 300
    assert "log" in {violation.oracle for violation in check(found.question).violations}


LARGE = replace(BROKEN, options=Options(operations=40, span_ms=10_000))


def needing(needed: set[ScriptOperation]) -> Ask:
    """Instead of ``check``: a run is violated if it has all of these operations."""

    def ask(candidate: Question) -> CheckResult:
        there = needed <= set(candidate.options.operations_of or ())
        return CheckResult(None, (Violation("lost", 0, ""),) if there else (), {})

    return ask


def test_without_a_small_run_the_large_one_is_made_small() -> None:
    """Without a small run, or without a missing rule, the large run shrinks."""
    checked = check(LARGE)
    needed = {checked.run.script[3], checked.run.script[30]}
    found = smallest(replace(LARGE, without=()), checked, "lost", needing(needed))
    assert set(found.question.options.operations_of or ()) == needed


def test_runs_are_left_for_the_large_one() -> None:
    """No small run shows the violation, and the search for one may not use up the runs of the shrinking."""
    checked = check(LARGE)
    needed = {checked.run.script[3], checked.run.script[30]}

    def at_most(runs: int) -> Callable[[], bool]:
        left = iter(range(runs))
        return lambda: next(left, None) is not None

    found = smallest(LARGE, checked, "lost", needing(needed), at_most(400), at_most(200))
    assert set(found.question.options.operations_of or ()) == needed
    spent = smallest(LARGE, checked, "lost", needing(needed), at_most(400))
    assert len(spent.question.options.operations_of or ()) == 40


def test_the_search_can_be_stopped() -> None:
    """The search can be stopped before each run. The answer is then the large run."""
    large = check(BROKEN)
    found = smallest(BROKEN, large, "log", go_on=lambda: False)
    assert (found.question, found.runs, found.complete) == (recorded(BROKEN, large), 0, False)


def test_a_recorded_run_is_the_same_run() -> None:
    """Apart from the weather, the recorded script and tape contain all decisions of the seed."""
    question = replace(BROKEN, seed=3, options=Options(operations=40, span_ms=10_000))
    checked = check(question)
    again = check(recorded(question, checked))
    assert again.run.history.ops == checked.run.history.ops
    assert again.violations == checked.violations
