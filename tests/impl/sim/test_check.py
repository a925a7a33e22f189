"""Judging runs, shrinking them, and adding them up."""

from __future__ import annotations

from functools import cache

import pytest
from msgspec.structs import replace

from impl.broker.node import Broker
from impl.cli.question import drawn_question
from impl.oracles.verdict import Violation
from impl.sim.check import NODE_ERROR, CheckResult, Question, check
from impl.sim.options import Options
from impl.sim.outcome import RunSummary, Totals, outcome
from impl.sim.run import RunStoppedError
from impl.sim.script import ScriptOperation
from impl.sim.seeds import outcomes
from impl.sim.shrink import shrink
from impl.sim.small import recorded
from impl.sim.tape import Fault

SHORT = Options(operations=60, span_ms=20_000)
WHOLE = Question(seed=0, options=SHORT)
BROKEN = replace(WHOLE, without=("ST-14",))


@cache
def _checked(question: Question) -> CheckResult:
    return check(question)


# One run ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", ["legacy", "V6"])
def test_a_healthy_cluster_violates_nothing(version: str) -> None:
    """A run with all rules violates nothing, and the oracles have judged something."""
    checked = _checked(replace(WHOLE, version=version))
    assert (checked.violations, checked.error) == ((), None)
    assert min(checked.looked.values()) > 3


def test_a_missing_rule_is_found_and_named() -> None:
    """Without ST-14 two brokers serve a stream at once, and the log says where the rule would have refused."""
    checked = _checked(BROKEN)
    assert checked.violations
    assert ("missing", {"rule": "ST-14"}) in [(kind, subject) for _, _, kind, subject in checked.run.log.events]


def test_the_id_of_a_rule_stands_for_its_labels() -> None:
    """WL-05 switches off all rules WL-05.NAME, and a label switches off that rule alone."""
    assert drawn_question(0, without=("WL-05",)).without == ("WL-05.in_order", "WL-05.verify")
    assert drawn_question(0, without=("WL-05.verify",)).without == ("WL-05.verify",)
    assert drawn_question(0, without=("CK-01.expired", "ST-14")).without == ("CK-01.expired", "ST-14")


def test_an_error_of_a_node_is_a_violation(monkeypatch: pytest.MonkeyPatch) -> None:
    """An error of a node is a violation of no rule, and the run up to it can be repeated."""

    def places(_: Broker) -> None:
        raise KeyError("places")

    monkeypatch.setattr(Broker, "places", places)
    question = replace(WHOLE, options=replace(SHORT, faults=("crash_fast",)))
    checked = check(question)
    (violation,) = checked.violations
    assert violation.oracle == NODE_ERROR
    assert "KeyError" in violation.message
    assert check(recorded(question, checked)).violations == checked.violations


def test_a_check_can_be_stopped() -> None:
    """A check can be stopped like a run."""
    with pytest.raises(RunStoppedError):
        check(WHOLE, lambda: False)


# Made small -------------------------------------------------------------------------------------------------------


def test_a_run_is_made_small() -> None:
    """Sixty operations and all faults shrink to few, and none of these can be left out."""
    checked = _checked(BROKEN)
    oracle = checked.violations[0].oracle
    found = shrink(recorded(BROKEN, checked), oracle)
    options = found.question.options
    assert options.operations_of is not None
    assert options.recorded is not None
    assert found.complete
    assert len(options.operations_of) <= 12
    assert len(options.recorded) <= 3
    for number in range(len(options.operations_of)):
        fewer = options.operations_of[:number] + options.operations_of[number + 1 :]
        again = check(replace(found.question, options=replace(options, operations_of=fewer)))
        assert oracle not in {each.oracle for each in again.violations}


def _of(*wanted: int) -> object:
    """An oracle that objects to runs with certain operations, by value, and the fault with index 5."""

    def ask(question: Question) -> CheckResult:
        values = {each.value for each in question.options.operations_of or ()}
        indexes = {each.index for each in question.options.recorded or ()}
        found = (Violation("lost", 0, ""),) if set(wanted) <= values and 5 in indexes else ()
        return CheckResult(None, found, {})

    return ask


def _question(operations: int, faults: int) -> Question:
    script = tuple(
        ScriptOperation(number % 3, number, "append", number % 5, value=number) for number in range(operations)
    )
    tape = tuple(Fault("a", number, "loss" if number % 2 else "delay", 0.5, number) for number in range(faults))
    return replace(WHOLE, options=replace(SHORT, operations_of=script, recorded=tape))


def test_the_smallest_run_has_only_what_is_needed() -> None:
    """Two operations far apart and one fault remain."""
    found = shrink(_question(100, 30), "lost", _of(3, 97))
    assert [each.value for each in found.question.options.operations_of or ()] == [3, 97]
    assert [each.index for each in found.question.options.recorded or ()] == [5]
    assert found.complete
    assert found.runs < 300


