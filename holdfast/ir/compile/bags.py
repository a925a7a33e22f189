"""Translates what changes a bag: ``self.sent.add(m)``, ``self.sent.remove(m)``, ``self.sent.clear()``."""

from __future__ import annotations

import ast

from holdfast.ir.compile.context import Compiler, Env, StateField
from holdfast.ir.compile.source import excerpt
from holdfast.ir.expr import Arithmetic, Lit, Read
from holdfast.ir.stmt import Assign, Fill, Stmt
from holdfast.ir.types import INT, NatType, NumberType

WRITES = ("add", "remove", "clear")


def changed_bag(compiler: Compiler, call: ast.Call, name: str, field: StateField, env: Env) -> Stmt:
    """The statement for a method of the bag ``name``. More copies than the bound, or fewer than none, cut the step."""
    assert isinstance(call.func, ast.Attribute)
    assert isinstance(field.value, NatType)
    method, at = call.func.attr, env.module.place(call)
    wanted = 0 if method == "clear" else 1
    if len(call.args) != wanted or call.keywords:
        remedy = f"write self.{name}.{method}({'key' if wanted else ''})"
        env.module.refuse(call, f"{method} takes {wanted or 'no'} key", remedy)
    if method == "clear":
        return Fill(name, Lit(0, field.value), at)
    cell = ast.copy_location(ast.Subscript(call.func.value, call.args[0], ast.Load()), call)
    keys = compiler.keys(cell, field.shape, excerpt(call.func.value), env)
    copies = Arithmetic(
        "+" if method == "add" else "-", (Read(name, keys, field.value), Lit(1, INT)), NumberType(field.value.name)
    )
    return Assign(name, keys, copies, at)
