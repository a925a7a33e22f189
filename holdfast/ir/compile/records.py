"""Translates records: values with named parts, such as messages.

A record is no value of the transition system. As a key, a parameter, a local or the variable of a loop it is several
ones, one for each part, in the order of its class. So ``Rel[Vote]`` is a relation over the parts of a vote.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import NoReturn

from holdfast.ir.compile.annotations import RecordType, Types, plain, resolve
from holdfast.ir.compile.context import Compiler, Env, Meaning, RecordValue
from holdfast.ir.compile.conversions import fit, plain_if_known
from holdfast.ir.compile.map_parameters import map_parameter
from holdfast.ir.compile.source import Module, excerpt
from holdfast.ir.expr import And, Compare, Expr, IsNone, Name, Not, Or, Unwrap
from holdfast.ir.names import UniqueName, source_name
from holdfast.ir.system import Param
from holdfast.ir.types import Key, OptionalType, Plain


def named(compiler: Compiler, node: ast.expr, env: Env) -> RecordValue | None:
    """The record that a name or a call stands for, or None if it is something else."""
    match node:
        case ast.Name(id=name):
            found = env.names.get(name)
            return found if isinstance(found, RecordValue) else None
        case ast.Call(func=ast.Name() | ast.Attribute() as func):
            kind = record_type(compiler.context.types, func, env)
            return None if kind is None else _made(compiler, kind, node, env)
    return None


def record_type(types: Types, node: ast.expr, env: Env) -> RecordType | None:
    """The type that a name of the module declares as a record, or None."""
    root = node
    while isinstance(root, ast.Attribute):
        root = root.value
    if not isinstance(root, ast.Name) or root.id in env.names or root.id in env.states:
        return None
    known = root.id in env.module.names
    return types.record(resolve(node, env.module), env.module, node) if known else None


def _made(compiler: Compiler, kind: RecordType, node: ast.Call, env: Env) -> RecordValue:
    """``Vote(n, m, term=t)``."""
    given: dict[str, ast.expr] = dict(zip(kind.names, node.args, strict=False))
    for word in node.keywords:
        if word.arg is None or word.arg in given or word.arg not in kind.names:
            env.module.refuse(node, f"{kind} cannot take {word.arg or '**'}", "give each part once")
        given[word.arg] = word.value
    if len(node.args) > len(kind.names) or len(given) != len(kind.names):
        env.module.refuse(node, f"{kind} has the parts {', '.join(kind.names)}", "give each of them")
    values = {
        name: fit(compiler.expression(value, env), kind.part(name), value, env, what=f"{kind}.{name}")
        for name, value in given.items()  # in the order of the source, as Python computes them
    }
    return RecordValue(kind, tuple(values[name] for name in kind.names))


def part(found: RecordValue, node: ast.Attribute, env: Env) -> Expr:
    """``m.term``: a part of a record."""
    if node.attr not in found.kind.names:
        parts = ", ".join(found.kind.names)
        env.module.refuse(node, f"{found.kind} has no part {node.attr}", f"it has: {parts}")
    return known(found, node.value, env).parts[found.kind.names.index(node.attr)]


def known(found: RecordValue, node: ast.expr, env: Env) -> RecordValue:
    """The record, of which a test has shown that it is not None."""
    if not found.optional:
        return found
    parts = tuple(plain_if_known(each, env) for each in found.parts)
    if any(isinstance(each.type, OptionalType) for each in parts):
        remedy = f"test it in the same condition or branch: `{excerpt(node)} is not None`"
        env.module.refuse(node, "this may be None here", remedy)
    return RecordValue(found.kind, parts)


def is_none(found: RecordValue) -> Expr:
    """Whether a record is None: all its parts are. Where this fails, each part is known not to be None."""
    return Or(tuple(IsNone(each) for each in found.parts))


def refuse_whole(found: RecordValue, node: ast.AST, env: Env) -> NoReturn:
    """Refuse a record where a single value is needed."""
    first = found.kind.names[0]
    env.module.refuse(node, f"{found.kind} is a record, and no single value", f"name a part, such as .{first}")


def of_kind(compiler: Compiler, kind: RecordType, node: ast.expr, env: Env, *, optional: bool = False) -> RecordValue:
    """An expression as a record of a type. ``optional``: whether it may be None."""
    found = compiler.record(node, env)
    if found is None or found.kind != kind:
        env.module.refuse(node, f"this is no {kind}", f"write {kind}({', '.join(kind.names)})")
    return found if optional else known(found, node, env)


def equal(compiler: Compiler, one: RecordValue, node: ast.expr, env: Env) -> Expr:
    """``m == Vote(n, k, t)``: all parts are equal. As in Python, None differs from every record."""
    two = of_kind(compiler, one.kind, node, env, optional=True)
    if one.optional == two.optional:
        return And(tuple(Compare("==", left, right) for left, right in zip(one.parts, two.parts, strict=True)))
    held, other = (one, two) if one.optional else (two, one)
    alike: list[Expr] = []
    for mine, value in zip(held.parts, other.parts, strict=True):
        assert isinstance(mine.type, OptionalType)
        compiler.check_eager(value, node, env)  # it is compared only if the other one is not None
        alike += [Not(IsNone(mine)), Compare("==", Unwrap(mine, mine.type.of), value)]
    return And(tuple(alike))


Variables = tuple[tuple[str, Key], ...]
"""New names and their types."""


def variables(compiler: Compiler, kind: Key | RecordType, name: str) -> Variables:
    """The names that stand for a variable: itself, or one for each part of a record."""
    if not isinstance(kind, RecordType):
        return ((compiler.fresh(name), kind),)
    # Messages show the source's name of a part: ``m.term``.
    parts = ((UniqueName(f"{name}_{part}", f"{name}.{part}"), key) for part, key in kind.keys)
    return tuple((compiler.fresh(each), key) for each, key in parts)


def value_of(kind: Key | RecordType, variables: Sequence[tuple[str, Plain]]) -> Expr | RecordValue:
    """The value of a variable that these names stand for."""
    parts = tuple(Name(name, key) for name, key in variables)
    return RecordValue(kind, parts) if isinstance(kind, RecordType) else parts[0]


def parameter(compiler: Compiler, arg: ast.arg, module: Module) -> tuple[tuple[Param, ...], Meaning]:
    """A parameter of a method: one of the system, or one for each part of a record; and its meaning."""
    assert arg.annotation is not None, "a method with such a parameter is refused"
    types = compiler.context.types
    whole = types.record_named(arg.annotation, module)
    if whole is None:
        found = map_parameter(arg.arg, arg.annotation, module, types)
        if found is not None:
            return (Param(arg.arg, found.kind),), found
        kind = plain(arg.annotation, module, types, f"the parameter {arg.arg}")
        return (Param(arg.arg, kind),), Name(arg.arg, kind)
    names = tuple((UniqueName(f"{arg.arg}_{part}", f"{arg.arg}.{part}"), key) for part, key in whole.parts)
    return tuple(Param(name, key, whole.name) for name, key in names), value_of(whole, names)


def check_distinct(params: Sequence[Param], node: ast.AST, module: Module, what: str) -> None:
    """Refuse a parameter that has the name of a part of another one."""
    names = [param.name for param in params]
    for param in params:
        if names.count(param.name) > 1 and param.record is not None:
            problem = f"{source_name(param.name)} is called {param.name}, and so is another parameter"
            module.refuse(node, problem, "rename one", what)
