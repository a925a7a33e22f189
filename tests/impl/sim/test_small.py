"""A small run that shows what a large one has shown."""

from __future__ import annotations

from msgspec.structs import replace

from impl.oracles.verdict import Violation
from impl.sim.check import Checked, Question, check
from impl.sim.options import Options
from impl.sim.small import SEEDS, SIZES, recorded, small_run

BROKEN = Question(seed=0, options=Options(operations=300), without=("ST-14",))


def test_a_small_run_shows_a_missing_rule() -> None:
    """It is made again from its tape; with all rules it violates nothing."""
    found, runs = small_run(BROKEN, "log")
    assert found is not None
    assert runs < 30
    assert len(found.options.operations_of or ()) == SIZES[0][0]
    assert "log" in {violation.oracle for violation in check(found).violations}
    assert not check(replace(found, without=())).violations


def test_none_is_found_where_there_is_none() -> None:
    """After all that are tried."""
    calls: list[Question] = []

    def ask(question: Question) -> Checked:
        calls.append(question)
        return Checked(None, (Violation("lost", 0, ""),), {})  # type: ignore[arg-type]

    assert small_run(BROKEN, "log", ask) == (None, len(SIZES) * SEEDS)
    assert len({(each.seed, each.options.operations) for each in calls}) == len(calls)


def test_a_run_that_violates_something_with_all_rules_does_not_count() -> None:
    """It shows something else."""
    checked = check(replace(BROKEN, options=Options(operations=12, span_ms=5_000)))

    def ask(question: Question) -> Checked:
        del question
        return Checked(checked.run, (Violation("log", 0, ""),), {})

    found, runs = small_run(BROKEN, "log", ask)
    assert found is None
    assert runs == 2 * len(SIZES) * SEEDS


def test_the_search_can_be_stopped() -> None:
    """Before each run."""
    assert small_run(BROKEN, "log", go_on=lambda: False) == (None, 0)


def test_a_recorded_run_is_the_same_run() -> None:
    """All that its seed has decided, but for the weather, is in the script and on the tape."""
    question = replace(BROKEN, seed=3, options=Options(operations=40, span_ms=10_000))
    checked = check(question)
    again = check(recorded(question, checked))
    assert again.run.history.ops == checked.run.history.ops
    assert again.violations == checked.violations