def test_another_violation_is_not_followed() -> None:
    """If another oracle objects to the smaller run, the run is not taken."""
    question = _question(4, 6)
    found = shrink(question, "owner", _of(1))
    assert found.question == question


def test_a_run_that_needs_another_weather_is_made_small() -> None:
    """A smaller run may need another weather, since a race has another winner. So others are tried."""

    def ask(question: Question) -> CheckResult:
        values = [each.value for each in question.options.operations_of or ()]
        found = 7 in values and (len(values) == 20 or question.seed == WHOLE.seed + 2)
        return CheckResult(None, (Violation("lost", 0, ""),) if found else (), {})

    found = shrink(_question(20, 4), "lost", ask)
    assert [each.value for each in found.question.options.operations_of or ()] == [7]
    assert found.question.seed == WHOLE.seed + 2
    assert found.complete


def test_a_fault_moves_when_another_one_is_left_out() -> None:
    """Without the crash an earlier message has to be lost, so the fault moves."""

    def ask(question: Question) -> CheckResult:
        indexes = {each.index for each in question.options.recorded or ()}
        found = {0, 3} <= indexes or 1 in indexes
        return CheckResult(None, (Violation("lost", 0, ""),) if found else (), {})

    tape = tuple(Fault("a", index, kind, 0.5, index) for index, kind in ((0, "crash_fast"), (3, "loss"), (9, "loss")))
    question = replace(_question(1, 0), options=replace(_question(1, 0).options, recorded=tape))
    found = shrink(question, "lost", ask)
    assert [each.index for each in found.question.options.recorded or ()] == [1]
    assert found.complete


@pytest.mark.parametrize("limit", ["runs", "time"])
def test_a_limit_ends_the_shrinking(limit: str) -> None:
    """At its limit the shrinker returns its smallest run, and says that it may not be the smallest."""
    left = iter(range(7))
    if limit == "runs":
        found = shrink(_question(100, 30), "lost", _of(3, 97), most=7)
    else:
        found = shrink(_question(100, 30), "lost", _of(3, 97), go_on=lambda: next(left, None) is not None)
    assert not found.complete
    assert found.runs <= 7
    assert len(found.question.options.operations_of or ()) < 100


# Many runs --------------------------------------------------------------------------------------------------------


def always() -> bool:
    """Always False: the runs are never stopped."""
    return True


def test_seeds_side_by_side_are_what_they_are_one_by_one() -> None:
    """The outcomes and their order are the same, whichever process has made each."""
    one = list(outcomes(WHOLE, range(3, 7), 1, always))
    two = list(outcomes(WHOLE, range(3, 7), 2, always))
    assert [each.seed for each in one] == [3, 4, 5, 6]
    assert one == two


@pytest.mark.parametrize("jobs", [1, 2])
def test_seeds_can_be_stopped(jobs: int) -> None:
    """The finished outcomes are returned, and a caller that stops early leaves no process behind."""
    answers = iter([True] * 4)
    assert len(list(outcomes(WHOLE, range(1_000), jobs, lambda: next(answers, False)))) <= 4
    for each in outcomes(WHOLE, range(1_000), jobs, always):
        assert each.seed == 0
        break


def _outcome(seed: int, **changed: object) -> RunSummary:
    fields: dict[str, object] = {
        "seed": seed,
        "violations": (),
        "error": None,
        "looked": {"polls": 2},
        "counts": {"handovers": seed},
        "drawn": ("pause", "loss"),
        "happened": {"pause": 3},
        "crashed": {("a.py", 1, "f"): 1},
        "decided": {"ST-14": 2},
    }
    return RunSummary(**(fields | changed))


def test_outcomes_add_up() -> None:
    """Outcomes are added up: sums, the least count, and for a kind of fault how many of its runs had it."""
    totals = Totals()
    violation = Violation("lost", 1, "x")
    for each in (
        _outcome(5),
        _outcome(3, happened={"loss": 1, "pause": 0}, violations=(violation,)),
        _outcome(4, error="none"),
    ):
        totals.add(each)
    assert totals.runs == 3
    assert (totals.counts["handovers"], totals.least["handovers"], totals.most["handovers"]) == (12, 3, 5)
    assert totals.looked == {"polls": 6}
    assert (totals.drew["pause"], totals.had["pause"], totals.happened["pause"]) == (3, 2, 6)
    assert (totals.drew["loss"], totals.had["loss"]) == (3, 1)
    assert totals.crashed["a.py", 1, "f"] == 3
    assert [each.seed for each in totals.violated] == [3]
    assert [each.seed for each in totals.errors] == [4]


def test_an_outcome_is_what_the_run_did() -> None:
    """Everything that is counted is in the run."""
    checked = _checked(WHOLE)
    found = outcome(checked)
    assert found.counts == checked.run.counts
    assert set(found.happened) <= set(found.drawn)
    assert found.happened == checked.run.happened
