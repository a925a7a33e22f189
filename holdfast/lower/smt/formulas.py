"""Translates expressions of the transition system into Z3 terms and formulas, in a universe and a state.

Each kind of node has a method of its own, so that a test can replace any of them by a faulty one.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from functools import reduce

import z3

from holdfast.ir.expr import (
    MIRRORED,
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
from holdfast.ir.types import EnumType, IntType, Key, MapType, NatType, NumberType
from holdfast.lower.smt.bindings import Bindings
from holdfast.lower.smt.formula_memo import FormulaMemo, N
from holdfast.lower.smt.symbols import Symbol
from holdfast.lower.smt.universe import NotFirstOrder, Universe
from holdfast.lower.smt.values import (
    Maybe,
    Plain,
    Value,
    conjunction,
    disjunction,
    implication,
    is_false,
    is_true,
    negation,
    same,
    truth,
)

COMPARISONS: Mapping[str, Callable[[int, int], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}

MOST_COUNTED = 4
"""The largest number with which a count over a sort without a size may be compared.

"At least n" becomes a formula with n quantifiers, for n different elements.
"""


class FormulaWriter:
    """Translates expressions in one universe."""

    def __init__(self, universe: Universe) -> None:
        self.universe = universe
        self._memo = FormulaMemo()

    def formula(self, node: Expr, at: Bindings) -> z3.BoolRef:
        """The formula of a condition."""
        found = self.expr(node, at)
        assert isinstance(found, z3.BoolRef), node
        return found

    def plain(self, node: Expr, at: Bindings) -> Plain:
        """The value of an expression that is no Optional."""
        found = self.expr(node, at)
        assert not isinstance(found, Maybe), node
        return found

    def expr(self, node: Expr, at: Bindings) -> Value:  # noqa: C901 - one case for each kind of node
        """The value of an expression."""
        match node:
            case Lit():
                return self.lit(node)
            case Name(name):
                return at.names[name]
            case Read():
                return self.read(node, at)
            case MapRead():
                return self.lookup(node, at)
            case Not(arg):
                return negation(self.formula(arg, at))
            case And(args):
                return self.connected(args, at, every=True)
            case Or(args):
                return self.connected(args, at, every=False)
            case Implies(left, right):
                return self.connected((negate(left), right), at, every=False)
            case Compare():
                return self.compare(node, at)
            case IsNone(arg):
                optional = self.expr(arg, at)
                assert isinstance(optional, Maybe)
                return negation(optional.some)
            case Unwrap():
                return self.unwrap(node, at)
            case Wrap():
                return self.wrap(node, at)
            case IfElse():
                return self.if_else(node, at)
            case Ruled(arg=arg):
                return self.formula(arg, at)
            case Quantified():
                return (
                    self._memo.value(node, at, self.quantified) if self.universe.is_sized else self.quantified(node, at)
                )
            case Fold():
                return self.once(node, at, self.fold)
            case Arithmetic(op, args):
                return self.arithmetic(op, [self.plain(arg, at) for arg in args], node.type)

    def once(self, node: N, at: Bindings, write: Callable[[N, Bindings], Value]) -> Value:
        """The formula that ``write`` makes of a node; where types have sizes, it is made once for equal inputs."""
        # Without sizes a formula names its bound variables, and the names are numbered.
        return self._memo.value(node, at, write) if self.universe.is_sized else write(node, at)

    # Values ---------------------------------------------------------------------------------------------------

    def lit(self, node: Lit) -> Value:
        """A constant."""
        if node.value is None:
            return Maybe(self.universe.false, None)
        if isinstance(node.value, bool):
            return truth(node.value, self.universe.ctx)
        if isinstance(node.type, EnumType):
            members = self.universe.elements(node.type)
            assert members is not None
            return members[node.type.members.index(str(node.value))]
        assert isinstance(node.value, int)
        return node.value

    def read(self, node: Read, at: Bindings) -> Value:
        """A variable at a key."""
        state = at.old if node.old else at.state
        assert state is not None, "only a step property reads the state before"
        return state.read(node.var, self.keys(node.var, node.keys, at))

    def lookup(self, node: MapRead, at: Bindings) -> Value:
        """A parameter that is a whole map, at a key."""
        assert isinstance(node.arg.type, MapType)
        return at.maps[node.arg.name](self.settled(node.keys, node.arg.type.keys, at))

    def keys(self, var: str, keys: Sequence[Expr], at: Bindings) -> list[z3.ExprRef]:
        """The keys of a cell as terms."""
        return self.settled(keys, self.universe.system.var(var).keys, at)

    def settled(self, keys: Sequence[Expr], kinds: Sequence[Key], at: Bindings) -> list[z3.ExprRef]:
        """Keys as terms of their types."""
        return [self.universe.settled(self.plain(key, at), kind) for key, kind in zip(keys, kinds, strict=True)]

    def unwrap(self, node: Unwrap, at: Bindings) -> Value:
        """The value of an Optional that is not None here."""
        optional = self.expr(node.arg, at)
        assert isinstance(optional, Maybe)
        if optional.value is not None:
            return optional.value
        # This Optional is always None. The language demands a test for None, so no one uses the value: any will do.
        return self.universe.constant(Symbol("nothing", (str(node.type),)), node.type)

    def wrap(self, node: Wrap, at: Bindings) -> Value:
        """A value as an Optional."""
        return Maybe(self.universe.true, self.plain(node.arg, at))

    def if_else(self, node: IfElse, at: Bindings) -> Value:
        """One of two values."""
        test = self.formula(node.test, at)
        # The test is a constant: the other value is not translated, because it may make no sense.
        if is_true(test) or is_false(test):
            return self.expr(node.then if is_true(test) else node.orelse, at)
        then, orelse = self.expr(node.then, at), self.expr(node.orelse, at)
        if isinstance(then, int) and isinstance(orelse, int):
            assert isinstance(node.type, NatType | IntType | NumberType)
            return self._chosen(test, then, orelse, node.type)
        return self.universe.chosen(test, then, orelse)

    # Conditions -----------------------------------------------------------------------------------------------

    def connected(self, args: Sequence[Expr], at: Bindings, *, every: bool) -> z3.BoolRef:
        """The conjunction (``every``) or disjunction of the parts.

        Translation stops at the first part that decides the result: the parts after it may make no sense.
        """
        parts: list[z3.BoolRef] = []
        for arg in args:
            parts.append(self.formula(arg, at))
            if (is_false if every else is_true)(parts[-1]):
                break
        return (conjunction if every else disjunction)(parts, self.universe.ctx)

    def compare(self, node: Compare, at: Bindings) -> z3.BoolRef:
        """A comparison of two values of one type."""
        counted = self._counted(node, at)
        if counted is not None:
            return counted
        left, right = self.expr(node.left, at), self.expr(node.right, at)
        if node.op in ("==", "!="):
            equal = self.universe.equal(left, right)
            return equal if node.op == "==" else negation(equal)
        assert not isinstance(left, Maybe)
        assert not isinstance(right, Maybe)
        return self.order(node.op, left, right)

    def order(self, op: str, left: Plain, right: Plain) -> z3.BoolRef:
        """``<``, ``<=``, ``>`` or ``>=``."""
        if isinstance(left, int) and isinstance(right, int):
            return truth(COMPARISONS[op](left, right), self.universe.ctx)
        one, two = self.universe.paired(left, right)
        match op:
            case "<":
                return self.universe.less(one, two)
            case ">":
                return self.universe.less(two, one)
            # The order is total, so a <= b is the negation of b < a.
            case "<=":
                return negation(self.universe.less(two, one))
            case _:
                return negation(self.universe.less(one, two))

    def quantified(self, node: Quantified, at: Bindings) -> z3.BoolRef:
        """``all`` or ``any``."""

        def body(element: z3.ExprRef) -> z3.BoolRef:
            at.names[node.var] = element
            return self.formula(node.body, at)

        return self.universe.quantified(node.domain, node.var, body, every=node.kind == "all")

    # Numbers --------------------------------------------------------------------------------------------------

    def arithmetic(self, op: str, args: Sequence[Plain], kind: NumberType) -> Plain:
        """A computed number."""
        if all(isinstance(arg, int) for arg in args):
            return _computed(op, [arg for arg in args if isinstance(arg, int)])
        if op in ("min", "max"):
            return reduce(lambda one, two: self._extremum(op, one, two, kind), args)
        if op == "abs":
            (value,) = args
            return self._chosen(self.order("<", value, 0), 0 - value, value, kind)
        # Z3's rest has the sign of the divisor, of integers and of words. So it is never negative, as in Python.
        return reduce({"+": operator.add, "-": operator.sub, "*": operator.mul, "%": operator.mod}[op], args)

    def _extremum(self, op: str, one: Plain, two: Plain, kind: NumberType) -> Plain:
        return self._chosen(self.order("<=" if op == "min" else ">=", one, two), one, two, kind)

    def fold(self, node: Fold, at: Bindings) -> Plain:
        """``count``, ``sum``, ``min`` or ``max``: written out element by element over a type with a size.

        Raises NotFirstOrder for ``count`` and ``sum`` over a type without a size.
        """
        listed = self.universe.elements(node.domain)
        if listed is None and node.kind in ("min", "max"):
            return self._best_of_any(node, at)
        if listed is None:
            raise NotFirstOrder(f"{node.kind} over {node.domain}, which has no size in a proof")
        parts: list[tuple[z3.BoolRef, Plain]] = []
        for element in listed:
            at.names[node.var] = element
            where = self.formula(node.where, at)
            if not is_false(where):
                parts.append((where, self.plain(node.value, at)))
        if node.kind in ("count", "sum"):
            return reduce(lambda total, part: self._added(total, part, node.type), parts, 0)
        return self._best(node, parts, self.plain(node.default, at))

    def _best_of_any(self, node: Fold, at: Bindings) -> Plain:
        """``min`` or ``max`` over a type without a size: the value of an element that beats every other element.

        Every scope has such an element, because its types are finite. If no element satisfies the condition, the result
        is the default, so any element will do.
        """

        def where(element: z3.ExprRef) -> z3.BoolRef:
            at.names[node.var] = element
            return self.formula(node.where, at)

        def value(element: z3.ExprRef) -> Plain:
            at.names[node.var] = element
            return self.plain(node.value, at)

        def beats(one: z3.ExprRef, other: z3.ExprRef) -> z3.BoolRef:
            better = self.order("<=" if node.kind == "min" else ">=", value(one), value(other))
            return implication(where(other), conjunction([where(one), better], self.universe.ctx))

        best = self.universe.best(node.domain, node.kind, beats)
        return self._chosen(where(best), value(best), self.plain(node.default, at), node.type)

    def _added(self, total: Plain, part: tuple[z3.BoolRef, Plain], kind: NumberType) -> Plain:
        where, value = part
        return self._chosen(where, self.arithmetic("+", [total, value], kind), total, kind)

    def _best(self, node: Fold, parts: Sequence[tuple[z3.BoolRef, Plain]], default: Plain) -> Plain:
        best, some = default, self.universe.false
        for where, value in parts:
            # ``some``: an earlier element satisfies the condition. Otherwise ``best`` is the default, and an element's
            # value must not be compared with it.
            better = value if is_false(some) else self._extremum(node.kind, best, value, node.type)
            best = self._chosen(where, self._chosen(some, better, value, node.type), best, node.type)
            some = disjunction([some, where], self.universe.ctx)
        return best

    def _chosen(self, test: z3.BoolRef, then: Plain, orelse: Plain, kind: NatType | IntType | NumberType) -> Plain:
        """The value ``then`` if the test holds, else ``orelse``. For two Python integers ``kind`` gives the sort of the
        term.
        """
        if isinstance(then, int) and isinstance(orelse, int) and then != orelse and not is_true(test):
            then = self.universe.settled(then, kind) if not is_false(test) else then
        chosen = self.universe.chosen(test, then, orelse)
        assert not isinstance(chosen, Maybe)
        return chosen

    def _counted(self, node: Compare, at: Bindings) -> z3.BoolRef | None:
        """A count over a type without a size, compared with a small number; None for any other comparison.

        Raises NotFirstOrder if such a count is compared with anything but a number up to MOST_COUNTED.
        """
        for fold, number, op in ((node.left, node.right, node.op), (node.right, node.left, MIRRORED[node.op])):
            if not isinstance(fold, Fold) or fold.kind != "count" or self.universe.elements(fold.domain) is not None:
                continue
            if not isinstance(number, Lit) or not isinstance(number.value, int) or number.value > MOST_COUNTED:
                raise NotFirstOrder(
                    f"count over {fold.domain} is compared with something else than a number up to {MOST_COUNTED}"
                )
            least, more = (self._at_least(fold, number.value + extra, at) for extra in (0, 1))
            exactly = conjunction([least, negation(more)], self.universe.ctx)
            return {
                "==": exactly,
                "!=": negation(exactly),
                "<": negation(least),
                "<=": negation(more),
                ">": more,
                ">=": least,
            }[op]
        return None

    def _at_least(self, fold: Fold, number: int, at: Bindings, others: tuple[z3.ExprRef, ...] = ()) -> z3.BoolRef:
        """The formula that at least ``number`` elements besides ``others`` satisfy the condition of a count."""
        if number <= 0:
            return self.universe.true

        def body(element: z3.ExprRef) -> z3.BoolRef:
            at.names[fold.var] = element
            different = [negation(same(element, other)) for other in others]
            here = self.formula(fold.where, at)
            more = self._at_least(fold, number - 1, at, (*others, element))
            return conjunction([*different, here, more], self.universe.ctx)

        return self.universe.quantified(fold.domain, fold.var, body, every=False)


def _computed(op: str, args: Sequence[int]) -> int:
    match op:
        case "min":
            return min(args)
        case "max":
            return max(args)
        case "abs":
            return abs(args[0])
        case _:
            return reduce({"+": operator.add, "-": operator.sub, "*": operator.mul, "%": operator.mod}[op], args)
