"""Removes dropped ghosts from an action's body.

Rules and ordinary variables never depend on a ghost: the compiler checks that. So a statement that reads a dropped
ghost can only serve dropped ghosts, and is removed with them.
"""

from __future__ import annotations

import attrs

from holdfast.ir.expr import Expr, Name, Read, Ruled, walk
from holdfast.ir.stmt import Assign, Fill, For, If, Let, Stmt, direct_expressions, statements


def prune(body: tuple[Stmt, ...], dropped: frozenset[str]) -> tuple[Stmt, ...]:
    """The body without the ghosts ``dropped``, and without statements that only serve them."""
    return _prune(body, dropped, set()) if dropped else body


def _prune(body: tuple[Stmt, ...], dropped: frozenset[str], lost: set[str]) -> tuple[Stmt, ...]:
    """``lost`` are the locals whose values came from dropped ghosts. The function adds to it as it goes along."""
    kept: list[Stmt] = []
    for stmt in body:
        reads = any(_reads(expr, dropped, lost) for expr in direct_expressions(stmt))
        match stmt:
            case Assign(var=var) | Fill(var=var) if var in dropped:
                continue
            case Let(name=name) if reads:
                lost.add(name)
                continue
            case If(test=test, then=then, orelse=orelse):
                then, orelse = _prune(then, dropped, lost), _prune(orelse, dropped, lost)
                if reads and not _writes((*then, *orelse)):
                    continue
                # A labelled ``if`` stays even without its effect: it still notes whether its rule is decisive.
                if then or orelse or isinstance(test, Ruled):
                    kept.append(attrs.evolve(stmt, then=then, orelse=orelse))
            case For(body=inner):
                inner = _prune(inner, dropped, lost)
                if inner:
                    kept.append(attrs.evolve(stmt, body=inner))
            case _:
                kept.append(stmt)
    return tuple(kept)


def _writes(body: tuple[Stmt, ...]) -> bool:
    return any(isinstance(stmt, Assign | Fill) for stmt in statements(body))


def _reads(expr: Expr, dropped: frozenset[str], lost: set[str]) -> bool:
    return any(
        (isinstance(part, Read) and part.var in dropped) or (isinstance(part, Name) and part.name in lost)
        for part in walk(expr)
    )
