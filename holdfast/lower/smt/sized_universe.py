"""The universe of one size: N elements of each sort, a greatest value of each Nat, and bit vectors for all values.

An element is its number. All numbers are bit vectors of one width, called words, so that arithmetic is machine
arithmetic. Each cell of a variable is a Z3 constant of its own. If formulas are satisfiable here, a state of a scope
satisfies them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

import attrs
import z3

from holdfast.ir.system import System
from holdfast.ir.types import BoolType, EnumType, IntType, Key, NumberType, SortType
from holdfast.ir.types import Plain as PlainType
from holdfast.lower.smt.extent import width
from holdfast.lower.smt.symbols import Symbol
from holdfast.lower.smt.universe import Keys, Universe
from holdfast.lower.smt.values import choice, conjunction, is_false, is_true, same, truth


class SizedUniverse(Universe):
    """The universe with the sizes of a scope: the number of elements of a Sort, the greatest value of a Nat."""

    is_sized: ClassVar[bool] = True

    def __init__(self, system: System, sizes: Mapping[str, int]) -> None:
        super().__init__(system)
        self.sizes = dict(sizes)
        self.width = width(system, sizes)
        """The bits of a word: enough for the largest number that the system can compute."""
        self._word, self._truth = z3.BitVecSort(self.width, self.ctx), z3.BoolSort(self.ctx)
        self._words: dict[int, z3.ExprRef] = {}

    def codes(self, kind: PlainType) -> int:
        """The number of values of a type."""
        match kind:
            case BoolType():
                return 2
            case EnumType(members=members):
                return len(members)
            case IntType(lo=lo, hi=hi):
                return hi - lo + 1
            case SortType(name):
                return self.sizes[name]
            case _:
                return self.sizes[kind.name] + 1

    def sort(self, kind: PlainType | NumberType) -> z3.SortRef:
        return self._truth if isinstance(kind, BoolType) else self._word

    def number(self, value: int, sort: z3.SortRef) -> z3.ExprRef:
        assert sort.eq(self._word), f"a number is a word here, and no {sort}"
        return self.word(value)

    def word(self, value: int) -> z3.ExprRef:
        """A number as a word."""
        if value not in self._words:
            self._words[value] = z3.BitVecVal(value, self._word)
        return self._words[value]

    def elements(self, kind: Key) -> list[z3.ExprRef]:
        return [self.key(kind, code) for code in range(self.codes(kind))]

    def key(self, kind: Key, code: int) -> z3.ExprRef:
        """The value of a key that has a code."""
        return truth(bool(code), self.ctx) if isinstance(kind, BoolType) else self.word(code)

    def place(self, kinds: Sequence[Key], index: Sequence[int]) -> list[z3.ExprRef]:
        """The values of the keys of a cell."""
        return [self.key(kind, code) for kind, code in zip(kinds, index, strict=True)]

    def within(self, value: z3.ExprRef, kind: PlainType) -> z3.BoolRef:
        if isinstance(kind, BoolType):
            return self.true
        low = origin(kind)
        if z3.is_bv_value(value):
            return self.true if low <= value.as_signed_long() < low + self.codes(kind) else self.false
        return conjunction([value >= low, value < low + self.codes(kind)], self.ctx)

    def less(self, left: z3.ExprRef, right: z3.ExprRef) -> z3.BoolRef:
        if z3.is_bv_value(left) and z3.is_bv_value(right):
            return self.true if left.as_signed_long() < right.as_signed_long() else self.false
        return left < right

    def axioms(self) -> list[z3.BoolRef]:
        return []

    def bind(self, kind: Key, *_: object, **__: object) -> z3.BoolRef:
        raise AssertionError(f"{kind} has a size, so nothing is bound")

    def best(self, kind: Key, *_: object) -> z3.ExprRef:
        raise AssertionError(f"{kind} has a size, so its elements are compared one by one")

    # Cells ----------------------------------------------------------------------------------------------------

    def cell(self, symbol: Symbol, index: Sequence[int], kind: PlainType) -> z3.ExprRef:
        """The free constant that holds the code of a cell: a truth value, or as few bits as the codes need."""
        here = attrs.evolve(symbol, index=tuple(index))
        if isinstance(kind, BoolType):
            return self.symbols.constant(here, self._truth)
        return self.symbols.constant(here, z3.BitVecSort(max(1, (self.codes(kind) - 1).bit_length()), self.ctx))

    def function(self, symbol: Symbol, keys: tuple[Key, ...], kind: PlainType) -> Callable[[Keys], z3.ExprRef]:
        def value(index: Sequence[int]) -> z3.ExprRef:
            code = self.cell(symbol, index, kind)
            if isinstance(kind, BoolType):
                return code
            # The constant holds a code in few bits; formulas compute with the value, which is a word.
            wide = z3.ZeroExt(self.width - code.size(), code)
            return wide if origin(kind) == 0 else wide + origin(kind)

        ranges = [range(self.codes(key)) for key in keys]
        cells = {index: value(index) for index in itertools.product(*ranges)}

        def read(found: Keys, index: tuple[int, ...] = ()) -> z3.ExprRef:
            if len(index) == len(keys):
                return cells[index]
            key, kind, size = found[len(index)], keys[len(index)], self.codes(keys[len(index)])
            if is_true(key) or is_false(key):
                return read(found, (*index, int(is_true(key))))
            if z3.is_bv_value(key):
                # A key beyond the size has no cell. The step is cut in any case, so any cell will do.
                return read(found, (*index, max(0, min(key.as_signed_long(), size - 1))))
            # Nested choices over all codes of the key. The last code is the default and needs no test.
            term = read(found, (*index, size - 1))
            for code in reversed(range(size - 1)):
                term = choice(same(key, self.key(kind, code)), read(found, (*index, code)), term)
            return term

        return read

    def facts(self, symbol: Symbol, keys: tuple[Key, ...], kind: PlainType) -> list[z3.BoolRef]:
        read = self.function(symbol, keys, kind)
        indices = itertools.product(*(self.elements(key) for key in keys))
        found = [self.within(read(index), kind) for index in indices]
        return [fact for fact in found if not is_true(fact)]


def origin(kind: PlainType) -> int:
    """The value whose code is 0."""
    return kind.lo if isinstance(kind, IntType) else 0
