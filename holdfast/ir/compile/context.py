"""The context in which a body is compiled: the model's fields and methods, and the meaning of names at one point."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Protocol

import attrs

from holdfast.ir.compile.annotations import RecordType, Types
from holdfast.ir.compile.field_types import FieldType, Shape
from holdfast.ir.compile.known_optionals import Facts
from holdfast.ir.compile.source import Member, Module, SourceField
from holdfast.ir.expr import Expr, Name
from holdfast.ir.names import length_name
from holdfast.ir.types import Key, MapType, NatType, Scalar


@attrs.frozen
class RecordValue:
    """A record: a value for each part. If it is ``optional``, all parts are None together, or none of them."""

    kind: RecordType
    parts: tuple[Expr, ...]
    optional: bool = False


@attrs.frozen
class MapValue:
    """A parameter that is a whole map. ``shape``: its keys as they are written, where a record stands for several."""

    name: Name
    kind: MapType
    shape: Shape


Meaning = Expr | RecordValue | MapValue
"""What a name stands for."""


@attrs.frozen
class StateField:
    """A field as expressions see it. ``flag``: the value of a flag, or None for a variable."""

    kind: FieldType
    flag: bool | None
    source: SourceField

    @property
    def keys(self) -> tuple[Key, ...]:
        """The types of the keys of its variable."""
        return self.kind.keys

    @property
    def value(self) -> Scalar:
        """The type of its cells."""
        return self.kind.value

    @property
    def index(self) -> NatType | None:
        """The last key of a sequence, or None."""
        return self.kind.index

    @property
    def shape(self) -> Shape:
        """The keys as they are written."""
        return self.kind.shape


@attrs.frozen
class Context:
    """The data that all bodies of one model share."""

    types: Types
    fields: Mapping[str, StateField]
    members: Mapping[str, Member]
    labels: dict[str, tuple[Module, ast.AST]]
    """The place of each rule label. A label stands at one place of the source only."""

    @property
    def keys(self) -> dict[str, tuple[Key, ...]]:
        """The types of the keys of each variable."""
        lengths = {length_name(name): field.keys[:-1] for name, field in self.fields.items() if field.index is not None}
        return {var: field.keys for name, field in self.fields.items() for var in field.kind.cells(name)} | lengths

    @property
    def pools(self) -> dict[str, NatType]:
        """For each pool, the Nat whose bound is the greatest number of its members."""
        return {name: field.kind.most for name, field in self.fields.items() if field.kind.most is not None}


@attrs.frozen
class Env:
    """The meaning of names at one point of a body.

    ``states``: the names of states (``self``, ``old``); the value is True for the old state. ``names``: the expressions
    of parameters, locals and bound variables. ``known``: the Optionals that are not None here. ``inlined``: the helpers
    that are being expanded, to refuse recursion.
    """

    module: Module
    states: Mapping[str, bool]
    names: Mapping[str, Meaning]
    known: Facts
    inlined: tuple[str, ...] = ()

    def bind(self, name: str, expr: Meaning) -> Env:
        """The environment with one more name."""
        return attrs.evolve(self, names={**self.names, name: expr})

    def without(self, names: set[str]) -> Env:
        """The environment in which these names have no value."""
        return attrs.evolve(self, names={name: expr for name, expr in self.names.items() if name not in names})

    def check_free(self, node: ast.AST, name: str) -> None:
        """Refuse a value for the name of a state: in Python the name would no longer stand for the state."""
        if name in self.states:
            self.module.refuse(node, f"{name} is the state", "use another name")

    def knowing(self, facts: Facts) -> Env:
        """The environment with more Optionals known not to be None."""
        return attrs.evolve(self, known=self.known | facts)


class Compiler(Protocol):
    """The methods of ``Expressions`` that ``folds`` and ``helpers`` call. ``Expressions`` imports these two modules."""

    context: Context
    locals: dict[str, Expr]

    def expression(self, node: ast.expr, env: Env) -> Expr: ...

    def condition(self, node: ast.expr, env: Env) -> Expr: ...

    def test(self, node: ast.expr, env: Env) -> Expr: ...

    def record(self, node: ast.expr, env: Env) -> RecordValue | None: ...

    def fresh(self, name: str) -> str: ...

    def role(self, node: ast.expr, env: Env) -> object: ...

    def keys(self, node: ast.Subscript, shape: Shape, name: str, env: Env) -> tuple[Expr, ...]: ...

    def domain(self, node: ast.expr, env: Env) -> Key: ...

    def domain_or_record(self, node: ast.expr, env: Env) -> Key | RecordType: ...

    def check_eager(self, expr: Expr, node: ast.AST, env: Env) -> None: ...

    def local(self, name: str, value: Expr) -> Name: ...
