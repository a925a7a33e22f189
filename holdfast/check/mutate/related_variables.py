"""The variables that a rule is about: two rules are related if they have one in common."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.ir.expr import Expr, Read, Ruled, walk
from holdfast.ir.stmt import Assign, Fill, If, Require, Stmt, direct_expressions, statements
from holdfast.ir.system import System


def touched(system: System, label: str) -> frozenset[str]:
    """The variables that a rule's condition reads, or that occur in the statements that it decides on."""
    return frozenset(
        name
        for action in (system.init, *system.actions)
        for stmt in statements(action.body)
        for name in _names_at(stmt, label)
    )


def _names_at(stmt: Stmt, label: str) -> Iterator[str]:
    if isinstance(stmt, Require) and stmt.label == label:
        yield from _reads(stmt.cond)
    if isinstance(stmt, If) and isinstance(stmt.test, Ruled) and stmt.test.label == label:
        yield from _reads(stmt.test)
        for inner in statements((*stmt.then, *stmt.orelse)):
            if isinstance(inner, Assign | Fill):
                yield inner.var
            for expr in direct_expressions(inner):
                yield from _reads(expr)


def _reads(expr: Expr) -> Iterator[str]:
    return (part.var for part in walk(expr) if isinstance(part, Read))
