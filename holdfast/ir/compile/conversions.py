"""Conversions of expressions to the type that is needed. An impossible conversion raises ModelError with the reason."""

from __future__ import annotations

import ast

from holdfast.ir.compile.context import Env
from holdfast.ir.expr import Expr, IfElse, Lit, Unwrap, Wrap
from holdfast.ir.types import (
    BoolType,
    EnumType,
    IntType,
    NatType,
    NoneType,
    NumberType,
    OptionalType,
    Scalar,
    SortType,
    Type,
)


def unit(kind: Type) -> str | None:
    """The unit of a number: the name of its Nat or Int. None for a bare number, and for a type without numbers."""
    match kind:
        case NatType(name) | IntType(name=name):
            return name
        case NumberType(of):
            return of
    return None


def comparable(one: Type, two: Type) -> bool:
    """Whether values of two types can be compared: the types are equal, or both are numbers without different units."""
    if one == two:
        return True
    numbers = NatType | IntType | NumberType
    if isinstance(one, numbers) and isinstance(two, numbers):
        return unit(one) is None or unit(two) is None or unit(one) == unit(two)
    return False


def plain_if_known(expr: Expr, env: Env) -> Expr:
    """The expression, unwrapped if it is an Optional that is known not to be None."""
    if isinstance(expr.type, OptionalType) and expr in env.known:
        return Unwrap(expr, expr.type.of)
    return expr


def fit(expr: Expr, target: Scalar, node: ast.AST, env: Env, what: str = "it") -> Expr:
    """The expression as a value of ``target``. Raises ModelError if it cannot be one.

    A computed number stays a number; the assignment checks its bound when it runs. ``what``: the value in the words of
    a message.
    """
    # For an Optional target the expression is not unwrapped: it would only be wrapped again.
    fitted = _fitted(expr if isinstance(target, OptionalType) else plain_if_known(expr, env), target)
    # A bare number such as ``0`` is refused: a literal names its type, as in ``Epoch(0)``.
    bare = fitted.arg if isinstance(fitted, Wrap) else fitted
    if fitted is not None and not (isinstance(bare, Lit) and isinstance(bare.type, NumberType)):
        return fitted
    if isinstance(expr.type, OptionalType) and expr.type.of == target:
        env.module.refuse(
            node,
            f"{what} needs {target}, and this may be None",
            "test it in the same condition or branch: `is not None`",
        )
    wanted = target.of if isinstance(target, OptionalType) else target
    remedy = f"write {wanted}({bare.value})" if isinstance(bare, Lit) else f"use a value of {target}"
    return env.module.refuse(node, f"{what} needs {target}, and this is {expr.type}", remedy)


def _fitted(expr: Expr, target: Type) -> Expr | None:
    """The expression as a value of ``target``, or None if it cannot be one."""
    if expr.type == target:
        return expr
    if isinstance(target, OptionalType):
        if isinstance(expr.type, NoneType):
            return Lit(None, target)
        inner = _fitted(expr, target.of)
        return None if inner is None else Wrap(inner, target)
    if isinstance(target, NatType | IntType) and isinstance(expr.type, NumberType) and comparable(expr.type, target):
        return expr
    if isinstance(target, NumberType) and comparable(expr.type, target):
        return expr
    return None


def choose(cond: Expr, left: Expr, right: Expr, node: ast.AST, env: Env) -> Expr:
    """``left if cond else right``, with both branches converted to one type: that of the left one if possible."""
    for one, other in ((left, right), (right, left)):
        target = _beside_none(other.type) if isinstance(one.type, NoneType) else one.type
        then, orelse = _fitted(left, target), _fitted(right, target)
        if then is not None and orelse is not None:
            kind = target if then.type == orelse.type else NumberType(unit(then.type) or unit(orelse.type))
            return IfElse(cond, then, orelse, kind)
    return env.module.refuse(node, f"one branch is {left.type}, the other {right.type}", "make both the same type")


def _beside_none(kind: Type) -> Type:
    """The type of a choice between None and a value of ``kind``."""
    plain = BoolType | EnumType | SortType | NatType | IntType
    return OptionalType(kind) if isinstance(kind, plain) else kind
