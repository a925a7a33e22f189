"""Runs read from a file, without a model: the states of the file, split into cells.

A variable is split as far as its values have one shape in all states:

- a function gives a cell for each argument (``owner[s1]``), nested functions one for each combination of arguments
  (``handle[p1, s1]``);
- a set of plain members gives a cell for each value that is a member in some state;
- a record gives a cell for each field (``disk.head``);
- a sequence gives a cell for each place, counted from 1 as in TLA+.

A value that nests deeper, or whose shape differs between states, stays one cell that holds its text. ``trace/text.py``
can therefore show these runs like the runs of a model.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from holdfast.ir.types import BoolType, EnumType, IntType, Key, NatType, OptionalType, Plain, Scalar, SortType
from holdfast.lower.layout import Cell, Field, Value
from holdfast.trace.itf_values import Fun, Listing, Opaque, Rec, SetOf, Tree, Tup, Variant, is_printable, number, show
from holdfast.trace.trace import Claim, Step, Trace

UNKNOWN_ACTION = "step"
"""The name of a step if the file does not name its action."""

MOST_CELLS = 4_096
"""A variable that would have more cells stays one cell: nobody reads that many."""

MOST_KEYS = 4
"""A value that has N keys already is not split further."""

NO_VALUE = ("None", "none", "Nil", "NULL", "Null")
"""Tags and model values that mean: no value."""

_ELEMENT = re.compile(r"(.+)_OF_([A-Z_][A-Z0-9_]*)")


@attrs.frozen
class ForeignState:
    """A state of a file: its variables as trees and in the file's own encoding, and the action that led to it."""

    values: Mapping[str, Tree]
    raw: Mapping[str, Any]
    action: str | None = None
    args: tuple[tuple[str, Tree], ...] = ()
    repeat: bool = False


@attrs.frozen
class ForeignRun:
    """The contents of a file: its states, its heading, and the violated property if the file names one."""

    path: Path
    model: str
    heading: Mapping[str, Any]
    states: tuple[ForeignState, ...]
    loop: int | None = None
    claim: Claim | None = None

    def trace(self) -> Trace:
        """The run as a Trace, with its values split into cells."""
        names = list(dict.fromkeys(name for state in self.states for name in state.values))
        constants = [name for name in names if name in self.heading.get("params", ())]
        given = [table for name in constants for table in _apart(name, [self.states[0].values[name]])]
        tables = [
            table
            for name in names
            if name not in constants
            for table in _apart(name, [state.values.get(name) for state in self.states])
        ]
        steps = [
            Step(
                printable(state.action or (UNKNOWN_ACTION if index else "init")),
                tuple((printable(name), argument(value)) for name, value in state.args),
                b"",
                tuple(cell[index] for table in tables for _, cell in table.columns),
                state.repeat,
            )
            for index, state in enumerate(self.states)
        ]
        return Trace(
            model=printable(self.model),
            target=self.path.name,
            scope="",
            variants=(),
            removed=(),
            options=None,
            seed=None,
            fingerprint="",
            claim=self.claim,
            signatures=(),
            constants=tuple((cell, values[0]) for table in given for cell, values in table.columns),
            cells=tuple(cell for table in tables for cell, _ in table.columns),
            steps=tuple(steps),
            loop=self.loop,
            foreign=tuple(state.raw for state in self.states),
            heading=self.heading,
        )


def printable(text: str) -> str:
    """A text from a file, safe to show: characters that could move a terminal's cursor are written as escapes."""
    return text if text.isprintable() else json.dumps(text)[1:-1]


def argument(value: Tree) -> Value:
    """An argument of an action, or another value that takes one cell: the plain value, or else its text."""
    plain = _plain(value)
    return show(value) if plain is NOT_PLAIN else plain.value


# Splitting into cells --------------------------------------------------------------------------------------------

Part = tuple[Key, Value]
"""A key of a cell: its type and its value."""


@attrs.frozen
class _Leaf:
    """The content of one cell in one state: a value with the name of its sort, or the fact that a set has a member."""

    value: Value
    sort: str | None = None
    member: bool = False


NOT_PLAIN = _Leaf(None)
"""The result for a value that needs more than one cell; compared by identity."""


@attrs.frozen
class _Table:
    """The cells of one field, each with its value in every state."""

    columns: tuple[tuple[Cell, tuple[Value, ...]], ...]


def _apart(name: str, values: Sequence[Tree | None]) -> list[_Table]:
    """The cells of a variable over all states. A value is None in a state that lacks the variable."""
    try:
        leaves = [{} if value is None else dict(_leaves(printable(name), (), value)) for value in values]
        fields = _by_field(leaves)
    except _NoOneShapeError:
        fields = {}
    if not fields:
        # One cell with the text. A variable that is empty in all states has no leaves, but must still be shown.
        whole: _Path = (printable(name), ())
        fields = _by_field([{} if value is None else {whole: _Leaf(argument(value))} for value in values])
    return [_table(field, leaves_of) for field, leaves_of in fields.items()]


class _NoOneShapeError(Exception):
    """The values of a variable differ in shape, or would need more than MOST_CELLS cells."""


_Path = tuple[str, tuple[Part, ...]]


