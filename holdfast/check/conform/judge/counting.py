"""Actions that count on: the judge must allow for numbers that the log does not mention.

A step counts a cell on to the next number of the log, and the event has to tell that number. If it does not, the step
may have counted to a number that the log mentions nowhere. Then the action's further work with the new number is
unknown, and the judge must not call the event impossible.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from holdfast.check.conform.judge.event_facts import Facts
from holdfast.check.conform.judge.event_trial import Expected
from holdfast.check.conform.judge.order import nat_of
from holdfast.ir.expr import Read, walk
from holdfast.ir.stmt import Assign, Fill, Require, Stmt, direct_expressions, statements
from holdfast.lower.layout import Field


@attrs.frozen
class Counting:
    """The counts of one action.

    ``fields``: the fields that it counts on. ``reads_again``: whether it reads such a field after it may have counted
    it on. ``labels`` and ``errors``: those of its rules that come after a write, so that a bound may cut the step
    before it reaches them.
    """

    fields: tuple[Field, ...] = ()
    reads_again: bool = False
    labels: frozenset[str] = frozenset()
    errors: frozenset[str | None] = frozenset()

    @classmethod
    def of(cls, body: tuple[Stmt, ...], fields: tuple[Field, ...]) -> Counting:
        """The counts of an action with this body, which has no dropped ghosts."""
        names = {field.name for field in fields}
        written: set[str] = set()
        late: list[Require] = []
        reads_again = False
        for stmt in statements(body):
            if isinstance(stmt, Require) and written:
                late.append(stmt)
            parts = [part for expr in direct_expressions(stmt) for part in walk(expr)]
            # Check the reads before the statement's own write is noted: `x = x + 1` reads the old value.
            reads_again |= any(isinstance(part, Read) and part.var in written & names for part in parts)
            if isinstance(stmt, Assign | Fill):
                written.add(stmt.var)
        return cls(fields, reads_again, frozenset(stmt.label for stmt in late), frozenset(stmt.error for stmt in late))

    def unknown(self, facts: Facts) -> str:
        """The reason for a guess: the event does not tell to which number its action counts."""
        names = ", ".join(field.name for field in self.fields)
        at = facts.event.at
        return f"{at.file}:{at.line}: {facts.action.name} may count {names} on, and post does not tell to which number"

    def has(self, bound: str) -> bool:
        """Whether the action counts on a cell of the Nat ``bound``."""
        return any(nat_of(field.type) == bound for field in self.fields)

    def told_all(self, post: Sequence[Expected]) -> bool:
        """Whether an event tells every cell that the action may have counted on."""
        told = {cell for cell, _, _ in post}
        return all(cell in told for field in self.fields for cell in _cells(field))

    def told_changed(self, state: bytes, after: bytes, post: Sequence[Expected]) -> bool:
        """Whether an event tells every cell that a step from ``state`` to ``after`` counted on."""
        return all(
            state[cell] == after[cell] or any(told == cell for told, _, _ in post)
            for field in self.fields
            for cell in _cells(field)
        )


def _cells(field: Field) -> range:
    return range(field.offset, field.offset + field.count)
