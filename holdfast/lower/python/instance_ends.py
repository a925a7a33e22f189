"""What the generated function of an action does at the ends of an instance: two ways, for one text of the body."""

from __future__ import annotations

from typing import Protocol

from holdfast.ir.errors import Place
from holdfast.ir.stmt import Require
from holdfast.lower.outcome import Cut, Refused
from holdfast.lower.statistics import Statistics


class InstanceEnds(Protocol):
    """The ends of an instance; each method gives lines of source."""

    def decisive(self, label: str) -> list[str]:
        """A labelled condition held, or a labelled effect takes place; the instance goes on."""

    def note(self, label: str) -> str | None:
        """The same as a condition that always holds, for the midst of an expression; None if nothing is noted."""

    def refuse(self, stmt: Require, leave: str) -> list[str]:
        """A rule failed. ``leave`` is the statement that ends the instance without a result."""

    def cut(self, bound: str, at: Place | None, leave: str) -> list[str]:
        """The instance goes beyond a bound."""

    def taken(self, state: str, args: str) -> list[str]:
        """The instance is complete; ``state`` and ``args`` are expressions for the new state and the arguments."""


class GatherTaken:
    """Collects every instance that is taken in ``out``, and notes what was decisive and what was cut."""

    def __init__(self, action: str, statistics: Statistics) -> None:
        self.action = action
        self.statistics = statistics

    def decisive(self, label: str) -> list[str]:
        return [f"HIT[{self.statistics.rule(self.action, label)}] = 1"]

    def note(self, label: str) -> str | None:
        return f"not HIT.__setitem__({self.statistics.rule(self.action, label)}, 1)"

    def refuse(self, stmt: Require, leave: str) -> list[str]:
        return [*self.decisive(stmt.label), leave]

    def cut(self, bound: str, at: Place | None, leave: str) -> list[str]:  # noqa: ARG002 - counts need no place
        return [f"CUT[{self.statistics.bound(self.action, bound)}] += 1", leave]

    def taken(self, state: str, args: str) -> list[str]:
        return [f"out.append(({state}, {args}))"]


class ReturnOutcome:
    """Returns what became of one instance; ``outcomes`` is the list that the generated code returns from."""

    def __init__(self, outcomes: list[Refused | Cut]) -> None:
        self.outcomes = outcomes

    def decisive(self, label: str) -> list[str]:  # noqa: ARG002 - nothing is noted
        return []

    def note(self, label: str) -> str | None:  # noqa: ARG002 - as above
        return None

    def refuse(self, stmt: Require, leave: str) -> list[str]:  # noqa: ARG002 - the return is the leaving
        return self._answer(Refused(stmt.label, stmt.error, stmt.at))

    def cut(self, bound: str, at: Place | None, leave: str) -> list[str]:  # noqa: ARG002 - as above
        return self._answer(Cut(bound, at))

    def taken(self, state: str, args: str) -> list[str]:  # noqa: ARG002 - the caller knows the arguments
        return [f"return Taken({state})"]

    def _answer(self, outcome: Refused | Cut) -> list[str]:
        self.outcomes.append(outcome)
        return [f"return OUTCOME[{len(self.outcomes) - 1}]"]
