"""Decide which numbers of a log need only their order, because the model does nothing but compare them.

Numbers in a log have no bound, but a search has few codes. If a model only compares the values of a Nat, only their
order matters. Then a code can stand for the value at that index of the ordered values (``window.py``). More values lie
between two values that the log tells; a cell that is keyed by the Nat stands for all values from its own key up to the
next one. That is sound if the model only asks whether such keys lie in half-open ranges (``a <= o and o < b``).

Counting on (``x + 1``) means the next value of the log; the event has to tell that value.

A Nat is *plain* if the model does more with it. An example are the ids of a few brokers, which a model compares with
each other in loops. A number of a plain Nat is the same number in the log and in the model. The model has no numbers
above the greatest one of the log, like it has no elements of a sort that the log does not name; the verdict says so.
With that, loops, quantifiers and ``x + 1`` need no further care, and neither does a difference: it is no greater than
a number of the log, and below 0 no system has a number. A model that sums or otherwise computes with a Nat is refused;
the error names the Nat and the place.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NoReturn

import attrs

from holdfast.ir.errors import Place, UsageError
from holdfast.ir.expr import (
    Arithmetic,
    Compare,
    Expr,
    Fold,
    IfElse,
    Lit,
    Name,
    Quantified,
    Read,
    Wrap,
    children,
    is_last,
    walk,
)
from holdfast.ir.names import source_name
from holdfast.ir.stmt import Assign, Fill, For, Let, Stmt, direct_expressions, statements
from holdfast.ir.system import Action, System
from holdfast.ir.types import NONE, MapType, NatType, NumberType, OptionalType, Type
from holdfast.lower.python.prune import prune


@attrs.frozen
class Uses:
    """How a model uses its Nats.

    ``counted``: by the action's name, the variables that it adds one to, without variables of plain Nats. ``literals``:
    by Nat, the numbers above 0 that the model names. ``plain``: by Nat, why its numbers are the same in log and model.
    ``rising``: the plain Nats whose cells some action adds one to. ``ended``: by plain Nat, where the model asks for
    its greatest value.
    """

    counted: dict[str, tuple[str, ...]]
    literals: dict[str, frozenset[int]]
    plain: dict[str, str] = attrs.field(factory=dict)
    rising: frozenset[str] = frozenset()
    ended: dict[str, str] = attrs.field(factory=dict)


def uses(system: System, dropped: frozenset[str]) -> Uses:
    """The uses of Nats in the actions, without the ghosts ``dropped``. Raises UsageError for other arithmetic."""
    reading = _Reading(system, dropped)
    for action in (system.init, *system.actions):
        reading.action(action)
    nats = {var.name: str(nat_of(var.value)) for var in system.variables}
    ordered = {
        name: tuple(sorted(var for var in found if nats[var] not in reading.plain))
        for name, found in reading.counted.items()
    }
    return Uses(
        {name: found for name, found in ordered.items() if found},
        {name: frozenset(found) for name, found in reading.literals.items() if found},
        reading.plain,
        frozenset(nats[var] for found in reading.counted.values() for var in found if nats[var] in reading.plain),
        reading.ended,
    )


def nat_of(kind: Type) -> str | None:
    """The Nat whose values an expression of this type takes; None for other types."""
    match kind:
        case NatType(name):
            return name
        case NumberType(of):
            return of
        case OptionalType(of):
            return nat_of(of)
        case _:
            return None


class _Reading:
    def __init__(self, system: System, dropped: frozenset[str]) -> None:
        self.system = system
        self.nats = frozenset(nat.name for nat in system.nats)
        self.dropped = dropped
        self.counted: dict[str, set[str]] = {action.name: set() for action in system.actions}
        self.literals: dict[str, set[int]] = {}
        self.plain: dict[str, str] = {}
        self.ended: dict[str, str] = {}
        self.at: Place = system.init.at
        self.ranging: dict[str, str] = {}
        """The loop and quantified variables of the current action that range over a Nat, with its name."""
        self.next: set[str] = set()
        """The locals of the current action that hold the next value of a cell."""

    def nat(self, kind: Type) -> str | None:
        """The Nat whose values an expression of this type takes; None for an Int, whose bounds belong to the model."""
        name = nat_of(kind)
        return name if name in self.nats else None

    def action(self, action: Action) -> None:
        # Order matters: the checks below look up the ranging variables and next-value locals of this action.
        whole = next((param for param in action.params if isinstance(param.type, MapType)), None)
        if whole is not None:
            raise UsageError(
                f"{action.at}: {action.name} has the parameter {whole.name} of type {whole.type}, and conform takes no "
                "whole maps; take single values, as a log tells them"
            )
        body = prune(action.body, self.dropped)
        self.ranging = dict(_ranging(body))
        self.next = {stmt.name for stmt in statements(body) if isinstance(stmt, Let) and is_next(stmt.value)}
        for stmt in statements(body):
            self.at = getattr(stmt, "at", action.at)
            match stmt:
                case Let(value=value) if is_next(value):
                    self._inside(value)
                case Assign(var=var, keys=keys, value=value) if is_next(value) or self._is_next_local(value):
                    self.counted.setdefault(action.name, set()).add(var)
                    for each in self._without_ranging(keys):
                        self.expr(each)
                    if is_next(value):
                        self._inside(value)
                    self._key(var, keys)
                case Assign(var=var, keys=keys, value=value):
                    self._value(self.nat(self.system.var(var).value), value)
                    for each in (*self._without_ranging(keys), value):
                        self.expr(each)
                    self._key(var, keys)
                case Fill(var=var, value=value):
                    self._value(self.nat(self.system.var(var).value), value)
                    self.expr(value)
                case _:
                    for each in direct_expressions(stmt):
                        self.expr(each)

    def _is_next_local(self, value: Expr) -> bool:
        return isinstance(value, Name) and value.name in self.next

    def _inside(self, value: Expr) -> None:
        for each in children(value):
            if not isinstance(each, Lit):
                self.expr(each)

    def _without_ranging(self, keys: tuple[Expr, ...]) -> list[Expr]:
        return [key for key in keys if not self._is_ranging(key)]

    def _key(self, var: str, keys: tuple[Expr, ...]) -> None:
        """Check the keys of a written cell: a cell at one value of a Nat would change all values up to the next."""
        for kind, key in zip(self.system.var(var).keys, keys, strict=True):
            nat = self.nat(kind)
            self._value(nat, key)
            if nat is not None and not self._is_ranging(key):
                self._take_plainly(nat, f"writes {var} at a single value of it")

    def expr(self, expr: Expr) -> None:
        self._expected(expr)
        match expr:
            case Lit(value=int()):
                self._value(self.nat(expr.type), expr)
            case Name():
                self._name(expr)
            case Arithmetic():
                for nat in {self.nat(part.type): None for part in (expr, *expr.args)}:
                    if nat is not None and _computes(expr):
                        self._refuse(nat, f"computes with it ({expr.op})")
                    self._take_plainly(nat, f"computes with it ({expr.op})")
            case Fold():
                self._fold(expr)
            case _:
                pass
        for part in self._parts(expr):
            self.expr(part)

    def _name(self, expr: Name) -> None:
        if expr.name in self.ranging:
            nat = self.ranging[expr.name]
            self._take_plainly(nat, f"uses {source_name(expr.name)} otherwise than as a key or in a half-open range")
        elif expr.name in self.next:
            self._take_plainly(self.nat(expr.type), "looks at the next value of a cell")

    def _fold(self, expr: Fold) -> None:
        """Check a fold. A ``min`` over a range is in a window (see ``_parts``); sums and ``max`` are not."""
        summed = self.nat(expr.value.type) if expr.kind == "sum" else None
        if summed is not None:
            self._refuse(summed, "takes a sum of its values")
        if isinstance(expr.domain, NatType) and expr.kind in ("sum", "count"):
            self._refuse(expr.domain.name, f"takes a {expr.kind} over its values")
        if isinstance(expr.domain, NatType) and is_last(expr):
            self.ended.setdefault(expr.domain.name, f"{self.at}: {self.system.name} asks for its greatest value")
        if isinstance(expr.domain, NatType) and expr.kind == "max":
            self._take_plainly(expr.domain.name, "takes a max over its values")

    def _expected(self, expr: Expr) -> None:
        """Check the parts of an expression at which a value of a Nat is expected."""
        match expr:
            case IfElse(then=then, orelse=orelse):
                self._value(self.nat(expr.type), then)
                self._value(self.nat(expr.type), orelse)
            case Compare(left=left, right=right):
                self._value(self.nat(left.type), right)
                self._value(self.nat(right.type), left)
            case Read(var=var, keys=keys):
                for kind, key in zip(self.system.var(var).keys, keys, strict=True):
                    self._value(self.nat(kind), key)

    def _value(self, nat: str | None, expr: Expr) -> None:
        """Check an expression at which a value of ``nat`` is expected: a bare number there is a literal of the Nat."""
        match expr:
            case _ if nat is None:
                pass
            case Lit(value=int(value)) if not isinstance(value, bool) and value >= 0:
                if value:
                    self.literals.setdefault(nat, set()).add(value)
            case IfElse(then=then, orelse=orelse):
                self._value(nat, then)
                self._value(nat, orelse)
            case Wrap(arg):
                self._value(nat, arg)
            case _ if expr.type != NONE and self.nat(expr.type) != nat:
                self._take_plainly(nat, "compares it with other numbers")

    def _parts(self, expr: Expr) -> Iterable[Expr]:
        """The parts of an expression that need a check, without loop variables at allowed places."""
        match expr:
            case Compare():
                return self._compared(expr)
            case Read(keys=keys):
                return [key for key in keys if not self._is_ranging(key)]
            case Fold(kind="min", value=value) if self._is_ranging(value):
                # The least value of a union of half-open ranges begins one of the ranges, so the window holds it.
                return (expr.where, expr.default)
            case _:
                return children(expr)

    def _is_ranging(self, expr: Expr) -> bool:
        return isinstance(expr, Name) and expr.name in self.ranging

    def _compared(self, expr: Compare) -> Iterable[Expr]:
        """The sides of a comparison that need a check. A loop variable needs none if it tests a half-open range."""
        for one, other, op in ((expr.left, expr.right, expr.op), (expr.right, expr.left, _TURNED[expr.op])):
            # Only ``>=`` and ``<`` are allowed: the two ends of a half-open range.
            if isinstance(one, Name) and one.name in self.ranging:
                if any(self._is_ranging(part) for part in walk(other)):
                    problem = "compares two of its values in a loop"
                elif op not in (">=", "<"):
                    problem = f"asks for {source_name(one.name)} {op} a limit"
                else:
                    return (other,)
                self._take_plainly(self.ranging[one.name], problem)
        return (expr.left, expr.right)

    def _take_plainly(self, nat: str | None, problem: str) -> None:
        """Make the Nat plain, because no window can hold it. Only the first reason is kept."""
        if nat is not None:
            self.plain.setdefault(nat, f"{self.at}: {self.system.name} {problem}")

    def _refuse(self, nat: str, problem: str) -> NoReturn:
        raise UsageError(
            f"{self.at}: {self.system.name} {problem}; let the model only compare values of {nat}, and count on by one"
        )


_TURNED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
# The operators of a comparison whose sides are swapped.


def _computes(expr: Arithmetic) -> bool:
    """Whether the expression is neither ``x + 1`` nor a difference, a ``min`` or a ``max``."""
    one_more = expr.op == "+" and any(isinstance(arg, Lit) and arg.value == 1 for arg in expr.args)
    return not (one_more and len(expr.args) == 2) and expr.op not in ("-", "min", "max")


def is_next(expr: Expr) -> bool:
    """Whether the expression is a cell plus one."""
    if not isinstance(expr, Arithmetic) or expr.op != "+" or len(expr.args) != 2:
        return False
    cell, one = expr.args
    return isinstance(cell, Read) and nat_of(cell.type) is not None and isinstance(one, Lit) and one.value == 1


def _ranging(body: Iterable[Stmt]) -> Iterable[tuple[str, str]]:
    """The variables that range over a Nat, each with the name of the Nat."""
    for stmt in statements(tuple(body)):
        if isinstance(stmt, For) and isinstance(stmt.domain, NatType):
            yield stmt.var, stmt.domain.name
        for expr in direct_expressions(stmt):
            for part in walk(expr):
                if isinstance(part, Quantified | Fold) and isinstance(part.domain, NatType):
                    yield part.var, part.domain.name
