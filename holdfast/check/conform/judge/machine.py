"""The outcome of one action with given arguments in a state, and the rules that decided it.

This is the interpreter's step function, without the parts that only searches need. Actions are compiled at their first
use.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import attrs

from holdfast.ir.expr import Read
from holdfast.ir.stmt import Assign, Fill, expressions, statements
from holdfast.ir.system import Action
from holdfast.lower.layout import Layout
from holdfast.lower.outcome import Cut, Outcome, Refused, Taken
from holdfast.lower.python.emit import Emitter
from holdfast.lower.python.instance_ends import ReturnOutcome

Step = Callable[[bytes, tuple[int, ...]], Outcome]


MOST_KEPT = 50_000
"""The limit of cached ``Steps``; the cache is emptied when it is full."""

Changes = tuple[tuple[int, int], ...]
"""The cells that a step changes, each with its new code."""


@attrs.frozen
class Steps:
    """The steps of one action that change one state: the arguments and changes of each.

    ``bound``: the first bound that cuts a step; None if none is cut.
    """

    taken: tuple[tuple[tuple[int, ...], Changes], ...]
    bound: str | None

    def after(self, state: bytes) -> Iterator[tuple[tuple[int, ...], bytes]]:
        """The arguments of each step, and the state after it."""
        for args, changes in self.taken:
            changed = bytearray(state)
            for cell, code in changes:
                changed[cell] = code
            yield args, bytes(changed)


class LogMachine:
    """The steps of actions over the states of one layout."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.touched: set[str] = set()
        """The labels of the conditions and effects that decided something; the reader of the set clears it."""
        self._steps: dict[str, Step] = {}
        self._outcomes: list[Refused | Cut] = []
        self._kept: dict[tuple[str, tuple[range, ...], bytes], Steps] = {}
        self._cells: dict[str, list[slice]] = {}

    @property
    def kept(self) -> int:
        """The number of cached ``Steps``."""
        return len(self._kept)

    def forget(self) -> None:
        """Empty the cache of ``Steps``; what is compiled stays."""
        self._kept.clear()

    def step(self, action: Action) -> Step:
        """The function from a state and arguments to the outcome of the action."""
        found = self._steps.get(action.name)
        if found is None:
            source = Emitter(self.layout, f"action {action.name}", _Noting(self._outcomes)).one_instance("step", action)
            space: dict[str, Any] = {"Taken": Taken, "OUTCOME": self._outcomes, "TOUCHED": self.touched}
            code = compile(source, f"<{self.layout.system.name}: {action.name}>", "exec")
            exec(code, space)  # noqa: S102 - the source is written here, from checked expressions
            found = self._steps[action.name] = space["step"]
        return found

    def steps(self, action: Action, choices: tuple[range, ...], state: bytes) -> Steps:
        """The steps of an action with all choices of its arguments.

        They depend only on the fields that the action reads or writes, so the cache key holds only those cells.
        """
        if action.name not in self._cells:
            self._cells[action.name] = list(self._fields(action))
        name = action.name, choices, b"".join([state[cells] for cells in self._cells[action.name]])
        found = self._kept.get(name)
        if found is None:
            step = self.step(action)
            outcomes = [(args, step(state, args)) for args in itertools.product(*choices)]
            taken = [(args, _changes(state, to.state)) for args, to in outcomes if isinstance(to, Taken)]
            bound = next((to.bound for _, to in outcomes if isinstance(to, Cut)), None)
            if len(self._kept) >= MOST_KEPT:
                self._kept.clear()
            # Steps that change nothing are left out: a hidden step without an effect need not be tried.
            found = self._kept[name] = Steps(tuple(each for each in taken if each[1]), bound)
        return found

    def _fields(self, action: Action) -> Iterator[slice]:
        """The slices of a state that hold the fields which an action reads or writes."""
        names = {part.var for part in expressions(action.body) if isinstance(part, Read)}
        names |= {stmt.var for stmt in statements(action.body) if isinstance(stmt, Assign | Fill)}
        for field in self.layout.fields:
            if field.name in names:
                yield slice(field.offset, field.offset + field.count)


def _changes(before: bytes, after: bytes) -> Changes:
    return tuple((cell, code) for cell, (old, code) in enumerate(zip(before, after, strict=True)) if old != code)


class _Noting(ReturnOutcome):
    """Returns the outcome of one instance, and notes each condition and effect that decided something."""

    def decisive(self, label: str) -> list[str]:
        return [f"TOUCHED.add({label!r})"]

    def note(self, label: str) -> str | None:
        return f"not TOUCHED.add({label!r})"
