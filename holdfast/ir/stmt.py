"""Statements of the transition system: the body of an initial condition or an action.

A body runs top to bottom on a copy of the state, and later statements see earlier writes. There is no early return:
the compiler turns ``return`` into nested branches. The iterations of a loop are independent (the compiler checks this),
so a loop has the same result whether they run in order or all at once.
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from holdfast.ir.errors import Place
from holdfast.ir.expr import Expr, walk
from holdfast.ir.types import Key, NatType


@attrs.frozen
class Require:
    """If ``cond`` is false the action is refused and there is no transition. Never inside a loop."""

    cond: Expr
    label: str
    error: str | None
    at: Place


@attrs.frozen
class Assign:
    """Write one cell. A value beyond the cell's bound cuts the transition."""

    var: str
    keys: tuple[Expr, ...]
    value: Expr
    at: Place


@attrs.frozen
class Fill:
    """Write every cell of a variable with one value."""

    var: str
    value: Expr
    at: Place


@attrs.frozen
class Let:
    """Name a value; the name is assigned once."""

    name: str
    value: Expr
    at: Place


@attrs.frozen
class If:
    """Run ``then`` or ``orelse``. ``test`` may be ``Ruled``. A labelled effect has the test ``Ruled(label, True)``."""

    test: Expr
    then: tuple[Stmt, ...]
    orelse: tuple[Stmt, ...]
    at: Place


@attrs.frozen
class For:
    """Run ``body`` for every element of ``domain``."""

    var: str
    domain: Key
    body: tuple[Stmt, ...]
    at: Place


@attrs.frozen
class Within:
    """Cut the transition unless a value is within the bounds of its type. It stands before a computed key.

    It may stand in a loop, since it writes nothing. The source has no such statement: see ``compile.key_bounds``.
    ``pool``: the value is the number of members of this pool. Then the statement stands at the end of a body.
    """

    value: Expr
    type: NatType
    at: Place
    pool: str | None = None


Stmt = Require | Assign | Fill | Let | If | For | Within


def statements(body: tuple[Stmt, ...]) -> Iterator[Stmt]:
    """All statements of a body in the order of the source, each before the statements nested in it."""
    for stmt in body:
        yield stmt
        match stmt:
            case If(then=then, orelse=orelse):
                yield from statements(then)
                yield from statements(orelse)
            case For(body=inner):
                yield from statements(inner)


def direct_expressions(stmt: Stmt) -> tuple[Expr, ...]:
    """The expressions that stand in the statement itself, not in statements nested in it."""
    match stmt:
        case Require(cond=cond):
            return (cond,)
        case Assign(keys=keys, value=value):
            return (*keys, value)
        case Fill(value=value) | Let(value=value) | Within(value=value):
            return (value,)
        case If(test=test):
            return (test,)
        case For():
            return ()


def expressions(body: tuple[Stmt, ...]) -> Iterator[Expr]:
    """Every expression of a body, with all its parts."""
    for stmt in statements(body):
        for expr in direct_expressions(stmt):
            yield from walk(expr)


def is_check(stmt: Stmt) -> bool:
    """Whether a statement only looks at bounds of keys or of pools."""
    match stmt:
        case Within():
            return True
        case If(then=then, orelse=orelse):
            return bool(then or orelse) and all(map(is_check, (*then, *orelse)))
        case For(body=body):
            return bool(body) and all(map(is_check, body))
    return False
