"""The typed transition system that every lowering starts from."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Literal

import attrs

from holdfast.ir.errors import Place, UsageError
from holdfast.ir.expr import Expr
from holdfast.ir.stmt import Let, Stmt
from holdfast.ir.types import EnumType, IntType, Key, NatType, Plain, Scalar, SortType

PropertyKind = Literal["invariant", "step", "leads_to", "witness", "lemma", "assume", "final"]
RuleKind = Literal["require", "condition", "effect"]
OutcomeKind = Literal["equivalent", "redundant", "liveness", "missing", "sound"]


@attrs.frozen
class Var:
    """A state variable: a total map from ``keys`` to ``value``; a plain field has no keys.

    ``constant`` variables are written by no action; those that no initial condition writes either (``given``) get
    their value from the scope.
    """

    name: str
    keys: tuple[Key, ...]
    value: Scalar
    ghost: bool
    constant: bool
    given: bool
    at: Place


@attrs.frozen
class Param:
    """A choice: the parameter ranges over its whole type."""

    name: str
    type: Plain


@attrs.frozen
class Action:
    """An action, or the initial condition (named ``init``; its body writes every variable)."""

    name: str
    params: tuple[Param, ...]
    body: tuple[Stmt, ...]
    doc: str
    at: Place
    fair: Literal["weak", "strong"] | None = None
    per: tuple[str, ...] = ()
    idempotent: str | None = None


@attrs.frozen
class Property:
    """A statement about states or steps.

    ``ids`` are the rule ids its docstring names first (``INV-01``). ``body`` is what must hold; for ``leads_to`` it
    is the trigger and ``goal`` what must follow. ``trigger`` is when the statement says something at all: a property
    whose trigger no reached state satisfies is vacuous. A step property with ``of`` speaks of one action's steps and
    may use that action's parameters by name.
    """

    name: str
    kind: PropertyKind
    ids: tuple[str, ...]
    doc: str
    params: tuple[Param, ...]
    body: Expr
    trigger: Expr
    at: Place
    goal: Expr | None = None
    of: str | None = None

    @property
    def title(self) -> str:
        """The name with the rule ids, as messages show it."""
        return f"{self.name} ({', '.join(self.ids)})" if self.ids else self.name


@attrs.frozen
class Rule:
    """A labelled rule: where it stands, what error a refusal answers, and which actions it serves."""

    label: str
    kind: RuleKind
    error: str | None
    at: Place
    actions: tuple[str, ...]


@attrs.frozen
class Scope:
    """A finite size for a system: sorts' sizes, Nats' greatest values, budgets of actions, given constants.

    ``given`` maps a constant's name to its values in the order of its keys, as the engines code them: element
    indices, numbers, truth values, Enum member names, or None.
    """

    name: str
    sizes: Mapping[str, int]
    budgets: Mapping[str, int]
    given: Mapping[str, tuple[bool | int | str | None, ...]]
    at: Place

    def size(self, key: Key) -> int:
        """How many values a key type has in this scope."""
        match key:
            case EnumType(members=members):
                return len(members)
            case SortType(name):
                return self.sizes[name]
            case NatType(name):
                return self.sizes[name] + 1


@attrs.frozen
class Declaration:
    """What the author says becomes of a mutant that no property of safety kills: see ``holdfast.lang.outcomes``.

    ``names`` is the rule that covers it (redundant), or the property that kills it (liveness).
    """

    kind: OutcomeKind
    reason: str
    names: str | None
    at: Place

    def __str__(self) -> str:
        """The declaration as the model has it, without its reason."""
        return f"{self.kind}({self.names})" if self.names else self.kind


@attrs.frozen
class System:
    """A compiled model, for one choice of variants and removed rules.

    ``python`` is the model's class, which the CPython executor runs; the engines never look at it.
    """

    name: str
    file: str
    doc: str
    variables: tuple[Var, ...]
    init: Action
    actions: tuple[Action, ...]
    properties: tuple[Property, ...]
    rules: tuple[Rule, ...]
    sorts: tuple[SortType, ...]
    nats: tuple[NatType, ...]
    enums: tuple[EnumType, ...]
    ints: tuple[IntType, ...]
    scopes: Mapping[str, Scope]
    variants: Mapping[str, str]
    """Every named variant the model offers, with its one-line description."""
    chosen: tuple[str, ...]
    removed: tuple[str, ...]
    outcomes: Mapping[str, Declaration]
    """What is declared of mutants, by ``LABEL``, ``LABEL@action`` or the name of a variant."""
    python: type = attrs.field(eq=False, repr=False)

    def var(self, name: str) -> Var:
        """The variable of that name."""
        return next(var for var in self.variables if var.name == name)

    def action(self, name: str) -> Action:
        """The action of that name."""
        return next(action for action in self.actions if action.name == name)

    def rule(self, label: str) -> Rule:
        """The rule with that label."""
        return next(rule for rule in self.rules if rule.label == label)

    def scope(self, name: str) -> Scope:
        """The scope of that name; raises UsageError if the model declares none such."""
        if name not in self.scopes:
            raise UsageError(f"{self.name} has no scope {name!r}; it has: {', '.join(self.scopes) or 'none'}")
        return self.scopes[name]

    def of_kind(self, *kinds: PropertyKind) -> Iterator[Property]:
        """The properties of the given kinds, in the order of the source."""
        return (prop for prop in self.properties if prop.kind in kinds)

    def claim_name(self, name: str) -> str:
        """The name of a claim that no property states, such as ``deadlock``: behind ``@`` if a property has that name.

        Results, lines and files tell claims apart by their names, and no property's name begins with ``@``.
        """
        return f"@{name}" if any(prop.name == name for prop in self.properties) else name

    @property
    def fingerprint(self) -> str:
        """Sixteen hex digits over the meaning of the system: places and prose do not count."""
        names = frozenset(var.name for var in self.variables)
        actions = (self.init, *self.actions)
        content = repr(
            (
                [(v.name, v.keys, v.value, v.ghost) for v in self.variables],
                [(a.name, a.params, _shape(a.body, names), a.fair, a.per, a.idempotent) for a in actions],
                [(p.name, p.kind, p.params, p.body, p.goal, p.of) for p in self.properties],
                (self.sorts, self.nats, self.enums, self.ints),
            )
        )
        return hashlib.blake2b(content.encode(), digest_size=8).hexdigest()

    def fingerprint_in(self, scope: Scope) -> str:
        """Sixteen hex digits over the meaning of the system in a scope, whatever the scope is called."""
        parts = (sorted(part.items()) for part in (scope.sizes, scope.budgets, scope.given))
        return hashlib.blake2b(repr((self.fingerprint, *parts)).encode(), digest_size=8).hexdigest()


def _shape(body: tuple[Stmt, ...], variables: frozenset[str]) -> object:
    """A body without places, different for any two bodies that differ in more.

    The kind of a statement shows in the number and the types of its parts. Only a local that is called like a variable
    would look like a fill of that variable, so it is marked.
    """
    return [
        tuple(
            _shape(value, variables) if name in ("then", "orelse", "body") else value
            for name, value in attrs.asdict(stmt, recurse=False).items()
            if name != "at"
        )
        if not (isinstance(stmt, Let) and stmt.name in variables)
        else ("local", stmt.name, stmt.value)
        for stmt in body
    ]
