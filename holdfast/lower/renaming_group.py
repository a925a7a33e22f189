"""The group of renamings of a scope: the permutations of elements that do not change the given constants.

Two elements of a Sort are in one *class* if exchanging them changes no given constant. Every permutation within the
classes then changes none either. These permutations form a normal subgroup, so each renaming of the group is a
permutation within the classes, after one of a few *cosets*: renamings that map whole classes onto each other, in the
order of their elements. Mostly nothing is given. Then each Sort is one class, and the identity is the only coset.

So the group is known by its classes and cosets, however large it is: nothing here enumerates 8! permutations.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from math import factorial, prod

import attrs

from holdfast.ir.errors import UsageError
from holdfast.ir.types import Choice, Key, MapType, OptionalType, Scalar, SortType
from holdfast.lower.layout import Layout

MOST_COSETS = 1_000
"""The number of cosets that a group may have: an engine tries each of them."""

MOST_TRIES = 200_000
"""The number of times that a class is tried as the image of another, at most, to find all cosets."""

UNASSIGNED = -1
"""The image of an element while cosets are searched, as long as it has none."""

Renaming = Mapping[str, Sequence[int]]
"""For each Sort, the new index of each of its elements."""


@attrs.frozen
class ElementClass:
    """Elements of a Sort that are freely interchangeable, by index, in ascending order."""

    sort: str
    members: tuple[int, ...]


@attrs.frozen
class _GivenCell:
    """A cell of a given constant: the constant's types, the codes of the keys, and the code of the value."""

    name: str
    keys: tuple[Key, ...]
    value: Scalar
    index: tuple[int, ...]
    code: int

    @property
    def elements(self) -> set[tuple[str, int]]:
        """The elements that the cell mentions, each as its Sort and its index."""
        codes: list[tuple[Scalar, int]] = [*zip(self.keys, self.index, strict=True)]
        if not isinstance(self.value, OptionalType):
            codes.append((self.value, self.code))
        elif self.code:
            codes.append((self.value.of, self.code - 1))
        return {(kind.name, code) for kind, code in codes if isinstance(kind, SortType)}


