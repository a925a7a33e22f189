"""Comparisons: ``==``, orders, ``in`` a tuple or a relation, and tests for None."""

from __future__ import annotations

import ast

from holdfast.ir.compile.context import Compiler, Env
from holdfast.ir.compile.conversions import comparable, plain_if_known
from holdfast.ir.compile.known_optionals import when_true
from holdfast.ir.compile.memberships import is_member
from holdfast.ir.compile.records import equal as same_parts
from holdfast.ir.compile.records import is_none
from holdfast.ir.compile.sequences import contains, equal, sequence
from holdfast.ir.compile.source import excerpt
from holdfast.ir.expr import And, Compare, CompareOp, Expr, IsNone, Not, Or, Unwrap
from holdfast.ir.types import BoolType, EnumType, NoneType, OptionalType, SortType

SIGNS: dict[type[ast.cmpop], CompareOp] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}
EQUALITIES: tuple[CompareOp, CompareOp] = ("==", "!=")


def comparison(compiler: Compiler, node: ast.Compare, env: Env) -> Expr:
    """A comparison, or several in a row: ``a <= b < c``."""
    parts: list[Expr] = []
    left = node.left
    for op, right in zip(node.ops, node.comparators, strict=True):
        part = _part(compiler, node, left, op, right, env)
        parts.append(part)
        env = env.knowing(when_true(part))
        left = right
    return parts[0] if len(parts) == 1 else And(tuple(parts))


def _part(compiler: Compiler, node: ast.Compare, left: ast.expr, op: ast.cmpop, right: ast.expr, env: Env) -> Expr:
    if isinstance(op, ast.Is | ast.IsNot):
        return _none_test(compiler, node, left, op, right, env)
    if isinstance(op, ast.In | ast.NotIn):
        held = sequence(compiler, right, env)
        if held is not None:
            inside = contains(compiler, held, left, env)
            return inside if isinstance(op, ast.In) else Not(inside)
        member = is_member(compiler, left, right, env)
        if member is not None:
            return member if isinstance(op, ast.In) else Not(member)
        if not isinstance(right, ast.Tuple) or not right.elts:
            env.module.refuse(node, "`in` needs a relation or a tuple", "write `x in self.rel` or `x in (A, B)`")
        # Python computes all values of the tuple, and the disjunction ends with the first that is equal.
        for each in right.elts[1:]:
            compiler.check_eager(compiler.expression(each, env), each, env)
        found: Expr = Or(tuple(_compared(compiler, node, left, "==", each, env) for each in right.elts))
        return found if isinstance(op, ast.In) else Not(found)
    return _compared(compiler, node, left, SIGNS[type(op)], right, env)


def _none_test(compiler: Compiler, node: ast.Compare, left: ast.expr, op: ast.cmpop, right: ast.expr, env: Env) -> Expr:
    if not (isinstance(right, ast.Constant) and right.value is None):
        env.module.refuse(node, "`is` compares with None only", "use ==")
    held = compiler.record(left, env)
    if held is not None and not held.optional:
        env.module.refuse(node, f"{excerpt(left)} is {held.kind}, never None", "drop the test")
    if held is not None:
        return is_none(held) if isinstance(op, ast.Is) else Not(is_none(held))
    arg = compiler.expression(left, env)
    if not isinstance(arg.type, OptionalType):
        env.module.refuse(node, f"{excerpt(left)} is {arg.type}, never None", "drop the test, or declare it `| None`")
    return IsNone(arg) if isinstance(op, ast.Is) else Not(IsNone(arg))


def _compared(
    compiler: Compiler, node: ast.Compare, left: ast.expr, sign: CompareOp, right: ast.expr, env: Env
) -> Expr:
    same = _same(compiler, left, right, env) if sign in EQUALITIES else None
    if same is not None:
        return same if sign == "==" else Not(same)
    one, two = compiler.expression(left, env), compiler.expression(right, env)
    if one.type == two.type and sign in EQUALITIES and isinstance(one.type, OptionalType):
        return Compare(sign, one, two)  # two Optionals of one type are compared directly
    one, two = plain_if_known(one, env), plain_if_known(two, env)
    if isinstance(one.type, NoneType) or isinstance(two.type, NoneType):
        env.module.refuse(node, "None is compared with an operator", "write `is None` or `is not None`")
    if sign in EQUALITIES:
        for optional, plain in ((one, two), (two, one)):
            if isinstance(optional.type, OptionalType) and _may_hold(optional.type, plain):
                compiler.check_eager(plain, node, env)  # it is compared only if the Optional is not None
                return _with_optional(sign, optional, one, two)
    for arg, text in ((one, left), (two, right)):
        if isinstance(arg.type, OptionalType):
            env.module.refuse(
                node,
                f"{excerpt(text)} may be None here",
                f"test it in the same condition or branch: `{excerpt(text)} is not None and ...`",
            )
        if sign not in EQUALITIES and isinstance(arg.type, SortType):
            env.module.refuse(node, f"{arg.type} is interchangeable: it has no order", "use ==, or a Nat beside it")
        if sign not in EQUALITIES and isinstance(arg.type, EnumType | BoolType):
            env.module.refuse(node, f"{arg.type} has no order ({excerpt(text)})", "use == or !=")
    if not comparable(one.type, two.type):
        env.module.refuse(node, f"{one.type} is compared with {two.type}", "compare values of one type")
    return Compare(sign, one, two)


def _same(compiler: Compiler, left: ast.expr, right: ast.expr, env: Env) -> Expr | None:
    """That two records or sequences are equal; None if the left side is neither."""
    whole = compiler.record(left, env)
    if whole is not None:
        return same_parts(compiler, whole, right, env)
    held = sequence(compiler, left, env)
    return None if held is None else equal(compiler, held, right, env)


def _may_hold(optional: OptionalType, plain: Expr) -> bool:
    """Whether a plain value is one that the Optional may hold."""
    return not isinstance(plain.type, OptionalType) and comparable(plain.type, optional.of)


def _with_optional(sign: CompareOp, optional: Expr, one: Expr, two: Expr) -> Expr:
    """``one == two`` or ``one != two``, of which one is an Optional. As in Python, None differs from every value."""
    assert isinstance(optional.type, OptionalType)
    held = Unwrap(optional, optional.type.of)
    compared = Compare(sign, held if one is optional else one, held if two is optional else two)
    if sign == "==":
        return And((Not(IsNone(optional)), compared))
    return Or((IsNone(optional), compared))
