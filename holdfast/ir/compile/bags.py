"""Translates what changes a bag: ``self.sent.add(m)``, ``self.sent.remove(m)``, ``self.sent.clear()``.

A relation has no such methods; ``outside`` says what to write instead.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from holdfast.ir.compile.context import Compiler, Env, StateField
from holdfast.ir.compile.source import excerpt
from holdfast.ir.expr import Arithmetic, Lit, Read
from holdfast.ir.stmt import Assign, Fill, Stmt
from holdfast.ir.types import BOOL, INT, NatType, NumberType

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


def outside(fields: Mapping[str, StateField], call: ast.Call, env: Env) -> str:
    """What to write instead of a call that is no statement of the language."""
    match call:
        case ast.Call(ast.Attribute(ast.Attribute(ast.Name(state), field), name), args) if state in env.states:
            if field in fields and fields[field].keys and fields[field].value == BOOL:
                if name == "clear" and not args:
                    return f"write self.{field}.fill(False)"
                if name in ("add", "remove", "discard") and len(args) == 1:
                    key = args[0].elts if isinstance(args[0], ast.Tuple) else args
                    return f"write self.{field}[{', '.join(map(ast.unparse, key))}] = {name == 'add'}"
    return "call require, a helper of the model, or self.field.fill(value)"
