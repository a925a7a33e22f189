"""Translates fields that hold a record: ``last: Vote`` or ``Map[Node, Vote | None]``.

Such a field is a variable for each part. A statement writes all of them, so either all parts are None, or none is.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence

from holdfast.ir.compile.context import Compiler, Env, RecordValue, StateField
from holdfast.ir.compile.conversions import fit
from holdfast.ir.compile.records import of_kind, refuse_whole
from holdfast.ir.errors import Place
from holdfast.ir.expr import Expr, Lit, Name, Read, walk
from holdfast.ir.stmt import Assign, Fill, Let, Stmt
from holdfast.ir.types import NONE


def record_field(compiler: Compiler, node: ast.expr, env: Env) -> StateField | None:
    """The field of which an expression names the record or a cell, if it holds records."""
    target = node.value if isinstance(node, ast.Subscript) else node
    match target:
        case ast.Attribute(value=ast.Name(id=state), attr=name) if state in env.states:
            field = compiler.context.fields.get(name)
            return field if field is not None and field.kind.holds_record else None
    return None


def held(compiler: Compiler, node: ast.expr, env: Env) -> RecordValue | None:
    """The record that ``self.last`` or ``self.last[n]`` holds, or None if the expression is something else."""
    field = record_field(compiler, node, env)
    if field is None:
        return None
    keys, old = _place(compiler, field, node, env)
    assert field.kind.record is not None
    parts = tuple(Read(var, keys, kind, old) for var, kind in field.kind.cells(field.source.name).items())
    return RecordValue(field.kind.record, parts, field.kind.optional)


def refuse_held(compiler: Compiler, node: ast.expr, env: Env) -> None:
    """Refuse the record of a field where a single value is needed."""
    found = held(compiler, node, env)
    if found is not None:
        refuse_whole(found, node, env)


def _place(compiler: Compiler, field: StateField, node: ast.expr, env: Env) -> tuple[tuple[Expr, ...], bool]:
    """The keys of a cell, and whether it is read in the old state."""
    target = node.value if isinstance(node, ast.Subscript) else node
    assert isinstance(target, ast.Attribute)
    assert isinstance(target.value, ast.Name)
    name = target.attr
    if field.shape and not isinstance(node, ast.Subscript):
        env.module.refuse(node, f"{name} is a map", f"name a cell: {ast.unparse(node)}[...]")
    if not field.shape and isinstance(node, ast.Subscript):
        env.module.refuse(node, f"{name} is not a map", f"write {ast.unparse(target)}")
    keys = compiler.keys(node, field.shape, name, env) if isinstance(node, ast.Subscript) else ()
    return keys, env.states[target.value.id]


def assigned(
    compiler: Compiler, field: StateField, target: ast.expr, value: ast.expr | Expr, stmt: ast.stmt, env: Env
) -> list[Stmt]:
    """``self.last[n] = Vote(k, t)``."""
    if not isinstance(value, ast.expr):
        env.module.refuse(stmt, "a record stands in a tuple", "assign it on a line of its own")
    at = env.module.place(stmt)
    variables = field.kind.cells(field.source.name)
    made, parts = _settled(compiler, _parts(compiler, field, value, env), variables, at)
    keys, _ = _place(compiler, field, target, env)
    named, keys = _settled(compiler, keys, variables, at)
    return [*made, *named, *(Assign(var, keys, part, at) for var, part in zip(variables, parts, strict=True))]


def filled(compiler: Compiler, field: StateField, value: ast.expr, env: Env) -> list[Stmt]:
    """``self.last.fill(None)``."""
    at = env.module.place(value)
    variables = field.kind.cells(field.source.name)
    made, parts = _settled(compiler, _parts(compiler, field, value, env), variables, at)
    return [*made, *(Fill(var, part, at) for var, part in zip(variables, parts, strict=True))]


def _parts(compiler: Compiler, field: StateField, value: ast.expr, env: Env) -> Sequence[Expr]:
    """The values that the variables of a field get."""
    kind, what = field.kind.record, f"self.{field.source.name}"
    assert kind is not None
    cells = field.kind.cells(field.source.name).values()
    if isinstance(value, ast.Constant) and value.value is None:
        if not field.kind.optional:
            env.module.refuse(value, f"{what} needs {kind}, and this is None", f"declare it `{kind} | None`")
        return [fit(Lit(None, NONE), cell, value, env, what=what) for cell in cells]
    found = of_kind(compiler, kind, value, env, optional=field.kind.optional)
    return [fit(part, cell, value, env, what=what) for part, cell in zip(found.parts, cells, strict=True)]


def _settled(
    compiler: Compiler, exprs: Sequence[Expr], variables: Collection[str], at: Place
) -> tuple[list[Stmt], tuple[Expr, ...]]:
    """The expressions, under a name where they read one of the variables: the statements write these one by one."""
    made: list[Stmt] = []
    found: list[Expr] = []
    for expr in exprs:
        if any(isinstance(part, Read) and part.var in variables for part in walk(expr)):
            local: Name = compiler.local("part", expr)
            made.append(Let(local.name, expr, at))
            found.append(local)
        else:
            found.append(expr)
    return made, tuple(found)
