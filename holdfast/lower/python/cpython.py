"""CPython as an executor: runs the methods of the model's class, on the same states as the interpreter.

Tests compare the other executors with this one. It shares with them the layout of states, and the lists of actions,
parameters and properties. The meaning of an action or property comes from the class alone, not from the compiled
system.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from enum import Enum
from pathlib import Path
from types import FunctionType
from typing import Any, get_args, get_origin, get_type_hints

from holdfast.ir.errors import ModelError
from holdfast.ir.marks import MARK, ScopeMark
from holdfast.ir.names import source_name
from holdfast.ir.system import Action, Param, Property, Rule, Scope, System
from holdfast.ir.types import (
    BUDGET,
    BoolType,
    EnumType,
    IntType,
    MapType,
    NatType,
    OptionalType,
    Scalar,
    SortType,
)
from holdfast.lang.maps import Bag, Map, Pool, Rel
from holdfast.lang.model import Model
from holdfast.lang.records import Record, parts_of
from holdfast.lang.rules import CallPlace
from holdfast.lang.rules import Refused as LangRefused
from holdfast.lang.sequences import Seq
from holdfast.lang.sorts import Cut as LangCut
from holdfast.lower.element_names import classes_of_scopes
from holdfast.lower.layout import Field, Layout
from holdfast.lower.outcome import Cut, Outcome, Refused, Taken
from holdfast.lower.python.interpreter import Args


class CPython:
    """Answers the same questions as ``Interpreter``, by running the model's methods. All ghosts are kept."""

    def __init__(self, system: System, scope: Scope) -> None:
        self.system = system
        self.scope = scope
        self.layout = Layout(system, scope)
        self._classes = _classes_of(system.python)
        model: type[Model] = system.python
        self._unset = model.at(self._mark(), variants=system.chosen, removed=system.removed)

    def _mark(self) -> ScopeMark:
        """The scope as an author would write it."""
        given: dict[str, object] = {
            name: values if self.system.var(name).keys else values[0] for name, values in self.scope.given.items()
        }
        return ScopeMark(
            {cls: self.scope.sizes[name] for name, cls in classes_of_scopes(self.system.python).items()},
            self.scope.budgets,
            given,
        )

    # States and steps -----------------------------------------------------------------------------------------

    def initial(self) -> list[bytes]:
        """The initial states, each once, sorted; raises ModelError as the interpreter does."""
        found = set()
        init = self.system.init
        for args in self._arguments(init):
            try:
                found.add(self._state(self._unset.start(**self._named(init.params, args)), self.layout.blank()))
            except LangCut as cut:
                raise ModelError(
                    init.at, "init", f"a bound exceeded at the start: {cut}", "enlarge the scope"
                ) from None
            except LangRefused:
                continue
        if not found:
            raise ModelError(init.at, "init", "there is no initial state", "loosen its requires, or enlarge the scope")
        return sorted(found)

    def successors(self, state: bytes) -> list[list[tuple[bytes, Args]]]:
        """For each action, in order, every step that is taken: its new state and arguments."""
        return [
            [
                (outcome.state, args)
                for args in self._arguments(action)
                if isinstance(outcome := self.step(state, action.name, args), Taken)
            ]
            for action in self.system.actions
        ]

    def step(self, state: bytes, action: str, args: Args) -> Outcome:
        """The outcome of one action with these arguments."""
        found = self.system.action(action)
        try:
            after = self._instance(state).take(action, **self._named(found.params, args))
        except LangRefused as refused:
            error = refused.error.name if refused.error is not None else None
            rule = self.system.rule(refused.label) if refused.at is None else self._guard(refused.at)
            return Refused(rule.label, error, rule.at)
        except LangCut as cut:
            return Cut(cut.bound)
        return self._charged(self._state(after, state), action)

    def _guard(self, at: CallPlace) -> Rule:
        """The guard without a label that stands at a place."""
        found = [
            rule
            for rule in self.system.rules
            if (rule.at.line, rule.at.column) == (at.line, at.column) and Path(rule.at.file).name == Path(at.file).name
        ]
        # Two files may have the same name. Their paths tell them apart.
        return next((rule for rule in found if Path(rule.at.file).resolve() == Path(at.file).resolve()), found[0])

    def _charged(self, state: bytes, action: str) -> Outcome:
        # The model's class knows no budgets, so they are charged here.
        cell = self.layout.budget(action)
        if cell is None:
            return Taken(state)
        if not state[cell]:
            return Cut(BUDGET)
        return Taken(state[:cell] + bytes([state[cell] - 1]) + state[cell + 1 :])

    # Properties -----------------------------------------------------------------------------------------------

    def holds(self, prop: Property, state: bytes, args: Args = ()) -> bool:
        """Whether a property of states holds; for a liveness property, whether its premise is true."""
        if prop.kind in ("always_eventually", "eventually_always"):
            return True
        found = self._instance(state).holds(prop.name, **self._named(prop.params, args))
        return bool(found[0] if prop.kind == "leads_to" else found)

    def goal(self, prop: Property, state: bytes, args: Args = ()) -> bool:
        """Whether the goal of a liveness property holds."""
        found = self._instance(state).holds(prop.name, **self._named(prop.params, args))
        return bool(found[1] if prop.kind == "leads_to" else found)

    def holds_step(self, prop: Property, old: bytes, new: bytes, args: Args = ()) -> bool:
        """Whether a step property holds for the step from ``old`` to ``new``.

        ``args`` are the arguments of the action that the property is about; a property of every step takes none.
        """
        params = self.system.action(prop.of).params if prop.of is not None else ()
        named = self._named(params, args) if prop.of is not None else {}
        wanted = {source_name(param.name).partition(".")[0] for param in prop.params}
        chosen = {name: value for name, value in named.items() if name in wanted}
        return bool(self._instance(new).holds(prop.name, old=self._instance(old), **chosen))

    # Between bytes and instances ------------------------------------------------------------------------------

    def _arguments(self, action: Action) -> Iterator[Args]:
        return itertools.product(*(range(self.layout.codes(param.type)) for param in action.params))

    def _named(self, params: tuple[Param, ...], args: Args) -> dict[str, Any]:
        """The arguments as Python's methods take them: the parts of a record are one value."""
        named: dict[str, Any] = {}
        parts: dict[tuple[str, str], dict[str, Any]] = {}
        for param, code in zip(params, args, strict=True):
            value = self._chosen(param.type, code) if isinstance(param.type, MapType) else self._value(param.type, code)
            if param.record is None:
                named[param.name] = value
            else:
                name, _, part = source_name(param.name).partition(".")
                parts.setdefault((name, param.record), {})[part] = value
        return named | {name: self._classes[record](**given) for (name, record), given in parts.items()}

    def _instance(self, state: bytes) -> Model:
        """The state as an instance of the model."""
        made = self._unset.copy()
        entries: dict[str, dict[str, list[Any]]] = {}
        parts: dict[str, dict[str, list[Any]]] = {}
        for field in self.layout.fields:
            if field.hidden:
                continue
            values = [self._value(field.type, code) for code in state[field.offset : field.offset + field.count]]
            var = self.system.var(field.name)
            if var.entries_of is not None:
                entries.setdefault(var.entries_of, {})[field.name] = values
            elif var.part_of is not None:
                parts.setdefault(var.part_of, {})[field.name] = values
            elif var.length_of is not None:
                continue  # the entries have it
            elif isinstance(cells := made.__dict__.get(field.name), Bag | Map | Pool | Rel):
                # The dictionary of a Map or Rel has its keys in the order of the field's cells.
                cells._cells = dict(zip(cells._cells, values, strict=True))
            else:
                made.__dict__[field.name] = values[0]
        for name, columns in entries.items():
            self._fill(_sequences(made.__dict__[name]), name, columns)
        for name, columns in parts.items():
            self._hold(made, name, columns)
        return made

    def _hold(self, made: Model, name: str, columns: dict[str, list[Any]]) -> None:
        """Give a field its records. ``columns``: the cells of the variable of each part."""
        record, names = _record_of(type(made)._kinds[name]), _parts(name, columns)
        rows = zip(*columns.values(), strict=True)
        values = [None if row[0] is None else record(**dict(zip(names, row, strict=True))) for row in rows]
        cells = made.__dict__.get(name)
        if isinstance(cells, Map):
            cells._cells = dict(zip(cells._cells, values, strict=True))
        else:
            made.__dict__[name] = values[0]

    def _fill(self, sequences: list[Seq[Any, Any]], name: str, columns: dict[str, list[Any]]) -> None:
        """Give sequences their entries. ``columns``: the cells of each variable of the entries."""
        rows = list(zip(*columns.values(), strict=True))
        room = len(rows) // len(sequences)
        for number, sequence in enumerate(sequences):
            held = rows[number * room : (number + 1) * room]
            record = sequence.record
            sequence.entries = [
                row[0] if record is None else record(**dict(zip(_parts(name, columns), row, strict=True)))
                for row in held
                if row[0] is not None
            ]

    def _state(self, instance: Model, before: bytes) -> bytes:
        """An instance of the model as a state. It has no budgets: they are those of the state ``before``."""
        codes = bytearray(before)
        for field in self.layout.fields:
            if not field.hidden:
                values = self._held(instance, field)
                codes[field.offset : field.offset + field.count] = (self._code(field.type, value) for value in values)
        return bytes(codes)

    def _held(self, instance: Model, field: Field) -> list[Any]:
        """The values of the cells of a variable."""
        var = self.system.var(field.name)
        if var.length_of is not None:
            return [len(sequence) for sequence in _sequences(instance.__dict__[var.length_of])]
        if var.entries_of is not None:
            sequences = _sequences(instance.__dict__[var.entries_of])
            room = field.count // len(sequences)
            [part] = _parts(var.entries_of, [field.name])
            rows = [(*each.entries, *[None] * (room - len(each))) for each in sequences]
            return [getattr(entry, part) if part and entry is not None else entry for row in rows for entry in row]
        held = instance.__dict__[var.part_of or field.name]
        if var.part_of is not None:
            [part] = _parts(var.part_of, [field.name])
            records = held._cells.values() if isinstance(held, Map) else [held]
            return [None if record is None else getattr(record, part) for record in records]
        return list(held._cells.values()) if isinstance(held, Bag | Map | Pool | Rel) else [held]

    def _chosen(self, kind: MapType, code: int) -> Any:
        """A whole map as Python's methods take it: the list of its values."""
        return [self._value(kind.value, digit) for digit in self.layout.digits(kind, code).values()]

    def _value(self, kind: Scalar, code: int) -> Any:
        match kind:
            case BoolType():
                return bool(code)
            case EnumType(name, members):
                return self._classes[name][members[code]]
            case SortType(name):
                return self._classes[name].element(code)
            case NatType(name):
                return self._classes[name](code)
            case IntType(name, lo):
                return self._classes[name](lo + code)
            case OptionalType(of):
                return None if code == 0 else self._value(of, code - 1)

    def _code(self, kind: Scalar, value: Any) -> int:
        match kind:
            case OptionalType(of):
                return 0 if value is None else 1 + self._code(of, value)
            case EnumType(members=members):
                return members.index(value.name)
            case SortType():
                return int(value.index)
            case IntType(lo=lo):
                return int(value) - lo
            case BoolType() | NatType():
                return int(value)