class RenamingGroup:
    """The group of renamings of a layout's scope.

    Raises UsageError if the given constants leave more than ``MOST_COSETS`` cosets, or if finding them takes more than
    ``MOST_TRIES`` tries.
    """

    classes: tuple[ElementClass, ...]
    """The classes, in the order of the Sorts, then of their first elements."""
    cosets: tuple[Renaming, ...]
    """The renamings that map classes onto each other. The first is the identity."""
    order: int
    """The number of renamings."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.sizes = {sort.name: layout.scope.sizes[sort.name] for sort in layout.system.sorts}
        self._given = {
            (name, index): _GivenCell(name, var.keys, var.value, index, code)
            for name, values in layout.given.items()
            for var in [layout.system.var(name)]
            for index, code in zip(
                itertools.product(*(range(layout.scope.size(key)) for key in var.keys)), values, strict=True
            )
        }
        self._mentions: dict[tuple[str, int], list[_GivenCell]] = {}
        for cell in self._given.values():
            for element in sorted(cell.elements):
                self._mentions.setdefault(element, []).append(cell)
        self.classes = tuple(self._classes())
        self.cosets = tuple(self._cosets())
        self.order = len(self.cosets) * self.permutations(self.sizes)

    @property
    def identity(self) -> dict[str, tuple[int, ...]]:
        """The renaming that changes nothing."""
        return {sort: tuple(range(size)) for sort, size in self.sizes.items()}

    def permutations(self, sorts: Collection[str]) -> int:
        """The number of permutations within the classes of these Sorts."""
        return prod(factorial(len(each.members)) for each in self.classes if each.sort in sorts)

    def free(self) -> list[str]:
        """The Sorts with more than one element whose elements are freely interchangeable."""
        return [each.sort for each in self.classes if 1 < len(each.members) == self.sizes[each.sort]]

    def listed(self, sorts: Collection[str]) -> list[Renaming]:
        """The renamings that move no elements of other Sorts than these, sorted, the identity first.

        A Sort that is left out must be free or have one element. The caller makes sure that there are few renamings:
        ``len(cosets) * permutations(sorts)``.
        """
        classes = [each for each in self.classes if each.sort in sorts]
        found = []
        for images in itertools.product(*(itertools.permutations(each.members) for each in classes)):
            within = permuted(self.identity, dict(zip(classes, images, strict=True)))
            found += [composed(coset, within) for coset in self.cosets]
        return sorted(found, key=lambda renaming: tuple(renaming.values()))

    # Classes --------------------------------------------------------------------------------------------------

    def _classes(self) -> Iterator[ElementClass]:
        for sort, size in self.sizes.items():
            found: list[list[int]] = []
            for element in range(size):
                # Interchangeability is an equivalence, so the first element speaks for its class.
                known = next((each for each in found if self._interchangeable(sort, each[0], element)), None)
                if known is None:
                    found.append([element])
                else:
                    known.append(element)
            yield from (ElementClass(sort, tuple(members)) for members in found)

    def _interchangeable(self, sort: str, one: int, two: int) -> bool:
        images = list(range(self.sizes[sort]))
        images[one], images[two] = two, one
        exchange = {**self.identity, sort: tuple(images)}
        touched = self._mentions.get((sort, one), []) + self._mentions.get((sort, two), [])
        return all(self._keeps(cell, exchange) for cell in touched)

    def _keeps(self, cell: _GivenCell, renaming: Renaming) -> bool:
        """Whether the renamed cell holds the renamed value."""
        target = self._given[cell.name, renamed_key(cell.keys, cell.index, renaming)]
        return target.code == renamed_value(cell.value, cell.code, renaming)

    # Cosets ---------------------------------------------------------------------------------------------------

    def _cosets(self) -> Iterator[Renaming]:
        """The renamings that map each class onto one of its size, in order, and change no given constant.

        Assigns class after class, and goes back as soon as a given cell whose elements are all assigned would change.
        """
        images = {sort: [UNASSIGNED] * size for sort, size in self.sizes.items()}
        chosen: list[int] = []
        candidate, tries, count = 0, 0, 0
        while True:
            if len(chosen) == len(self.classes):
                count += 1
                self._refuse(count > MOST_COSETS)
                yield {sort: tuple(targets) for sort, targets in images.items()}
            elif candidate < len(self.classes):
                tries += 1
                self._refuse(tries > MOST_TRIES)
                if candidate not in chosen and self._fits(self.classes[len(chosen)], self.classes[candidate], images):
                    chosen.append(candidate)
                    candidate = 0
                else:
                    candidate += 1
                continue
            if not chosen:
                return
            candidate = chosen.pop() + 1
            _assign(images, self.classes[len(chosen)], None)

    def _fits(self, source: ElementClass, target: ElementClass, images: dict[str, list[int]]) -> bool:
        """Whether a class may be mapped onto another after the assignments so far; if so, adds this one to them."""
        if source.sort != target.sort or len(source.members) != len(target.members):
            return False
        _assign(images, source, target)
        for member in source.members:
            for cell in self._mentions.get((source.sort, member), []):
                assigned = all(images[sort][element] != UNASSIGNED for sort, element in cell.elements)
                if assigned and not self._keeps(cell, images):
                    _assign(images, source, None)
                    return False
        return True

    def _refuse(self, condition: bool) -> None:
        if condition:
            sizes = ", ".join(f"{size} of {name}" for name, size in self.sizes.items())
            raise UsageError(
                f"scope {self.layout.scope.name}: its given constants leave too many renamings of its elements "
                f"({sizes}) to try them one by one; use a smaller scope, or search without symmetry"
            )


def _assign(images: dict[str, list[int]], source: ElementClass, target: ElementClass | None) -> None:
    """Map a class onto another, in order; None takes the assignment back."""
    for place, member in enumerate(source.members):
        images[source.sort][member] = UNASSIGNED if target is None else target.members[place]


def permuted(identity: Renaming, images: Mapping[ElementClass, tuple[int, ...]]) -> Renaming:
    """The renaming that maps the members of each class onto the elements given for it, in order."""
    found = {sort: list(elements) for sort, elements in identity.items()}
    for each, targets in images.items():
        for member, target in zip(each.members, targets, strict=True):
            found[each.sort][member] = target
    return {sort: tuple(elements) for sort, elements in found.items()}


def composed(first: Renaming, second: Renaming) -> Renaming:
    """The renaming that renames by ``first``, then by ``second``."""
    return {sort: tuple(second[sort][image] for image in images) for sort, images in first.items()}


def inverse(renaming: Renaming) -> Renaming:
    """The renaming that takes ``renaming`` back."""
    return {
        sort: tuple(list(images).index(element) for element in range(len(images))) for sort, images in renaming.items()
    }


def renamed_key(kinds: tuple[Key, ...], index: tuple[int, ...], renaming: Renaming) -> tuple[int, ...]:
    """The codes of a cell's keys, renamed."""
    return tuple(renamed_value(kind, code, renaming) for kind, code in zip(kinds, index, strict=True))


def renamed_code(layout: Layout, kind: Choice, code: int, renaming: Renaming) -> int:
    """The code of an argument, renamed."""
    if not isinstance(kind, MapType):
        return renamed_value(kind, code, renaming)
    digits = layout.digits(kind, code).items()
    renamed = {
        renamed_key(kind.keys, index, renaming): renamed_value(kind.value, digit, renaming) for index, digit in digits
    }
    return layout.code_of(kind, renamed)


def renamed_value(kind: Scalar, code: int, renaming: Renaming) -> int:
    """The code of a value, renamed."""
    match kind:
        case SortType(name):
            return renaming[name][code]
        case OptionalType(of):
            return 1 + renamed_value(of, code - 1, renaming) if code else 0
    return code
