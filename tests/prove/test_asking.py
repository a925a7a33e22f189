"""Solving obligations: which questions are asked again, what is counted, and how a mutant's answers are judged."""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import pytest

from holdfast.check.budget import Budget, Meter
from holdfast.check.mutate.proving import judged
from holdfast.check.prove import asking
from holdfast.check.prove.asking import Askers
from holdfast.check.prove.proof_state import slowest_questions
from holdfast.check.prove.prover import Prover, SolverLimits, Standing
from holdfast.ir.system import System
from holdfast.lower.smt.logic import Logic
from holdfast.lower.smt.solve import SolverAnswer
from holdfast.lower.smt.theory import obligations
from tests.prove.conftest import Compiled
from tests.prove.samples import LOCK
from tests.prove.test_ablation import EMPTY
from tests.prove.test_mutants import row_of


@pytest.fixture
def lock(compiled: Compiled) -> System:
    """A lock with its lemma."""
    return compiled(LOCK + EMPTY)


def standings_of(system: System) -> list[Standing]:
    """Its obligations, all still open."""
    return [Standing(due) for due in obligations(system.actions, list(system.of_kind("invariant", "lemma")), [])]


def prover_of(system: System, askers: Askers, limits: SolverLimits) -> Prover:
    """A prover for these obligations."""
    logic = Logic(system, frozenset(), tuple(system.of_kind("invariant", "lemma")))
    return Prover(logic, askers, limits, lambda stage, done, whole: None)


def answering(monkeypatch: pytest.MonkeyPatch, *answers: SolverAnswer) -> list[float]:
    """Make Z3 give these answers in order; the returned list fills with the time limit of each question, in seconds."""
    left, allowed = list(answers), list[float]()

    def ask(_: object, seconds: float, *__: object, **___: object) -> SolverAnswer:
        allowed.append(seconds)
        return left.pop(0)

    monkeypatch.setattr(asking, "ask", ask)
    return allowed


def test_what_no_quick_question_decides_is_asked_for_longer(lock: System, monkeypatch: pytest.MonkeyPatch) -> None:
    """An unknown answer is asked again with more time. If there is no more time, it stays unknown."""
    names = [prop.name for prop in lock.of_kind("invariant", "lemma")]
    first, second = standings_of(lock)[:2]
    allowed = answering(
        monkeypatch, SolverAnswer("unknown"), SolverAnswer("unsat"), SolverAnswer("unknown"), SolverAnswer("unknown")
    )
    prover = prover_of(lock, Askers(0, Meter(Budget())), SolverLimits(3.0, 7.0))
    prover.decide(first, names)
    prover.decide(second, names)
    assert allowed == [3.0, 7.0, 3.0, 7.0]
    assert (first.answer.verdict, second.answer.verdict) == ("unsat", "unknown")


def test_the_slowest_questions_come_first() -> None:
    """Each question is listed once, with its longest time. Questions with equal times are sorted by name."""
    asked = [("a", 1.0), ("b", 3.0), ("a", 2.0), ("c", 3.0)]
    assert slowest_questions(asked) == (("b", 3.0), ("c", 3.0), ("a", 2.0))


def test_all_answers_are_counted(lock: System, monkeypatch: pytest.MonkeyPatch) -> None:
    """The figures have the number of answers, and their total time."""
    standings = standings_of(lock)[:3]
    answering(monkeypatch, *(SolverAnswer("unsat", seconds=seconds) for seconds in (1.0, 2.0, 4.0)))
    askers = Askers(0, Meter(Budget()))
    prover_of(lock, askers, SolverLimits()).begin(standings, [])
    assert (askers.asked, askers.seconds) == (3, 7.0)
    assert [standing.seconds for standing in standings] == [1.0, 2.0, 4.0]


@pytest.mark.parametrize(
    ("quick", "long", "reason", "asked"),
    [
        (1.0, 9.0, "timeout", [9.0]),
        (9.0, 9.0, "timeout", []),
        (1.0, 9.0, "no formula says this: a minimum", []),
    ],
)
def test_more_time_is_given_where_it_may_help(
    lock: System, monkeypatch: pytest.MonkeyPatch, quick: float, long: float, reason: str, asked: Sequence[float]
) -> None:
    """A question that ran out of time is asked once more if time is left. One that is not first-order is not."""
    (standing, *_) = standings_of(lock)
    standing.hear(SolverAnswer("unknown", reason=reason))
    allowed = answering(monkeypatch, SolverAnswer("unsat"))
    prover_of(lock, Askers(0, Meter(Budget())), SolverLimits(quick=quick, long=long)).insist(standing, [])
    assert (allowed, standing.met) == (list(asked), bool(asked))


def test_no_answer_of_a_mutant_is_no_fault(lock: System) -> None:
    """If Z3 has no answer to any question the row is open. If it has a counterexample the row is wrong."""
    standings = standings_of(lock)
    for standing in standings:
        standing.hear(SolverAnswer("unsat"))
    standings[1].hear(SolverAnswer("unknown", reason="timeout"))
    row = row_of("LK-01", "equivalent")
    found = judged(row, lock, standings, set())
    assert (found.fault, found.open) == (None, "one_inside after enter: timeout")
    assert judged(row_of("LK-01", "killed"), lock, standings, set()).open is None
    standings[2].hear(SolverAnswer("sat"))
    found = judged(row, lock, standings, set())
    assert found.open is None
    assert found.fault is not None
    assert found.fault.startswith("equivalent, and yet one_inside (LK-10) is not proved (one_inside after enter fails)")
    # Properties that are lost with a lemma are not asked again; the lemma's own answer counts.
    standings[2] = attrs.evolve(standings[2], lost=("free_is_empty",))
    assert judged(row, lock, standings, set()).open == "one_inside after enter: timeout"
