"""Types of the transition system: scalars only, and total maps from tuples of scalars to scalars.

Everything here is first-order, so that a value fits a few bits of a word, a Z3 sort and a TLA+ constant alike.
"""

from __future__ import annotations

import attrs

BUDGET = "budget"
"""A cut step names the type whose bound it met, or this: the budget of its action. No type has this name."""


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
    """The result of arithmetic: an integer without bounds, measured in ``of`` (a Nat or Int by name, or nothing)."""

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
"""What a parameter, or an Optional, can hold."""

Scalar = Plain | OptionalType
"""What a cell can hold."""

Key = EnumType | SortType | NatType
"""What can index a map, and what a loop can run over."""

Type = Scalar | NumberType | NoneType
"""What an expression can have."""

BOOL = BoolType()
INT = NumberType()
NONE = NoneType()
