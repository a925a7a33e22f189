"""Translates parameters that are whole maps or relations, such as a quorum: ``def decide(self, quorum: Rel[Node])``.

An action has an instance for each such map. ``self.colour.choose()`` in an ``@init`` method is a parameter too: there
is an initial state for each map.
"""

from __future__ import annotations

import ast

from holdfast.ir.compile.annotations import Types, resolve, unquote
from holdfast.ir.compile.context import Compiler, Env, MapValue, StateField
from holdfast.ir.compile.field_types import field_type
from holdfast.ir.compile.results import is_loose_key
from holdfast.ir.compile.source import Module, excerpt
from holdfast.ir.errors import Place
from holdfast.ir.expr import MapRead, Name
from holdfast.ir.marks import MARK
from holdfast.ir.stmt import Assign, For, Stmt
from holdfast.ir.system import Param
from holdfast.ir.types import MapType


def map_parameter(name: str, node: ast.expr, module: Module, types: Types) -> MapValue | None:
    """The parameter of that name, if its annotation is ``Rel[...]`` or ``Map[...]``."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        node = unquote(node, node.value, module)
    if not isinstance(node, ast.Subscript) or not isinstance(node.value, ast.Name | ast.Attribute):
        return None
    if getattr(resolve(node.value, module), MARK, None) not in ("rel", "map"):
        return None
    found = field_type(node, module, types)
    if found.index is not None:
        module.refuse(node, f"the parameter {name} would hold sequences", "take the values that the action needs")
    kind = MapType(found.keys, found.value)
    return MapValue(Name(name, kind), kind, found.shape)


def named_map(node: ast.expr, env: Env) -> MapValue | None:
    """The parameter that a name stands for, if it is a map."""
    found = env.names.get(node.id) if isinstance(node, ast.Name) else None
    return found if isinstance(found, MapValue) else None


def lookup(compiler: Compiler, found: MapValue, node: ast.Subscript, env: Env) -> MapRead:
    """``quorum[n]``. A computed key is refused: there is no bound for it to exceed, since nothing stores the map."""
    name = excerpt(node.value)
    keys = compiler.keys(node, found.shape, name, env)
    if any(is_loose_key(key, compiler.locals) for key in keys):
        remedy = f"write any({name}[x] for x in ... if x == ...)"
        env.module.refuse(node, f"a computed key of {name}, which is a parameter", remedy)
    return MapRead(found.name, keys, found.kind.value)


def chosen(compiler: Compiler, call: ast.Call, name: str, field: StateField, env: Env) -> tuple[Param, Stmt]:
    """``self.colour.choose()``: the parameter of the initial condition, and the loop that writes its values."""
    if not field.keys or field.kind.record is not None or field.index is not None or field.flag is not None:
        remedy = f"for a single value take a parameter: def begin(self, x: {field.kind.record or field.value})"
        env.module.refuse(call, f"{name} is no map or relation of single values", remedy)
    if call.args or call.keywords:
        env.module.refuse(call, "choose takes no value", "write .choose()")
    if compiler.fresh(name) != name:
        env.module.refuse(call, f"{name} is also the name of a parameter or local", "rename that one")
    kind = MapType(field.keys, field.value)
    return Param(name, kind), written_map(compiler, name, Name(name, kind), env.module.place(call))


def written_map(compiler: Compiler, field: str, source: Name, at: Place) -> Stmt:
    """The loop that writes a whole map, a parameter, to a field of its type."""
    assert isinstance(source.type, MapType)
    keys = tuple(Name(compiler.fresh("k"), key) for key in source.type.keys)
    body: Stmt = Assign(field, keys, MapRead(source, keys, source.type.value), at)
    for key, domain in zip(reversed(keys), reversed(source.type.keys), strict=True):
        body = For(key.name, domain, (body,), at)
    return body
