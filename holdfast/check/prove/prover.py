"""Asks Z3 about every obligation, and withdraws each proof that rests on something unproved.

All invariants and lemmas are assumed in the state before a step. This is sound if all of them are proved together. So
an invariant that fails is no longer assumed, and each obligation whose proof needed it is asked about again, until
nothing fails any more. The remaining invariants are inductive.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import attrs

from holdfast.check.prove.asking import Askers
from holdfast.ir.system import System
from holdfast.lower.smt.instance import LARGEST, NotFound
from holdfast.lower.smt.logic import Logic
from holdfast.lower.smt.solve import SolverAnswer, SolverQuestion
from holdfast.lower.smt.theory import Obligation, obligations

QUICK, LONG = 2.0, 20.0
"""Seconds of effort for the first question about an obligation, and for a later one if neither it nor a size gave an
answer."""

SMALL = 2
"""The largest size in which a violation is looked for first, if there probably is one."""

Report = Callable[[str, int, int], None]
"""Called with the progress: the stage, the number of questions done, and the number of all questions."""


@attrs.frozen
class SolverLimits:
    """Seconds of effort for a question: the first time (``quick``) and the second time (``long``)."""

    quick: float = QUICK
    long: float = LONG


NOT_ASKED = SolverAnswer("unknown", reason="not asked")


@attrs.define
class Standing:
    """The knowledge about one obligation. ``lost``: the invariants that its proof needed and that are not proved."""

    due: Obligation
    answer: SolverAnswer = NOT_ASKED
    queries: int = 0
    lost: tuple[str, ...] = ()
    seconds: float = 0.0
    """The time that Z3 took."""
    length: int = 1
    """The number of consecutive states that are assumed to satisfy the invariants; above 1 it is k-induction."""

    @property
    def met(self) -> bool:
        """Whether the obligation is shown."""
        return self.answer.verdict == "unsat"

    def hear(self, answer: SolverAnswer) -> None:
        """Record an answer; it replaces the one before."""
        self.answer = answer
        self.count([answer])

    def count(self, answers: Sequence[SolverAnswer]) -> None:
        """Add answers to the number of queries and to the time, without recording them."""
        self.queries += len(answers)
        self.seconds += sum(answer.seconds for answer in answers)


class Prover:
    """Asks Z3 about obligations. ``minimal``: cores shall have no superfluous invariant, which takes longer."""

    def __init__(
        self, logic: Logic, askers: Askers, limits: SolverLimits, report: Report, *, minimal: bool = False
    ) -> None:
        self.logic = logic
        self.askers = askers
        self.limits = limits
        self.report = report
        self.minimal = minimal
        self.slowest: list[tuple[str, float]] = []

    def ask(self, dues: Sequence[Obligation], assumed: Sequence[str], seconds: float, seed: int) -> list[SolverAnswer]:
        """The answers to the obligations, in order."""
        found = dict(self._answers(dues, assumed, seconds, seed))
        return [found[number] for number in range(len(dues))]

    def _answers(
        self, dues: Sequence[Obligation], assumed: Sequence[str], seconds: float, seed: int
    ) -> Iterator[tuple[int, SolverAnswer]]:
        questions = [partial(self.logic.violated, due, assumed) for due in dues]
        # The obligations of one action have its formulas and the assumptions in common.
        groups = [due.where for due in dues]
        answers = self.askers.each(questions, seconds, seed, minimal=self.minimal, groups=groups)
        for done, (number, answer) in enumerate(answers, start=1):
            self.slowest.append((label(dues[number]), answer.seconds))
            self.report("proving", done, len(dues))
            yield number, answer

    def begin(self, standings: Sequence[Standing], assumed: Sequence[str]) -> None:
        """Ask about each of the obligations for the first time."""
        for number, answer in self._answers([each.due for each in standings], assumed, self.limits.quick, 0):
            standings[number].hear(answer)

    def insist(self, standing: Standing, assumed: Sequence[str], seed: int = 0) -> None:
        """Ask once more, with more time. More time cannot help if no formula expresses the obligation."""
        if self.limits.long > self.limits.quick and not standing.answer.reason.startswith("no formula"):
            standing.hear(*self.ask([standing.due], assumed, self.limits.long, seed))

    def lengthen(self, standing: Standing, assumed: Sequence[str], most: int) -> None:
        """Try k-induction with k = 2, 3, ... up to ``most``; each k has base cases for the runs from initial states."""
        due = standing.due
        for length in range(2, most + 1):
            if due.kind == "start" or standing.met:
                return
            questions = [partial(self.logic.violated, due, assumed, length)]
            bases = [
                partial(self.logic.reached, each, depth)
                for each in _base(due, self.logic.system)
                for depth in range(length - 1)
            ]
            # The induction step and all base cases must be unsatisfiable; ``answers[0]`` is the induction step.
            answers = self.askers.answers(
                [*questions, *bases], self.limits.long, groups=["step", *("base" for _ in bases)]
            )
            standing.count(answers)
            if all(answer.verdict == "unsat" for answer in answers):
                standing.answer, standing.length = answers[0], length

    def drop(self, standings: Sequence[Standing], assumed: Sequence[str]) -> list[str]:
        """Drop the invariants that are not shown, and ask again about each obligation that needed one of them.

        Returns the names that are still assumed. A new proof may need other invariants than before, and an obligation
        may fail now. So the caller repeats this until the names no longer change.
        """
        failed = {each.due.prop.name for each in standings if not each.met and each.due.prop is not None}
        left = [name for name in assumed if name not in failed]
        for each in standings:
            # A proof whose core has no failed invariant remains valid with fewer assumptions.
            if each.met and set(each.answer.core) & failed:
                before = each.answer.core
                self.decide(each, left)
                if not each.met:
                    each.lost = tuple(name for name in before if name in failed)
        return left

    def decide(self, standing: Standing, assumed: Sequence[str]) -> None:
        """Ask about an obligation that probably fails: a small size shows a violation fastest."""
        for seconds, largest in ((self.limits.quick, SMALL), (self.limits.long, LARGEST)):
            if not isinstance(self.logic.violated_in(standing.due, assumed, standing.length, largest), NotFound):
                standing.hear(SolverAnswer("sat"))
                return
            question = partial(self.logic.violated, standing.due, assumed, standing.length)
            standing.hear(*self.askers.answers([question], seconds))
            if standing.answer.verdict != "unknown":
                return

    def question(self, due: Obligation, assumed: Sequence[str]) -> str | None:
        """The text of the question about an obligation, to be saved; None if no formula expresses it."""
        found = self.logic.violated(due, assumed)
        return found.text if isinstance(found, SolverQuestion) else None


def _base(due: Obligation, system: System) -> list[Obligation]:
    """The obligations for the first steps of a run, where k-induction does not have enough states before the step."""
    if due.prop is None:
        return [due]
    return [each for each in obligations(system.actions, [due.prop], ()) if each.kind != "start"]


def label(due: Obligation) -> str:
    """An obligation as a text for people, such as ``one_owner after open``."""
    if due.prop is None:
        return f"{due.where} again"
    return f"{due.prop.name} {'at the start' if due.kind == 'start' else f'after {due.where}'}"
