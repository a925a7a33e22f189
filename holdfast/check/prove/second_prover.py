"""Asks a second prover about each obligation that the first prover has shown."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import attrs

from holdfast.check.prove.prover import Standing, label
from holdfast.lower.smt.logic import Logic
from holdfast.lower.smt.second_solver import PACKAGE, ask_cvc5
from holdfast.lower.smt.solve import SolverAnswer

PATIENCE = 1.0
"""Seconds for each of the two attempts at a question."""


@attrs.frozen
class SecondProverResult:
    """The answers of a second prover to the questions that the first prover calls contradictory.

    ``agreed``: the number of questions that it calls contradictory as well. ``unanswered``: the questions that it
    cannot answer. ``contradicted``: the questions that it calls satisfiable.
    """

    name: str
    agreed: int
    unanswered: tuple[str, ...]
    contradicted: tuple[str, ...]

    @property
    def asked(self) -> int:
        """The number of questions that it was asked."""
        return self.agreed + len(self.unanswered) + len(self.contradicted)

    @property
    def summary(self) -> str:
        """The number of questions on which it agrees, as a text."""
        return f"agrees on {self.agreed:,} of {self.asked:,} questions"

    @property
    def text(self) -> str:
        """All its answers in one sentence."""
        found = self.summary
        found += f"; contradicts Z3 on {', '.join(self.contradicted)}" if self.contradicted else ""
        return found + (f"; no answer to {', '.join(self.unanswered)}" if self.unanswered else "")


def ask_second(
    logic: Logic,
    standings: Iterable[Standing],
    assumed: list[str],
    allowed: Callable[[float], float],
    progress: Callable[[str], None],
) -> SecondProverResult:
    """Ask a second prover about the obligations that are met. Of the assumptions it gets those of the first one's core.

    ``allowed`` takes a number of seconds and returns at most the seconds that the budget leaves; it raises
    LimitExceeded if it leaves none.
    """
    agreed, unanswered, contradicted = 0, list[str](), list[str]()
    for standing in standings:
        name = label(standing.due)
        progress(f"asking {PACKAGE}: {name}")
        # The core alone is contradictory, says the first prover. So that is the question, and it is shorter.
        core = [name for name in assumed if name in standing.answer.core]
        question = logic.violated(standing.due, core, standing.length)
        answer = question if isinstance(question, SolverAnswer) else ask_cvc5(question, allowed(PATIENCE))
        if answer.verdict == "unsat":
            agreed += 1
        else:
            (contradicted if answer.verdict == "sat" else unanswered).append(name)
    return SecondProverResult(PACKAGE, agreed, tuple(unanswered), tuple(contradicted))
