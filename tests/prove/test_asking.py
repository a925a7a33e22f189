"""Solving obligations: which questions are asked again, what is counted, and how a mutant's answers are judged."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import partial

import attrs
import pytest
import z3

from holdfast.check.budget import Budget, Meter
from holdfast.check.mutate.proving import judged
from holdfast.check.prove import asking
from holdfast.check.prove.asking import Askers
from holdfast.check.prove.proof_state import slowest_questions
from holdfast.check.prove.prover import Prover, SolverLimits, Standing
from holdfast.ir.system import System
from holdfast.lower.smt import solve
from holdfast.lower.smt.logic import Logic
from holdfast.lower.smt.solve import Printer, SolverAnswer, SolverQuestion, SolverSession, ask
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

    def answer(_: object, seconds: float, *__: object, **___: object) -> SolverAnswer:
        allowed.append(seconds)
        return left.pop(0)

    monkeypatch.setattr(asking, "ask", answer)
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


@pytest.mark.parametrize("seed", [0, 3])
def test_questions_in_a_group_have_the_answers_that_they_have_alone(compiled: Compiled, seed: int) -> None:
    """Without its lemma a lock has obligations that fail; grouped or alone, the same ones do, in any order."""
    system = compiled(LOCK)
    logic = Logic(system, frozenset(), tuple(system.of_kind("invariant")))
    questions = [logic.violated(standing.due, ["one_inside"]) for standing in standings_of(system)]
    asked = [each for each in questions if isinstance(each, SolverQuestion)]
    alone = [ask(each, 2.0, seed).verdict for each in asked]
    assert set(alone) == {"sat", "unsat"}
    for group in (asked, asked[::-1], [*asked, *asked]):
        session = SolverSession(group, seed)
        assert [ask(each, 2.0, session=session).verdict for each in group] == [
            alone[asked.index(each)] for each in group
        ]


def test_a_fact_of_one_question_is_none_of_the_next() -> None:
    """Two facts that contradict each other do so in one question alone."""
    declared = ("(declare-fun a () Bool)",)
    yes, no = "(assert a)", "(assert (not a))"
    group = [SolverQuestion(declared, facts, ()) for facts in ((yes,), (no,), (yes, no), (yes,))]
    session = SolverSession(group)
    assert [ask(each, 1.0, session=session).verdict for each in group] == ["sat", "sat", "unsat", "sat"]


def test_a_sort_that_a_later_question_declares_comes_before_its_functions() -> None:
    """Questions of one group need not declare the same symbols."""
    plain = SolverQuestion(("(declare-fun a () Bool)",), ("(assert a)",), ())
    sorted_ = SolverQuestion(("(declare-sort S 0)", "(declare-fun s () S)"), ("(assert (= s s))",), ())
    session = SolverSession([plain, sorted_])
    assert [ask(each, 1.0, session=session).verdict for each in (plain, sorted_)] == ["sat", "sat"]


def test_every_second_of_z3_is_told_by_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a clock that moves by one at each look, the answers tell one for each block of work, the group's too."""
    looks = itertools.count()
    monkeypatch.setattr(solve, "thread_time", lambda: float(next(looks)))
    group = [SolverQuestion(("(declare-fun a () Bool)",), (text,), ()) for text in ("(assert a)", "(assert (not a))")]
    session = SolverSession(group)
    told = [ask(each, 1.0, session=session).seconds for each in group]
    assert sum(told) == next(looks) / 2
    assert told[0] > told[1] > 0


def test_assumptions_of_the_same_names_have_the_text_of_their_own_formulas() -> None:
    """Sets of named formulas are told apart by what they are: equal names may stand for other formulas."""
    printer, a, b = Printer({}), z3.Bool("a"), z3.Bool("b")
    questions = [printer.question((), {"both": formula}) for formula in (a, z3.Not(b), a)]
    assert questions[0] == questions[2]
    assert [each.asserted for each in questions[:2]] == [
        ("(assert (=> |assume.both| a))",),
        ("(assert (=> |assume.both| (not b)))",),
    ]


PIGEONS = 9


def pigeons() -> SolverQuestion:
    """Whether nine pigeons fit into eight holes, one a hole: Z3 works on it for long."""
    name = "p{}_{}".format
    places = [[name(pigeon, hole) for hole in range(PIGEONS - 1)] for pigeon in range(PIGEONS)]
    declared = tuple(f"(declare-fun {place} () Bool)" for row in places for place in row)
    somewhere = [f"(assert (or {' '.join(row)}))" for row in places]
    alone = [
        f"(assert (not (and {one[hole]} {other[hole]})))"
        for hole in range(PIGEONS - 1)
        for one, other in itertools.combinations(places, 2)
    ]
    return SolverQuestion(declared, (*somewhere, *alone), ())


def test_z3_stops_after_an_effort_whatever_the_clock_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hard question is left open after a number of steps. With no limit of the clock, the next one is answered."""
    monkeypatch.setattr(solve, "SLACK", 1e6)
    easy = SolverQuestion(("(declare-fun a () Bool)",), ("(assert a)",), ())
    session = SolverSession([hard := pigeons(), easy])
    answers = [ask(each, 0.001, session=session) for each in (hard, easy)]
    assert [(each.verdict, each.reason) for each in answers] == [
        ("unknown", "out of effort"),
        ("sat", ""),
    ]


@pytest.mark.parametrize("processes", [0, 1, 2])
def test_answers_come_with_the_numbers_of_their_questions(compiled: Compiled, processes: int) -> None:
    """Whatever the groups and the number of processes, each answer is that of its question."""
    system = compiled(LOCK)
    logic = Logic(system, frozenset(), tuple(system.of_kind("invariant")))
    dues = [standing.due for standing in standings_of(system)]
    known = SolverAnswer("unknown", reason="known before")
    with Askers(processes, Meter(Budget())) as askers:
        questions = [lambda: known, *(partial(logic.violated, due, ["one_inside"]) for due in dues), lambda: known]
        alone = askers.answers(questions, 3.0, groups=[str(number) for number in range(len(questions))])
        assert {each.verdict for each in alone} == {"sat", "unsat", "unknown"}
        assert (alone[0], alone[-1]) == (known, known)
        for groups in (None, ["odd" if number % 2 else "even" for number in range(len(questions))]):
            found = askers.answers(questions, 3.0, groups=groups)
            assert [each.verdict for each in found] == [each.verdict for each in alone]
    assert askers.asked == 3 * len(questions)


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
