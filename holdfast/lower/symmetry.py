"""Symmetry: the elements of a Sort are interchangeable, so states that differ by a renaming behave alike.

A renaming permutes the elements of every Sort. The renamings that do not change the scope's constants form a group. The
orbit of a state is the set of states that these renamings make of it. One state of each orbit is its *canonical state*,
and represents the orbit in a search. In a small group it is the least state of the orbit, found by trying all
renamings. In a large group it is another state of the orbit, found without that: see ``canonical_form.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from operator import itemgetter

from holdfast.ir.errors import UsageError
from holdfast.ir.types import OptionalType, Scalar, SortType
from holdfast.lower.canonical_form import CanonicalForm
from holdfast.lower.layout import Layout
from holdfast.lower.renaming_group import Renaming, RenamingGroup, composed, inverse, renamed_key, renamed_value

MOST_LISTED = 120
"""The number of renamings of a group that are tried one by one; a larger group has a canonical form."""

RENAMINGS_FOR_FORM = 16
"""The number of renamings that are tried in the time that a canonical form takes for each cell and each element.

Measured on eight elements, in states of 9 and of 64 cells.
"""

Pick = Callable[[bytes], tuple[int, ...]]


class Symmetry:
    """The group of renamings of a layout. Raises UsageError as ``RenamingGroup`` does.

    To rename a state, ``canonical`` first *widens* it: the state's bytes, then a copy for each type of cells that hold
    elements (a Sort, or a Sort or None), with every byte translated as if its cell had that type. The renamed state is
    a choice of bytes of the widened state: of the first part for cells without elements, of a copy for the others.
    Renamings that have the same copies share the widened state.
    """

    order: int
    """The number of renamings."""
    trivial: bool
    """Whether every orbit has only one state."""
    form: CanonicalForm | None
    """What finds canonical states if the group is too large to try all renamings. The cosets are tried all the same."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.group = RenamingGroup(layout)
        self.order = self.group.order
        self.form = CanonicalForm(layout, self.group.classes) if self.order > MOST_LISTED else None
        self._tried: Sequence[Renaming] = self.renamings if self.form is None else self.group.cosets
        self._classes = self._value_classes()
        self._plans = [(self._tables(renaming), self._sources(renaming)) for renaming in self._tried]
        # Renamings that differ only in elements that no cell mentions have the same plan.
        self.trivial = len(set(self._plans)) == 1 and (self.form is None or self.form.elements.trivial)
        self._shared: dict[tuple[bytes, ...], list[Pick]] = {}
        for tables, sources in dict.fromkeys(self._plans):
            self._shared.setdefault(tables, []).append(_picker(sources))

    @property
    def effort(self) -> int:
        """The number of renamings that take as long to try as the canonical state of a state takes to find, about."""
        if self.form is None:
            return self.order
        elements = self.form.elements
        return len(self.group.cosets) * len(elements.cells) * elements.count * RENAMINGS_FOR_FORM

    @cached_property
    def renamings(self) -> tuple[Renaming, ...]:
        """All renamings of a group that is small enough to try them one by one. The first changes nothing."""
        assert self.form is None, f"{self.order} renamings are too many to list"
        return tuple(self.group.listed(self.group.sizes))

    def canonical(self, state: bytes) -> bytes:
        """The canonical state of the orbit. It is the least state of the orbit if ``form`` is None."""
        if self.trivial:
            return state
        images = self._images(state)
        return bytes(min(images)) if self.form is None else min(self.form.canonical(bytes(each)) for each in images)

    def orbit_size(self, state: bytes) -> int:
        """The number of states of the orbit."""
        images = self._images(state)
        if self.form is None:
            return len(set(images))
        # The permutations within the classes divide the orbit into parts of one size, and the cosets permute the parts.
        searches = [self.form.search(bytes(each)) for each in images]
        parts, unchanged = {leaf.state for leaf, _ in searches}, searches[0][1]
        return len(parts) * (self.group.permutations(self.form.elements.sorts) // unchanged)

    def renaming(self, old: bytes, new: bytes) -> Renaming:
        """A renaming that turns one state into another state of its orbit."""
        if self.form is None:
            return next(each for g, each in enumerate(self.renamings) if self.permute(old, g) == new)
        there, back = self._to_canonical(self.form, old), self._to_canonical(self.form, new)
        return composed(there, inverse(back))

    def permute(self, state: bytes, g: int) -> bytes:
        """The state under renaming number ``g`` of ``renamings``. Renaming 0 changes nothing."""
        tables, sources = self._plans[g]
        return bytes(_picker(sources)(_widened(state, tables)))

    def renamed(self, state: bytes, renaming: Renaming) -> bytes:
        """The state under a renaming."""
        return bytes(_picker(self._sources(renaming))(_widened(state, self._tables(renaming))))

    def moves(self) -> list[list[tuple[int, bytes | None]]]:
        """For each renaming that is tried and has an effect of its own, the source of each cell of the renamed state.

        A source is a cell, and the table that translates its code (None: the code stays). The first renaming changes
        nothing. If ``form`` is not None, these are the cosets.
        """
        width = self.layout.width
        return [
            [(source % width, tables[source // width - 1] if source >= width else None) for source in sources]
            for tables, sources in dict.fromkeys(self._plans)
        ]

    def _images(self, state: bytes) -> list[tuple[int, ...]]:
        """The state under each renaming that is tried."""
        images: list[tuple[int, ...]] = []
        for tables, picks in self._shared.items():
            wide = _widened(state, tables)
            images += [pick(wide) for pick in picks]
        return images

    def _to_canonical(self, form: CanonicalForm, state: bytes) -> Renaming:
        """A renaming that turns a state into its canonical state."""
        found = []
        for g, coset in enumerate(self.group.cosets):
            leaf, _ = form.search(self.permute(state, g))
            found.append((leaf.state, g, composed(coset, form.elements.renaming(leaf.names, self.group.identity))))
        return min(found, key=itemgetter(0, 1))[2]

    # Renamed states -------------------------------------------------------------------------------------------

    def _value_classes(self) -> tuple[Scalar, ...]:
        """The types of the cells that hold elements, each once: a Sort, or a Sort or None."""
        return tuple(dict.fromkeys(field.type for field in self.layout.fields if _holds_elements(field.type)))

    def _tables(self, renaming: Renaming) -> tuple[bytes, ...]:
        """For each type of ``_classes``, the table of 256 bytes that translates the codes of its cells."""
        # A copy translates the whole state, also bytes that are no code of the type. Those stay, and are never chosen.
        return tuple(
            bytes(
                renamed_value(kind, code, renaming) if code < self.layout.codes(kind) else code for code in range(256)
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
                sources[cells[renamed_key(field.keys, index, renaming)]] = copy * self.layout.width + cell
        return tuple(sources)


def _widened(state: bytes, tables: tuple[bytes, ...]) -> bytes:
    """The state, followed by its translation under each table."""
    return b"".join([state, *(state.translate(table) for table in tables)])


def _picker(sources: tuple[int, ...]) -> Pick:
    """A function from a widened state to the bytes at these indices."""
    if len(sources) < 2:  # itemgetter gives no tuple for a single index, and wants one at least.
        return lambda wide: tuple(wide[source] for source in sources)
    return itemgetter(*sources)


def _holds_elements(kind: Scalar) -> bool:
    return isinstance(kind.of if isinstance(kind, OptionalType) else kind, SortType)


def group_of(layout: Layout, *, required: bool = False) -> Symmetry | None:
    """The renamings of a scope; None if there are none but the identity, or if the given constants leave too many.

    Raises UsageError in the latter case if the group is ``required``.
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
