"""A sequence is shown as one value, unless its cells contradict its length."""

from __future__ import annotations

from holdfast.ir.types import EnumType, NatType, OptionalType, SortType
from holdfast.lower.layout import Cell, Field, Value
from holdfast.trace.sequences import unpacked, whole

NODE, INDEX, TERM = SortType("Node"), NatType("Index"), NatType("Term")
MODE = Field("mode", (), (), EnumType("Mode", ("A",)), 1, 0)
TERMS = Field("log_term", (NODE, INDEX), (2, 2), OptionalType(TERM), 3, 1, sequence="log")
OWNERS = Field("log_owner", (NODE, INDEX), (2, 2), OptionalType(NODE), 3, 5, sequence="log")
LENGTHS = Field("log_length", (NODE,), (2,), INDEX, 2, 9, sequence="log", is_length=True)

CELLS = [
    Cell(MODE, (), "mode"),
    *(Cell(field, (node, index), "") for field in (TERMS, OWNERS) for node in ("n1", "n2") for index in (0, 1)),
    *(Cell(LENGTHS, (node,), "") for node in ("n1", "n2")),
]
PACKED: list[Value] = ["A", 1, None, None, None, "n2", None, None, None, 1, 0]


def test_a_sequence_is_one_value() -> None:
    """Its entries stand in brackets, the parts of a record in parentheses; other cells stay."""
    shown = [(cell.field.name, cell.keys, value) for cell, value in whole(CELLS, PACKED)]
    assert shown == [("mode", (), "A"), ("log", ("n1",), "[(1, n2)]"), ("log", ("n2",), "[]")]
    assert unpacked(CELLS, [PACKED]) == frozenset()


def changed(place: int, value: Value) -> list[Value]:
    """The packed state with one other value."""
    return [*PACKED[:place], value, *PACKED[place + 1 :]]


def test_a_state_that_no_operation_leaves_is_shown_cell_by_cell() -> None:
    """A wrong length, an entry behind a hole, and an entry without a part are not hidden."""
    states = [changed(9, 0), changed(10, 1), changed(2, 1), changed(5, None), changed(1, None)]
    assert [unpacked(CELLS, [PACKED, state]) for state in states] == [frozenset({"log"})] * 5
    assert [cell for cell, _ in whole(CELLS, PACKED, {"log"})] == CELLS
