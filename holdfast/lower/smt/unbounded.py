"""The universe in which a sort has any number of elements, and a Nat no greatest value.

An interchangeable sort is uninterpreted. So is a Nat that is only compared: it has a total order with a least element,
and no formula can count it. A Nat that is computed with is an integer that is not negative.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import z3

from holdfast.ir.expr import Arithmetic, Compare, Expr, Fold, IfElse, Lit, Name, Wrap, walk
from holdfast.ir.stmt import Assign, Fill, expressions, statements
from holdfast.ir.system import System
from holdfast.ir.types import BoolType, EnumType, IntType, Key, NatType, NumberType, OptionalType, Type
from holdfast.ir.types import Plain as PlainType
from holdfast.lower.smt.universe import Keys, Universe
from holdfast.lower.smt.values import conjunction, implication, is_false, is_true, negation


class Unbounded(Universe):
    """Sorts and orders without a size."""

    def __init__(self, system: System) -> None:
        super().__init__(system)
        self.computed = computed_nats(system)
        """The names of the Nats that are integers."""
        self._sorts: dict[str, z3.SortRef] = {}
        self._members: dict[str, list[z3.ExprRef]] = {}
        self._largest = largest_literals(system)
        self._bound: set[str] = set()
        """The names of all variables that were ever bound."""
        self._best: dict[int, tuple[z3.BoolRef, z3.FuncDeclRef]] = {}
        for sort in system.sorts:
            self._sorts[sort.name] = z3.DeclareSort(f"sort.{sort.name}", self.ctx)
        for nat in system.nats:
            integer = nat.name in self.computed
            self._sorts[nat.name] = z3.IntSort(self.ctx) if integer else z3.DeclareSort(f"sort.{nat.name}", self.ctx)
        for enum in system.enums:
            names = [f"{enum.name}.{member}" for member in enum.members]
            self._sorts[enum.name], self._members[enum.name] = z3.EnumSort(f"sort.{enum.name}", names, self.ctx)

    @property
    def ordered(self) -> list[NatType]:
        """The Nats that are only compared."""
        return [nat for nat in self.system.nats if nat.name not in self.computed]

    # Types ----------------------------------------------------------------------------------------------------

    def sort(self, kind: PlainType | NumberType) -> z3.SortRef:
        match kind:
            case BoolType():
                return z3.BoolSort(self.ctx)
            case NumberType() | IntType():
                return z3.IntSort(self.ctx)
            case _:
                return self._sorts[kind.name]

    def number(self, value: int, sort: z3.SortRef) -> z3.ExprRef:
        return z3.IntVal(value, self.ctx) if sort.kind() == z3.Z3_INT_SORT else z3.Const(f"{_name(sort)}.{value}", sort)

    def elements(self, kind: Key) -> list[z3.ExprRef] | None:
        return self._members[kind.name] if isinstance(kind, EnumType) else None

    def within(self, value: z3.ExprRef, kind: PlainType) -> z3.BoolRef:
        if isinstance(kind, IntType):
            return conjunction([value >= kind.lo, value <= kind.hi], self.ctx)
        return value >= 0 if isinstance(kind, NatType) and kind.name in self.computed else self.true

    def less(self, left: z3.ExprRef, right: z3.ExprRef) -> z3.BoolRef:
        if z3.is_int(left):
            return left < right
        return negation(self._order(left.sort())(right, left))

    def _order(self, sort: z3.SortRef) -> z3.FuncDeclRef:
        return z3.Function(f"{_name(sort)}<=", sort, sort, z3.BoolSort(self.ctx))

    # Axioms ---------------------------------------------------------------------------------------------------

    def axioms(self) -> list[z3.BoolRef]:
        return [axiom for nat in self.ordered for axiom in self._total_order(self._sorts[nat.name])]

    def _total_order(self, sort: z3.SortRef) -> Iterator[z3.BoolRef]:
        """Reflexive, transitive, antisymmetric, total; 0 is least, and the literals follow one another at once."""
        at_most = self._order(sort)
        x, y, z = (z3.Const(name, sort) for name in "xyz")
        yield z3.ForAll([x], at_most(x, x))
        yield z3.ForAll([x, y, z], z3.Implies(z3.And(at_most(x, y), at_most(y, z)), at_most(x, z)))
        yield z3.ForAll([x, y], z3.Implies(z3.And(at_most(x, y), at_most(y, x)), x == y))
        yield z3.ForAll([x, y], z3.Or(at_most(x, y), at_most(y, x)))
        yield z3.ForAll([x], at_most(self.number(0, sort), x))
        for value in range(self._largest.get(_name(sort), 0)):
            here, there = self.number(value, sort), self.number(value + 1, sort)
            yield z3.Not(at_most(there, here))
            yield z3.ForAll([x], z3.Or(at_most(x, here), at_most(there, x)))

    # Symbols and quantifiers ----------------------------------------------------------------------------------

    def function(self, name: str, keys: tuple[Key, ...], kind: PlainType) -> Callable[[Keys], z3.ExprRef]:
        sort = self.sort(kind)
        if not keys:
            constant = z3.Const(name, sort)
            return lambda _keys: constant
        made = z3.Function(name, *(self.sort(key) for key in keys), sort)
        return lambda found: made(*found)

    def facts(self, name: str, keys: tuple[Key, ...], kind: PlainType) -> list[z3.BoolRef]:
        bound = [self.fresh("k", key) for key in keys]
        value = self.function(name, keys, kind)(bound)
        fact = self.within(value, kind)
        if is_true(fact):
            return []
        # Keys that are no values of their type are harmless: no formula asks for them.
        return [z3.ForAll(bound, fact, patterns=[value]) if bound else fact]

    def fresh(self, stem: str, kind: PlainType) -> z3.ExprRef:
        """A constant to be bound, with a name that is used once."""
        name = f"{stem}!{len(self._bound) + 1}"
        self._bound.add(name)
        return z3.Const(name, self.sort(kind))

    def bind(self, kind: Key, stem: str, body: Callable[[z3.ExprRef], z3.BoolRef], *, every: bool) -> z3.BoolRef:
        bound = self.fresh(stem, kind)
        inner, proper = body(bound), self.within(bound, kind)
        if is_true(inner) or is_false(inner):
            return inner
        if every:
            return z3.ForAll([bound], implication(proper, inner))
        return z3.Exists([bound], conjunction([proper, inner], self.ctx))

    def best(self, kind: Key, stem: str, beats: Callable[[z3.ExprRef, z3.ExprRef], z3.BoolRef]) -> z3.ExprRef:
        """An element that beats every element, as a new symbol with that as its definition.

        It is a function of the variables that are bound where it stands. Equal definitions share one symbol.
        """
        one, other = (z3.Const(f"{stem}.{name}", self.sort(kind)) for name in ("one", "other"))
        claim = beats(one, other)
        around = self._bound_in(claim)
        keys = [z3.Const(f"{stem}.key{place}", term.sort()) for place, term in enumerate(around)]
        claim = z3.substitute(claim, *zip(around, keys, strict=True)) if around else claim
        if claim.get_id() not in self._best:
            made = z3.Function(f"{stem}!{len(self._best)}", *(key.sort() for key in keys), self.sort(kind))
            element = made(*keys)
            facts = [
                self.within(element, kind),
                implication(self.within(other, kind), z3.substitute(claim, (one, element))),
            ]
            self.definitions[made.name()] = z3.ForAll([*keys, other], conjunction(facts, self.ctx))
            # The claim is kept as well: the number of a term that nobody holds is given away again.
            self._best[claim.get_id()] = (claim, made)
        return self._best[claim.get_id()][1](*around)

    def _bound_in(self, formula: z3.ExprRef) -> list[z3.ExprRef]:
        """The bound variables that a formula leaves free, in the order in which it names them."""
        found: dict[int, z3.ExprRef] = {}
        seen: set[int] = set()

        def look(term: z3.ExprRef) -> None:
            if term.get_id() in seen:
                return
            seen.add(term.get_id())
            if z3.is_const(term) and term.decl().name() in self._bound:
                found[term.get_id()] = term
            for part in term.children():
                look(part)

        look(formula)
        return list(found.values())


def _name(sort: z3.SortRef) -> str:
    """The model's name of a sort. A prefix keeps it apart from names that SMT-LIB has for itself, such as ``Set``."""
    return str(sort.name()).removeprefix("sort.")


