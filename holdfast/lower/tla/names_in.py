"""The names in statements: which variables they read and write, and which locals they bind."""

from __future__ import annotations

from collections.abc import Iterable

from holdfast.ir.expr import Fold, Quantified, Read, walk
from holdfast.ir.stmt import Assign, Fill, For, Let, Stmt, direct_expressions, expressions, statements


def written(body: Iterable[Stmt]) -> list[str]:
    """The variables that statements write, in the order of the first writes."""
    return list(dict.fromkeys(part.var for part in statements(tuple(body)) if isinstance(part, Assign | Fill)))


def bound_names(body: Iterable[Stmt]) -> list[str]:
    """The locals and bound variables of a body, in order."""
    found: list[str] = []
    for stmt in statements(tuple(body)):
        match stmt:
            case Let(name=name) | For(var=name):
                found.append(name)
        for expr in direct_expressions(stmt):
            found += [part.var for part in walk(expr) if isinstance(part, Quantified | Fold)]
    return found


def reads(body: Iterable[Stmt]) -> frozenset[str]:
    """The variables that statements read."""
    return frozenset(part.var for part in expressions(tuple(body)) if isinstance(part, Read))


def touched(body: Iterable[Stmt]) -> frozenset[str]:
    """The variables that statements read or write."""
    found = tuple(body)
    return reads(found) | frozenset(written(found))
