"""Translates the scopes of a model to scopes for the engines, and checks every size, name and value."""

from __future__ import annotations

import ast
import enum
import re
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from holdfast.ir.compile.annotations import Types
from holdfast.ir.compile.refusals import Refusals
from holdfast.ir.compile.source import ClassSource, Module
from holdfast.ir.marks import ScopeMark
from holdfast.ir.system import Scope, Var
from holdfast.ir.types import BoolType, EnumType, IntType, NatType, OptionalType, Plain, Scalar, SortType

Value = bool | int | str | None

MOST_STEPS = 1_000_000
"""The largest depth of random runs. Ctrl-C waits for the end of the current run, so runs must not get too long."""

MOST = 254
"""The largest size, bound or budget: the explicit engines hold a cell in a byte."""


def read_scopes(
    cls: type,
    source: ClassSource,
    types: Types,
    variables: tuple[Var, ...],
    actions: Sequence[str],
    refusals: Refusals,
) -> dict[str, Scope]:
    """The scopes of a model, by name, in the order of the source. ``actions``: the names of its actions.

    An inherited scope is a scope of the model only if it has a size for each Sort and Nat of the model. A wrong scope
    goes to ``refusals``.
    """
    sized = {declared for declared, kind in types.known.items() if isinstance(kind, SortType | NatType)}
    unjudged = _unjudged(source, refusals)
    found: dict[str, Scope] = {}
    for name, (module, node) in source.scopes.items():
        if name in refusals.names:
            continue
        if name in vars(cls) or sized <= set(getattr(cls, name).sizes):
            with refusals.collect(name):
                reader = _Reader(name, module, node, types, variables, actions, unjudged)
                found[name] = reader.read(getattr(cls, name))
    return found


def _unjudged(source: ClassSource, refusals: Refusals) -> frozenset[str]:
    """The words of all that is refused: a scope may rightly name a type, an action or a constant from there."""
    if not refusals:
        return frozenset()
    found = set(refusals.names)
    for stmt in (stmt for node in source.classes for stmt in node.body):
        match stmt:
            case ast.FunctionDef(name=name, decorator_list=decorators):
                refused = name in refusals.names or not decorators  # a refused method may call any helper
            case ast.AnnAssign(target=ast.Name(id=name)):
                refused = name in refusals.names
            case _:
                refused = False
        for part in ast.walk(stmt) if refused else ():
            match part:
                case ast.Name(id=word) | ast.Attribute(attr=word):
                    found.add(word)
                case ast.Constant(value=str(text)):  # a quoted annotation
                    found.update(re.findall(r"\w+", text))
    return frozenset(found)