# What the system does with its numbers ---------------------------------------------------------------------------


def computed_nats(system: System) -> frozenset[str]:
    """The Nats with which a rule, an effect or a property computes; the others are only compared."""
    found: set[str] = set()
    for expr in _every_expression(system):
        match expr:
            case Arithmetic(args=args) if not _is_extremum(expr):
                found |= {name for arg in args for name in _nats(arg.type)} | _nats(expr.type)
            case Fold() if not _is_extremum(expr):
                found |= _nats(expr.type) | _nats(expr.value.type) | _nats(expr.default.type)
            case Compare(left=left, right=right) | IfElse(then=left, orelse=right):
                for one, other in ((left, right), (right, left)):
                    if isinstance(one.type, NumberType) and not _is_simple(one):
                        found |= _nats(one.type) | _nats(other.type)
            case Wrap(arg=arg, type=kind) if isinstance(arg.type, NumberType) and not _is_simple(arg):
                found |= _nats(kind)
            case _:
                pass
    for action in (system.init, *system.actions):
        for stmt in statements(action.body):
            if isinstance(stmt, Assign | Fill):
                value = stmt.value
                if isinstance(value.type, NumberType) and not _is_simple(value):
                    found |= _nats(system.var(stmt.var).value)
    return frozenset(found) & {nat.name for nat in system.nats}


