"""The text of an expression in the model language, for messages and for suggestions to an author."""

from __future__ import annotations

from holdfast.ir.expr import (
    TRUE,
    And,
    Arithmetic,
    Compare,
    Expr,
    Fold,
    IfElse,
    Implies,
    IsNone,
    Lit,
    MapRead,
    Name,
    Not,
    Or,
    Quantified,
    Read,
    Ruled,
    Unwrap,
    Wrap,
    negate,
)
from holdfast.ir.types import EnumType, IntType, NatType

ATOM, COMPARISON, NOT, AND, OR, CHOICE = range(6)
"""Levels of binding, the tightest first. A part of an expression stands in brackets unless its level is tighter."""

OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}


def written(expr: Expr) -> str:
    """The text of an expression, without rule labels."""
    return _write(expr)[0]


def _write(expr: Expr) -> tuple[str, int]:  # noqa: C901 - one case for each kind of node
    """The text of an expression and its level of binding."""
    match expr:
        case Lit(value, kind):
            if isinstance(kind, EnumType):
                return f"{kind.name}.{value}", ATOM
            if isinstance(kind, NatType | IntType):
                return f"{kind.name}({value})", ATOM
            return str(value), ATOM
        case Name(name):
            return name, ATOM
        case Read(var, keys, old=old):
            state = "old" if old else "self"
            return f"{state}.{var}" + (f"[{', '.join(map(written, keys))}]" if keys else ""), ATOM
        case MapRead(arg, keys):
            return f"{arg.name}[{', '.join(map(written, keys))}]", ATOM
        case Unwrap(arg=arg) | Wrap(arg=arg) | Ruled(arg=arg):
            return _write(arg)
        case IsNone(arg):
            return f"{_within(arg, COMPARISON)} is None", COMPARISON
        case Not(IsNone(arg)):
            return f"{_within(arg, COMPARISON)} is not None", COMPARISON
        case Not(Compare(op, left, right)):
            return _write(Compare(OPPOSITE[op], left, right))  # type: ignore[arg-type]
        case Not(arg):
            return f"not {_within(arg, NOT)}", NOT
        case Compare(op, left, right):
            return f"{_within(left, COMPARISON)} {op} {_within(right, COMPARISON)}", COMPARISON
        case And(args):
            return " and ".join(_within(arg, AND) for arg in args), AND
        case Or(args):
            return " or ".join(_within(arg, OR) for arg in args), OR
        case Implies(left, right):
            return _write(Or((negate(left), right)))  # the language has no implication: `not a or b`
        case IfElse(test, then, orelse):
            return f"{_within(then, CHOICE)} if {_within(test, CHOICE)} else {_within(orelse, CHOICE)}", CHOICE
        case Quantified():
            return _quantified(expr), ATOM
        case Fold("count", var, domain, where):
            return f"count({written(where)} for {var} in {domain})", ATOM
        case Fold(kind, var, domain, where, value, default):
            condition = "" if where == TRUE else f" if {written(where)}"
            values = f"{written(value)} for {var} in {domain}{condition}"
            return f"sum({values})" if kind == "sum" else f"{kind}(({values}), default={written(default)})", ATOM
        case Arithmetic(op, args):
            if op in ("min", "max", "abs"):
                return f"{op}({', '.join(map(written, args))})", ATOM
            return f"({f' {op} '.join(_within(arg, COMPARISON) for arg in args)})", ATOM


def _within(expr: Expr, around: int) -> str:
    """The text of a part of an expression whose level is ``around``, in brackets if it needs them."""
    text, binds = _write(expr)
    # A part on the same level needs brackets, except where the operator is associative.
    return text if binds < around or (binds == around and binds in (AND, OR)) else f"({text})"


def _quantified(expr: Quantified) -> str:
    """``all(... for x in X for y in Y if ...)``: nested quantifiers of one kind become one comprehension."""
    generators: list[str] = []
    body: Expr = expr
    while isinstance(body, Quantified) and body.kind == expr.kind:
        generators.append(f"for {body.var} in {body.domain}")
        body = body.body
    where = ""
    # Under ``all`` an implication is a filter again; under ``any`` a filter is a part of the conjunction.
    if expr.kind == "all" and isinstance(body, Implies):
        where, body = f" if {written(body.left)}", body.right
    return f"{expr.kind}({written(body)} {' '.join(generators)}{where})"
