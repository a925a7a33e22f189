"""What a body is compiled in: the model's fields and methods, and what names mean at one point."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Protocol

import attrs

from holdfast.ir.compile.annotations import Types
from holdfast.ir.compile.facts import Facts
from holdfast.ir.compile.source import Member, Module, SourceField
from holdfast.ir.expr import Expr
from holdfast.ir.types import EnumType, NatType, Scalar, SortType


@attrs.frozen
class StateField:
    """A field as expressions see it: a variable's shape, or a flag's value."""

    keys: tuple[SortType | NatType | EnumType, ...]
    value: Scalar
    flag: bool | None
    source: SourceField


@attrs.frozen
class Context:
    """What all bodies of one model share."""

    types: Types
    fields: Mapping[str, StateField]
    members: Mapping[str, Member]
    labels: dict[str, tuple[Module, ast.AST]]
    """Where each rule label has been seen; a label stands at one place."""


@attrs.frozen
class Env:
    """What names mean at one point of a body.

    ``states`` maps the names of states (``self``, ``old``) to whether they are the old one; ``known`` are the
    Optionals that are not None here; ``inlined`` are the helpers being expanded.
    """

    module: Module
    states: Mapping[str, bool]
    names: Mapping[str, Expr]
    known: Facts
    inlined: tuple[str, ...] = ()

    def bind(self, name: str, expr: Expr) -> Env:
        """The environment with one more name."""
        return attrs.evolve(self, names={**self.names, name: expr})

    def without(self, names: set[str]) -> Env:
        """The environment in which these names have no value."""
        return attrs.evolve(self, names={name: expr for name, expr in self.names.items() if name not in names})

    def check_free(self, node: ast.AST, name: str) -> None:
        """Refuse to give a value to the name of a state, which Python would forget from there on."""
        if name in self.states:
            self.module.refuse(node, f"{name} is the state", "use another name")

    def knowing(self, facts: Facts) -> Env:
        """The environment with more Optionals known not to be None."""
        return attrs.evolve(self, known=self.known | facts)


class Compiler(Protocol):
    """Compiles the parts of an expression, for folds and helpers: ``Expressions`` is it."""

    context: Context

    def expression(self, node: ast.expr, env: Env) -> Expr: ...

    def condition(self, node: ast.expr, env: Env) -> Expr: ...

    def test(self, node: ast.expr, env: Env) -> Expr: ...

    def fresh(self, name: str) -> str: ...

    def role(self, node: ast.expr, env: Env) -> object: ...

    def domain(self, node: ast.expr, env: Env) -> SortType | NatType | EnumType: ...
