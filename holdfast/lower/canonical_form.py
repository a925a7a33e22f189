"""Canonical states for the permutations within classes of elements, without a look at every permutation.

The method is that of tools for isomorphism of graphs (McKay, *Practical graph isomorphism*, 1981):

- *Colours.* A colour is a number: the place of the first element with this colour, if elements are sorted by colour.
  At first the elements of a class have one colour. A round of refinement gives each element a signature: the sum, over
  all cells that mention it, of a hash of the cell's content, in which colours stand for elements. Elements of one
  colour with different signatures get different colours. Rounds follow until no colour splits.
- *Twins.* Two elements of one colour are twins if exchanging them leaves the state unchanged. If all elements of a
  colour are twins, their order makes no difference.
- *Branches.* Otherwise one element after the other, of several twins only one, is put before the others of its colour;
  refinement goes on from there.
- *Leaves.* Where each element has a colour of its own, colours are new names. The least state of all leaves, renamed in
  this way, is the canonical state.
- *Known leaves.* A leaf may give the same state as the first leaf or the best leaf. Then a permutation that leaves the
  state unchanged maps one branch to the other, at the node at which their paths part. Both branches have the same
  leaves, so the rest of this branch is skipped.

Nothing depends on the names of elements, so all renamings of a state have the same leaves. That holds for any hash: two
signatures that are equal by chance cost a branch, and change no answer. ``kernel/canonical_driver.py`` does the same in
machine code, to the byte.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter

import attrs

from holdfast.ir.types import OptionalType, Scalar, SortType
from holdfast.lower.layout import Field, Layout
from holdfast.lower.renaming_group import ElementClass, Renaming

WORD = (1 << 64) - 1
"""The bits in which a hash is computed."""

HASH_BITS = 62
"""The number of bits of a hash. So machine code can add two of them without a sign."""

HASH = (1 << HASH_BITS) - 1
"""The bits of a hash."""

FACTOR = 0xD6E8FEB86659FD93
"""An odd number without a pattern in its bits. Multiplying by it spreads a number over the high bits."""


MOST_HASHES = 1 << 20
"""The number of hashes that are remembered. Few colours, labels and codes occur, so mostly there are some hundred."""


class Hashes(dict[int, int]):
    """The hash of a number of 63 bits. A dictionary: a look into it is faster than the computation."""

    def __missing__(self, number: int) -> int:
        """Compute a hash that is not known yet."""
        if len(self) >= MOST_HASHES:
            self.clear()
        mixed = (number ^ (number >> 32)) * FACTOR & WORD
        found = self[number] = (mixed ^ (mixed >> 29)) >> 64 - HASH_BITS
        return found


@attrs.frozen
class ElementCell:
    """A cell that mentions elements: by its keys, by its value, or both.

    - ``cell``: its index in a state.
    - ``label``: a number that cells share if their field and their keys that are no elements are equal.
    - ``keys``: the number of the element of each key that is one.
    - ``strides``: for each such key, the distance between the cells of two neighbouring elements.
    - ``origin``: the index of the cell whose keys are the first elements of their Sorts.
    - ``first``: the number of the first element of the value's Sort; None if the value is no element.
    - ``none``: the number of codes that are no element: 1 if the value may be None, else 0.
    """

    cell: int
    label: int
    keys: tuple[int, ...]
    strides: tuple[int, ...]
    origin: int
    first: int | None
    none: int


@attrs.frozen
class _Exchange:
    """Bytes of a state to compare with each other: the first ones are translated before (None: they are not)."""

    table: bytes | None
    sources: Callable[[bytes], object]
    targets: Callable[[bytes], object]


class Elements:
    """The elements that the cells of a layout may mention, numbered through all Sorts, and those cells."""

    def __init__(self, layout: Layout, classes: Sequence[ElementClass]) -> None:
        mentioned = {sort for field in layout.fields for sort in _sorts_of(field)}
        self.sorts = tuple(sort.name for sort in layout.system.sorts if sort.name in mentioned)
        self.classes = tuple(each for each in classes if each.sort in mentioned)
        self.first: dict[str, int] = {}
        """The number of the first element of each Sort."""
        self.count = 0
        for sort in self.sorts:
            self.first[sort] = self.count
            self.count += layout.scope.sizes[sort]
        self.names = tuple(self.first[each.sort] + member for each in self.classes for member in each.members)
        """The element whose name goes with each colour."""
        self.colours = [0] * self.count
        """The colour of each element before refinement: that of its class."""
        start = 0
        for each in self.classes:
            for member in each.members:
                self.colours[self.first[each.sort] + member] = start
            start += len(each.members)
        self.starts = tuple(self.first[sort] for sort in self.sorts for _ in range(layout.scope.sizes[sort]))
        """For each element, the number of the first element of its Sort."""
        self.cells = tuple(self._cells(layout))

    @property
    def trivial(self) -> bool:
        """Whether no class has two elements."""
        return len(self.classes) == self.count

    def renaming(self, names: Sequence[int], identity: Renaming) -> Renaming:
        """The renaming that gives the elements these new numbers, and moves no element of another Sort."""
        parts = {
            sort: tuple(names[first + element] - first for element in range(len(identity[sort])))
            for sort, first in self.first.items()
        }
        return {**identity, **parts}

    def exchanges(self, one: int, two: int) -> list[_Exchange]:
        """What to compare to see whether exchanging two elements of a Sort leaves a state unchanged."""
        names = list(range(self.count))
        names[one], names[two] = two, one
        # Cells whose values are elements of this Sort, with or without None, are translated alike.
        groups: dict[int | None, list[tuple[int, int]]] = {}
        for each in self.cells:
            translated = each.first == self.starts[one]
            moved = {one, two} & {*each.keys}
            if translated or moved:
                pair = (each.cell, self.place(each, names))
                groups.setdefault(each.none if translated else None, []).append(pair)
        found = []
        for none, pairs in groups.items():
            table = None
            if none is not None:
                codes = [*range(256)]
                first, second = (none + element - self.starts[one] for element in (one, two))
                codes[first], codes[second] = second, first
                table = bytes(codes)
            sources, targets = zip(*pairs, strict=True)
            found.append(_Exchange(table, itemgetter(*sources), itemgetter(*targets)))
        return found

    def place(self, each: ElementCell, names: Sequence[int]) -> int:
        """The index of the cell with renamed keys."""
        return each.origin + sum(
            (names[element] - self.starts[element]) * stride
            for element, stride in zip(each.keys, each.strides, strict=True)
        )

    def _cells(self, layout: Layout) -> list[ElementCell]:
        labels: dict[tuple[str, tuple[int, ...]], int] = {}
        found = []
        for field in layout.fields:
            if not _sorts_of(field):
                continue
            by_sort = [isinstance(key, SortType) for key in field.keys]
            for place, index in enumerate(field.indices):
                plain = tuple(code for code, sort in zip(index, by_sort, strict=True) if not sort)
                keys = [
                    (self.first[key.name] + code, stride, code)
                    for key, code, stride in zip(field.keys, index, field.strides, strict=True)
                    if isinstance(key, SortType)
                ]
                value = _element_type(field.type)
                found.append(
                    ElementCell(
                        field.offset + place,
                        labels.setdefault((field.name, plain), len(labels)),
                        tuple(element for element, _, _ in keys),
                        tuple(stride for _, stride, _ in keys),
                        field.offset + place - sum(stride * code for _, stride, code in keys),
                        None if value is None else self.first[value.name],
                        int(isinstance(field.type, OptionalType)),
                    )
                )
        return found


@attrs.define
class Leaf:
    """The state in which each element has the name of its colour, and the branches that lead to it."""

    state: bytes
    names: Sequence[int]
    path: list[int]


@attrs.define
class _Node:
    """A node of the tree: colours, the branches that are left, and the branch that was taken last.

    ``twins`` is the number of twins of each branch's element, itself included. On the path to the first leaf ``alike``
    counts the elements that a permutation, which leaves the state and the path up to here unchanged, maps the first
    branch's element to; elsewhere it is 0.
    """

    colours: list[int]
    left: list[int]
    twins: dict[int, int]
    taken: int
    alike: int


class CanonicalForm:
    """The canonical states of a layout under the permutations within classes of elements."""

    def __init__(self, layout: Layout, classes: Sequence[ElementClass]) -> None:
        self.elements = Elements(layout, classes)
        self._hashes = Hashes()
        self._exchanges: dict[tuple[int, int], list[_Exchange]] = {}
        self.leaves = 0
        """The number of leaves that were looked at so far."""

    def canonical(self, state: bytes) -> bytes:
        """The canonical state: one of the renamings of the state, and the same for all of them."""
        return self.search(state)[0].state

    def search(self, state: bytes) -> tuple[Leaf, int]:
        """The leaf with the canonical state, and the number of permutations that leave the state unchanged."""
        first: Leaf | None = None
        best: Leaf | None = None
        unchanged = 1
        nodes: list[_Node] = []
        colours = self.refined(state, self.elements.colours)
        while True:
            # Down to a leaf. At each node the first branch comes first.
            while (tie := self._tie(colours)) is not None:
                twins = self._twins(state, tie)
                if len(twins) == 1:
                    # All are twins. The number of their orders is counted once, on the path to the first leaf.
                    for place, element in enumerate(tie):
                        colours[element] += place
                        unchanged *= 1 if first else place + 1
                    continue
                taken, *left = twins
                nodes.append(_Node(colours, left, twins, taken, 0 if first else twins[taken]))
                colours = self._parted(state, colours, taken)
            self.leaves += 1
            names = [self.elements.names[colour] for colour in colours]
            leaf = Leaf(self.renamed(state, names), names, [node.taken for node in nodes])
            # Back to the node at which the path parts from that of a leaf with the same state; else by one node.
            if first is None or best is None:
                first = best = leaf
            elif leaf.state == first.state:
                del nodes[_common(leaf.path, first.path) + 1 :]
                nodes[-1].alike += nodes[-1].twins[nodes[-1].taken]
            elif leaf.state == best.state:
                del nodes[_common(leaf.path, best.path) + 1 :]
            elif leaf.state < best.state:
                best = leaf
            while nodes and not nodes[-1].left:
                unchanged *= max(nodes.pop().alike, 1)
            if not nodes:
                return best, unchanged
            nodes[-1].taken = nodes[-1].left.pop(0)
            colours = self._parted(state, nodes[-1].colours, nodes[-1].taken)

    def _tie(self, colours: list[int]) -> list[int] | None:
        """The elements of the first colour that several elements have; None if there is none."""
        found: dict[int, list[int]] = {}
        for element, colour in enumerate(colours):
            found.setdefault(colour, []).append(element)
        ties = [colour for colour, elements in found.items() if len(elements) > 1]
        return found[min(ties)] if ties else None

    def _twins(self, state: bytes, tie: list[int]) -> dict[int, int]:
        """The first element of each group of twins, and the number of elements of the group."""
        found: dict[int, int] = {}
        for element in tie:
            known = next((other for other in found if self.are_twins(state, other, element)), element)
            found[known] = found.get(known, 0) + 1
        return found

    def are_twins(self, state: bytes, one: int, two: int) -> bool:
        """Whether exchanging two elements of a Sort leaves the state unchanged."""
        known = self._exchanges.get((one, two))
        if known is None:
            known = self._exchanges[one, two] = self.elements.exchanges(one, two)
        return all(
            each.sources(state if each.table is None else state.translate(each.table)) == each.targets(state)
            for each in known
        )

    def _parted(self, state: bytes, colours: list[int], element: int) -> list[int]:
        """The refined colours after an element was put before the others of its colour."""
        parted = [
            colour + 1 if colour == colours[element] and other != element else colour
            for other, colour in enumerate(colours)
        ]
        return self.refined(state, parted)

    def refined(self, state: bytes, colours: Sequence[int]) -> list[int]:
        """The colours after rounds of refinement, until no colour splits any more."""
        count = self.elements.count
        known, fresh = len(set(colours)), list(colours)
        while known < count:
            keys = list(zip(fresh, self.signatures(state, fresh), strict=True))
            places: dict[tuple[int, int], int] = {}
            for place, key in enumerate(sorted(keys)):
                places.setdefault(key, place)
            fresh = [places[key] for key in keys]
            if len(places) == known:
                break
            known = len(places)
        return fresh

    def signatures(self, state: bytes, colours: Sequence[int]) -> list[int]:
        """For each element, the sum of the hashes of all cells that mention it."""
        sums, mixed = [0] * self.elements.count, self._hashes
        for each in self.elements.cells:
            code = state[each.cell]
            element = None if each.first is None or code < each.none else each.first + code - each.none
            # Of a value that is an element, only its colour counts.
            value = code if each.first is None else int(element is not None)
            mentioned = each.keys if element is None else (*each.keys, element)
            found = mixed[each.label << 8 | value]
            for other in mentioned:
                found = mixed[found + colours[other]]
            # A cell says something else of its first key than of its second one, or of its value.
            for role, other in enumerate(mentioned, start=1):
                sums[other] = sums[other] + mixed[found + role] & HASH
        return sums

    def renamed(self, state: bytes, names: Sequence[int]) -> bytes:
        """The state in which each element has another element's name; ``names`` has the new number of each element."""
        renamed = bytearray(state)
        for each in self.elements.cells:
            code = state[each.cell]
            if each.first is not None and code >= each.none:
                code = names[each.first + code - each.none] - each.first + each.none
            renamed[self.elements.place(each, names)] = code
        return bytes(renamed)


def _common(one: list[int], other: list[int]) -> int:
    """The number of branches at the beginning that two paths have in common."""
    pairs = zip(one, other, strict=False)
    return next((place for place, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def _element_type(kind: Scalar) -> SortType | None:
    """The Sort of a cell's value, which may also be None; None for cells that hold no elements."""
    plain = kind.of if isinstance(kind, OptionalType) else kind
    return plain if isinstance(plain, SortType) else None


def _sorts_of(field: Field) -> set[str]:
    """The Sorts of a field's keys and values."""
    value = _element_type(field.type)
    return {key.name for key in field.keys if isinstance(key, SortType)} | ({value.name} if value else set())
