"""Types of the transition system: scalars only, and total maps from tuples of scalars to scalars.

All types are first-order, so a value maps to a few bits of a word, to an element of a Z3 sort, and to a TLA+ constant.
"""

from __future__ import annotations

import attrs

BUDGET = "budget"
"""A cut names the type whose bound the step exceeds. This name stands for the budget of the action instead.

No type has this name.
"""


@attrs.frozen
class BoolType:
    """Truth values."""

    def __str__(self) -> str:
        return "bool"


@attrs.frozen
class EnumType:
    """A fixed list of names, compared only for equality."""

    name: str
    members: tuple[str, ...]

    def __str__(self) -> str:
        return self.name


@attrs.frozen
class SortType:
    """Interchangeable elements: nothing but equality tells them apart. A scope gives their number."""

    name: str

    def __str__(self) -> str:
        return self.name


@attrs.frozen
class NatType:
    """A total order with a least element, 0. A scope gives the greatest value; a proof has none."""

    name: str

    def __str__(self) -> str:
        return self.name


@attrs.frozen
class IntType:
    """Integers ``lo`` to ``hi``, both included; the bounds belong to the model."""

    name: str
    lo: int
    hi: int

    def __str__(self) -> str:
        return self.name


@attrs.frozen
class NumberType:
    """The result of arithmetic: an integer without bounds. ``of``: its unit, the name of a Nat or Int, or None."""

    of: str | None = None

    def __str__(self) -> str:
        return f"a computed {self.of}" if self.of else "int"


@attrs.frozen
class OptionalType:
    """A value of ``of``, or None."""

    of: EnumType | SortType | NatType | IntType | BoolType

    def __str__(self) -> str:
        return f"{self.of} | None"


@attrs.frozen
class NoneType:
    """The type of a bare ``None`` before it meets an Optional."""

    def __str__(self) -> str:
        return "None"


Plain = BoolType | EnumType | SortType | NatType | IntType
"""The types of parameters with a single value, and of the values that an Optional holds."""

Scalar = Plain | OptionalType
"""The types of cells."""

Key = EnumType | SortType | NatType | BoolType
"""The types of map keys and of the domains of loops. A bool is one only as a part of a record."""


@attrs.frozen
class MapType:
    """A whole map, as the value of a parameter; a relation if ``value`` is bool. No cell holds such a value."""

    keys: tuple[Key, ...]
    value: Scalar

    def __str__(self) -> str:
        keys = ", ".join(map(str, self.keys))
        if isinstance(self.value, BoolType):
            return f"Rel[{keys}]"
        return f"Map[{keys if len(self.keys) == 1 else f'tuple[{keys}]'}, {self.value}]"


Choice = Plain | MapType
"""The types of parameters."""

Type = Scalar | NumberType | NoneType | MapType
"""The types of expressions. Only the name of a parameter has a MapType."""

BOOL = BoolType()
INT = NumberType()
NONE = NoneType()
