"""What the kernel's functions do at the ends of an instance: gather rows, repeat a step, or say what became of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from holdfast.ir.errors import Place
from holdfast.ir.stmt import Require
from holdfast.ir.system import Action
from holdfast.lower.layout import Layout
from holdfast.lower.outcome import Cut, Refused
from holdfast.lower.statistics import Statistics

FINE, DIFFERS, CUT = 0, 1, 2
"""What becomes of a step that is repeated at once."""

TAKEN = -1
"""What an outcome says of a step that is taken; other numbers say why it is not."""


class Functions(Protocol):
    """The functions of a model that the ends of an instance call, and what they note: ``Source`` is it."""

    layout: Layout
    statistics: Statistics
    idempotent: Sequence[Action]
    outcomes: list[Refused | Cut]

    def number(self, action: Action) -> int: ...

    def name(self, family: str, action: Action | None) -> str: ...

    def steps_of(self, action: Action | None) -> int: ...

    def lasting(self) -> list[int]: ...


class GatherRows:
    """Each step of ``every_…``: a row, and the checks of step properties and of its repetition."""

    def __init__(self, source: Functions, action: Action) -> None:
        self.source, self.action = source, action

    def decisive(self, label: str) -> list[str]:
        return [f"poke(notes, HITS + {self.source.statistics.rule(self.action.name, label)}, 1)"]

    def note(self, label: str) -> str | None:
        return f"noted(notes, HITS + {self.source.statistics.rule(self.action.name, label)})"

    def refuse(self, stmt: Require, leave: str) -> list[str]:
        return [*self.decisive(stmt.label), leave]

    def cut(self, bound: str, at: Place | None, leave: str) -> list[str]:  # noqa: ARG002 - counts need no place
        return [f"bump(notes, CUTS + {self.source.statistics.bound(self.action.name, bound)}, 1)", leave]

    def taken(self, state: str, args: str) -> list[str]:
        comma = f", {args}" if args else ""
        steps, triggers, again = (
            self.source.name(family, self.action) for family in ("steps", "step_triggers", "again")
        )
        lines = [f"t = ({state},)"]
        own = self.source.steps_of(self.action)
        if own:
            lines += [
                f"bad = {steps}(t, s{comma})",
                "if bad: note_steps(notes, bad, t, s)",
                f"if peek(notes, PENDING) & {own}: note_triggers(notes, {triggers}(t, s{comma}))",
            ]
        if self.action in self.source.idempotent:
            lines.append(
                f"if t != s: note_repeat(notes, {self.source.number(self.action)}, {again}(t{comma}, notes), t, s)"
            )
        return [*lines, "put(rows, k, t)", "k += 1"]


class _Silent:
    """A function of one instance, which notes nothing on its way."""

    def __init__(self, source: Functions) -> None:
        self.source = source

    def decisive(self, label: str) -> list[str]:  # noqa: ARG002 - nothing is noted
        return []

    def note(self, label: str) -> str | None:  # noqa: ARG002 - as above
        return None


class JudgeRepetition(_Silent):
    """A repetition: whether it is possible and changes nothing."""

    def refuse(self, stmt: Require, leave: str) -> list[str]:  # noqa: ARG002 - the return is the leaving
        return [f"return {DIFFERS}"]

    def cut(self, bound: str, at: Place | None, leave: str) -> list[str]:  # noqa: ARG002 - as above
        return [f"return {CUT}"]

    def taken(self, state: str, args: str) -> list[str]:  # noqa: ARG002 - the caller knows them
        same = " and ".join(
            f"(t{word} ^ s{word}) & {mask} == 0" for word, mask in enumerate(self.source.lasting()) if mask
        )
        return [f"return {FINE} if {same or 'True'} else {DIFFERS}"]


class ReturnCode(_Silent):
    """The outcome: TAKEN and the new state, or a place in the source's ``outcomes`` and the state as it was."""

    def refuse(self, stmt: Require, leave: str) -> list[str]:  # noqa: ARG002 - the return is the leaving
        return self._ended(Refused(stmt.label, stmt.error, stmt.at))

    def cut(self, bound: str, at: Place | None, leave: str) -> list[str]:  # noqa: ARG002 - as above
        return self._ended(Cut(bound, at))

    def taken(self, state: str, args: str) -> list[str]:  # noqa: ARG002 - the caller knows them
        return [f"return {TAKEN}, ({state},)"]

    def _ended(self, outcome: Refused | Cut) -> list[str]:
        self.source.outcomes.append(outcome)
        return [f"return {len(self.source.outcomes) - 1}, s"]
