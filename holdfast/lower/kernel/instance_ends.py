"""The lines that end an instance in the kernel's functions: gather rows, judge a repetition, return an outcome."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from holdfast.ir.errors import Place
from holdfast.ir.stmt import Require
from holdfast.ir.system import Action, Param
from holdfast.lower.layout import Layout
from holdfast.lower.outcome import Cut, Refused
from holdfast.lower.statistics import Statistics

FINE, DIFFERS, CUT = 0, 1, 2
"""The result of repeating a step at once: nothing changes; it is refused or changes the protocol; a bound cuts it."""

TAKEN = -1
"""The number of the outcome "taken". Other numbers are places in ``KernelSource.outcomes``."""


class Functions(Protocol):
    """The part of ``KernelSource`` that the ends of an instance use: names of functions and places of notes."""

    layout: Layout
    statistics: Statistics
    idempotent: Sequence[Action]
    outcomes: list[Refused | Cut]

    def number(self, action: Action) -> int: ...

    def name(self, family: str, action: Action | None) -> str: ...

    def steps_of(self, action: Action | None) -> int: ...

    def lasting(self) -> list[int]: ...


class GatherRows:
    """Writes each step as a row of ``rows``, and checks its step properties and its repetition: for ``every_…``."""

    def __init__(self, source: Functions, action: Action) -> None:
        self.source, self.action = source, action

    def decisive(self, label: str) -> list[str]:
        return [f"poke(notes, HITS + {self.source.statistics.rule(self.action.name, label)}, 1)"]

    def note(self, label: str) -> str | None:
        return f"noted(notes, HITS + {self.source.statistics.rule(self.action.name, label)})"

    def refuse(self, stmt: Require, leave: str) -> list[str]:
        return [*self.decisive(stmt.label), leave]

    def shortage(self, param: Param, at: Place) -> list[str]:
        return [f"poke(notes, HITS + {self.source.statistics.shortage(self.action.name, param, at)}, 1)"]

    def cut(self, bound: str, at: Place | None, leave: str) -> list[str]:  # noqa: ARG002 - counts need no place
        return [f"bump(notes, CUTS + {self.source.statistics.bound(self.action.name, bound)}, 1)", leave]

    def taken(self, state: str, args: str) -> list[str]:
        comma = f", {args}" if args else ""
        steps, premises, again = (
            self.source.name(family, self.action) for family in ("steps", "step_premises", "again")
        )
        lines = [f"t = ({state},)"]
        # The properties of every step are checked later, for all rows at once: ``KernelSource._look_at_steps``.
        own = self.source.steps_of(self.action)
        if own:
            lines += [
                f"bad = {steps}(t, s{comma})",
                "if bad: note_steps(notes, bad, t, s)",
                f"if peek(notes, PENDING) & {own}: note_premises(notes, {premises}(t, s{comma}))",
            ]
        # A step that changes nothing is its own repetition.
        if self.action in self.source.idempotent:
            lines.append(
                f"if t != s: note_repeat(notes, {self.source.number(self.action)}, {again}(t{comma}, notes), t, s)"
            )
        return [*lines, "put(rows, k, t)", "k += 1"]


class _Silent:
    """The ends of a function of one instance, which notes nothing."""

    def __init__(self, source: Functions) -> None:
        self.source = source

    def decisive(self, label: str) -> list[str]:  # noqa: ARG002 - nothing is noted
        return []

    def note(self, label: str) -> str | None:  # noqa: ARG002 - as above
        return None

    def shortage(self, param: Param, at: Place) -> list[str]:  # noqa: ARG002 - as above
        return []


class JudgeRepetition(_Silent):
    """Returns FINE, DIFFERS or CUT for a repetition from ``s`` to ``t``."""

    def refuse(self, stmt: Require, leave: str) -> list[str]:  # noqa: ARG002 - the return ends the instance
        return [f"return {DIFFERS}"]

    def cut(self, bound: str, at: Place | None, leave: str) -> list[str]:  # noqa: ARG002 - as above
        return [f"return {CUT}"]

    def taken(self, state: str, args: str) -> list[str]:  # noqa: ARG002 - the caller knows them
        # Ghosts and budgets may change: they are no part of the protocol.
        same = " and ".join(
            f"(t{word} ^ s{word}) & {mask} == 0" for word, mask in enumerate(self.source.lasting()) if mask
        )
        return [f"return {FINE} if {same or 'True'} else {DIFFERS}"]


class ReturnCode(_Silent):
    """Returns TAKEN and the new state, or a place in the source's ``outcomes`` and the old state."""

    def refuse(self, stmt: Require, leave: str) -> list[str]:  # noqa: ARG002 - the return ends the instance
        return self._ended(Refused(stmt.label, stmt.error, stmt.at))

    def cut(self, bound: str, at: Place | None, leave: str) -> list[str]:  # noqa: ARG002 - as above
        return self._ended(Cut(bound, at))

    def taken(self, state: str, args: str) -> list[str]:  # noqa: ARG002 - the caller knows them
        return [f"return {TAKEN}, ({state},)"]

    def _ended(self, outcome: Refused | Cut) -> list[str]:
        self.source.outcomes.append(outcome)
        return [f"return {len(self.source.outcomes) - 1}, s"]
