"""The values that an expression may have, and whether one of them is a computed number.

A computed number may lie beyond the bounds of its Nat or Int. Its type ``NumberType`` shows this. But an Optional that
holds the number has the same type as any other Optional, and unwrapping it gives the plain type. So the compiler looks
at the values that an expression may have, and not at its type.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeGuard

from holdfast.ir.expr import (
    ZERO,
    And,
    Compare,
    Expr,
    IfElse,
    Lit,
    Name,
    Read,
    Unwrap,
    Wrap,
    children,
    is_last,
)
from holdfast.ir.names import UniqueName, length_name, source_name
from holdfast.ir.stmt import Let, Stmt, statements
from holdfast.ir.types import NatType, NumberType

Locals = Mapping[str, Expr]
"""The value of each local, by the local's unique name."""


def locals_of(body: Iterable[Stmt]) -> Locals:
    """The locals of a body."""
    return {stmt.name: stmt.value for stmt in statements(tuple(body)) if isinstance(stmt, Let)}


def results(expr: Expr, locals_: Locals) -> Iterator[Expr]:
    """The expressions that may give an expression its value: literals, cells, parameters and computations.

    The function looks through ``Wrap``, ``Unwrap``, both branches of a choice, and locals (each local once).
    """
    seen: set[str] = set()
    waiting = [expr]
    while waiting:
        match waiting.pop():
            case Wrap(arg=arg) | Unwrap(arg=arg):
                waiting.append(arg)
            case IfElse(then=then, orelse=orelse):
                waiting += [orelse, then]
            case Name(name=name) if name in locals_:
                if name not in seen:
                    seen.add(name)
                    waiting.append(locals_[name])
            case source:
                yield source


def is_computed(expr: Expr, locals_: Locals) -> bool:
    """Whether an expression may have a computed number as its value, plain or in an Optional."""
    return any(isinstance(source.type, NumberType) for source in results(expr, locals_))


def is_loose_key(key: Expr, locals_: Locals) -> bool:
    """Whether a key may lie beyond its bound in some scope. A key that is a literal may not: a scope has to hold it."""
    if isinstance(key, Lit):
        return False
    return any(
        (isinstance(source.type, NumberType) and not is_last(source))
        or (isinstance(source, Lit) and isinstance(source.type, NatType) and source.value != 0)
        for source in results(key, locals_)
    )


def reads_computed_key(expr: Expr, locals_: Locals) -> bool:
    """Whether an expression reads a cell at a key that may lie beyond its bound, so that it may cut a step."""
    if is_guarded(expr):
        expr = expr.test
    if isinstance(expr, Read) and any(is_loose_key(key, locals_) for key in expr.keys):
        return True
    return any(reads_computed_key(part, locals_) for part in children(expr))


# Entries of sequences -----------------------------------------------------------------------------------------


def guarded(index: Expr, length: Read, cell: Read) -> IfElse:
    """The entry of a sequence at an index, or None where there is none. ``cell``: the cell at that index."""
    exists = And((Compare(">", length, index), Compare(">=", index, ZERO)))
    return IfElse(exists, cell, Lit(None, cell.type), cell.type)


def is_guarded(expr: Expr) -> TypeGuard[IfElse]:
    """Whether an expression is such an entry: its test has the keys of its cell, and the cell exists where it holds.

    For a length is at most the bound of the index, and only the compiler names a variable as the length of a sequence.
    """
    match expr:
        case IfElse(And((Compare(">", Read(UniqueName() as name, keys) as length, index), _)), Read() as cell):
            sequence = name.source
            same = (source_name(cell.var), cell.keys, cell.old) == (sequence, (*keys, index), length.old)
            return same and name == length_name(sequence) and expr == guarded(index, length, cell)
    return False
