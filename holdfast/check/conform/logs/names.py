"""The names of a log for elements of sorts. The name of a process is the list of its constants.

The name of an element is the canonical text of its JSON value: a text is its own name, any other value's name is its
compact JSON. So a key of an object and a value can name the same element.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

import attrs

from holdfast.check.conform.logs.damage import damaged, shown
from holdfast.check.conform.logs.events import Json
from holdfast.ir.errors import Place, UsageError
from holdfast.ir.system import System, Var
from holdfast.ir.types import BoolType, EnumType, IntType, NatType, OptionalType, Plain, Scalar, SortType

Number = tuple[str, int]
"""A value of a Nat: the name of the Nat, and the number in the log."""

Code = int | Number | None
"""A value of the model: the code of an element, member, truth value or Int; a number of a Nat; or None."""


_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
"""Writes compact JSON. It is made only once: making an encoder for each value would take most of the time."""


def canonical(value: Json) -> str:
    """The name of the element that a JSON value stands for."""
    if type(value) is int:
        return str(value)
    return value if isinstance(value, str) else _encode(value)


def processes(system: System) -> dict[str, tuple[Var, ...]]:
    """The constants of each process sort, in the order of the model's fields.

    Raises UsageError for a constant that belongs to no process, since a log cannot give it. Also raises UsageError if
    the names of processes need each other: a constant may name another process, but must not lead back to its own. And
    raises UsageError if two elements have the same constants in a scope: a log would take them for one, and a run of
    both might look impossible.
    """
    found: dict[str, list[Var]] = {}
    for var in system.variables:
        if var.given:
            key = var.keys[0] if len(var.keys) == 1 else None
            if not isinstance(key, SortType):
                raise UsageError(
                    f"{var.at}: {system.name} takes the constant {var.name} from its scope, and no log tells it; "
                    "key it by one sort, such as Proc"
                )
            found.setdefault(key.name, []).append(var)
    for sort, constants in found.items():
        _check_names_end(sort, found)
        _check_names_differ(system, sort, constants)
    return {sort: tuple(constants) for sort, constants in found.items()}


def _check_names_differ(system: System, sort: str, constants: list[Var]) -> None:
    """Raise UsageError if a scope gives the same constants to two elements of a sort."""
    for name, scope in system.scopes.items():
        values = [scope.given[var.name] for var in constants if var.name in scope.given]
        names = list(zip(*values, strict=True))
        if len(set(names)) < len(names):
            raise UsageError(
                f"{constants[0].at}: a log names an element of {sort} by its constants, and in scope {name} two of "
                "them have the same ones; add a constant that tells them apart"
            )


def _check_names_end(sort: str, found: Mapping[str, list[Var]]) -> None:
    """Raise UsageError if the constants of a process lead back to a process of the same sort."""
    waiting = list(found[sort])
    # The list grows while it is read: it takes in the constants of each process sort that is reached.
    seen = set()
    for var in waiting:
        kind = var.value.of if isinstance(var.value, OptionalType) else var.value
        if not isinstance(kind, SortType) or kind.name in seen:
            continue
        if kind.name == sort:
            raise UsageError(
                f"{var.at}: a log names an element of {sort} by its constants, and {var.name} is again an element of "
                f"{sort} or leads to one; name its processes by other constants"
            )
        seen.add(kind.name)
        waiting += found.get(kind.name, [])


@attrs.define
class LogNames:
    """The elements of each sort that a log has named, numbered in order of first appearance.

    ``constants``: for each process sort, the values of each process's constants. ``adding``: whether an unknown name is
    a new element, which is so during the survey only.
    """

    system: System
    adding: bool = True
    elements: dict[str, dict[str, int]] = attrs.field(factory=dict)
    constants: dict[str, list[tuple[Code, ...]]] = attrs.field(factory=dict)
    processes: dict[str, tuple[Var, ...]] = attrs.field(factory=dict)
    greatest: dict[str, int] = attrs.field(factory=dict)
    """The greatest number of each Nat."""
    _known: dict[tuple[str, str], int] = attrs.field(factory=dict)
    _seen: dict[tuple[str, object, type], int] = attrs.field(factory=dict)
    """A cache: the elements by number, text or list. A list is stored by its ``repr``, which is faster than JSON."""

    def __attrs_post_init__(self) -> None:
        self.elements = {sort.name: {} for sort in self.system.sorts}
        self.processes = processes(self.system)
        self.constants = {sort: [] for sort in self.processes}

    def value(self, kind: Scalar, value: Json, at: Place, what: str) -> Code:
        """The model's value for a JSON value; raises UsageError if the type has none. ``what`` names the place."""
        # Most values are elements or numbers. For these, a match statement takes longer than all the rest.
        if type(kind) is SortType:
            return self.element(kind.name, value, at, what)
        if type(kind) is NatType and type(value) is int and 0 <= value < 1 << 63:
            if value > self.greatest.get(kind.name, 0):
                self.greatest[kind.name] = value
            return kind.name, value
        if type(kind) is BoolType and type(value) is bool:
            return int(value)
        match kind:
            case OptionalType(of):
                return None if value is None else self.value(of, value, at, what)
            case IntType(lo=lo, hi=hi) if type(value) is int and lo <= value <= hi:
                return value - lo
            case EnumType(members=members) if isinstance(value, str) and value in members:
                return members.index(value)
            case _:
                damaged(at, f"{what} is {shown(value)}", f"it is {_choices(kind)}")

    def key(self, kind: Plain, text: str, at: Place, what: str) -> Code:
        """The model's value for a key of an object."""
        if type(kind) is SortType:
            return self.element(kind.name, self._key_value(kind, text, at, what), at, what)
        if isinstance(kind, NatType | IntType):
            if not text.removeprefix("-").isdecimal() or len(text) > 20:
                damaged(at, f"{what} has the key {shown(text)}", f"it is {_choices(kind)}")
            return self.value(kind, int(text), at, what)
        if type(kind) is BoolType:
            return self.value(kind, {"true": True, "false": False}.get(text, text), at, what)
        return self.value(kind, text, at, what)

    def _key_value(self, kind: SortType, text: str, at: Place, what: str) -> Json:
        """The JSON value of a key: for a process, the list of its constants."""
        if kind.name not in self.processes or not text.startswith("["):
            return text
        try:
            value: Json = json.loads(text)
        except ValueError:
            damaged(at, f"{what} has the key {shown(text)}", "a process is the list of its constants")
        return value

    def element(self, sort: str, value: Json, at: Place, what: str) -> int:
        """The number of an element; a new number for a new element."""
        if value is None:
            damaged(at, f"{what} is null", f"it is an element of {sort}; leave the key out if it is not known")
        kind = type(value)
        if kind is not str and kind is not int and kind is not list:
            return self._named(sort, value, at, what)
        # In Python True and 1.0 equal 1, so the cache only takes texts, integers and lists, with their type in the key.
        python = sort, repr(value) if kind is list else value, kind
        known = self._seen.get(python)
        if known is None:
            known = self._seen[python] = self._named(sort, value, at, what)
        return known

    def _named(self, sort: str, value: Json, at: Place, what: str) -> int:
        text = canonical(value)
        known = self._known.get((sort, text))
        if known is None:
            known = self._known[sort, text] = self._new(sort, text, value, at, what)
        return known

    def _new(self, sort: str, text: str, value: Json, at: Place, what: str) -> int:
        elements = self.elements[sort]
        constants = self._constants(sort, value, at, what) if sort in self.processes else None
        if constants is not None:
            # Two JSON values may name one process, for example if one leaves out a last constant.
            text = repr(constants)
            if text in elements:
                return elements[text]
        elif text in elements:
            return elements[text]
        assert self.adding, "the survey has seen every element"
        if constants is not None:
            self.constants[sort].append(constants)
        elements[text] = len(elements)
        return elements[text]

    def _constants(self, sort: str, value: Json, at: Place, what: str) -> tuple[Code, ...]:
        wanted = self.processes[sort]
        given = list(value) if isinstance(value, list) else [value]
        if len(given) > len(wanted):
            names = ", ".join(var.name for var in wanted)
            damaged(at, f"{what} is {shown(value)}", f"an element of {sort} is the list [{names}]")
        return tuple(
            self.value(var.value, given[place], at, f"{var.name} of {what}") if place < len(given) else _absent(var)
            for place, var in enumerate(wanted)
        )

    def called(self, sort: str) -> list[str]:
        """The names of the elements of a sort, by number."""
        if sort not in self.processes:
            return list(self.elements[sort])
        return [self._process(sort, constants) for constants in self.constants[sort]]

    def _process(self, sort: str, constants: tuple[Code, ...]) -> str:
        parts = [self.text(var.value, value) for var, value in zip(self.processes[sort], constants, strict=True)]
        return f"[{','.join(parts)}]"

    def text(self, kind: Scalar, value: Code) -> str:
        """A value in the log's own spelling."""
        match kind, value:
            case OptionalType(), None:
                return "null"
            case OptionalType(of), _:
                return self.text(of, value)
            case SortType(name), int():
                return self.called(name)[value]
            case EnumType(members=members), int():
                return members[value]
            case BoolType(), _:
                return "true" if value else "false"
            case IntType(lo=lo), int():
                return str(value + lo)
            case NatType(), tuple():
                return str(value[1])
            case _:
                return "?"


def _absent(var: Var) -> Code:
    """The value of a constant that is left out at the end of the list."""
    match var.value:
        case OptionalType():
            return None
        case NatType(name):
            return name, 0
        case _:
            return 0


def _choices(kind: Scalar) -> str:
    match kind:
        case OptionalType(of):
            return f"{_choices(of)}, or null"
        case BoolType():
            return "true or false"
        case EnumType(members=members):
            return f"one of {', '.join(members)}"
        case IntType(lo=lo, hi=hi):
            return f"an integer from {lo} to {hi}"
        case NatType(name):
            return f"a number of {name}: an integer from 0"
        case _:
            return f"an element of {kind}"
