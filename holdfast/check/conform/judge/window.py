"""Windows: codes for the few values that matter now, of a log whose numbers have no bound.

For each Nat a window holds, in ascending order, the values to which a state or the current event refers. A code is an
index in the window. The value 0 is always there.

A new value is inserted at its place. Every greater code in the states moves up by one. Cells that are keyed by the Nat
get a copy of the cell below, which stood for the new value until then.

A value that no cell holds can leave, if the cells keyed by it equal the cells below. It must leave if an event counts
on past it: the numbers of a system have gaps, so the model's "one more" is the next value that matters. So it makes no
difference how soon a window lets values go.

Codes beyond the window stand for values above all that it holds. Such values behave like the last value in the window,
so their cells are copies too.

The window of a plain Nat holds all numbers from 0 on, so its codes are the numbers themselves.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

import attrs

from holdfast.check.conform.judge.order import nat_of
from holdfast.ir.types import NatType, OptionalType
from holdfast.lower.layout import Field, Layout

Value = tuple[str, int]
"""The name of a Nat, and a value of it."""


class FullError(Exception):
    """No value of a window can leave to make room. ``needed``: the number of values that are needed at once."""

    def __init__(self, nat: str, needed: int) -> None:
        super().__init__(nat, needed)
        self.nat = nat
        self.needed = needed


@attrs.frozen
class _Move:
    """A change of every state: some cells take the codes of other cells, and codes of the Nat move by a table.

    ``pieces``: the parts of the new state in order. Each is a slice of the old state, with the table of 256 codes by
    which the slice moves, or None. Slices and tables keep the work on a cell out of Python's loop.
    """

    pieces: tuple[tuple[slice, bytes | None], ...]

    def __call__(self, state: bytes) -> bytes:
        return b"".join(
            [state[cells] if table is None else state[cells].translate(table) for cells, table in self.pieces]
        )


class Windows:
    """The windows of one run, over states of a layout.

    ``pinned``: the values that never leave, besides 0. ``plain``: the Nats whose values are all held from the start.
    """

    def __init__(
        self, layout: Layout, pinned: Mapping[str, Iterable[int]] | None = None, plain: Collection[str] = ()
    ) -> None:
        self.layout = layout
        self.values: dict[str, list[int]] = {nat.name: [0] for nat in layout.system.nats}
        self.widest: dict[str, int] = dict.fromkeys((nat for nat in self.values if nat not in plain), 1)
        """The most values that each window has held."""
        for nat, numbers in (pinned or {}).items():
            self.values[nat] = sorted({0, *numbers})
        for nat in plain:
            self.values[nat] = list(range(layout.scope.sizes[nat] + 1))
        self._pinned = {nat: frozenset(values) for nat, values in self.values.items()}
        self._cells = {nat: _Cells(layout, nat) for nat in self.values}

    def copy(self) -> Windows:
        """A copy that continues independently."""
        other = Windows.__new__(Windows)
        other.layout, other._pinned, other._cells = self.layout, self._pinned, self._cells
        other.values = {nat: list(values) for nat, values in self.values.items()}
        other.widest = dict(self.widest)
        return other

    def code(self, nat: str, value: int) -> int | None:
        """The code of a value; None if the window does not hold it."""
        values = self.values[nat]
        place = bisect_left(values, value)
        return place if place < len(values) and values[place] == value else None

    def value(self, nat: str, code: int) -> int | None:
        """The value of a code; None if the code is above the window."""
        values = self.values[nat]
        return values[code] if code < len(values) else None

    def refer(self, wanted: Iterable[Value], states: set[bytes], counted: Iterable[Value] = ()) -> set[bytes]:
        """The states in their new codes, after the windows have taken in all values ``wanted`` at once.

        ``counted``: those of the values to which an event counts. Each must directly follow the next lower value that
        a state holds, so values between the two that no state holds leave the window.

        Raises FullError if a window has no room; windows and states may not be used after that.
        """
        return self.refer_groups(wanted, [states], counted)[0]

    def refer_groups(
        self, wanted: Iterable[Value], groups: Sequence[set[bytes]], counted: Iterable[Value] = ()
    ) -> list[set[bytes]]:
        """Like ``refer``, for several sets of states that share the windows."""
        wanted, found = list(wanted), list(groups)
        for nat, value in wanted:
            # Each move changes the codes in all states, so a later value's moves must see the states after it.
            if self.code(nat, value) is None:
                for move in self._moves_for(nat, value, found, {other for of, other in wanted if of == nat}):
                    found = [set(map(move, states)) for states in found]
        for nat, value in counted:
            kept = {other for of, other in wanted if of == nat}
            while (leaving := self._leave_out_below(nat, value, found, kept)) is not None:
                found = [set(map(leaving, states)) for states in found]
        return found

    def holds(self, nat: str, value: int, groups: Iterable[set[bytes]]) -> bool:
        """Whether a cell of some state holds the value, or the value is pinned."""
        code, cells = self.code(nat, value), self._cells[nat]
        return value in self._pinned[nat] or any(code in cells.codes(state) for states in groups for state in states)

    def _moves_for(self, nat: str, value: int, groups: Sequence[set[bytes]], kept: set[int]) -> list[_Move]:
        """The moves that make room for a value, if necessary, and insert it."""
        values, cells = self.values[nat], self._cells[nat]
        # Only a full window has to let a value go.
        moves = [self._forget(nat, set().union(*groups), kept)] if len(values) == cells.size else []
        place = bisect_left(values, value)
        values.insert(place, value)
        self.widest[nat] = max(self.widest[nat], len(values))
        return [*moves, cells.inserted(place)]

    def _forget(self, nat: str, states: set[bytes], kept: set[int]) -> _Move:
        """Remove the least value that the window can do without. Raises FullError if there is none.

        The window can do without a value if no state holds it, it is neither pinned nor in ``kept``, and the cells with
        this value as a key equal the cells with the value below.
        """
        values, cells = self.values[nat], self._cells[nat]
        held = set().union(*map(cells.codes, states))
        for place, value in enumerate(values):
            if place in held or value in self._pinned[nat] or value in kept:
                continue
            if all(cells.is_as_below(state, place) for state in states):
                del values[place]
                return cells.removed(place)
        raise FullError(nat, len(values) + len({value for value in kept if value not in values}))

    def _leave_out_below(self, nat: str, value: int, groups: Sequence[set[bytes]], kept: set[int]) -> _Move | None:
        """Remove the value below ``value``, if it may leave; None if it stays."""
        values, cells = self.values[nat], self._cells[nat]
        place = bisect_left(values, value) - 1
        if place < 0 or values[place] in kept or self.holds(nat, values[place], groups):
            return None
        if not all(cells.is_as_below(state, place) for states in groups for state in states):
            return None
        del values[place]
        return cells.removed(place)


class _Cells:
    """The cells of a layout that hold a Nat, and the fields that have the Nat as a key."""

    def __init__(self, layout: Layout, nat: str) -> None:
        self.size = layout.scope.sizes[nat] + 1
        """The number of codes of the Nat."""
        self.layout = layout
        self.nat = nat
        fields = [field for field in layout.fields if nat_of(field.type) == nat]
        self.plain = _slices(field for field in fields if isinstance(field.type, NatType))
        self.optional = _slices(field for field in fields if isinstance(field.type, OptionalType))
        self.keyed = [field for field in layout.fields if any(nat_of(key) == nat for key in field.keys)]
        self._moves: dict[tuple[bool, int], _Move] = {}
        self._below: dict[int, tuple[tuple[int, int], ...]] = {}

    def codes(self, state: bytes) -> set[int]:
        """The codes of the Nat that a state holds. An Optional holds its code plus one; 0 is None."""
        held = set().union(*[state[cells] for cells in self.plain])
        for cells in self.optional:
            held.update([code - 1 for code in state[cells] if code])
        return held

    def is_as_below(self, state: bytes, place: int) -> bool:
        """Whether the cells keyed by the code ``place`` equal the cells keyed by the code below."""
        if place not in self._below:
            self._below[place] = self._sources(lambda key: key - 1 if key == place else key)
        for cell, source in self._below[place]:  # noqa: SIM110 - a generator takes twice as long
            if state[cell] != state[source]:
                return False
        return True

    def inserted(self, place: int) -> _Move:
        """The move of a state when a new value is inserted at a place."""
        # Cells keyed from ``place`` on move up by one; the new one copies the cell below it. Codes from ``place`` on
        # move up, too, but stay below ``size``.
        return self._move(
            (True, place),
            lambda key: key if key < place else max(key - 1, 0),
            lambda code: code if code < place else min(code + 1, self.size - 1),
        )

    def removed(self, place: int) -> _Move:
        """The move of a state when the value at a place is removed."""
        # Cells keyed above ``place`` move down by one. No cell holds the code ``place``, so its new code is irrelevant.
        return self._move(
            (False, place),
            lambda key: key if key < place else min(key + 1, self.size - 1),
            lambda code: code if code < place else max(code - 1, 0),
        )

    def _move(self, name: tuple[bool, int], source: Callable[[int], int], to: Callable[[int], int]) -> _Move:
        if name not in self._moves:
            table = bytes(to(code) for code in range(self.size))
            shifted = bytes([0, *(1 + code for code in table)])
            self._moves[name] = _Move(
                tuple(self._pieces(dict(self._sources(source)), _padded(table), _padded(shifted)))
            )
        return self._moves[name]

    def _pieces(self, sources: Mapping[int, int], table: bytes, shifted: bytes) -> Iterator[tuple[slice, bytes | None]]:
        """The pieces of a move, each as long as possible. ``sources``: the cell whose code each changed cell takes."""
        tables: dict[int, bytes] = {}
        for slices, each in ((self.plain, table), (self.optional, shifted)):
            tables.update((cell, each) for cells in slices for cell in range(cells.start, cells.stop))
        begin = end = 0
        now: bytes | None = None
        for cell in range(self.layout.width):
            source, moved = sources.get(cell, cell), tables.get(cell)
            if source != end or moved is not now:
                if begin != end:
                    yield slice(begin, end), now
                begin, now = source, moved
            end = source + 1
        yield slice(begin, end), now

    def _sources(self, of: Callable[[int], int]) -> tuple[tuple[int, int], ...]:
        """Pairs of a cell and the cell whose code it takes. ``of`` gives the source's key for a cell's key; pairs of a
        cell with itself are left out.
        """
        sources: list[tuple[int, int]] = []
        for field in self.keyed:
            for number, index in enumerate(field.indices):
                keys = [
                    of(key) if nat_of(kind) == self.nat else key for key, kind in zip(index, field.keys, strict=True)
                ]
                place = sum(key * stride for key, stride in zip(keys, field.strides, strict=True))
                if place != number:
                    sources.append((field.offset + number, field.offset + place))
        return tuple(sources)


def _slices(fields: Iterable[Field]) -> tuple[slice, ...]:
    """The cells of the fields; fields that follow each other share a slice."""
    found: list[slice] = []
    for field in sorted(fields, key=lambda field: field.offset):
        begin, end = field.offset, field.offset + field.count
        if found and found[-1].stop == begin:
            begin = found.pop().start
        found.append(slice(begin, end))
    return tuple(found)


def _padded(table: bytes) -> bytes:
    """The table, as long as `bytes.translate` wants it."""
    return table + bytes(256 - len(table))
