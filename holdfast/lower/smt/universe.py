"""Universes: the meaning of a system's types in formulas, with their elements, their order and their numbers.

Two universes share one translation. In the *unbounded* universe a sort has any number of elements. In a *sized*
universe each sort has N elements and each Nat has a greatest value; quantifiers are written out, and all values are bit
vectors.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import ClassVar

import attrs
import z3

from holdfast.ir.errors import Place
from holdfast.ir.system import System, Var
from holdfast.ir.types import BOOL, Key, MapType, NumberType, OptionalType, Scalar
from holdfast.ir.types import Plain as PlainType
from holdfast.lower.smt.symbols import Symbol, Symbols
from holdfast.lower.smt.values import (
    Maybe,
    Plain,
    Value,
    choice,
    conjunction,
    disjunction,
    implication,
    is_false,
    is_true,
    of_sort,
    same,
    truth,
)

Keys = Sequence[z3.ExprRef]

Reading = Callable[[Keys], Value]
"""The function of a variable in a symbolic state: from terms of the keys to the value."""


class NotFirstOrder(Exception):
    """No formula over sorts without a size expresses a part of the model; ``at`` is its place, once that is known."""

    def __init__(self, problem: str, at: Place | None = None) -> None:
        self.problem = problem
        self.at = at
        super().__init__(problem if at is None else f"{problem} ({at})")


class Universe(ABC):
    """The meaning of types, order and numbers in one Z3 context."""

    is_sized: ClassVar[bool] = False
    """Whether every type has a known number of values."""

    def __init__(self, system: System) -> None:
        self.system = system
        self.ctx = z3.Context()
        self.symbols = Symbols(self.ctx)
        self.true = truth(True, self.ctx)
        self.false = truth(False, self.ctx)
        self.definitions: dict[str, z3.QuantifierRef] = {}
        """The definitions of the symbols that stand for minima and maxima, by the name of the symbol."""

    # Types ----------------------------------------------------------------------------------------------------

    @abstractmethod
    def sort(self, kind: PlainType | NumberType) -> z3.SortRef:
        """The Z3 sort of a type's values."""

    @abstractmethod
    def number(self, value: int, sort: z3.SortRef) -> z3.ExprRef:
        """The term of a number in a sort."""

    @abstractmethod
    def elements(self, kind: Key) -> list[z3.ExprRef] | None:
        """All elements of a type; None if the universe does not fix their number."""

    @abstractmethod
    def within(self, value: z3.ExprRef, kind: PlainType) -> z3.BoolRef:
        """The formula that a term of the type's Z3 sort is a value of the type."""

    @abstractmethod
    def less(self, left: z3.ExprRef, right: z3.ExprRef) -> z3.BoolRef:
        """The formula that ``left`` is strictly less than ``right``."""

    @abstractmethod
    def axioms(self) -> list[z3.BoolRef]:
        """The axioms of the sorts."""

    @abstractmethod
    def bind(self, kind: Key, stem: str, body: Callable[[z3.ExprRef], z3.BoolRef], *, every: bool) -> z3.BoolRef:
        """The quantified formula that ``body`` holds for every element (``every``) or for some, without a size."""

    @abstractmethod
    def best(self, kind: Key, stem: str, beats: Callable[[z3.ExprRef, z3.ExprRef], z3.BoolRef]) -> z3.ExprRef:
        """An element of a type without a size that beats every element. The caller ensures that there is one."""

    # Symbols --------------------------------------------------------------------------------------------------

    @abstractmethod
    def function(self, symbol: Symbol, keys: tuple[Key, ...], kind: PlainType) -> Callable[[Keys], z3.ExprRef]:
        """A free function from keys to values of a type."""

    @abstractmethod
    def facts(self, symbol: Symbol, keys: tuple[Key, ...], kind: PlainType) -> list[z3.BoolRef]:
        """The facts that the free function has values of its type."""

    def constant(self, symbol: Symbol, kind: PlainType) -> z3.ExprRef:
        """A free constant. The caller has to add the condition ``within`` of its type."""
        return self.function(symbol, (), kind)(())

    def variable(self, var: Var, mark: str) -> Reading:
        """A variable of the system as a free function; ``mark`` distinguishes the states."""
        here = field(var, mark)
        return self.reading(here, some_of(here), var.keys, var.value)

    def whole_map(self, symbol: Symbol, kind: MapType) -> Reading:
        """A parameter that is a whole map as a free function."""
        return self.reading(symbol, some_of_map(symbol), kind.keys, kind.value)

    def reading(self, here: Symbol, there: Symbol, keys: tuple[Key, ...], kind: Scalar) -> Reading:
        """A free function from keys to values. With Optional values it is two: whether there is one, and the value."""
        if not isinstance(kind, OptionalType):
            return self.function(here, keys, kind)
        some, value = self.function(there, keys, BOOL), self.function(here, keys, kind.of)

        def read(keys: Keys) -> Maybe:
            found = some(keys)
            assert isinstance(found, z3.BoolRef)
            return Maybe(found, value(keys))

        return read

    def typed(self, var: Var, mark: str) -> list[z3.BoolRef]:
        """The facts that a variable of the system has values of its type."""
        return self.reading_facts(field(var, mark), var.keys, var.value)

    def reading_facts(self, here: Symbol, keys: tuple[Key, ...], kind: Scalar) -> list[z3.BoolRef]:
        """The facts that the function of ``reading`` has values of its type."""
        return self.facts(here, keys, kind.of if isinstance(kind, OptionalType) else kind)

    # Values ---------------------------------------------------------------------------------------------------

    def quantified(self, kind: Key, stem: str, body: Callable[[z3.ExprRef], z3.BoolRef], *, every: bool) -> z3.BoolRef:
        """The formula that ``body`` holds for every element of a type (``every``), or for some."""
        listed = self.elements(kind)
        if listed is None:
            return self.bind(kind, stem, body, every=every)
        parts: list[z3.BoolRef] = []
        for element in listed:
            parts.append(body(element))
            # Translation stops at the first part that decides the result: the parts after it may make no sense.
            if (is_false if every else is_true)(parts[-1]):
                break
        return (conjunction if every else disjunction)(parts, self.ctx)

    def settled(self, value: Plain, kind: PlainType | NumberType) -> z3.ExprRef:
        """A value as a term of the type's Z3 sort. Raises NotFirstOrder if it has another sort."""
        sort = self.sort(kind)
        if isinstance(value, int):
            return self.number(value, sort)
        if not of_sort(value, sort):
            raise NotFirstOrder(f"a value of {value.sort()} meets one of {sort}")
        return value

    def paired(self, left: Plain, right: Plain) -> tuple[z3.ExprRef, z3.ExprRef]:
        """Two values as terms of one sort. Raises NotFirstOrder if their sorts differ."""
        known = next((side for side in (left, right) if not isinstance(side, int)), None)
        sort = self.sort(NumberType()) if known is None else known.sort()
        one, two = (self.number(side, sort) if isinstance(side, int) else side for side in (left, right))
        if not (of_sort(one, sort) and of_sort(two, sort)):
            raise NotFirstOrder(f"a value of {one.sort()} meets one of {two.sort()}")
        return one, two

    def equal(self, left: Value, right: Value) -> z3.BoolRef:
        """Equality; two Optionals are equal if both are None, or both have values and these are equal."""
        if isinstance(left, Maybe) and isinstance(right, Maybe):
            both = same(left.some, right.some)
            # If one side is always None, the other side must be None, too: there are no values to compare.
            if left.value is None or right.value is None:
                return both
            return conjunction([both, implication(left.some, self.equal(left.value, right.value))], self.ctx)
        assert not isinstance(left, Maybe)
        assert not isinstance(right, Maybe)
        return truth(left == right, self.ctx) if _known(left, right) else same(*self.paired(left, right))

    def chosen(self, test: z3.BoolRef, then: Value, orelse: Value) -> Value:
        """One of two values of one type."""
        if is_true(test) or is_false(test):
            # The value that is not chosen may make no sense.
            return then if is_true(test) else orelse
        if isinstance(then, Maybe) and isinstance(orelse, Maybe):
            some = choice(test, then.some, orelse.some)
            assert isinstance(some, z3.BoolRef)
            if then.value is None or orelse.value is None:
                return Maybe(some, orelse.value if then.value is None else then.value)
            value = self.chosen(test, then.value, orelse.value)
            assert not isinstance(value, Maybe)
            return Maybe(some, value)
        assert not isinstance(then, Maybe)
        assert not isinstance(orelse, Maybe)
        return then if _known(then, orelse) and then == orelse else choice(test, *self.paired(then, orelse))


def _known(left: Plain, right: Plain) -> bool:
    return isinstance(left, int) and isinstance(right, int)


def field(var: Var, mark: str) -> Symbol:
    """The symbol of a variable's values in a state."""
    return Symbol("field", (var.name,), mark)


def some_of(values: Symbol) -> Symbol:
    """The symbol that says where an Optional variable is not None, for the symbol of its values."""
    return attrs.evolve(values, role="some")


def some_of_map(values: Symbol) -> Symbol:
    """The same for a parameter that is a whole map. Its role is a part of the name: a variable may have its name."""
    return attrs.evolve(values, role="some", parts=(values.role, *values.parts))
