"""Constant folding. It removes the branches that flags and literals decide, so a variant has no dead branches."""

from __future__ import annotations

import attrs

from holdfast.ir.expr import (
    FALSE,
    TRUE,
    And,
    Expr,
    IfElse,
    Implies,
    IsNone,
    Lit,
    Not,
    Or,
    Quantified,
    Unwrap,
    Wrap,
    rebuild,
)
from holdfast.ir.stmt import Assign, Fill, For, If, Let, Require, Stmt, Within


def simplify(expr: Expr) -> Expr:
    """The expression with its constants folded.

    A ``Ruled`` stays even if its condition is constant, because its label must stay in the system.
    """
    expr = rebuild(expr, simplify)
    match expr:
        case Not(Lit(value)):
            return FALSE if value else TRUE
        case And(args):
            return _connective(args, neutral=TRUE, make=And)
        case Or(args):
            return _connective(args, neutral=FALSE, make=Or)
        case Implies(left, right):
            if left == FALSE or right == TRUE:
                return TRUE
            return right if left == TRUE else expr
        case IfElse(test, then, orelse):
            if isinstance(test, Lit):
                return then if test.value else orelse
        case IsNone(Lit(value)):
            return TRUE if value is None else FALSE
        case IsNone(Wrap()):
            return FALSE
        case Unwrap(Wrap(arg)):
            return arg
        case Quantified(body=Lit(_)):
            return expr.body  # no domain is empty, so a constant body is the value of the quantifier
    return expr


def _connective(args: tuple[Expr, ...], neutral: Lit, make: type[And] | type[Or]) -> Expr:
    """``And`` (neutral True) or ``Or`` (neutral False) of the args, flattened and without neutral parts."""
    kept: list[Expr] = []
    for arg in args:
        if arg == neutral:
            continue
        if isinstance(arg, Lit):
            # This constant decides the connective. The other parts have no effects, so they are dropped below.
            kept.append(arg)
            break
        kept.extend(arg.args if isinstance(arg, make) else (arg,))
    if not kept:
        return neutral
    if isinstance(kept[-1], Lit):
        return kept[-1]
    return kept[0] if len(kept) == 1 else make(tuple(kept))


def fold_body(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """The body with its expressions folded and its decided branches spliced in."""
    folded: list[Stmt] = []
    for stmt in body:
        match stmt:
            case Require():
                folded.append(attrs.evolve(stmt, cond=simplify(stmt.cond)))
            case Assign():
                keys = tuple(simplify(key) for key in stmt.keys)
                folded.append(attrs.evolve(stmt, keys=keys, value=simplify(stmt.value)))
            case Fill() | Let() | Within():
                folded.append(attrs.evolve(stmt, value=simplify(stmt.value)))
            case If():
                test = simplify(stmt.test)
                then, orelse = fold_body(stmt.then), fold_body(stmt.orelse)
                if isinstance(test, Lit):
                    folded.extend(then if test.value else orelse)
                elif then or orelse:
                    folded.append(attrs.evolve(stmt, test=test, then=then, orelse=orelse))
            case For():
                inner = fold_body(stmt.body)
                if inner:
                    folded.append(attrs.evolve(stmt, body=inner))
    return tuple(folded)
