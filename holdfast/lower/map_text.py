"""The text of a whole map, as the value of a parameter: ``{n1+n3}`` for a relation, ``{n1:red+n2:blue}`` for a map.

A key of several parts is ``p1/s2``. The text has no comma, blank or bracket, so it can stand in a replay line.
"""

from __future__ import annotations

from collections.abc import Iterable

from holdfast.ir.types import BoolType, IntType, MapType, NatType, OptionalType, Scalar

Value = bool | int | str | None

Cells = list[tuple[tuple[Value, ...], Value]]
"""The keys and the value of each cell."""


def map_text(kind: MapType, cells: Iterable[tuple[tuple[Value, ...], Value]]) -> str:
    """The text of a map with these cells."""
    shown = [("/".join(map(str, keys)), value) for keys, value in cells]
    if isinstance(kind.value, BoolType):
        return f"{{{'+'.join(key for key, member in shown if member)}}}"
    return f"{{{'+'.join(f'{key}:{value}' for key, value in shown)}}}"


def cells_in(kind: MapType, text: str) -> Cells:
    """The cells that a text of ``map_text`` names: the members of a relation, or all cells of a map."""
    parts = [part.partition(":") for part in text[1:-1].split("+") if part]
    value = kind.value
    return [
        (
            tuple(_value(of, each) for of, each in zip(kind.keys, key.split("/"), strict=True)),
            True if isinstance(value, BoolType) else _value(value, held),
        )
        for key, _, held in parts
    ]


def _value(kind: Scalar, text: str) -> Value:
    match kind:
        case OptionalType(of):
            return None if text == "None" else _value(of, text)
        case BoolType():
            return text == "True"
        case NatType() | IntType():
            return int(text)
        case _:
            return text
