"""The reads of a property: a slow evaluator that keeps, with each value, the cells that decided it.

Only reads that mattered count. A false conjunction has one part as its reason, and a failing quantifier its first
failing element. Changing cells that are not among the reads of a value does not change the value. A cell is given by
its index in the state. Bounds and budgets of a scope are no reads: they belong to no protocol.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce

import attrs

from holdfast.ir.expr import (
    And,
    Arithmetic,
    Compare,
    Expr,
    Fold,
    IfElse,
    Implies,
    IsNone,
    Lit,
    MapRead,
    Name,
    Not,
    Or,
    Quantified,
    Read,
    Ruled,
    Unwrap,
    Wrap,
    negate,
)
from holdfast.ir.system import Param, Property
from holdfast.ir.types import BoolType, Choice, EnumType, IntType, MapType, OptionalType, Scalar
from holdfast.lower.layout import Layout
from holdfast.lower.python.expression_text import COMPARISONS, origin
from holdfast.lower.python.predicates import parameters

Reads = frozenset[int]
NOTHING: Reads = frozenset()

Number = bool | int | None
"""A value in computations: a bool, the place of an element or member, a Nat or an Int as a number, or None."""


class UndefinedValueError(Exception):
    """Raised by an expression without a value in this state: the value of None, or a key that the scope lacks."""


@attrs.frozen
class ValueReads:
    """A value, and the cells that decided it. Cell ``c`` of the state before a step is ``c`` plus the state's width."""

    value: Number
    reads: Reads = NOTHING


@attrs.frozen
class PropertyReads:
    """Whether a property holds, and the cells that decided it: ``reads`` in the state, ``before`` in the one before."""

    holds: bool
    reads: Reads
    before: Reads


def ask(layout: Layout, prop: Property, state: bytes, old: bytes, args: Sequence[int] = ()) -> PropertyReads:
    """Evaluate a property in a state, or for the step from ``old`` to it. ``args`` are those of the step's action."""
    of = None if prop.of is None else layout.system.action(prop.of)
    evaluation = Evaluation(layout, state, old)
    for param, position in parameters(prop, of):
        evaluation.argument(param, args[position])
    seen = evaluation.expr(prop.body)
    reads = frozenset(cell for cell in seen.reads if cell < layout.width)
    return PropertyReads(bool(seen.value), reads, frozenset(cell - layout.width for cell in seen.reads - reads))


