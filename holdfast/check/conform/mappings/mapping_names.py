"""Checks the names of a mapping against the model, before a log is read."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.check.conform.logs.damage import damaged, nearest, shown
from holdfast.check.conform.logs.events import STATE, Json
from holdfast.check.conform.logs.names import LogNames
from holdfast.check.conform.mappings.mapping import Mapping
from holdfast.check.conform.mappings.mapping_event import Cells, Kind
from holdfast.check.conform.mappings.mapping_expressions import MappingExpression
from holdfast.ir.errors import Place
from holdfast.ir.system import System, Var
from holdfast.ir.types import MapType, NoneType, NumberType, SortType, Type


def check_names(mapping: Mapping, system: System) -> None:
    """Raise UsageError at the first name of the mapping that the model does not have.

    These are the names of actions, parameters, fields, hidden actions and Nats. The value of a constant must fit its
    type. Errors and elements that the log names are checked when the log is read.
    """
    known = {action.name: action for action in system.actions}
    for nat in mapping.about.literals:
        names = [each.name for each in system.nats]
        if nat not in names:
            damaged(mapping.about.at, f"literals names {nat}, and {system.name} has no such Nat", nearest(nat, names))
    for name, at in mapping.hidden.items():
        if name not in known:
            damaged(at, f"hidden names {name}, and {system.name} has no such action", nearest(name, known))
    checker = _Checker(system)
    for kind in _kinds(mapping):
        checker.kind(kind)


def _kinds(mapping: Mapping) -> Iterator[Kind]:
    yield from mapping.kinds.values()
    for grammar in (mapping.snapshot, mapping.records):
        for operation in grammar.operations if grammar is not None else ():
            for part in operation.parts:
                yield from (case.kind for case in part.cases if case.kind is not None)


class _Checker:
    def __init__(self, system: System) -> None:
        self.system = system
        self.actions = {action.name: action for action in system.actions}
        self.fields = {var.name: var for var in system.variables if not var.ghost}

    def kind(self, kind: Kind) -> None:
        """Check the meaning of one kind of line, or of one operation."""
        if kind.action != STATE:
            self.request(kind)
        for cells in (kind.pre, kind.post):
            for name, inner in cells:
                var = self.fields.get(str(name))
                if var is None:
                    damaged(kind.at, f"{self.system.name} has no field {name}", nearest(str(name), self.fields))
                self.cells(var, 0, inner, kind.at)

    def request(self, kind: Kind) -> None:
        """Check the action of a kind, and its arguments."""
        action = self.actions.get(kind.action)
        if action is None:
            at = kind.places["action"]
            damaged(at, f"{self.system.name} has no action {kind.action}", nearest(kind.action, self.actions))
        params = {param.name: param for param in action.params}
        for name, expression in kind.args.items():
            if name not in params:
                damaged(kind.places[name], f"{action.name} has no parameter {name}", nearest(name, params))
            self.constant(params[name].type, expression, name)

    def cells(self, var: Var, depth: int, inner: MappingExpression | Cells, at: Place) -> None:
        """Check the cells of a field, below ``depth`` keys."""
        nested = isinstance(inner, tuple)
        if nested != (depth < len(var.keys)):
            keys = ", ".join(map(str, var.keys)) or "none"
            damaged(at, f"{var.name} has {depth} keys here", f"nest its values by its keys, which are: {keys}")
        if isinstance(inner, MappingExpression):
            self.constant(var.value, inner, var.name)
            return
        for _, each in inner:
            self.cells(var, depth + 1, each, at)

    def constant(self, kind: Type, expression: MappingExpression, what: str) -> None:
        """Check that an expression without fields is a value of a type. Any element and any number is accepted."""
        if expression.roots or isinstance(kind, SortType | NumberType | NoneType | MapType):
            return
        value: Json = expression.of({}, expression.at)
        if isinstance(value, list):
            damaged(expression.at, f"{what} is {shown(value)}", f"it is a value of {kind}")
        LogNames(self.system).value(kind, value, expression.at, what)