def _leaves(name: str, keys: tuple[Part, ...], value: Tree) -> Iterator[tuple[_Path, _Leaf]]:
    plain = _plain(value)
    if plain is not NOT_PLAIN:
        yield (name, keys), plain
    elif isinstance(value, Rec) and value.fields:
        for field, item in value.fields:
            yield from _leaves(f"{name}.{printable(field)}", keys, item)
    else:
        found = _members(value) if len(keys) < MOST_KEYS else None
        if found is None:
            yield (name, keys), _Leaf(show(value))
            return
        for parts, of in found:
            if of is None:
                yield (name, (*keys, *parts)), _Leaf(True, member=True)
            else:
                yield from _leaves(name, (*keys, *parts), of)


def _members(value: Tree) -> list[tuple[tuple[Part, ...], Tree | None]] | None:
    """The parts of a function, sequence or set, by key (a set's parts have no value); None if a key is not plain."""
    pairs: list[tuple[Tree, Tree | None]]
    match value:
        case Fun(entries):
            pairs = list(entries)
        case Listing(items):
            pairs = list(enumerate(items, start=1))
        case SetOf(members):
            pairs = [(each, None) for each in members]
        case _:
            return None
    found = []
    for key, of in pairs:
        parts = [_plain(part) for part in (key.items if isinstance(key, Tup) and key.items else (key,))]
        if any(part is NOT_PLAIN or part.value is None for part in parts):
            return None
        found.append((tuple((_key_type(part), part.value) for part in parts), of))
    return found


def _plain(value: Tree) -> _Leaf:
    """A value that fits in one cell; NOT_PLAIN for any other."""
    match value:
        case bool():
            return _Leaf(value)
        case int():
            # Python refuses to print a number of more than 4,300 digits, so such a number is kept as text.
            return _Leaf(value if is_printable(value) else number(value))
        case str():
            element = _ELEMENT.fullmatch(value)
            return _Leaf(printable(value)) if element is None else _Leaf(printable(element[1]), sort=element[2])
        case Opaque(text):
            return _Leaf(printable(text))
        case Variant(tag, of):
            if value.is_unit:
                return _Leaf(None if tag in NO_VALUE else printable(tag))
            return _plain(of) if tag == "Some" else NOT_PLAIN
        case _:
            return NOT_PLAIN


def _key_type(leaf: _Leaf) -> Key:
    match leaf.value:
        case bool():
            return EnumType("Bool", ("False", "True"))
        case int():
            return NatType("")
        case _:
            return SortType(leaf.sort or "")


def _by_field(leaves: Sequence[Mapping[_Path, _Leaf]]) -> dict[str, list[dict[tuple[Part, ...], _Leaf]]]:
    """The leaves grouped by field, each field with its leaves in every state.

    Raises _NoOneShapeError if the keys of a field differ in number or type, if a field mixes members and values, or if
    it has too many cells.
    """
    found: dict[str, list[dict[tuple[Part, ...], _Leaf]]] = {}
    for index, state in enumerate(leaves):
        for (name, keys), leaf in state.items():
            if name not in found:
                found[name] = [{} for _ in leaves]
            found[name][index][keys] = leaf
    for states in found.values():
        paths = {keys for state in states for keys in state}
        shapes = {tuple(kind for kind, _ in keys) for keys in paths}
        if len(shapes) > 1 or len({leaf.member for state in states for leaf in state.values()}) > 1:
            raise _NoOneShapeError
        if len(paths) > MOST_CELLS:
            raise _NoOneShapeError
    return found


def _table(name: str, states: Sequence[Mapping[tuple[Part, ...], _Leaf]]) -> _Table:
    every = [leaf for state in states for leaf in state.values()]
    member = every[0].member
    paths = sorted({keys for state in states for keys in state}, key=lambda keys: [_order(part) for part in keys])
    total = all(keys in state for keys in paths for state in states)
    # A cell that is missing in some state is False there in a set, and None in anything else.
    absent = _Leaf(False) if member else _Leaf(None)
    kind = BoolType() if member else _type([*every, *([] if total else [absent])])
    types = tuple(part[0] for part in paths[0])
    field = Field(name, types, (1,) * len(types), kind, codes=0, offset=0)
    columns = []
    for keys in paths:
        values = tuple(part[1] for part in keys)
        label = f"{name}[{', '.join(map(str, values))}]" if keys else name
        columns.append((Cell(field, values, label), tuple(state.get(keys, absent).value for state in states)))
    return _Table(tuple(columns))


def _order(part: Part) -> tuple[Any, ...]:
    """The sort key of a key: numbers by size, also inside names, so ``s2`` comes before ``s10``."""
    value = part[1]
    if isinstance(value, int):
        return (0, value)
    pieces = re.split(r"(\d{1,18})", str(value))
    return (1, [(int(piece), "") if index % 2 else (-1, piece) for index, piece in enumerate(pieces)], str(value))


def _type(leaves: Sequence[_Leaf]) -> Scalar:
    """The narrowest type that holds all these values; optional if one of them is None."""
    present = [leaf for leaf in leaves if leaf.value is not None]
    kind: Plain
    if present and all(isinstance(leaf.value, bool) for leaf in present):
        kind = BoolType()
    elif present and all(isinstance(leaf.value, int) and not isinstance(leaf.value, bool) for leaf in present):
        numbers = [int(leaf.value) for leaf in present if leaf.value is not None]
        kind = IntType("Int", min(numbers), max(numbers))
    elif present and present[0].sort and all(leaf.sort == present[0].sort for leaf in present):
        kind = SortType(present[0].sort)
    else:
        kind = EnumType("Str", tuple(sorted({str(leaf.value) for leaf in present})))
    return kind if len(present) == len(leaves) else OptionalType(kind)
