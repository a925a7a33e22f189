"""The universe in which a sort has any number of elements, and a Nat no greatest value.

An interchangeable sort is uninterpreted. A Nat that is only compared is uninterpreted too; axioms give it a total order
with a least element, and no formula can count its elements. A Nat with which the model computes is encoded as integers
from 0 to a greatest value, the bound of a scope. Nothing else is known about this bound.

So every scope in which the literals of the model exist is a structure of this universe, and every step of that scope,
budgets aside, is a step of its formulas. This makes a proof sound, and therefore every axiom must be true in every
scope. In particular a scope is finite: among the elements that satisfy a condition, one has the greatest value and one
has the least. For integers without a greatest value this would be false, and anything would follow from it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import z3

from holdfast.ir.expr import Arithmetic, Compare, Expr, Fold, IfElse, Lit, Name, Read, Wrap, walk
from holdfast.ir.stmt import Assign, Fill, Within, expressions, statements
from holdfast.ir.system import System
from holdfast.ir.types import BoolType, EnumType, IntType, Key, NatType, NumberType, OptionalType, Type
from holdfast.ir.types import Plain as PlainType
from holdfast.lower.smt.symbols import Symbol
from holdfast.lower.smt.universe import Keys, NotFirstOrder, Universe
from holdfast.lower.smt.values import conjunction, implication, is_false, is_true, negation

MOST_IN_A_ROW = 255
"""The largest literal of a Nat that is encoded as an order. No scope has larger values, because they are bytes."""


class UnboundedUniverse(Universe):
    """The universe of sorts and Nats without a size."""

    def __init__(self, system: System) -> None:
        super().__init__(system)
        self.computed = computed_nats(system)
        """The names of the Nats that are encoded as integers."""
        self._sorts: dict[str, z3.SortRef] = {}
        self._members: dict[str, list[z3.ExprRef]] = {}
        self.literals = {nat.name: self._literal(nat) for nat in system.nats}
        """For each Nat, the largest number that must be one of its values."""
        self._best: dict[tuple[str, int], tuple[z3.BoolRef, z3.FuncDeclRef]] = {}
        for sort in system.sorts:
            self._sorts[sort.name] = self.symbols.sort(sort.name)
        for nat in system.nats:
            integer = nat.name in self.computed
            self._sorts[nat.name] = z3.IntSort(self.ctx) if integer else self.symbols.sort(nat.name)
        for enum in system.enums:
            self._sorts[enum.name], self._members[enum.name] = self.symbols.enum(enum.name, enum.members)

    @property
    def ordered(self) -> list[NatType]:
        """The Nats that are only compared, and so are encoded as orders."""
        return [nat for nat in self.system.nats if nat.name not in self.computed]

    # Types ----------------------------------------------------------------------------------------------------

    def sort(self, kind: PlainType | NumberType) -> z3.SortRef:
        match kind:
            case BoolType():
                return z3.BoolSort(self.ctx)
            case NumberType(of) if of in self._sorts:
                return self._sorts[of]
            case NumberType() | IntType():
                return z3.IntSort(self.ctx)
            case _:
                return self._sorts[kind.name]

    def number(self, value: int, sort: z3.SortRef) -> z3.ExprRef:
        if sort.kind() == z3.Z3_INT_SORT:
            return z3.IntVal(value, self.ctx)
        name = self._model_name(sort)
        # The axioms cover only 0 up to the largest literal. A negative number would wrongly be at least 0.
        if not 0 <= value <= self.literals[name]:
            raise NotFirstOrder(f"{value} where a value of {name} is meant, which is only compared")
        return self.symbols.constant(Symbol("number", (name, str(value))), sort)

    def elements(self, kind: Key) -> list[z3.ExprRef] | None:
        if isinstance(kind, BoolType):
            return [self.false, self.true]
        return self._members[kind.name] if isinstance(kind, EnumType) else None

    def within(self, value: z3.ExprRef, kind: PlainType) -> z3.BoolRef:
        if isinstance(kind, IntType):
            return conjunction([value >= kind.lo, value <= kind.hi], self.ctx)
        if isinstance(kind, NatType) and kind.name in self.computed:
            return conjunction([value >= 0, value <= self._top(kind.name)], self.ctx)
        return self.true

    def _top(self, nat: str) -> z3.ExprRef:
        """The greatest value of a Nat that is encoded as integers."""
        return self.symbols.constant(Symbol("top", (nat,)), self._sorts[nat])

    def less(self, left: z3.ExprRef, right: z3.ExprRef) -> z3.BoolRef:
        if z3.is_int(left):
            return left < right
        return negation(self._order(left.sort())(right, left))

    def _order(self, sort: z3.SortRef) -> z3.FuncDeclRef:
        return self.symbols.function(Symbol("order", (self._model_name(sort),)), sort, sort, z3.BoolSort(self.ctx))

    def _model_name(self, sort: z3.SortRef) -> str:
        """The name that the model gives a sort."""
        return self.symbols.meaning(str(sort.name())).parts[0]

    # Axioms ---------------------------------------------------------------------------------------------------

    def axioms(self) -> list[z3.BoolRef]:
        tops = [self._top(nat.name) >= self.literals[nat.name] for nat in self.system.nats if nat.name in self.computed]
        return [axiom for nat in self.ordered for axiom in self._total_order(self._sorts[nat.name])] + tops

    def _literal(self, nat: NatType) -> int:
        compared = nat.name not in self.computed
        return largest_literals(self.system).get(nat.name, 0) if compared else largest_key(self.system, nat)

    def _total_order(self, sort: z3.SortRef) -> Iterator[z3.BoolRef]:
        """The axioms of a total order: reflexive, transitive, antisymmetric, total; 0 is the least element.

        Between two consecutive literals there is no other element.
        """
        at_most = self._order(sort)
        x, y, z = (self.symbols.bound(name, sort) for name in "xyz")
        yield z3.ForAll([x], at_most(x, x))
        yield z3.ForAll([x, y, z], z3.Implies(z3.And(at_most(x, y), at_most(y, z)), at_most(x, z)))
        yield z3.ForAll([x, y], z3.Implies(z3.And(at_most(x, y), at_most(y, x)), x == y))
        yield z3.ForAll([x, y], z3.Or(at_most(x, y), at_most(y, x)))
        yield z3.ForAll([x], at_most(self.number(0, sort), x))
        for value in range(self.literals[self._model_name(sort)]):
            here, there = self.number(value, sort), self.number(value + 1, sort)
            yield z3.Not(at_most(there, here))
            yield z3.ForAll([x], z3.Or(at_most(x, here), at_most(there, x)))

    # Symbols and quantifiers ----------------------------------------------------------------------------------

    def function(self, symbol: Symbol, keys: tuple[Key, ...], kind: PlainType) -> Callable[[Keys], z3.ExprRef]:
        made = self.symbols.function(symbol, *(self.sort(key) for key in keys), self.sort(kind))
        return lambda found: made(*found)

    def facts(self, symbol: Symbol, keys: tuple[Key, ...], kind: PlainType) -> list[z3.BoolRef]:
        bound = [self.symbols.bound("key", self.sort(key)) for key in keys]
        value = self.function(symbol, keys, kind)(bound)
        fact = self.within(value, kind)
        if is_true(fact):
            return []
        # The fact also covers keys outside their types. That is harmless: no formula reads such a cell.
        return [z3.ForAll(bound, fact, patterns=[value]) if bound else fact]

    def bind(self, kind: Key, stem: str, body: Callable[[z3.ExprRef], z3.BoolRef], *, every: bool) -> z3.BoolRef:
        bound = self.symbols.bound(stem, self.sort(kind))
        inner, proper = body(bound), self.within(bound, kind)
        if is_true(inner) or is_false(inner):
            return inner
        if every:
            return z3.ForAll([bound], implication(proper, inner))
        return z3.Exists([bound], conjunction([proper, inner], self.ctx))

    def best(self, kind: Key, stem: str, beats: Callable[[z3.ExprRef, z3.ExprRef], z3.BoolRef]) -> z3.ExprRef:
        """An element that beats every element, as a new symbol whose definition says so.

        The symbol is a function of the bound variables that ``beats`` mentions. Equal definitions over one type share
        one symbol.
        """
        # New constants for each call: a minimum nested in this one may depend on both, and has two of its own.
        one, other = (self.symbols.bound(name, self.sort(kind)) for name in ("one", "other"))
        claim = beats(one, other)
        around = [term for term in self._bound_in(claim) if not (term.eq(one) or term.eq(other))]
        # Rename the variables by position. Then equal claims are the same term of Z3, and have the same id.
        places = [self._place(number, term.sort()) for number, term in enumerate((one, other, *around))]
        claim = z3.substitute(claim, *zip((one, other, *around), places, strict=True))
        one, other, *keys = places
        # Two types may have one sort, as two Nats that are integers. Their greatest values differ.
        found = str(kind), claim.get_id()
        if found not in self._best:
            symbol = Symbol("best", (stem, str(len(self._best))))
            made = self.symbols.function(symbol, *(key.sort() for key in keys), self.sort(kind))
            element = made(*keys)
            facts = [
                self.within(element, kind),
                implication(self.within(other, kind), z3.substitute(claim, (one, element))),
            ]
            self.definitions[made.name()] = z3.ForAll([*keys, other], conjunction(facts, self.ctx))
            # The claim is stored too: Z3 reuses the id of a term that is freed.
            self._best[found] = (claim, made)
        return self._best[found][1](*around)

    def _place(self, number: int, sort: z3.SortRef) -> z3.ExprRef:
        """The constant that stands for the variable at position ``number`` of a definition."""
        return self.symbols.constant(Symbol("place", (str(number), str(sort.name()))), sort)

    def _bound_in(self, formula: z3.ExprRef) -> list[z3.ExprRef]:
        """The constants made for bound variables that occur free in a formula, in the order of their occurrence."""
        found: dict[int, z3.ExprRef] = {}
        # A term is a graph with shared parts: each part is visited once.
        seen: set[int] = set()

        def look(term: z3.ExprRef) -> None:
            if term.get_id() in seen:
                return
            seen.add(term.get_id())
            if self.symbols.is_bound(term):
                found[term.get_id()] = term
            for part in term.children():
                look(part)

        look(formula)
        return list(found.values())


# Use of numbers by the system ------------------------------------------------------------------------------------


def computed_nats(system: System) -> frozenset[str]:
    """The Nats with which a rule, an effect or a property computes; the other Nats are only compared.

    A Nat with a literal above MOST_IN_A_ROW counts as computed: the axioms of an order would list all smaller literals.
    """
    found = {name for name, value in largest_literals(system).items() if value > MOST_IN_A_ROW}
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
            # A property tests a key by a comparison with it, so its keys are found above.
            if isinstance(stmt, Within) and stmt.pool is not None:
                continue  # a pool has no bound without sizes
            if isinstance(stmt, Assign | Fill | Within) and isinstance(stmt.value.type, NumberType):
                written = stmt.type if isinstance(stmt, Within) else system.var(stmt.var).value
                found |= set() if _is_simple(stmt.value) else _nats(written)
    return frozenset(found) & {nat.name for nat in system.nats}


def _is_extremum(expr: Expr) -> bool:
    """Whether the expression is ``min`` or ``max`` of simple values, which only compares them."""
    if isinstance(expr, Fold):
        return expr.kind in ("min", "max") and _is_simple(expr.value) and _is_simple(expr.default)
    return isinstance(expr, Arithmetic) and expr.op in ("min", "max") and all(_is_simple(arg) for arg in expr.args)


def _is_simple(expr: Expr) -> bool:
    """Whether the expression computes no new number: it is the value of a cell, a literal, or an extremum of these."""
    if isinstance(expr, Name) and isinstance(expr.type, NumberType):
        # If the name stands for a computed value, the caller finds that at the value itself.
        return expr.type.of is not None
    if isinstance(expr, Lit):
        # An order has no negative numbers.
        return not isinstance(expr.value, int) or expr.value >= 0
    return not isinstance(expr.type, NumberType) or _is_extremum(expr)


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
    """For each Nat, the largest literal of the system that is a value of the Nat or meets one in an expression."""
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
            case Arithmetic(op=op, args=args, type=kind) if op != "*":
                for arg in args:
                    if isinstance(arg, Lit):
                        note(kind, arg.value)
            case _:
                pass
    return found


def largest_key(system: System, nat: NatType) -> int:
    """The largest literal of the Nat that the system uses as a key. A scope with a smaller bound lacks that cell."""
    keys = [key for expr in _every_expression(system) if isinstance(expr, Read) for key in expr.keys]
    for action in (system.init, *system.actions):
        keys += [key for stmt in statements(action.body) if isinstance(stmt, Assign) for key in stmt.keys]
    written = [key.value for key in keys if isinstance(key, Lit) and key.type == nat]
    return max((value for value in written if isinstance(value, int)), default=0)


def _every_expression(system: System) -> Iterator[Expr]:
    for action in (system.init, *system.actions):
        yield from expressions(action.body)
    for prop in system.properties:
        for part in (prop.body, prop.goal):
            if part is not None:
                yield from walk(part)
