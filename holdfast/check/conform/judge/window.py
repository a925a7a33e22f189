"""Windows: how the codes of a few values follow a log whose numbers have no bound.

For each Nat a window holds, ascending, the values that a state or the present event refers to; a code is a place in it.
0 is always there. A new value is put in at its place: every greater code in the states moves up by one, and cells that
are keyed by the Nat get a copy of the cell below, whose values it lay among. A value that no cell holds can leave, if
the cells that are keyed by it are as the cells below. It does leave where somebody counts on over it: what the model
calls one more is the next value that matters, since the numbers of a system have gaps. So it makes no difference how
soon a window has to let values go.

Codes beyond the window stand for values above all that it holds, as its last value does; so their cells are copies too.

The window of a plain Nat holds every number that there is, from 0 on, so that its codes are the numbers themselves.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

import attrs

from holdfast.check.conform.judge.order import nat_of
from holdfast.ir.types import NatType, OptionalType
from holdfast.lower.layout import Field, Layout

Value = tuple[str, int]
"""A value, behind the name of its Nat."""


class FullError(Exception):
    """No value of a window can leave for another one: the Nat, and how many values are needed at once."""

    def __init__(self, nat: str, needed: int) -> None:
        super().__init__(nat, needed)
        self.nat = nat
        self.needed = needed


@attrs.frozen
class _Move:
    """A change of every state: some cells take the codes of others, and codes of the Nat move by ``table``.

    ``sources``: those cells, each with the one whose code it takes.
    ``plain`` and ``optional`` are the cells that hold the Nat, as it is or as an Optional.
    """

    sources: tuple[tuple[int, int], ...]
    table: bytes
    shifted: bytes
    plain: tuple[int, ...]
    optional: tuple[int, ...]

    def __call__(self, state: bytes) -> bytes:
        moved = bytearray(state)
        for cell, source in self.sources:
            moved[cell] = state[source]
        for cell in self.plain:
            moved[cell] = self.table[moved[cell]]
        for cell in self.optional:
            moved[cell] = self.shifted[moved[cell]]
        return bytes(moved)


class Windows:
    """The windows of one run, over states of a layout.

    ``pinned`` are values that never leave, beside 0. ``plain`` are Nats whose values are all held from the start.
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
        """The same windows, to go on from apart."""
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
        """The value of a code; None if it is above all that the log has told."""
        values = self.values[nat]
        return values[code] if code < len(values) else None

    def refer(self, wanted: Iterable[Value], states: set[bytes], counted: Iterable[Value] = ()) -> set[bytes]:
        """The states after the windows have taken in the values ``wanted``, all at once.

        ``counted``: those among them to which an event counts on. Each follows directly upon the next lower value that
        a state holds; values between the two that nobody holds are left out.

        Raises FullError if a window has no room for them; windows and states may not be used after that.
        """
        return self.refer_groups(wanted, [states], counted)[0]

    def refer_groups(
        self, wanted: Iterable[Value], groups: Sequence[set[bytes]], counted: Iterable[Value] = ()
    ) -> list[set[bytes]]:
        """As ``refer``, for several sets of states that share the windows."""
        wanted, found = list(wanted), list(groups)
        for nat, value in wanted:
            if self.code(nat, value) is None:
                for move in self._moves_for(nat, value, found, {other for of, other in wanted if of == nat}):
                    found = [set(map(move, states)) for states in found]
        for nat, value in counted:
            kept = {other for of, other in wanted if of == nat}
            while (leaving := self._leave_out_below(nat, value, found, kept)) is not None:
                found = [set(map(leaving, states)) for states in found]
        return found

    def holds(self, nat: str, value: int, groups: Iterable[set[bytes]]) -> bool:
        """Whether a cell of some state has the value, or it never leaves."""
        code, cells = self.code(nat, value), self._cells[nat]
        return value in self._pinned[nat] or any(
            code == held for states in groups for state in states for held in cells.codes(state)
        )

    def _moves_for(self, nat: str, value: int, groups: Sequence[set[bytes]], kept: set[int]) -> list[_Move]:
        """The changes of every state that make room for a value, and put it in."""
        values, cells = self.values[nat], self._cells[nat]
        moves = [self._forget(nat, set().union(*groups), kept)] if len(values) == cells.size else []
        place = bisect_left(values, value)
        values.insert(place, value)
        self.widest[nat] = max(self.widest[nat], len(values))
        return [*moves, cells.inserted(place)]

    def _forget(self, nat: str, states: set[bytes], kept: set[int]) -> _Move:
        """Remove the least value that nobody holds or keeps, if its keyed cells equal those of the value below."""
        values, cells = self.values[nat], self._cells[nat]
        held = {code for state in states for code in cells.codes(state)}
        for place, value in enumerate(values):
            if place in held or value in self._pinned[nat] or value in kept:
                continue
            if all(cells.is_as_below(state, place) for state in states):
                del values[place]
                return cells.removed(place)
        raise FullError(nat, len(values) + len({value for value in kept if value not in values}))

    def _leave_out_below(self, nat: str, value: int, groups: Sequence[set[bytes]], kept: set[int]) -> _Move | None:
        """Let the next lower value go, if it may; None if it stays."""
        values, cells = self.values[nat], self._cells[nat]
        place = bisect_left(values, value) - 1
        if place < 0 or values[place] in kept or self.holds(nat, values[place], groups):
            return None
        if not all(cells.is_as_below(state, place) for states in groups for state in states):
            return None
        del values[place]
        return cells.removed(place)


