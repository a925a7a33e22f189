"""Finds the values that may be outside the type of their cell, and writes the condition that they are inside."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from holdfast.ir.expr import (
    TRUE,
    Arithmetic,
    Compare,
    Expr,
    Fold,
    IfElse,
    Implies,
    IsNone,
    Lit,
    Name,
    Or,
    Unwrap,
    Wrap,
    conjunction,
    negate,
)
from holdfast.ir.types import BOOL, INT, IntType, NatType, NumberType, OptionalType, Plain, Scalar

Loose = Mapping[str, int | None]
"""The loose locals: they may hold a number that no cell of its type can hold, or an Optional of such a number.

Each has a lower bound of its value; None if no lower bound is known.
"""


def greatest(kind: NatType) -> Name:
    """The greatest value of a Nat, which a scope gives. Its name has a space, so no name of a model equals it."""
    return Name(f"greatest {kind.name}", INT)


def within(value: Expr, kind: Scalar, loose: Loose) -> Expr:
    """The condition that a cell of type ``kind`` can hold the value; TRUE if it always can."""
    plain = kind.of if isinstance(kind, OptionalType) else kind
    if not isinstance(plain, NatType | IntType) or not is_loose(value, loose):
        return TRUE
    match value:
        case IfElse(test, then, orelse):
            return either(test, within(then, kind, loose), within(orelse, kind, loose))
        case Wrap(arg):
            return within(arg, plain, loose)
        case Name(type=OptionalType()):
            return Or((IsNone(value), _number(Unwrap(value, plain), plain, loose)))
        case _:
            return _number(value, plain, loose)


def is_loose(value: Expr, loose: Loose) -> bool:
    """Whether the value may be a number that no cell of its type can hold."""
    match value:
        case Name(name):
            return name in loose
        case Wrap(arg) | Unwrap(arg):
            return is_loose(arg, loose)
        case IfElse(_, then, orelse):
            return is_loose(then, loose) or is_loose(orelse, loose)
        case Lit():
            # A scope may give a Nat any bound from 0 on, so only the literal 0 is always inside.
            return isinstance(value.type, NatType) and value.value != 0
        case _:
            return isinstance(value.type, NumberType)


def either(test: Expr, then: Expr, orelse: Expr) -> Expr:
    """The condition ``then`` if the test holds and ``orelse`` otherwise, in the shortest form."""
    if then == orelse:
        return then
    if orelse == TRUE:
        return Implies(test, then)
    if then == TRUE:
        return Implies(negate(test), orelse)
    return IfElse(test, then, orelse, BOOL)


def _number(value: Expr, kind: NatType | IntType, loose: Loose) -> Expr:
    """The condition that a number is within the bounds of its type, without the comparisons that always hold."""
    lowest = kind.lo if isinstance(kind, IntType) else 0
    highest = Lit(kind.hi, INT) if isinstance(kind, IntType) else greatest(kind)
    least = least_of(value, loose)
    found: list[Expr] = [] if least is not None and least >= lowest else [Compare(">=", value, Lit(lowest, INT))]
    found += [] if _is_bounded(value, kind, loose) else [Compare("<=", value, highest)]
    return conjunction(found)


def least_of(value: Expr, loose: Loose) -> int | None:
    """A lower bound of the value; None if none is known."""
    match value:
        case Lit(value=int(number)):
            return number
        case Name(name) if name in loose:
            return loose[name]
        case Wrap(arg) | Unwrap(arg):
            return least_of(arg, loose)
        case IfElse(_, then, orelse):
            return _lowest((then, orelse), loose)
        case Fold("min" | "max", value=of, default=default):
            return _lowest((of, default), loose)
        case Arithmetic("min", args):
            return _lowest(args, loose)
        case Arithmetic("max", args):
            # A lower bound of any one argument is a lower bound of the maximum.
            return max((part for part in (least_of(arg, loose) for arg in args) if part is not None), default=None)
        case Arithmetic("+", args):
            parts = [least_of(arg, loose) for arg in args]
            return None if None in parts else sum(part for part in parts if part is not None)
        case Arithmetic("abs" | "%") | Fold("count"):
            return 0
    if is_loose(value, loose):
        return None
    return value.type.lo if isinstance(value.type, IntType) else 0


def _lowest(args: Iterable[Expr], loose: Loose) -> int | None:
    parts = [least_of(arg, loose) for arg in args]
    known = [part for part in parts if part is not None]
    return min(known) if len(known) == len(parts) else None


def _is_bounded(value: Expr, kind: Plain, loose: Loose) -> bool:
    """Whether the value is never greater than the type allows."""
    match value:
        case Lit(value=int(number)):
            return number <= (kind.hi if isinstance(kind, IntType) else 0)
        case Arithmetic("min", args):
            return any(_is_bounded(arg, kind, loose) for arg in args)
        case Arithmetic("max", args):
            return all(_is_bounded(arg, kind, loose) for arg in args)
        case Fold("min" | "max", value=of, default=default):
            return _is_bounded(of, kind, loose) and _is_bounded(default, kind, loose)
        case _:
            return value.type == kind and not is_loose(value, loose)
