"""Computes how large a sized universe is: the bits of its words, and the number of parts of its formulas."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod

from holdfast.ir.expr import Arithmetic, Expr, Fold, IfElse, Lit, Name, Quantified, Unwrap, Wrap, children
from holdfast.ir.stmt import For, If, Let, Stmt, direct_expressions
from holdfast.ir.system import System
from holdfast.ir.types import EnumType, IntType, Key, MapType, NatType, NumberType, OptionalType, SortType, Type
from holdfast.lower.layout import MOST_CODES
from holdfast.lower.scope_limits import MOST_VALUES

NARROWEST, WIDEST = 32, 1024
"""The least and the greatest number of bits of a word."""

MOST_NODES = 200_000
"""The greatest number of parts of an action or a property after its loops and quantifiers are written out."""


def too_large(system: System, sizes: Mapping[str, int]) -> str | None:
    """The reason why no universe of these sizes is built; None if it can be built.

    Either no scope can have these sizes, or the formulas would be too large. ``sizes`` has the number of elements for a
    Sort, and the greatest value for a Nat.
    """
    for var in system.variables:
        if (values := _values(var.value, sizes)) > MOST_CODES:
            return f"{var.name} would have {values:,} values, and a cell has room for {MOST_CODES}"
    every = (system.init, *system.actions)
    for name, kind in ((param.name, param.type) for action in every for param in action.params):
        room = MOST_VALUES if isinstance(kind, MapType) else MOST_CODES
        if _values(kind, sizes) > room:
            return f"{name} would have more than {room:,} values, and there is room for no more"
    for what, nodes in _written(system, sizes):
        if nodes > MOST_NODES:
            return f"{what} has more than {MOST_NODES:,} parts once it is written out"
    if width(system, sizes) > WIDEST:
        return f"a number would have more than {WIDEST:,} bits"
    return None


def _values(kind: Type, sizes: Mapping[str, int]) -> int:
    match kind:
        case OptionalType(of):
            return 1 + _values(of, sizes)
        case MapType(keys=keys, value=value):
            return int(_values(value, sizes) ** prod(_values(key, sizes) for key in keys))
        case IntType(lo=lo, hi=hi):
            return hi - lo + 1
        case SortType(name):
            return sizes[name]
        case NatType(name):
            return sizes[name] + 1
        case EnumType(members=members):
            return len(members)
        case _:
            return 2


# Words ------------------------------------------------------------------------------------------------------------


def width(system: System, sizes: Mapping[str, int]) -> int:
    """The bits of a word in which no number that the system computes overflows."""
    magnitudes = _Magnitudes(sizes)
    for action in (system.init, *system.actions):
        for param in action.params:
            magnitudes.note(param.type)
        magnitudes.body(action.body)
    for var in system.variables:
        for kind in (*var.keys, var.value):
            magnitudes.note(kind)
    for prop in system.properties:
        for part in (prop.body, prop.premise, prop.goal):
            if part is not None:
                magnitudes.of(part)
    # One bit for the sign, and one because a sum or the end of a range may be one larger.
    return max(NARROWEST, magnitudes.largest.bit_length() + 2)


class _Magnitudes:
    """Bounds the absolute values of expressions; ``largest`` is the largest bound of all expressions so far."""

    def __init__(self, sizes: Mapping[str, int]) -> None:
        self.sizes = sizes
        self.largest = 0
        self._locals: dict[str, int] = {}

    def body(self, body: Sequence[Stmt]) -> None:
        """Bound the statements of a body, in order: a ``let`` comes before the expressions that read its local."""
        for stmt in body:
            found = [self.of(expr) for expr in direct_expressions(stmt)]
            match stmt:
                case Let(name=name):
                    self._locals[name] = max(found)
                case If(then=then, orelse=orelse):
                    self.body(then)
                    self.body(orelse)
                case For(domain=domain, body=inner):
                    self.note(domain)
                    self.body(inner)
                case _:
                    pass

    def note(self, kind: Type) -> int:
        """The largest absolute value of a type; also counts for ``largest``."""
        found = self._of_type(kind)
        self.largest = max(self.largest, found)
        return found

    def of(self, expr: Expr) -> int:
        """A bound for the absolute value of an expression; also counts for ``largest``."""
        parts = [self.of(part) for part in children(expr)]
        found = self._of(expr, parts)
        self.largest = max(self.largest, found)
        return found

    def _of(self, expr: Expr, parts: Sequence[int]) -> int:
        match expr:
            case Lit(value):
                return abs(value) if isinstance(value, int) else self._of_type(expr.type)
            case Name(name, NumberType()):
                return self._locals[name]
            case Arithmetic(op="*"):
                return prod(parts)
            case Arithmetic(op=op):
                return sum(parts) if op in ("+", "-") else max(parts)
            case Fold(kind=kind, domain=domain):
                _, value, default = parts
                # A sum adds at most one value for each element of the domain; a count adds at most 1.
                return max(value, default) if kind in ("min", "max") else _values(domain, self.sizes) * max(value, 1)
            case IfElse():
                # The first part is the test, which is no value.
                return max(parts[1:])
            case Wrap() | Unwrap():
                return parts[0]
            case _:
                return self._of_type(expr.type)

    def _of_type(self, kind: Type) -> int:
        match kind:
            case OptionalType(of):
                return self._of_type(of)
            case MapType(keys=keys, value=value):
                return max(self._of_type(each) for each in (*keys, value))
            case IntType(lo=lo, hi=hi):
                return max(abs(lo), abs(hi)) + 1
            case SortType(name) | NatType(name):
                return self.sizes[name] + 1
            case EnumType(members=members):
                return len(members)
            case _:
                return 1


# Formulas ---------------------------------------------------------------------------------------------------------


def _written(system: System, sizes: Mapping[str, int]) -> list[tuple[str, int]]:
    """Each action and property, with the number of its parts after loops and quantifiers are written out."""

    def elements(domain: Key) -> int:
        return _values(domain, sizes)

    found = [(f"action {each.name}", _body_nodes(each.body, elements)) for each in (system.init, *system.actions)]
    return found + [(f"{prop.kind} {prop.name}", _nodes(prop.body, elements)) for prop in system.properties]


def _body_nodes(body: Sequence[Stmt], elements: Callable[[Key], int]) -> int:
    total = 0
    for stmt in body:
        total += 1 + sum(_nodes(expr, elements) for expr in direct_expressions(stmt))
        match stmt:
            case If(then=then, orelse=orelse):
                total += _body_nodes(then, elements) + _body_nodes(orelse, elements)
            case For(domain=domain, body=inner):
                total += elements(domain) * _body_nodes(inner, elements)
            case _:
                pass
    return total


def _nodes(expr: Expr, elements: Callable[[Key], int]) -> int:
    inner = 1 + sum(_nodes(part, elements) for part in children(expr))
    return inner * elements(expr.domain) if isinstance(expr, Quantified | Fold) else inner
