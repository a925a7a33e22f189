"""Which properties are proved: every obligation asked, and what rests on something unproved taken back.

All invariants and lemmas are assumed of the state before a step. That is sound for those of them that are proved
together: so what fails is dropped from what is assumed, and what needed it is asked again, until nothing fails any
more. What is left is inductive.
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
"""Seconds that a question may take at first, and where neither it nor a size has given an answer."""

SMALL = 2
"""Up to which size a violation is looked for first, where there may well be one."""

Report = Callable[[str, int, int], None]
"""Told what goes on: the stage, how much of it is done, and out of how much."""


@attrs.frozen
class SolverLimits:
    """Seconds for a question: at first, and the second time."""

    quick: float = QUICK
    long: float = LONG


NOT_ASKED = SolverAnswer("unknown", reason="not asked")


@attrs.define
class Standing:
    """What is known of one obligation. ``lost`` is what its proof rested on, and what turned out not to be proved."""

    due: Obligation
    answer: SolverAnswer = NOT_ASKED
    queries: int = 0
    lost: tuple[str, ...] = ()
    seconds: float = 0.0
    """How long Z3 took."""
    length: int = 1
    """How many states in a row are assumed to satisfy everything: more than one is k-induction."""

    @property
    def met(self) -> bool:
        """Whether it is shown."""
        return self.answer.verdict == "unsat"

    def hear(self, answer: SolverAnswer) -> None:
        """Take an answer to the question; the last one counts."""
        self.answer = answer
        self.count([answer])

    def count(self, answers: Sequence[SolverAnswer]) -> None:
        """Count answers."""
        self.queries += len(answers)
        self.seconds += sum(answer.seconds for answer in answers)


class Prover:
    """Asks all obligations of a list."""

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
        return list(self._answers(dues, assumed, seconds, seed))

    def _answers(
        self, dues: Sequence[Obligation], assumed: Sequence[str], seconds: float, seed: int
    ) -> Iterator[SolverAnswer]:
        questions = [partial(self.logic.violated, due, assumed) for due in dues]
        answers = self.askers.answers(questions, seconds, seed, minimal=self.minimal)
        for number, (due, answer) in enumerate(zip(dues, answers, strict=True), start=1):
            self.slowest.append((label(due), answer.seconds))
            self.report("proving", number, len(dues))
            yield answer

    def begin(self, standings: Sequence[Standing], assumed: Sequence[str]) -> None:
        """Ask for each of the obligations for the first time."""
        for index, answer in enumerate(self._answers([each.due for each in standings], assumed, self.limits.quick, 0)):
            standings[index].hear(answer)

    def insist(self, standing: Standing, assumed: Sequence[str], seed: int = 0) -> None:
        """Ask once more, with more time."""
        if self.limits.long > self.limits.quick and not standing.answer.reason.startswith("no formula"):
            standing.hear(*self.ask([standing.due], assumed, self.limits.long, seed))

    def lengthen(self, standing: Standing, assumed: Sequence[str], most: int) -> None:
        """Assume more and more states in a row, up to ``most``: k-induction, with its base from the start."""
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
            answers = list(self.askers.answers([*questions, *bases], self.limits.long))
            standing.count(answers)
            if all(answer.verdict == "unsat" for answer in answers):
                standing.answer, standing.length = answers[0], length

    def drop(self, standings: Sequence[Standing], assumed: Sequence[str]) -> list[str]:
        """Drop what is not shown from what is assumed, and ask again what needed it; the names that are left.

        What is asked again may need others than before, and may fail: then more is to be asked, or dropped.
        """
        failed = {each.due.prop.name for each in standings if not each.met and each.due.prop is not None}
        left = [name for name in assumed if name not in failed]
        for each in standings:
            if each.met and set(each.answer.core) & failed:
                before = each.answer.core
                self.decide(each, left)
                if not each.met:
                    each.lost = tuple(name for name in before if name in failed)
        return left

    def decide(self, standing: Standing, assumed: Sequence[str]) -> None:
        """Ask for an obligation that may well fail: a small size shows that soonest."""
        for seconds, largest in ((self.limits.quick, SMALL), (self.limits.long, LARGEST)):
            if not isinstance(self.logic.violated_in(standing.due, assumed, standing.length, largest), NotFound):
                standing.hear(SolverAnswer("sat"))
                return
            question = partial(self.logic.violated, standing.due, assumed, standing.length)
            standing.hear(*self.askers.answers([question], seconds))
            if standing.answer.verdict != "unknown":
                return

    def question(self, due: Obligation, assumed: Sequence[str]) -> str | None:
        """The text of a question, to be kept."""
        found = self.logic.violated(due, assumed)
        return found.text if isinstance(found, SolverQuestion) else None


def _base(due: Obligation, system: System) -> list[Obligation]:
    """What must hold of the first states, where an obligation is shown of those that have several before them."""
    if due.prop is None:
        return [due]
    return [each for each in obligations(system.actions, [due.prop], ()) if each.kind != "start"]


def label(due: Obligation) -> str:
    """An obligation as it is shown: ``one_owner after open``."""
    if due.prop is None:
        return f"{due.where} again"
    return f"{due.prop.name} {'at the start' if due.kind == 'start' else f'after {due.where}'}"
