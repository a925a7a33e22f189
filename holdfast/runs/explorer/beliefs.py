"""A state as the beliefs of each element, with the changes of the last step."""

from __future__ import annotations

import attrs

from holdfast.ir.types import SortType
from holdfast.lower.layout import Cell, Value
from holdfast.trace.sequences import unpacked, whole
from holdfast.trace.text import is_blank
from holdfast.trace.trace import Step, Trace
from holdfast.trace.views.events import acting_sort

NOBODY = ""
"""The owner of cells that have no element among their keys."""


@attrs.frozen
class Belief:
    """A cell with its value, and its value before the last step; at the start both are equal."""

    cell: Cell
    value: Value
    before: Value

    @property
    def changed(self) -> bool:
        """Whether the last step changed it."""
        return self.value != self.before or isinstance(self.value, bool) != isinstance(self.before, bool)


def beliefs(trace: Trace, step: Step, before: Step | None, *, full: bool = False) -> dict[str, tuple[Belief, ...]]:
    """The cells of a state, grouped by the element that they belong to: the first among their keys.

    Elements of the acting sort come first, cells without an element last. Without ``full``, cells that are False, None
    or 0 are left out unless the last step changed them, and so are budgets.
    """
    old = step.values if before is None else before.values
    apart = unpacked(trace.cells, (old, step.values))
    now, earlier = (whole(trace.cells, values, apart) for values in (step.values, old))
    shown = (Belief(cell, value, was) for (cell, value), (_, was) in zip(now, earlier, strict=True))
    groups: dict[tuple[SortType | None, str], list[Belief]] = {}
    for belief in shown:
        if full or belief.changed or not (is_blank(belief.cell, belief.value) or belief.cell.field.hidden):
            groups.setdefault(_home(belief.cell), []).append(belief)
    acting = acting_sort(trace)
    order = sorted(groups, key=lambda home: (home[0] is None, home[0] != acting))
    return {home[1]: tuple(groups[home]) for home in order}


def _home(cell: Cell) -> tuple[SortType | None, str]:
    for key, value in zip(cell.field.keys, cell.keys, strict=True):
        if isinstance(key, SortType):
            return key, str(value)
    return None, NOBODY
