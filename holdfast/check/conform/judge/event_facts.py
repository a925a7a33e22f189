"""An event in the terms of the model: an action, its arguments, its outcome, and cells before and after it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import attrs
import msgspec

from holdfast.check.conform.logs.damage import damaged, nearest
from holdfast.check.conform.logs.events import STATE, UNKNOWN, Json, LogEvent
from holdfast.check.conform.logs.names import Code, LogNames, Number
from holdfast.ir.errors import Place
from holdfast.ir.system import Action, System, Var
from holdfast.ir.types import NatType, Plain, SortType

_Keys = tuple[tuple[Code, ...], tuple[int, ...]]
"""The keys of a cell, and the keys of the projected sort among them."""


class ToldCell(msgspec.Struct, frozen=True, gc=False):
    """The value of one cell, told by an event. ``keys`` are the values of the cell's keys."""

    var: Var
    keys: tuple[Code, ...]
    value: Code
    streams: tuple[int, ...] = ()
    """The elements of the projected sort among the keys."""


class Facts(msgspec.Struct, frozen=True, gc=False):
    """An event in the terms of the model. ``args``: None stands for an unknown argument."""

    event: LogEvent
    action: Action
    args: tuple[Code, ...]
    pre: list[ToldCell]
    post: list[ToldCell]
    streams: tuple[int, ...]
    """The known arguments of the projected sort."""


class Reader:
    """Reads events. ``projected`` is the sort of which each world has one element; None if a world has all elements."""

    def __init__(self, system: System, names: LogNames, projected: str | None) -> None:
        self.system = system
        self.names = names
        self.actions = {action.name: action for action in system.actions}
        self.actions[STATE] = attrs.evolve(system.init, name=STATE, params=(), body=())
        self._params = {
            name: [(param.name, param.plain, _sort(param.plain)) for param in action.params]
            for name, action in self.actions.items()
        }
        self.variables = {var.name: var for var in system.variables if not var.ghost}
        self.errors = frozenset(rule.error for rule in system.rules if rule.error is not None)
        self.project(projected)

    def project(self, sort: str | None) -> None:
        """Set the projected sort: from now on a world has one element of it, or all elements if it is None."""
        self.projected = sort
        self._known: dict[tuple[str, ...], _Keys] = {}
        """A cache: the keys for the texts of a path. Events name few cells, and most of them often."""

    def facts(self, event: LogEvent) -> Facts:
        """The facts of an event; raises UsageError if it names something that the model does not have."""
        at = event.at
        action = self.actions.get(event.action)
        if action is None:
            damaged(at, f"{self.system.name} has no action {event.action}", nearest(event.action, self.actions))
        if event.outcome is not None and event.outcome not in self.errors and event.outcome != UNKNOWN:
            damaged(at, f"{self.system.name} answers no error {event.outcome}", nearest(event.outcome, self.errors))
        args: list[Code] = []
        streams: list[int] = []
        # ``left`` counts the given arguments that no parameter has taken.
        given, left = event.args, len(event.args)
        for name, kind, sort in self._params[event.action]:
            if name not in given:
                args.append(None)
                continue
            left -= 1
            value = self.names.value(kind, given[name], at, name)
            args.append(value)
            if sort is not None and sort == self.projected and isinstance(value, int):
                streams.append(value)
        if left:
            known = [param.name for param in action.params]
            extra = next(name for name in event.args if name not in known)
            damaged(at, f"{event.action} has no parameter {extra}", nearest(extra, known))
        pre = self._cells(event.pre, at) if event.pre else []
        post = self._cells(event.post, at) if event.post else []
        if event.action == STATE:
            streams = list(dict.fromkeys(stream for told in post for stream in told.streams))
        return Facts(event, action, tuple(args), pre, post, tuple(streams))

    def _cells(self, cells: Mapping[str, Json], at: Place) -> list[ToldCell]:
        found: list[ToldCell] = []
        for name, value in cells.items():
            var = self.variables.get(name)
            if var is None:
                damaged(at, f"{self.system.name} has no field {name}", nearest(name, self.variables))
            self._add(found, var, (name,), value, at)
        return found

    def _add(self, found: list[ToldCell], var: Var, path: tuple[str, ...], value: Json, at: Place) -> None:
        """Add the cells below a path, which is the name of the field and the texts of its first keys."""
        if len(path) <= len(var.keys):
            if not isinstance(value, dict):
                problem = f"{var.name} has a value in place of the keys ({', '.join(map(str, var.keys))})"
                damaged(at, problem, "nest objects by the field's keys")
            deeper = len(path) < len(var.keys)
            for text, inner in value.items():
                if deeper:
                    self._add(found, var, (*path, text), inner, at)
                else:
                    found.append(self._told(var, (*path, text), inner, at))
            return
        found.append(self._told(var, path, value, at))

    def _told(self, var: Var, path: tuple[str, ...], value: Json, at: Place) -> ToldCell:
        """The cell at a path."""
        keys, streams = self._known.get(path) or self._keys_of(var, path, at)
        return ToldCell(var, keys, self.names.value(var.value, value, at, var.name), streams)

    def _keys_of(self, var: Var, path: tuple[str, ...], at: Place) -> _Keys:
        """The keys at a path, and the streams among them. Keys with a number are not cached: a log has many."""
        keys = tuple(self.names.key(kind, text, at, var.name) for kind, text in zip(var.keys, path[1:], strict=True))
        streams = tuple(
            key
            for kind, key in zip(var.keys, keys, strict=True)
            if self.projected is not None and _sort(kind) == self.projected and isinstance(key, int)
        )
        if not any(isinstance(kind, NatType) for kind in var.keys):
            self._known[path] = keys, streams
        return keys, streams


def _sort(kind: Plain) -> str | None:
    return kind.name if isinstance(kind, SortType) else None


def numbers(facts: Facts) -> Iterator[tuple[str, Number]]:
    """All numbers of Nats that an event mentions, without its span, each with the name of its parameter or field."""
    for param, arg in zip(facts.action.params, facts.args, strict=True):
        if isinstance(arg, tuple):
            yield param.name, arg
    for told in (*facts.pre, *facts.post):
        for value in (*told.keys, told.value):
            if isinstance(value, tuple):
                yield told.var.name, value


def numbers_of(
    facts: Facts, action: Action | None, cells: Iterable[ToldCell], span: tuple[Number, Number] | None
) -> list[Number]:
    """The numbers that a step of ``action`` (None: no step) and the cells need, with the ends of the span."""
    if action is facts.action:
        wanted = [arg for arg in facts.args if type(arg) is tuple]
    else:
        params = () if action is None else action.params
        pairs = zip(facts.action.params, facts.args, strict=True)
        wanted = [arg for param, arg in pairs if type(arg) is tuple and param in params]
    for told in cells:
        wanted += [key for key in told.keys if type(key) is tuple]
        if type(told.value) is tuple:
            wanted.append(told.value)
    return [*wanted, *(span or ())]
