"""The values that an expression may have, and whether one of them is a computed number.

A computed number may lie beyond the bounds of its Nat or Int. Its type ``NumberType`` shows this. But an Optional that
holds the number has the same type as any other Optional, and unwrapping it gives the plain type. So the compiler looks
at the values that an expression may have, and not at its type.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from holdfast.ir.expr import Expr, IfElse, Name, Unwrap, Wrap
from holdfast.ir.stmt import Let, Stmt, statements
from holdfast.ir.types import NumberType

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
