"""The lines that end an instance in the generated function of an action: three ways, for one text of the body."""

from __future__ import annotations

from typing import Protocol

from holdfast.ir.errors import Place
from holdfast.ir.stmt import Require
from holdfast.ir.system import Param
from holdfast.lower.outcome import Cut, Refused
from holdfast.lower.statistics import Statistics


class InstanceEnds(Protocol):
    """The sink of an emitter. Its methods return the source lines that end an instance, or note a rule."""

    def decisive(self, label: str) -> list[str]:
        """A labelled condition held, or a labelled effect takes place; the instance goes on."""

    def note(self, label: str) -> str | None:
        """``decisive`` as a conjunct of an expression, one that is always true; None if nothing is noted."""

    def refuse(self, stmt: Require, leave: str) -> list[str]:
        """A rule failed. ``leave`` is the statement that ends the instance without a result."""

    def shortage(self, param: Param, at: Place) -> list[str]:
        """A rule asks for more than a parameter's last value; empty if that is not noted."""

    def cut(self, bound: str, at: Place | None, leave: str) -> list[str]:
        """The instance exceeds a bound; ``at`` is the assignment, None for a budget."""

    def taken(self, state: str, args: str) -> list[str]:
        """The instance is complete; ``state`` and ``args`` are expressions for the new state and the arguments."""


class GatherTaken:
    """Adds every instance that is taken to ``out``, and notes decisive rules and cuts."""

    def __init__(self, action: str, statistics: Statistics) -> None:
        self.action = action
        self.statistics = statistics

    def decisive(self, label: str) -> list[str]:
        return [f"HIT[{self.statistics.rule(self.action, label)}] = 1"]

    def note(self, label: str) -> str | None:
        # An assignment cannot stand in an expression; ``__setitem__`` returns None, and ``not None`` is true.
        return f"not HIT.__setitem__({self.statistics.rule(self.action, label)}, 1)"

    def refuse(self, stmt: Require, leave: str) -> list[str]:
        return [*self.decisive(stmt.label), leave]

    def shortage(self, param: Param, at: Place) -> list[str]:
        return [f"HIT[{self.statistics.shortage(self.action, param, at)}] = 1"]

    def cut(self, bound: str, at: Place | None, leave: str) -> list[str]:  # noqa: ARG002 - counts need no place
        return [f"CUT[{self.statistics.bound(self.action, bound)}] += 1", leave]

    def taken(self, state: str, args: str) -> list[str]:
        return [f"out.append(({state}, {args}))"]


class ReturnTaken(GatherTaken):
    """Returns the new state of one instance, or None if it is not taken; notes decisive rules and cuts."""

    def refuse(self, stmt: Require, leave: str) -> list[str]:  # noqa: ARG002 - the return ends the instance
        return [*self.decisive(stmt.label), "return None"]

    def cut(self, bound: str, at: Place | None, leave: str) -> list[str]:  # noqa: ARG002 - as above
        return [*super().cut(bound, at, "return None")]

    def taken(self, state: str, args: str) -> list[str]:  # noqa: ARG002 - the caller knows the arguments
        return [f"return {state}"]


class ReturnOutcome:
    """Returns the outcome of one instance. ``outcomes`` is the list behind the name OUTCOME of the generated code."""

    def __init__(self, outcomes: list[Refused | Cut]) -> None:
        self.outcomes = outcomes

    def decisive(self, label: str) -> list[str]:  # noqa: ARG002 - nothing is noted
        return []

    def note(self, label: str) -> str | None:  # noqa: ARG002 - as above
        return None

    def refuse(self, stmt: Require, leave: str) -> list[str]:  # noqa: ARG002 - the return ends the instance
        return self._answer(Refused(stmt.label, stmt.error, stmt.at))

    def shortage(self, param: Param, at: Place) -> list[str]:  # noqa: ARG002 - nothing is noted
        return []

    def cut(self, bound: str, at: Place | None, leave: str) -> list[str]:  # noqa: ARG002 - as above
        return self._answer(Cut(bound, at))

    def taken(self, state: str, args: str) -> list[str]:  # noqa: ARG002 - the caller knows the arguments
        return [f"return Taken({state})"]

    def _answer(self, outcome: Refused | Cut) -> list[str]:
        self.outcomes.append(outcome)
        return [f"return OUTCOME[{len(self.outcomes) - 1}]"]