class _Reader:
    """Reads one scope."""

    def __init__(
        self,
        name: str,
        module: Module,
        node: ast.Assign,
        types: Types,
        variables: tuple[Var, ...],
        actions: Sequence[str],
        unjudged: frozenset[str],
    ) -> None:
        self.name, self.module, self.node = name, module, node
        self.unjudged = unjudged
        self.types, self.variables, self.actions = types, variables, actions

    def read(self, mark: ScopeMark) -> Scope:
        sizes = self._sizes(mark.sizes)
        return Scope(
            self.name,
            sizes,
            self._budgets(mark.budgets),
            self._given(mark.given, sizes),
            self.module.place(self.node),
            self._depth(mark.depth),
        )

    def _refuse(self, construct: str, problem: str, remedy: str) -> NoReturn:
        self.module.refuse(self.node, problem, remedy, construct=f"scope {self.name}: {construct}")

    def _sizes(self, given: Mapping[type, object]) -> dict[str, int]:
        sized = {cls: kind for cls, kind in self.types.known.items() if isinstance(kind, SortType | NatType)}
        sizes: dict[str, int] = {}
        for cls, size in given.items():
            shown = getattr(cls, "__name__", repr(cls))
            if cls not in sized:
                if shown in self.unjudged:
                    continue
                self._refuse(shown, "the model uses no Sort or Nat of this name", "give sizes to its own sorts only")
            # No domain is empty: ``simplify`` relies on this. A Nat with the greatest value 0 has one value.
            least = 1 if isinstance(sized[cls], SortType) else 0
            if not isinstance(size, int) or isinstance(size, bool) or not least <= size <= MOST:
                self._refuse(f"{shown}: {size!r}", "this is not a size", f"use a number from {least} to {MOST}")
            sizes[shown] = size
        for cls, kind in sized.items():
            if cls not in given:
                what = "number of elements" if isinstance(kind, SortType) else "greatest value"
                self._refuse(kind.name, f"its {what} is missing", f"add {kind.name}: ...")
        return {kind.name: sizes[kind.name] for kind in sized.values()}  # in the order of the model's types

    def _budgets(self, given: Mapping[str, object]) -> dict[str, int]:
        names = self.actions
        budgets: dict[str, int] = {}
        for name, budget in given.items():
            if name not in names:
                if name in self.unjudged:
                    continue
                self._refuse(
                    f"budget {name!r}", "the model has no such action", f"it has: {', '.join(names) or 'none'}"
                )
            if not isinstance(budget, int) or isinstance(budget, bool) or not 0 <= budget <= MOST:
                self._refuse(f"budget {name}: {budget!r}", "this is not a budget", f"use a number from 0 to {MOST}")
            budgets[name] = budget
        return {name: budgets[name] for name in names if name in budgets}

    def _depth(self, given: object) -> int | None:
        if given is None:
            return None
        if not isinstance(given, int) or isinstance(given, bool) or not 1 <= given <= MOST_STEPS:
            self._refuse(f"depth {given!r}", "this is no depth of a run", f"use a number from 1 to {MOST_STEPS}")
        return given

    # Given constants ------------------------------------------------------------------------------------------

    def _given(self, given: Mapping[str, object], sizes: Mapping[str, int]) -> dict[str, tuple[Value, ...]]:
        wanted = {var.name: var for var in self.variables if var.given}
        for name in given:
            if name not in wanted:
                if name in self.unjudged:
                    continue
                self._refuse(
                    f"given {name!r}", "no constant of this name is left open", "give only fields that no method writes"
                )
        values: dict[str, tuple[Value, ...]] = {}
        for name, var in wanted.items():
            if name not in given:
                if name in self.unjudged:
                    continue
                self._refuse(
                    name,
                    "nothing sets this constant",
                    f"set it in an @init method, or give it here: given={{{name!r}: ...}}",
                )
            values[name] = self._values(var, given[name], sizes)
        return values

    def _values(self, var: Var, given: object, sizes: Mapping[str, int]) -> tuple[Value, ...]:
        wanted = 1
        for kind in var.keys:
            wanted *= _size(kind, sizes)
        listed: list[Any] = list(given) if var.keys and isinstance(given, tuple | list) else [given]
        if len(listed) != wanted:
            self._refuse(
                f"given {var.name}",
                f"{len(listed)} values are given for {wanted} cells",
                "give one for each key, in order",
            )
        return tuple(self._value(var, value, var.value, sizes) for value in listed)

    def _value(self, var: Var, value: Any, kind: Scalar, sizes: Mapping[str, int]) -> Value:
        if isinstance(kind, OptionalType):
            return None if value is None else self._value(var, value, kind.of, sizes)
        if isinstance(kind, EnumType):
            shown = value.name if isinstance(value, enum.Enum) else value
            if shown in kind.members:
                return str(shown)
        elif isinstance(kind, BoolType):
            if value in (True, False):  # also 0 and 1
                return bool(value)
        elif isinstance(value, int) and not isinstance(value, bool):
            lo, hi = _bounds(kind, sizes)
            if lo <= value <= hi:
                return int(value)
        self._refuse(f"given {var.name}", f"{value!r} is not a value of {kind}", _values_of(kind, sizes))


def _bounds(kind: Plain, sizes: Mapping[str, int]) -> tuple[int, int]:
    """The least and the greatest value of a type, as a number or an element index; not for Enums and bool."""
    match kind:
        case SortType(name):
            return 0, sizes[name] - 1
        case NatType(name):
            return 0, sizes[name]
        case IntType(lo=lo, hi=hi):
            return lo, hi
    return 0, 0


def _size(kind: Plain, sizes: Mapping[str, int]) -> int:
    """The number of values of a key type."""
    if isinstance(kind, EnumType):
        return len(kind.members)
    lo, hi = _bounds(kind, sizes)
    return hi - lo + 1


def _values_of(kind: Plain, sizes: Mapping[str, int]) -> str:
    if isinstance(kind, EnumType):
        return f"use one of {', '.join(kind.members)}"
    if isinstance(kind, BoolType):
        return "use True or False"
    lo, hi = _bounds(kind, sizes)
    what = "an element's index" if isinstance(kind, SortType) else "a number"
    return f"use {what} from {lo} to {hi}"
