"""Shows a sequence as one value: ``log[n1]: [] -> [(1, v1)]`` in place of the cells of its entries and its length."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence

import attrs

from holdfast.lower.layout import Cell, Value

NOTHING = "[]"

Place = tuple[str, tuple[Value, ...]]
"""A sequence, and its keys."""


def whole(
    cells: Sequence[Cell], values: Sequence[Value], apart: Container[str] = frozenset()
) -> Iterator[tuple[Cell, Value]]:
    """The cells with their values, where each sequence is one cell, whose value is a text.

    It stands where the first cell of its entries stood. Cells of other fields, and those of the sequences ``apart``,
    stay as they are.
    """
    rows = _rows(cells, values)
    shown: set[Place] = set()
    for cell, value in zip(cells, values, strict=True):
        sequence = cell.field.sequence
        if sequence is None or sequence in apart:
            yield cell, value
        elif not cell.field.is_length and _place(cell) not in shown:
            shown.add(_place(cell))
            yield _named(cell, sequence), _text(rows[_place(cell)])


def parts(cells: Sequence[Cell], apart: Container[str] = frozenset()) -> tuple[int, ...]:
    """For each cell, the place in ``whole`` of the cell that it is or is part of."""
    found: list[int] = []
    sequences: dict[Place, int] = {}
    count = 0
    for cell in cells:
        # The entries of a sequence come before its length.
        place = None if cell.field.sequence is None or cell.field.sequence in apart else _place(cell)
        if place is None or place not in sequences:
            found.append(count)
            count += 1
        else:
            found.append(sequences[place])
        if place is not None:
            sequences.setdefault(place, found[-1])
    return tuple(found)


def unpacked(cells: Sequence[Cell], states: Iterable[Sequence[Value]]) -> frozenset[str]:
    """The sequences that some state does not hold as operations leave them. A proof may begin with such a state."""
    found: set[str] = set()
    for values in states:
        rows = _rows(cells, values)
        for cell, value in zip(cells, values, strict=True):
            if cell.field.sequence is not None and cell.field.is_length:
                lasting = [row for row in rows[cell.field.sequence, cell.keys] if any(each is not None for each in row)]
                begun = rows[cell.field.sequence, cell.keys][: len(lasting)]
                if len(lasting) != value or any(None in row for row in begun):
                    found.add(cell.field.sequence)
    return frozenset(found)


def _rows(cells: Sequence[Cell], values: Sequence[Value]) -> dict[Place, list[list[Value]]]:
    """The cells of each sequence, by index: one value, or those of the parts of a record."""
    found: dict[Place, dict[Value, list[Value]]] = {}
    for cell, value in zip(cells, values, strict=True):
        if cell.field.sequence is not None and not cell.field.is_length:
            found.setdefault(_place(cell), {}).setdefault(cell.keys[-1], []).append(value)
    return {place: list(rows.values()) for place, rows in found.items()}


def _place(cell: Cell) -> Place:
    """The sequence of a cell of entries or of a length, with its keys."""
    assert cell.field.sequence is not None
    return cell.field.sequence, cell.keys if cell.field.is_length else cell.keys[:-1]


def _named(cell: Cell, sequence: str) -> Cell:
    """A cell of an entry as the cell of the whole sequence."""
    field = attrs.evolve(
        cell.field, name=sequence, keys=cell.field.keys[:-1], sizes=cell.field.sizes[:-1], sequence=None
    )
    return Cell(field, cell.keys[:-1], sequence)


def _text(rows: Iterable[list[Value]]) -> str:
    """The entries in brackets; an entry that is a record has its parts in parentheses."""
    texts = [str(row[0]) if len(row) == 1 else f"({', '.join(map(str, row))})" for row in rows if row[0] is not None]
    return f"[{', '.join(texts)}]" if texts else NOTHING