def _is_extremum(expr: Expr) -> bool:
    """Whether the expression is ``min`` or ``max`` of values that are only compared: it computes nothing."""
    if isinstance(expr, Fold):
        return expr.kind in ("min", "max") and _is_simple(expr.value) and _is_simple(expr.default)
    return isinstance(expr, Arithmetic) and expr.op in ("min", "max") and all(_is_simple(arg) for arg in expr.args)


def _is_simple(expr: Expr) -> bool:
    """Whether the expression is a value as it stands in a cell, or a literal, or an extremum of such."""
    if isinstance(expr, Name) and isinstance(expr.type, NumberType):
        # If what the name stands for is computed, that is found where it is.
        return expr.type.of is not None
    return isinstance(expr, Lit) or not isinstance(expr.type, NumberType) or _is_extremum(expr)


def _nats(kind: Type) -> set[str]:
    match kind:
        case NatType(name):
            return {name}
        case NumberType(of) if of is not None:
            return {of}
        case OptionalType(of):
            return _nats(of)
        case _:
            return set()


def largest_literals(system: System) -> dict[str, int]:
    """For each Nat, the largest number that the system writes down."""
    found: dict[str, int] = {}

    def note(kind: Type, value: object) -> None:
        if isinstance(value, int) and not isinstance(value, bool):
            for name in _nats(kind):
                found[name] = max(found.get(name, 0), value)

    for expr in _every_expression(system):
        match expr:
            case Lit(value, kind):
                note(kind, value)
            case Compare(left=left, right=right):
                for one, other in ((left, right), (right, left)):
                    if isinstance(one, Lit):
                        note(other.type, one.value)
            case Arithmetic(args=args, type=kind):
                for arg in args:
                    if isinstance(arg, Lit):
                        note(kind, arg.value)
            case _:
                pass
    return found


def _every_expression(system: System) -> Iterator[Expr]:
    for action in (system.init, *system.actions):
        yield from expressions(action.body)
    for prop in system.properties:
        for part in (prop.body, prop.goal):
            if part is not None:
                yield from walk(part)