def _sequences(held: Any) -> list[Seq[Any, Any]]:
    """The sequences that a field holds, in the order of its keys; none if it holds other values."""
    values = list(held._cells.values()) if isinstance(held, Map) else [held]
    return [value for value in values if isinstance(value, Seq)]


def _record_of(hint: Any) -> Any:
    """The record that a field holds, from its annotation: ``Vote | None``, or a Map to it."""
    value = get_args(hint)[1] if get_origin(hint) is Map else hint
    return next(part for part in (value, *get_args(value)) if isinstance(part, type) and issubclass(part, Record))


def _parts(sequence: str, variables: Iterable[str]) -> list[str]:
    """The part of a record that each variable of the entries holds; nothing for entries that are no records."""
    return [name.removeprefix(sequence).removeprefix("_") for name in variables]


def _classes_of(model: type) -> dict[str, Any]:
    """The Sorts, Nats, Ints and Enums that the model's fields, actions and properties mention, by name."""
    values = [value for base in model.__mro__ for value in vars(base).values()]
    methods = [value for value in values if isinstance(value, FunctionType) and hasattr(value, MARK)]
    hints = [hint for owner in (model, *methods) for hint in get_type_hints(owner, include_extras=True).values()]
    found: dict[str, Any] = {}
    # Hints nest, as in ``Map[Stream, Node | None]``: each one's arguments are looked at too.
    while hints:
        hint = hints.pop()
        hints += get_args(hint)
        if isinstance(hint, type) and (issubclass(hint, Enum) or hasattr(hint, MARK)):
            found[hint.__name__] = hint
        if isinstance(hint, type) and issubclass(hint, Record):
            hints += parts_of(hint).values()
    return found
