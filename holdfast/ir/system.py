"""The typed transition system that every lowering starts from."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Literal

import attrs

from holdfast.ir.errors import Place, UsageError
from holdfast.ir.expr import Expr
from holdfast.ir.stmt import Let, Stmt
from holdfast.ir.types import BoolType, Choice, EnumType, IntType, Key, MapType, NatType, Plain, Scalar, SortType

PropertyKind = Literal[
    "invariant", "step", "leads_to", "always_eventually", "eventually_always", "witness", "lemma", "assume", "final"
]
LIVENESS: tuple[PropertyKind, ...] = ("leads_to", "always_eventually", "eventually_always")
"""The kinds of liveness properties: they state something about every fair run, and only a lasso violates them."""

RuleKind = Literal["require", "condition", "effect"]
OutcomeKind = Literal["equivalent", "redundant", "liveness", "missing", "sound"]


@attrs.frozen
class Var:
    """A state variable: a total map from ``keys`` to ``value``. A plain field has no keys.

    ``constant``: no action writes the variable. ``given``: no initial condition writes it either, so its value comes
    from the scope. A sequence is two variables: its entries (``entries_of``), which are None from its length on, and
    its length (``length_of``). Entries that are records have a variable for each part: ``log_term`` for ``term``. So
    have values that are records (``part_of``: the field).
    """

    name: str
    keys: tuple[Key, ...]
    value: Scalar
    ghost: bool
    constant: bool
    given: bool
    at: Place
    length_of: str | None = None
    entries_of: str | None = None
    part_of: str | None = None
    most: NatType | None = None
    """For a pool, the Nat whose bound is the greatest number of members."""


@attrs.frozen
class Param:
    """A nondeterministic choice: the parameter ranges over its whole type.

    ``record``: the name of the record of which the parameter is a part, or None. Then the source of the name is
    ``m.term``, for the part ``term`` of the parameter ``m``.
    """

    name: str
    type: Choice
    record: str | None = attrs.field(default=None, repr=False)

    @property
    def plain(self) -> Plain:
        """The type of a parameter that is a single value, and no whole map."""
        assert not isinstance(self.type, MapType), self
        return self.type


@attrs.frozen
class Action:
    """An action, or the initial condition (named ``init``; its body writes every variable that is not ``given``).

    ``fair``, ``per``: fairness, for each value of the parameters in ``per``. ``idempotent``: the id of the property
    that a repetition with equal arguments succeeds and changes nothing.
    """

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
    """A statement about states, steps or fair runs.

    ``ids``: the rule ids at the start of the docstring (``INV-01``). ``body``: the condition that the property states.
    A liveness property has a ``goal`` too: the condition that must follow its ``body`` (``leads_to``), that must be
    true again and again (``always_eventually``), or that must be true from some state on (``eventually_always``). The
    ``body`` of the last two is TRUE. ``premise``: the condition under which the property is not trivially true; if no
    reached state satisfies it, the property is vacuous. ``of``: the action whose steps a step property judges; the
    property may use the parameters of that action by name.
    """

    name: str
    kind: PropertyKind
    ids: tuple[str, ...]
    doc: str
    params: tuple[Param, ...]
    body: Expr
    premise: Expr
    at: Place
    goal: Expr | None = None
    of: str | None = None

    @property
    def title(self) -> str:
        """The name with the rule ids, as messages show it."""
        return f"{self.name} ({', '.join(self.ids)})" if self.ids else self.name


@attrs.frozen
class Rule:
    """A labelled rule: its place, the error that a refusal answers, and the actions that contain the rule.

    ``label`` is FILE:LINE for a guard without a label of its own.
    """

    label: str
    kind: RuleKind
    error: str | None
    at: Place
    actions: tuple[str, ...]

    @property
    def has_label(self) -> bool:
        """Whether the rule has a label, so that it can be removed."""
        return not is_place(self.label)


def is_place(label: str) -> bool:
    """Whether a label is the place of a guard. No label of a rule has a colon."""
    return ":" in label


@attrs.frozen
class Scope:
    """A finite size for a system.

    ``sizes``: the number of elements of each Sort and the greatest value of each Nat. ``budgets``: how often an action
    may happen in one run. ``given``: for each given constant its values, in the order of its keys. A value is an
    element index, a number, a truth value, the name of an Enum member, or None. ``depth``: the steps of a random run,
    in a scope for random runs; None in a scope for searches.
    """

    name: str
    sizes: Mapping[str, int]
    budgets: Mapping[str, int]
    given: Mapping[str, tuple[bool | int | str | None, ...]]
    at: Place
    depth: int | None = None

    def size(self, key: Key) -> int:
        """The number of values of a key type in this scope."""
        match key:
            case BoolType():
                return 2
            case EnumType(members=members):
                return len(members)
            case SortType(name):
                return self.sizes[name]
            case NatType(name):
                return self.sizes[name] + 1  # the size of a Nat is its greatest value, and it begins at 0


@attrs.frozen
class Declaration:
    """The author's declared outcome of a mutant that no safety property kills: see ``holdfast.lang.outcomes``.

    ``names``: the rule that covers the removed one (redundant), or the property that kills the mutant (liveness).
    """

    kind: OutcomeKind
    reason: str
    names: str | None
    at: Place

    def __str__(self) -> str:
        """The declaration as the model writes it, without its reason."""
        return f"{self.kind}({self.names})" if self.names else self.kind


@attrs.frozen
class System:
    """A compiled model, for one choice of variants and removed rules.

    ``scopes``: the scopes for searches. ``run_scopes``: the scopes for random runs, which are too large for a search;
    so whoever takes all scopes leaves them out.
    ``python``: the model's class, for the CPython executor. The engines do not use it.
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
    run_scopes: Mapping[str, Scope]
    variants: Mapping[str, str]
    """Every named variant the model offers, with its one-line description."""
    chosen: tuple[str, ...]
    removed: tuple[str, ...]
    outcomes: Mapping[str, Declaration]
    """The declared outcomes of mutants, by ``LABEL``, ``LABEL@action`` or the name of a variant."""
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
        """The scope of that name, of either kind. Raises UsageError if the model declares no such scope."""
        known = {**self.scopes, **self.run_scopes}
        if name not in known:
            raise UsageError(f"{self.name} has no scope {name!r}; it has: {', '.join(known) or 'none'}")
        return known[name]

    def of_kind(self, *kinds: PropertyKind) -> Iterator[Property]:
        """The properties of the given kinds, in the order of the source."""
        return (prop for prop in self.properties if prop.kind in kinds)

    def claim_name(self, name: str) -> str:
        """The name of a claim that no property states: ``deadlock``, or ``@deadlock`` if a property has that name.

        Results, replay lines and files identify a claim by its name. No name of a property begins with ``@``.
        """
        return f"@{name}" if any(prop.name == name for prop in self.properties) else name

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the meaning of the system, as sixteen hex digits. Places and docstrings do not count."""
        # The names of the classes of expressions and types count: to rename one makes every stored fingerprint stale.
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
        """A hash of the meaning of the system in a scope, as sixteen hex digits. The scope's name does not count."""
        parts = (sorted(part.items()) for part in (scope.sizes, scope.budgets, scope.given))
        return hashlib.blake2b(repr((self.fingerprint, *parts)).encode(), digest_size=8).hexdigest()


def _shape(body: tuple[Stmt, ...], variables: frozenset[str]) -> object:
    """The statements of a body without their places. Two bodies that differ in anything else have different shapes.

    The shape leaves out the class of a statement, because the number and the types of its parts show the class. There
    is one exception: ``Let`` and ``Fill`` both consist of a name and an expression. So a local that has the name of a
    variable is marked.
    """
    return [
        tuple(
            _shape(value, variables) if name in ("then", "orelse", "body") else _placeless(name, value)
            for name, value in attrs.asdict(stmt, recurse=False).items()
            if name not in ("at", "pool")  # the value says which pool
        )
        if not (isinstance(stmt, Let) and stmt.name in variables)
        else ("local", stmt.name, stmt.value)
        for stmt in body
    ]


def _placeless(name: str, value: object) -> object:
    """A part of a statement; nothing instead of a label that is a place."""
    return "" if name == "label" and isinstance(value, str) and is_place(value) else value
