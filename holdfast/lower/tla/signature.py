"""The declarations of a module: its types, constants and variables, and the names of everything in it."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.ir.expr import Expr, Fold, Quantified, Read, walk
from holdfast.ir.ghosts import ghosts_read
from holdfast.ir.stmt import For, expressions, statements
from holdfast.ir.system import LIVENESS, Action, Property, System, Var
from holdfast.ir.types import BOOL, EnumType, IntType, MapType, NatType, OptionalType, SortType
from holdfast.lower.layout import budget
from holdfast.lower.tla.expression_text import Globals
from holdfast.lower.tla.names import TlaNames, camel

COUNT = OptionalType(NatType("any number"))
"""The type of a budget: how often the action may still happen, or None if the scope sets no limit."""


class TlaSignature:
    """The declarations and names of one system's module; ``name`` is the wanted name of the module.

    The module has the ghosts that properties read, and no others.
    """

    def __init__(self, system: System, name: str) -> None:
        self.system = system
        kept = ghosts_read(system, system.properties)
        self.ghosts = kept
        """The ghosts that the module has."""
        self.dropped = frozenset(var.name for var in system.variables if var.ghost and var.name not in kept)
        self.given = tuple(var for var in system.variables if var.given)
        limited = {name for scope in system.scopes.values() for name in scope.budgets}
        self.budgeted = tuple(action for action in system.actions if action.name in limited)
        """The actions for which a scope has a budget."""
        self.budgets = tuple(Var(budget(a.name), (), COUNT, False, False, False, a.at) for a in self.budgeted)
        variables = tuple(var for var in system.variables if not var.given and var.name not in self.dropped)
        self.still = () if variables or self.budgets else (Var("still", (), BOOL, False, True, False, system.init.at),)
        """A variable that is always FALSE, in a module that would have no variable: TLC requires at least one."""
        self.variables = (*variables, *self.budgets, *self.still)
        """The variables of the module, in order."""
        self.enums = tuple(enum for enum in system.enums if enum.name in _types_used(system))
        """The Enums whose values occur in the module; an Enum of error codes does not."""
        self.names = TlaNames()
        self.module = self.names.module(name)
        self.shared = Globals(self.names)
        self._name_types()
        self.shared.variables = {var.name: self.names.take(var.name) for var in (*self.given, *self.variables)}
        for action, var in zip(self.budgeted, self.budgets, strict=True):
            self.shared.variables[var.name] = self.names.take(f"{action.name}_left")
        self.shared.changing = {var.name for var in self.variables if not var.constant}
        self.actions = {action.name: self.names.take(camel(action.name)) for action in system.actions}
        """The operator of each action."""
        self.properties = {prop.name: self.names.take(camel(prop.name)) for prop in system.properties}
        """The operator of each property; for a step property it is a condition on one step."""
        self.always = {
            prop.name: self.names.take(f"Always{self.properties[prop.name]}") for prop in system.of_kind("step")
        }
        """The temporal formula of each step property."""
        self.owed = {prop.name: self._suffix(prop, "Owed") for prop in system.of_kind("leads_to")}
        """The operator of the premise of each leads-to property."""
        self.met = {prop.name: self._suffix(prop, "Met") for prop in system.of_kind(*LIVENESS)}
        """The operator of the goal of each liveness property."""
        self.moving = tuple(var for var in self.variables if not var.ghost and var not in self.budgets)
        """The variables of the protocol itself. A step that changes none of them does not count for fairness."""
        self.protocol = "vars" if self.moving == self.variables else self.names.take("protocol")
        """The name of the tuple of these variables."""
        self.repeats = {
            action.name: self.names.take(f"{self.actions[action.name]}Repeats")
            for action in system.actions
            if action.idempotent is not None
        }
        """For each idempotent action, the operator of the condition that it can be repeated and changes nothing."""
        given = {var.name for var in self.given}
        self.assumed = frozenset(
            prop.name
            for prop in system.of_kind("assume")
            if all(part.var in given for part in walk(prop.body) if isinstance(part, Read))
        )
        """The assumptions that read only constants given by a scope; TLC checks the other ones as invariants."""
        self.finals = tuple(system.of_kind("final"))
        self.allowed = {
            action.name: self.names.take(f"{self.actions[action.name]}Allowed")
            for action in (system.actions if self.finals else ())
        }
        """For each action of a model with final states, the operator of the condition that no rule refuses it."""

    def limit(self, action: Action) -> str:
        """The constant that limits how often an action may happen."""
        return self.shared.greatest[budget(action.name)]

    def _name_types(self) -> None:
        system, shared = self.system, self.shared
        kinds: list[SortType | NatType | EnumType | IntType] = [*system.sorts, *system.nats, *self.enums, *system.ints]
        shared.domains = {kind.name: self.names.take(kind.name) for kind in kinds}
        shared.domains[str(COUNT.of)] = "Nat"
        for nat in system.nats:
            shared.greatest[nat.name] = self.names.take(f"Max{nat.name}")
        for action, var in zip(self.budgeted, self.budgets, strict=True):
            shared.greatest[var.name] = self.names.take(f"Most{camel(action.name)}")

    def _suffix(self, prop: Property, word: str) -> str:
        return self.names.take(f"{self.properties[prop.name]}{word}")


def _types_used(system: System) -> set[str]:
    """The names of the types of variables, parameters, loops and quantifiers."""
    kinds = {str(kind) for var in system.variables for kind in (*var.keys, var.value)}
    for param in (param for action in (system.init, *system.actions) for param in action.params):
        whole = param.type
        kinds |= {str(kind) for kind in ((*whole.keys, whole.value) if isinstance(whole, MapType) else (whole,))}
    kinds |= {str(param.type) for prop in system.properties for param in prop.params}
    for action in (system.init, *system.actions):
        kinds |= {str(stmt.domain) for stmt in statements(action.body) if isinstance(stmt, For)}
    kinds |= {str(part.domain) for part in _parts(system) if isinstance(part, Quantified | Fold)}
    return {kind.removesuffix(" | None") for kind in kinds}


def _parts(system: System) -> Iterator[Expr]:
    for action in (system.init, *system.actions):
        yield from expressions(action.body)
    for prop in system.properties:
        for expr in (prop.body, prop.goal):
            if expr is not None:
                yield from walk(expr)
