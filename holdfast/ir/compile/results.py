"""Which values an expression may have, and whether one of them is a computed number.

A computed number may lie beyond the bounds of its type. Its own type says so (``NumberType``), but an Optional that
holds it has the type of any other Optional, and the type of what is unwrapped again is the plain one. So the compiler
looks at the values that an expression may have, and not at its type.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from holdfast.ir.expr import Expr, IfElse, Name, Unwrap, Wrap
from holdfast.ir.stmt import Let, Stmt, statements
from holdfast.ir.types import NumberType

Locals = Mapping[str, Expr]
"""The value of each local, by the name that is unique within its body."""


def locals_of(body: Iterable[Stmt]) -> Locals:
    """The locals of a body."""
    return {stmt.name: stmt.value for stmt in statements(tuple(body)) if isinstance(stmt, Let)}


def results(expr: Expr, locals_: Locals) -> Iterator[Expr]:
    """The literals, cells, parameters and computations that an expression may take its value from, each local once."""
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
    """Whether the value of an expression may be a computed number, also one that an Optional holds."""
    return any(isinstance(source.type, NumberType) for source in results(expr, locals_))
