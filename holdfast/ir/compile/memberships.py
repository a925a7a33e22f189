"""Translates the members of relations and bags: ``m in self.sent``, and ``for m in self.sent``."""

from __future__ import annotations

import ast

import attrs

from holdfast.ir.compile.annotations import RecordType
from holdfast.ir.compile.context import Compiler, Env, MapValue, StateField
from holdfast.ir.compile.map_parameters import named_map
from holdfast.ir.compile.records import Variables
from holdfast.ir.expr import ZERO, Compare, Expr, MapRead, Name, Read
from holdfast.ir.types import BOOL, Key


@attrs.frozen
class Membership:
    """The members of a relation or bag with one key. ``of``: the field, by its name, or the parameter."""

    kind: Key | RecordType
    of: str | MapValue
    old: bool = False
    field: StateField | None = None

    def test(self, variables: Variables) -> Expr:
        """Whether the value of a variable is a member."""
        keys = tuple(Name(name, key) for name, key in variables)
        if isinstance(self.of, MapValue):
            return MapRead(self.of.name, keys, BOOL)
        assert self.field is not None
        return _held(Read(self.of, keys, self.field.value, self.old))


def _held(cell: Expr) -> Expr:
    """Whether a cell says that its key is a member: it is True, or a number of copies above 0."""
    return cell if cell.type == BOOL else Compare(">", cell, ZERO)


def members(compiler: Compiler, node: ast.expr, env: Env) -> Membership | None:
    """The members that a loop or a comprehension visits, or None if it runs over a type."""
    found = _of_field(compiler, node, env)
    if found is not None and len(found[1].shape) == 1:
        name, field, old = found
        return Membership(field.shape[0], name, old, field)
    whole = named_map(node, env)
    if whole is not None and whole.kind.value == BOOL and len(whole.shape) == 1:
        return Membership(whole.shape[0], whole)
    return None


def _of_field(compiler: Compiler, node: ast.expr, env: Env) -> tuple[str, StateField, bool] | None:
    """The relation or bag that an expression names, and whether it is read in the old state."""
    match node:
        case ast.Attribute(value=ast.Name(id=state), attr=name) if state in env.states:
            field = compiler.context.fields.get(name)
            if field is None or field.kind.holds_record:
                return None
            if field.keys and (field.value == BOOL or field.kind.bag):
                return name, field, env.states[state]
    return None


def is_member(compiler: Compiler, node: ast.expr, of: ast.expr, env: Env) -> Expr | None:
    """``node in of``; None if ``of`` is no relation and no bag."""
    whole = named_map(of, env)
    if _of_field(compiler, of, env) is None and (whole is None or whole.kind.value != BOOL):
        return None
    cell = ast.copy_location(ast.Subscript(of, node, ast.Load()), node)
    return _held(compiler.expression(cell, env))