class _Cells:
    """The cells of a layout that hold a Nat, and the fields that a Nat keys."""

    def __init__(self, layout: Layout, nat: str) -> None:
        self.size = layout.scope.sizes[nat] + 1
        """How many codes there are."""
        self.layout = layout
        self.nat = nat
        fields = [field for field in layout.fields if nat_of(field.type) == nat]
        self.plain = tuple(cell for field in fields if isinstance(field.type, NatType) for cell in _range(field))
        self.optional = tuple(
            cell for field in fields if isinstance(field.type, OptionalType) for cell in _range(field)
        )
        self.keyed = [field for field in layout.fields if any(nat_of(key) == nat for key in field.keys)]
        self._moves: dict[tuple[bool, int], _Move] = {}
        self._below: dict[int, tuple[tuple[int, int], ...]] = {}

    def codes(self, state: bytes) -> Iterable[int]:
        """The codes that a state holds."""
        yield from (state[cell] for cell in self.plain)
        yield from (state[cell] - 1 for cell in self.optional if state[cell])

    def is_as_below(self, state: bytes, place: int) -> bool:
        """Whether the cells keyed by a code are those keyed by the code below."""
        if place not in self._below:
            self._below[place] = self._sources(lambda key: key - 1 if key == place else key)
        return all(state[cell] == state[source] for cell, source in self._below[place])

    def inserted(self, place: int) -> _Move:
        """What a new value at a place does to a state."""
        return self._move(
            (True, place),
            lambda key: key if key < place else max(key - 1, 0),
            lambda code: code if code < place else min(code + 1, self.size - 1),
        )

    def removed(self, place: int) -> _Move:
        """What leaving out the value at a place does to a state."""
        return self._move(
            (False, place),
            lambda key: key if key < place else min(key + 1, self.size - 1),
            lambda code: code if code < place else max(code - 1, 0),
        )

    def _move(self, name: tuple[bool, int], source: Callable[[int], int], to: Callable[[int], int]) -> _Move:
        if name not in self._moves:
            table = bytes(to(code) for code in range(self.size))
            shifted = bytes([0, *(1 + code for code in table)])
            self._moves[name] = _Move(self._sources(source), table, shifted, self.plain, self.optional)
        return self._moves[name]

    def _sources(self, of: Callable[[int], int]) -> tuple[tuple[int, int], ...]:
        """Pairs of a cell and the cell whose code it takes. ``of`` gives the second one's key for the first one's."""
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


def _range(field: Field) -> range:
    return range(field.offset, field.offset + field.count)
