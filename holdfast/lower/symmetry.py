"""Symmetry: the elements of a Sort are interchangeable, so states that differ by a renaming behave alike.

A renaming permutes the elements of every Sort. The renamings that do not change the scope's constants form a group. The
orbit of a state is the set of states that these renamings make of it. The least state of an orbit is its *canonical
state*, and represents the orbit in a search.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from math import factorial, prod
from operator import itemgetter

from holdfast.ir.errors import UsageError
from holdfast.ir.types import Key, OptionalType, Scalar, SortType
from holdfast.lower.layout import Layout

MOST_RENAMINGS = 50_000
"""The number of renamings that a scope may have. Far fewer already cost more per state than symmetry saves."""

Renaming = Mapping[str, tuple[int, ...]]
"""For each Sort, the new index of each of its elements."""

Pick = Callable[[bytes], tuple[int, ...]]


class Symmetry:
    """The group of renamings of a layout. Raises UsageError for Sorts with more than ``MOST_RENAMINGS`` renamings.

    To rename a state, ``canonical`` first *widens* it: the state's bytes, then a copy for each type of cells that hold
    elements (a Sort, or a Sort or None), with every byte translated as if its cell had that type. The renamed state is
    a choice of bytes of the widened state: of the first part for cells without elements, of a copy for the others.
    Renamings that have the same copies share the widened state.
    """

    order: int
    """The number of renamings."""
    trivial: bool
    """Whether every orbit has only one state."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.renamings = tuple(self._fixing_the_given())
        self.order = len(self.renamings)
        self._classes = self._value_classes()
        self._plans = [(self._tables(renaming), self._sources(renaming)) for renaming in self.renamings]
        # Renamings that differ only in elements that no cell mentions have the same plan.
        self.trivial = len(set(self._plans)) == 1
        self._shared: dict[tuple[bytes, ...], list[Pick]] = {}
        for tables, sources in dict.fromkeys(self._plans):
            self._shared.setdefault(tables, []).append(_picker(sources))

    def canonical(self, state: bytes) -> bytes:
        """The least state of the orbit."""
        return state if self.trivial else bytes(min(self._images(state)))

    def orbit_size(self, state: bytes) -> int:
        """The number of states of the orbit."""
        return len(set(self._images(state)))

    def permute(self, state: bytes, g: int) -> bytes:
        """The state under renaming number ``g``. Renaming 0 changes nothing."""
        tables, sources = self._plans[g]
        return bytes(_picker(sources)(_widened(state, tables)))

    def moves(self) -> list[list[tuple[int, bytes | None]]]:
        """For each renaming with an effect of its own, the source of each cell of the renamed state.

        A source is a cell, and the table that translates its code (None: the code stays). The first renaming changes
        nothing.
        """
        width = self.layout.width
        return [
            [(source % width, tables[source // width - 1] if source >= width else None) for source in sources]
            for tables, sources in dict.fromkeys(self._plans)
        ]

    def _images(self, state: bytes) -> list[tuple[int, ...]]:
        images: list[tuple[int, ...]] = []
        for tables, picks in self._shared.items():
            wide = _widened(state, tables)
            images += [pick(wide) for pick in picks]
        return images

    # The group ------------------------------------------------------------------------------------------------

    def _fixing_the_given(self) -> Iterator[Renaming]:
        sizes = {sort.name: self.layout.scope.sizes[sort.name] for sort in self.layout.system.sorts}
        if prod(factorial(size) for size in sizes.values()) > MOST_RENAMINGS:
            raise UsageError(
                f"scope {self.layout.scope.name} has more than {MOST_RENAMINGS:,} renamings of its elements "
                f"({', '.join(f'{size} of {name}' for name, size in sizes.items())}); "
                "use a smaller scope, or search without symmetry"
            )
        # The first permutation of each Sort is the identity, so the first renaming changes nothing.
        for images in itertools.product(*(itertools.permutations(range(size)) for size in sizes.values())):
            renaming = dict(zip(sizes, images, strict=True))
            if all(self._fixes(name, renaming) for name in self.layout.given):
                yield renaming

    def _fixes(self, name: str, renaming: Renaming) -> bool:
        """Whether a renaming leaves a given constant unchanged."""
        var, values = self.layout.system.var(name), self.layout.given[name]
        indices = itertools.product(*(range(self.layout.scope.size(key)) for key in var.keys))
        cells = dict(zip(indices, values, strict=True))
        return all(
            cells[_renamed_key(var.keys, index, renaming)] == _renamed_value(var.value, code, renaming)
            for index, code in cells.items()
        )

    # Renamed states -------------------------------------------------------------------------------------------

    def _value_classes(self) -> tuple[Scalar, ...]:
        """The types of the cells that hold elements, each once: a Sort, or a Sort or None."""
        return tuple(dict.fromkeys(field.type for field in self.layout.fields if _holds_elements(field.type)))

    def _tables(self, renaming: Renaming) -> tuple[bytes, ...]:
        """For each type of ``_classes``, the table of 256 bytes that translates the codes of its cells."""
        # A copy translates the whole state, also bytes that are no code of the type. Those stay, and are never chosen.
        return tuple(
            bytes(
                _renamed_value(kind, code, renaming) if code < self.layout.codes(kind) else code for code in range(256)
            )
            for kind in self._classes
        )

    def _sources(self, renaming: Renaming) -> tuple[int, ...]:
        """For each cell of the renamed state, the index of its byte in the widened state."""
        sources = [0] * self.layout.width
        for field in self.layout.fields:
            copy = 1 + self._classes.index(field.type) if field.type in self._classes else 0
            cells = {index: field.offset + position for position, index in enumerate(field.indices)}
            # The content of a cell goes to the cell with renamed keys.
            for index, cell in cells.items():
                sources[cells[_renamed_key(field.keys, index, renaming)]] = copy * self.layout.width + cell
        return tuple(sources)


def _widened(state: bytes, tables: tuple[bytes, ...]) -> bytes:
    """The state, followed by its translation under each table."""
    return b"".join([state, *(state.translate(table) for table in tables)])


def _picker(sources: tuple[int, ...]) -> Pick:
    """A function from a widened state to the bytes at these indices."""
    if len(sources) < 2:  # itemgetter gives no tuple for a single index, and wants one at least.
        return lambda wide: tuple(wide[source] for source in sources)
    return itemgetter(*sources)


def _renamed_key(kinds: tuple[Key, ...], index: tuple[int, ...], renaming: Renaming) -> tuple[int, ...]:
    return tuple(_renamed_value(kind, code, renaming) for kind, code in zip(kinds, index, strict=True))


def _renamed_value(kind: Scalar, code: int, renaming: Renaming) -> int:
    match kind:
        case SortType(name):
            return renaming[name][code]
        case OptionalType(of):
            return 1 + _renamed_value(of, code - 1, renaming) if code else 0
    return code


def _holds_elements(kind: Scalar) -> bool:
    return isinstance(kind.of if isinstance(kind, OptionalType) else kind, SortType)


def group_of(layout: Layout, *, required: bool = False) -> Symmetry | None:
    """The renamings of a scope; None if there are none but the identity, or more than an engine can use.

    Raises UsageError for too many renamings if the group is ``required``.
    """
    try:
        group = Symmetry(layout)
    except UsageError:
        if required:
            raise
        return None
    return None if group.trivial else group


def unrenamed(state: bytes) -> bytes:
    """The canonical state where there is no symmetry: the state itself."""
    return state
