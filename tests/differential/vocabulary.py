"""The vocabulary of generated models: kinds of values, fields, helpers, and the Sight of a line in a body.

A kind is written as its annotation: ``Node``, ``Tick | None``. ``computed Tick`` is the kind of a number in Ticks that
may lie beyond every bound, so it is no key; ``computed`` alone has no unit. Every method of a model is generated from
this vocabulary, so that nearly all models are within the language.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from typing import TypeVar

import attrs

T = TypeVar("T")

BOOL, MODE, NODE, ITEM, TICK, GAP = "bool", "Mode", "Node", "Item", "Tick", "Gap"
ROLE, ERA = "Role", "Era"
"""A third Sort and a second Nat, for models that need more types."""
GAP_BOUNDS = (-2, 1)

HEADER = f'''\
"""A generated model."""
from __future__ import annotations
from enum import Enum
from typing import Self
from holdfast.lang import *
class Mode(Enum):
    A = "a"
    B = "b"
    C = "c"
class E(Enum):
    LATE = 1
    FAR = 2
class Node(Sort): ...
class Item(Sort): ...
class Tick(Nat): ...
class Gap(Int, lo={GAP_BOUNDS[0]}, hi={GAP_BOUNDS[1]}): ...
'''
"""The beginning of every model. ``Item`` and ``Node`` are Sorts, so a model has up to two symmetries."""


def optional(kind: str) -> str:
    """The kind with None."""
    return f"{kind} | None"


def is_optional(kind: str) -> bool:
    """Whether None is of this kind."""
    return kind.endswith(" | None")


def some(kind: str) -> str:
    """The kind without None."""
    return kind.removesuffix(" | None")


def computed(unit: str = "") -> str:
    """The kind of a number that need not fit a cell."""
    return f"computed {unit}".strip()


def is_computed(kind: str) -> bool:
    """Whether values of this kind are computed numbers."""
    return kind.startswith("computed")


def annotation(kind: str) -> str:
    """The kind as an annotation in a model."""
    return kind.removeprefix("computed").strip() or "int"


@attrs.frozen
class Words:
    """The types of a model besides bool, ``Mode`` and ``Gap``: its Sorts and its Nats."""

    sorts: tuple[str, ...] = (NODE, ITEM)
    nats: tuple[str, ...] = (TICK,)

    @property
    def keys(self) -> tuple[str, ...]:
        """The types of a map's keys and of a loop."""
        return (*self.sorts, *self.nats, MODE)

    @property
    def plain(self) -> tuple[str, ...]:
        """The types of a cell."""
        return (BOOL, MODE, *self.sorts, *self.nats, GAP)

    @property
    def units(self) -> tuple[str, ...]:
        """The types with an order and arithmetic."""
        return (*self.nats, GAP)


@attrs.frozen
class Field:
    """A state variable, or a constant that the scope gives."""

    name: str
    keys: tuple[str, ...]
    kind: str
    ghost: bool = False
    constant: bool = False
    given: bool = False

    @property
    def declaration(self) -> str:
        """The line that declares it."""
        keys = ", ".join(self.keys)
        if not self.keys:
            text = self.kind
        elif self.kind == BOOL:
            text = f"Rel[{keys}]"
        else:
            text = f"Map[{keys if len(self.keys) == 1 else f'tuple[{keys}]'}, {self.kind}]"
        return f"{self.name}: {f'Ghost[{text}]' if self.ghost else text}"


@attrs.frozen
class Touch:
    """A cell that a helper reads or writes. For each key: the helper's parameter that is the key, or None."""

    field: str
    keys: tuple[str | None, ...]


@attrs.frozen
class Helper:
    """A method without a decorator; ``returns`` is None for one that writes."""

    name: str
    params: tuple[tuple[str, str], ...]
    returns: str | None
    touches: tuple[Touch, ...] = ()
    writes: frozenset[str] = frozenset()
    ghost: bool = False
    """Whether it may read ghosts."""
    ruled: bool = False
    """Whether it holds a labelled condition, which no property may read."""
    ends: bool = False
    """Whether it may refuse, return early or fill, as no loop may."""


@attrs.frozen
class Local:
    """A parameter, a loop variable or a local; ``ghost`` if its value may come from a ghost."""

    kind: str
    ghost: bool = False


@attrs.frozen
class Sight:
    """The names and fields that a line may use, and the place of the line.

    ``known`` maps the texts of Optionals that are not None here to their kinds. ``held`` maps each field that an
    enclosing loop writes to the loop variables that must stand at certain positions of its key.
    """

    fields: tuple[Field, ...]
    helpers: tuple[Helper, ...] = ()
    flags: tuple[str, ...] = ()
    names: Mapping[str, Local] = attrs.field(factory=dict)
    known: Mapping[str, str] = attrs.field(factory=dict)
    held: Mapping[str, Mapping[int, str]] = attrs.field(factory=dict)
    writable: tuple[Field, ...] = ()
    receivers: tuple[str, ...] = ("self",)
    ghosts: bool = False
    ruled: bool = False
    in_loop: bool = False
    in_ghost: bool = False
    burnt: frozenset[str] = frozenset()
    """Names that hold a value on some path that leads here."""
    params: frozenset[str] = frozenset()
    """In a helper's body: its parameters that no other name hides."""

    def bind(self, name: str, kind: str, *, ghost: bool = False) -> Sight:
        """A Sight with one more name, which hides an older use of the name."""
        hidden = self.hiding({name})
        return attrs.evolve(hidden, names={**hidden.names, name: Local(kind, ghost)})

    def hiding(self, names: set[str]) -> Sight:
        """A Sight without these names and without facts that mention them."""
        known = {text: kind for text, kind in self.known.items() if not names & set(re.findall(r"\w+", text))}
        kept = {name: local for name, local in self.names.items() if name not in names}
        return attrs.evolve(self, names=kept, known=known, params=self.params - names)

    def touch(self, field: str, keys: Sequence[str]) -> Touch:
        """A cell with these keys, in terms of the helper's parameters."""
        return Touch(field, tuple(key if key in self.params else None for key in keys))

    def knowing(self, facts: Mapping[str, str]) -> Sight:
        """A Sight with more Optionals that are not None."""
        return attrs.evolve(self, known={**self.known, **facts})

    def after(self, written: frozenset[str] | set[str]) -> Sight:
        """A Sight without the facts that a write to these fields invalidates."""
        known = {
            text: kind for text, kind in self.known.items() if not written & set(re.findall(r"\bself\.(\w+)", text))
        }
        return attrs.evolve(self, known=known)

    def loop_variables(self) -> set[str]:
        """The loop variables that must stand in cells' keys; they may not be hidden."""
        return {name for at in self.held.values() for name in at.values()}


class Choices:
    """Draws all choices of a model from one seed, so that every seed gives an equally rich model."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance

    def below(self, number: int) -> int:
        """A number from 0 up to ``number - 1``."""
        return self._chance.randrange(number)

    def between(self, low: int, high: int) -> int:
        """A number from the first to the second, both included."""
        return low + self.below(high - low + 1)

    def one(self, options: Sequence[T]) -> T:
        """One of the options."""
        return options[self.below(len(options))]

    def weighted(self, options: Sequence[tuple[int, T]]) -> T:
        """One of the options, with these weights; an option of weight 0 is never drawn."""
        place = self.below(sum(weight for weight, _ in options))
        for weight, option in options:
            if place < weight:
                return option
            place -= weight
        raise AssertionError(options)

    def chance(self, percent: int) -> bool:
        """True in N percent of all calls."""
        return self.below(100) >= 100 - percent
