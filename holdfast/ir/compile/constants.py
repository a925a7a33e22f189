"""Constants of a module as values: numbers, truth values, members of an Enum, values of a Nat or Int."""

from __future__ import annotations

import ast
from enum import Enum

from holdfast.ir.compile.context import Context, Env
from holdfast.ir.expr import Expr, Lit
from holdfast.ir.marks import MARK
from holdfast.ir.types import BOOL, EnumType, IntType, NatType, NumberType


def constant(context: Context, node: ast.expr, name: str, env: Env) -> Expr | None:
    """The literal for a name of the module, or None if its value is not one of the language.

    Refuses a name that the method also assigns: in Python it is then a local in the whole method.
    """
    value = env.module.names.get(name)
    kind = type(value)
    found: Expr | None = None
    if isinstance(value, bool):
        found = Lit(value, BOOL)
    elif isinstance(value, int) and kind is int:
        found = Lit(value, NumberType())
    elif isinstance(value, Enum) or getattr(kind, MARK, None) in ("nat", "ring", "int"):
        found = _of_type(context, node, value, env)
    if found is not None and env.inlined and name in assigned(context.members[env.inlined[-1]].node):
        env.module.refuse(node, f"{name} is a local of this method", "give the local another name")
    return found


def _of_type(context: Context, node: ast.expr, value: object, env: Env) -> Expr | None:
    kind = context.types.of_class(type(value), env.module, node)
    if isinstance(kind, EnumType) and isinstance(value, Enum):
        return Lit(value.name, kind)
    if isinstance(kind, NatType | IntType) and isinstance(value, int):
        return typed_literal(int(value), kind, node, env)
    return None


def typed_literal(value: int, kind: NatType | IntType, node: ast.AST, env: Env) -> Lit:
    """A number of a type. Raises ModelError for one that the type cannot have in any scope."""
    lo, hi = (kind.lo, kind.hi) if isinstance(kind, IntType) else (0, None)
    if value < lo or (hi is not None and value > hi):
        env.module.refuse(node, f"{value} is outside {kind}", f"use {lo} to {'its bound' if hi is None else hi}")
    return Lit(value, kind, env.module.place(node))


def assigned(method: ast.AST) -> frozenset[str]:
    """The names that a method assigns. The variables of a comprehension are its own."""
    found: set[str] = set()
    waiting: list[ast.AST] = [method]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        skipped = node.target if isinstance(node, ast.comprehension) else None
        waiting += [child for child in ast.iter_child_nodes(node) if child is not skipped]
    return frozenset(found)
