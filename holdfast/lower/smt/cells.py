"""Translates between the formulas of a sized universe and the states of a scope: terms of cells, and their codes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import attrs
import z3

from holdfast.ir.system import Var
from holdfast.ir.types import BOOL, BoolType, EnumType, IntType, NatType, OptionalType, Scalar, SortType
from holdfast.lower.smt.sized_universe import SizedUniverse, origin
from holdfast.lower.smt.state import State
from holdfast.lower.smt.universe import field, some_of
from holdfast.lower.smt.values import Maybe, Value

Pins = list[tuple[z3.ExprRef, z3.ExprRef]]
"""Pairs of a Z3 constant and the value that it must have."""


@attrs.frozen(eq=False)
class CellTerm:
    """One cell of a state: its variable, the codes of its keys, and the term of its value."""

    var: Var
    index: tuple[int, ...]
    value: Value


def indices(universe: SizedUniverse, var: Var) -> Iterator[tuple[int, ...]]:
    """The codes of the keys of each cell of a variable, in the order of a layout."""
    return itertools.product(*(range(universe.codes(key)) for key in var.keys))


def cells_of(universe: SizedUniverse, variables: Sequence[Var], state: State) -> list[CellTerm]:
    """The cells of a state of formulas, in the order of a layout."""
    return [
        CellTerm(var, index, state.read(var.name, universe.place(var.keys, index)))
        for var in variables
        for index in indices(universe, var)
    ]


def pins(universe: SizedUniverse, var: Var, mark: str, index: tuple[int, ...], code: int) -> Pins:
    """The Z3 constants of a cell of a free state, each with its value when the cell holds ``code``.

    Code 0 of an Optional is None; code c + 1 is the value with code c. The value behind None is pinned to code 0.
    """
    kind, here = var.value, field(var, mark)
    if not isinstance(kind, OptionalType):
        return [_pin(universe.cell(here, index, kind), code)]
    there = _pin(universe.cell(some_of(here), index, BOOL), int(code > 0))
    return [there, _pin(universe.cell(here, index, kind.of), max(code - 1, 0))]


def _pin(cell: z3.ExprRef, code: int) -> tuple[z3.ExprRef, z3.ExprRef]:
    return cell, z3.BoolVal(bool(code), cell.ctx) if z3.is_bool(cell) else z3.BitVecVal(code, cell.sort())


def is_code(universe: SizedUniverse, kind: Scalar, value: Value, code: int) -> z3.BoolRef:
    """The formula that ``value``, of type ``kind``, has ``code``."""
    if isinstance(kind, OptionalType):
        assert isinstance(value, Maybe)
        if code == 0:
            return z3.Not(value.some)
        assert value.value is not None
        return z3.And(value.some, is_code(universe, kind.of, value.value, code - 1))
    assert not isinstance(value, Maybe)
    if isinstance(kind, BoolType):
        assert isinstance(value, z3.BoolRef)
        return value if code else z3.Not(value)
    return universe.settled(value, kind) == universe.word(code + origin(kind))


def codes_of(universe: SizedUniverse, kind: Scalar) -> int:
    """The number of codes of a type; an Optional has one more, for None."""
    return 1 + universe.codes(kind.of) if isinstance(kind, OptionalType) else universe.codes(kind)


def code_in(model: z3.ModelRef, kind: Scalar, value: Value) -> int:
    """The code that a value has in a model of Z3."""
    if isinstance(kind, OptionalType):
        assert isinstance(value, Maybe)
        if not z3.is_true(model.eval(value.some, model_completion=True)):
            return 0
        assert value.value is not None
        return 1 + code_in(model, kind.of, value.value)
    assert not isinstance(value, Maybe)
    if isinstance(value, int):
        return value - origin(kind)
    # ``model_completion``: a constant that the formulas leave open gets some value instead of none.
    found = model.eval(value, model_completion=True)
    return int(z3.is_true(found)) if isinstance(kind, BoolType) else found.as_signed_long() - origin(kind)


def given_value(kind: Scalar, code: int) -> bool | int | str | None:
    """The value of a code in the form that a scope gives constants in: an element of a sort is its number."""
    match kind:
        case OptionalType(of):
            return None if code == 0 else given_value(of, code - 1)
        case BoolType():
            return bool(code)
        case EnumType(members=members):
            return members[code]
        case IntType(lo=lo):
            return lo + code
        case SortType() | NatType():
            return code
