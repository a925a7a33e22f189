"""Translates the ends of an order, the neighbours in a ring, and the number of elements of a type.

They need no nodes of their own. The last value of a Nat is its greatest one, and every lowering has a greatest value
over a type: a proof adds the axiom that no value is greater. So a claim about the last value is not vacuous there.
"""

from __future__ import annotations

import ast

from holdfast.ir.compile.builtin_remedies import of_length
from holdfast.ir.compile.context import Compiler, Env
from holdfast.ir.compile.conversions import plain_if_known, unit
from holdfast.ir.compile.sequences import sequence
from holdfast.ir.expr import TRUE, Arithmetic, Compare, Expr, Fold, IfElse, Lit, Name
from holdfast.ir.marks import MARK
from holdfast.ir.types import INT, EnumType, IntType, NatType, NumberType, Plain, SortType

ENDS = ("first", "last")
NEIGHBOURS = ("next", "previous")
ONE = Lit(1, INT)


def end(compiler: Compiler, node: ast.Attribute, kind: Plain, env: Env) -> Expr:
    """``Index.first`` or ``Index.last``: the least or the greatest value of a Nat or an Int."""
    match kind:
        case IntType(lo=lo, hi=hi):
            return Lit(lo if node.attr == "first" else hi, kind)
        case NatType():
            return Lit(0, kind) if node.attr == "first" else _last(compiler, kind)
    return env.module.refuse(node, f"{kind} has no order", "use a Nat: class Index(Nat)")


def neighbour(compiler: Compiler, node: ast.Attribute, env: Env) -> Expr:
    """``n.next`` or ``n.previous``: the neighbour of a value in its ring, around its end."""
    value = plain_if_known(compiler.expression(node.value, env), env)
    kind = _ring(compiler, value)
    if kind is None:
        env.module.refuse(node, f"{value.type} is no ring", "use a type that is declared as a ring: class Node(Ring)")
    last, first = _last(compiler, kind), Lit(0, kind)
    ahead = node.attr == "next"
    at_end = Compare("==", value, last if ahead else first)
    step = Arithmetic("+" if ahead else "-", (value, ONE), NumberType(kind.name))
    return IfElse(at_end, first if ahead else last, step, NumberType(kind.name))


def _ring(compiler: Compiler, value: Expr) -> NatType | None:
    """The ring that a value belongs to, also a computed one; None if it belongs to none."""
    rings = [made for cls, made in compiler.context.types.known.items() if getattr(cls, MARK, None) == "ring"]
    return next((ring for ring in rings if isinstance(ring, NatType) and unit(value.type) == ring.name), None)


def length(compiler: Compiler, node: ast.Call, env: Env) -> Expr:
    """``len(Node)``: the number of elements of a type. ``len(self.log[n])``: the length of a sequence."""
    of = sequence(compiler, node.args[0], env) if len(node.args) == 1 else None
    if of is not None:
        return of.length
    names = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
    if (
        len(node.args) != 1
        or not isinstance(node.args[0], ast.Name | ast.Attribute)
        or names & {*env.names, *env.states}
    ):
        env.module.refuse(node, *of_length(node.args[0] if node.args else None, compiler.context.fields))
    kind = compiler.domain(node.args[0], env)
    if isinstance(kind, EnumType):
        return Lit(len(kind.members), INT)
    if isinstance(kind, NatType):
        return Arithmetic("+", (_last(compiler, kind), ONE), INT)
    assert isinstance(kind, SortType), "a bool is no domain of its own"
    return _count(compiler, kind)


def remainder(args: tuple[Expr, ...], kind: NumberType, node: ast.AST, env: Env) -> Expr:
    """``x % 3``: the rest of a division by a constant above 0, which is never negative."""
    divisor = args[1]
    if not isinstance(divisor, Lit) or not isinstance(divisor.value, int) or divisor.value < 1:
        env.module.refuse(node, "a rest is taken by something else than a constant above 0", "write x % 3")
    return Arithmetic("%", args, kind)


def _last(compiler: Compiler, kind: NatType) -> Expr:
    var = compiler.fresh("last")
    return Fold("max", var, kind, TRUE, Name(var, kind), Lit(0, kind), NumberType(kind.name))


def _count(compiler: Compiler, kind: SortType) -> Expr:
    return Fold("count", compiler.fresh("each"), kind, TRUE, ONE, Lit(0, INT), INT)
