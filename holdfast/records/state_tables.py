"""A state as tables: what each process holds of an element, beside what the whole system holds of it."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from holdfast.ir.types import SortType
from holdfast.lower.layout import Cell, Value
from holdfast.trace.text import name_of
from holdfast.trace.trace import Trace
from holdfast.trace.views.events import acting_sort

Keys = tuple[str, ...]


@attrs.frozen
class ShownCell:
    """A cell of the state. ``index``: its place in a state. ``start``: its first value."""

    index: int
    name: str
    start: str


@attrs.frozen
class StateRow:
    """A variable, with its cell in each column; None where it has none."""

    name: str
    cells: tuple[ShownCell | None, ...]


@attrs.frozen
class StateTable:
    """The cells about one element, "" for those about none.

    ``columns``: "" for what no process holds, then the processes (elements of the acting sort) in their order.
    """

    about: str
    columns: tuple[str, ...]
    rows: tuple[StateRow, ...]


def state_tables(trace: Trace) -> tuple[StateTable, ...]:
    """The visible cells of a run, each in one table: ``handle[p1, s1]`` is what p1 holds of s1."""
    acting = acting_sort(trace)
    # By table, by row, by column. The keys have all that tells cells apart: two texts might be equal.
    tables: dict[Keys, dict[Keys, dict[str, ShownCell]]] = {}
    for index, (cell, value) in enumerate(zip(trace.cells, trace.steps[0].values, strict=True)):
        if not cell.field.hidden:
            about, row, column = _place(cell, acting)
            tables.setdefault(about, {}).setdefault(row, {})[column] = _shown(index, cell, value)
    # What is about no single element reads best as an introduction.
    return tuple(_table(about, tables[about]) for about in sorted(tables, key=bool))


def _place(cell: Cell, acting: SortType | None) -> tuple[Keys, Keys, str]:
    """The table, the row and the column of a cell. The first process among its keys holds it."""
    holder, about, rest = "", [], []
    for key, value in zip(cell.field.keys, cell.keys, strict=True):
        if not isinstance(key, SortType):
            rest.append(str(value))
        elif key == acting and not holder:
            holder = str(value)
        else:
            about.append(str(value))
    return tuple(about), (cell.field.name, *rest), holder


def _shown(index: int, cell: Cell, value: Value) -> ShownCell:
    return ShownCell(index, name_of(cell), str(value))


def _table(about: Keys, rows: dict[Keys, dict[str, ShownCell]]) -> StateTable:
    columns = _columns(list(rows.values()))
    shown = (StateRow(_name(*row), tuple(map(cells.get, columns))) for row, cells in rows.items())
    return StateTable(", ".join(about), columns, tuple(shown))


def _name(field: str, *rest: str) -> str:
    return f"{field}[{', '.join(rest)}]" if rest else field


def _columns(rows: Sequence[dict[str, ShownCell]]) -> tuple[str, ...]:
    found = dict.fromkeys(column for row in rows for column in row)
    return tuple(sorted(found, key=lambda column: column != ""))