class Evaluation:
    """Evaluates expressions over a state and, if given, the state before it."""

    def __init__(self, layout: Layout, state: bytes, old: bytes = b"") -> None:
        self.layout = layout
        self.names: Mapping[str, ValueReads] = {}
        kinds = [cell.field.type for cell in layout.cells]
        # The cells of both states in one list, the old state's behind: ``read`` adds the width for them.
        coded = [*zip(kinds, state, strict=True), *zip(kinds[: len(old)], old, strict=True)]
        self.cells = [ValueReads(number(kind, code), frozenset((index,))) for index, (kind, code) in enumerate(coded)]

    def argument(self, param: Param, code: int) -> None:
        """Give a parameter its value."""
        self.bind(param.name, ValueReads(number(param.type, code)))

    def bind(self, name: str, seen: ValueReads) -> None:
        """Let a name stand for a value."""
        self.names = {**self.names, name: seen}

    def expr(self, node: Expr) -> ValueReads:  # noqa: C901 - one case for each kind of node
        """The value of an expression."""
        match node:
            case Lit():
                return ValueReads(_constant(node))
            case Name(name):
                return self.names[name]
            case Read():
                return self.read(node)
            case MapRead():
                return self.lookup(node)
            case Not(arg):
                seen = self.expr(arg)
                return ValueReads(not seen.value, seen.reads)
            case And(args):
                return self.decided(args, by=False)
            case Or(args):
                return self.decided(args, by=True)
            case Implies(left, right):
                return self.decided((negate(left), right), by=True)
            case Compare(op, left, right):
                return self.compare(op, self.expr(left), self.expr(right))
            case IsNone(arg):
                seen = self.expr(arg)
                return ValueReads(seen.value is None, seen.reads)
            case Unwrap(arg):
                seen = self.expr(arg)
                if seen.value is None:
                    raise UndefinedValueError
                return seen
            case Wrap(arg) | Ruled(arg=arg):
                return self.expr(arg)
            case IfElse(test, then, orelse):
                chosen = self.expr(test)
                seen = self.expr(then if chosen.value else orelse)
                return ValueReads(seen.value, chosen.reads | seen.reads)
            case Quantified():
                return self.quantified(node)
            case Fold():
                return self.fold(node)
            case Arithmetic(op, args):
                parts = [self.expr(arg) for arg in args]
                return ValueReads(_calculate(op, [whole(part) for part in parts]), _all(part.reads for part in parts))

    def read(self, node: Read) -> ValueReads:
        """The value of a cell, or of a constant that the scope gives. A constant is no cell, so it adds no reads."""
        if node.var in self.layout.given:
            keys = self.layout.system.var(node.var).keys
            index, reads = self.index([self.layout.scope.size(key) for key in keys], node.keys)
            return ValueReads(number(node.type, self.layout.given[node.var][index]), reads)
        field = self.layout.field(node.var)
        index, reads = self.index(field.sizes, node.keys)
        cell = self.cells[index + field.offset + (self.layout.width if node.old else 0)]
        return ValueReads(cell.value, cell.reads | reads)

    def lookup(self, node: MapRead) -> ValueReads:
        """A cell of a parameter that is a whole map. No cell of the state is read but those of the keys."""
        assert isinstance(node.arg.type, MapType)
        index, reads = self.index([self.layout.scope.size(key) for key in node.arg.type.keys], node.keys)
        base = self.layout.codes(node.type)
        return ValueReads(number(node.type, whole(self.names[node.arg.name]) // base**index % base), reads)

    def index(self, sizes: Sequence[int], keys: Sequence[Expr]) -> tuple[int, Reads]:
        """The number of a cell within its variable, in row-major order, and the reads of its keys."""
        index, reads = 0, NOTHING
        for size, key in zip(sizes, keys, strict=True):
            seen = self.expr(key)
            place = whole(seen)
            if not 0 <= place < size:
                raise UndefinedValueError
            index, reads = index * size + place, reads | seen.reads
        return index, reads

    def decided(self, args: Sequence[Expr], *, by: bool) -> ValueReads:
        """A conjunction (``by`` is False) or a disjunction (``by`` is True). A part with the value ``by`` decides it.

        Of the parts that decide it, the one with the fewest reads is the reason. So parts behind a deciding part are
        evaluated too. They may be undefined, as the short circuit would have left them out.
        """
        best: ValueReads | None = None
        reads = NOTHING
        for arg in args:
            try:
                seen = self.expr(arg)
            except UndefinedValueError:
                if best is None:
                    raise
                continue
            reads |= seen.reads
            if bool(seen.value) is by and (best is None or len(seen.reads) < len(best.reads)):
                best = seen
        return ValueReads(not by, reads) if best is None else best

    def compare(self, op: str, left: ValueReads, right: ValueReads) -> ValueReads:
        """A comparison. Only equality compares None; for others None is undefined."""
        reads = left.reads | right.reads
        if op in ("==", "!="):
            return ValueReads((left.value == right.value) is (op == "=="), reads)
        return ValueReads(COMPARISONS[op](whole(left), whole(right)), reads)

    def quantified(self, node: Quantified) -> ValueReads:
        """``all`` or ``any``. The reads are those of the first element that decides, or else of every element."""
        decisive = node.kind == "any"
        reads = NOTHING
        for code in range(self.layout.scope.size(node.domain)):
            self.bind(node.var, ValueReads(code))
            seen = self.expr(node.body)
            if bool(seen.value) is decisive:
                return seen
            reads |= seen.reads
        return ValueReads(not decisive, reads)

    def fold(self, node: Fold) -> ValueReads:
        """``count``, ``sum``, ``min`` or ``max`` over a domain."""
        values: list[int] = []
        reads = NOTHING
        for code in range(self.layout.scope.size(node.domain)):
            self.bind(node.var, ValueReads(code))
            where = self.expr(node.where)
            # An element that is left out is a reason too: with it the result might differ.
            reads |= where.reads
            if where.value:
                value = self.expr(node.value)
                reads |= value.reads
                values.append(whole(value))
        if node.kind in ("count", "sum"):
            return ValueReads(sum(values), reads)
        if not values:
            default = self.expr(node.default)
            return ValueReads(default.value, reads | default.reads)
        return ValueReads(min(values) if node.kind == "min" else max(values), reads)


# Values ------------------------------------------------------------------------------------------------------------


def number(kind: Scalar | Choice, code: int | bool | str | None) -> Number:
    """The number that a code stands for, of a cell or of a given constant."""
    assert isinstance(code, int), (kind, code)
    if isinstance(kind, OptionalType):
        return None if code == 0 else number(kind.of, code - 1)
    return bool(code) if isinstance(kind, BoolType) else code + origin(kind)


def coded(kind: Scalar, value: Number) -> int:
    """The code of a value. If the value lies beyond a bound, the code is below 0 or not below the type's codes."""
    if isinstance(kind, OptionalType):
        return 0 if value is None else 1 + coded(kind.of, value)
    assert value is not None, kind
    return value - (kind.lo if isinstance(kind, IntType) else 0)


def _constant(node: Lit) -> Number:
    if isinstance(node.type, EnumType):
        return node.type.members.index(str(node.value))
    assert not isinstance(node.value, str), node
    return node.value


def whole(seen: ValueReads) -> int:
    """The value as a number. Raises Undefined for None: no test excluded it."""
    if seen.value is None:
        raise UndefinedValueError
    return seen.value


def _calculate(op: str, args: Sequence[int]) -> int:
    match op:
        case "+":
            return sum(args)
        case "-":
            return reduce(lambda one, two: one - two, args)
        case "*":
            return reduce(lambda one, two: one * two, args)
        case "%":
            return args[0] % args[1]
        case "min":
            return min(args)
        case "max":
            return max(args)
        case _:
            return abs(args[0])


def _all(reads: Iterable[Reads]) -> Reads:
    return NOTHING.union(*reads)
