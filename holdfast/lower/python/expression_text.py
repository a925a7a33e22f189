"""From expressions of the transition system to Python expressions, for one scope.

The scope gives the sizes, so quantifiers and folds are written out over their elements, and keys become indices of
cells. Constant parts are computed here. One method serves one kind of node, and a subclass may replace any of them.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from functools import reduce

from holdfast.ir.errors import Place, UsageError
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
from holdfast.ir.system import Param
from holdfast.ir.types import BoolType, Choice, EnumType, IntType, Key, MapType, NatType, OptionalType, Plain, Scalar
from holdfast.lower.layout import Layout
from holdfast.lower.python.names import numbered
from holdfast.lower.python.terms import (
    FALSE,
    TRUE,
    Term,
    add,
    greatest,
    least,
    literal,
    magnitude,
    multiply,
    nearest,
    remainder,
    subtract,
    term,
    total,
    truth,
    unwrapped,
    wrapped,
)

MOST_NODES = 200_000
"""The number of nodes that one action or property may become. Python takes many seconds to compile more."""

COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class PythonExpressions:
    """Writes the expressions of one action or property; ``what`` names it in messages.

    ``state`` is the Python name of the state that a Read reads, ``old`` that of the state before the step. ``at`` is
    the place of the statement or property that is being written. ``names`` has the term of each name in scope.
    """

    def __init__(self, layout: Layout, what: str) -> None:
        self.layout = layout
        self.what = what
        self.names: dict[str, Term] = {}
        self.ordered: dict[str, Param] = {}
        """The parameters so far that are numbers, by name."""
        self.state = "s"
        self.old = "o"
        self.at: Place | None = None
        self._nodes = 0
        self._fresh = 0

    def expr(self, node: Expr) -> Term:  # noqa: C901 - one case for each kind of node
        """The term for an expression."""
        self.count()
        match node:
            case Lit():
                return self.lit(node)
            case Name(name):
                return self.names[name]
            case Read():
                return self.read(node)
            case MapRead():
                return self.lookup(node)
            case Not(arg):
                return self.negation(self.expr(arg))
            case And(args):
                return self.conjunction(self.expr(arg) for arg in args)
            case Or(args):
                return self.disjunction(self.expr(arg) for arg in args)
            case Implies(left, right):
                return self.disjunction(self.expr(arg) for arg in (negate(left), right))
            case Compare(op, left, right):
                return self.compare(op, self.expr(left), self.expr(right))
            case IsNone(arg):
                return self.is_none(self.expr(arg))
            case Unwrap(arg, type=of):
                return self.unwrap(self.expr(arg), of)
            case Wrap(arg, type=optional):
                return self.wrap(self.expr(arg), optional)
            case IfElse():
                return self.if_else(node)
            case Ruled(label, arg):
                return self.ruled(label, self.expr(arg))
            case Quantified():
                return self.quantified(node)
            case Fold():
                return self.fold(node)
            case Arithmetic():
                return self.arithmetic(node)

    def count(self) -> None:
        """Count one more node; raises UsageError for more than ``MOST_NODES``."""
        self._nodes += 1
        if self._nodes > MOST_NODES:
            raise UsageError(
                f"{self.what} has more than {MOST_NODES:,} parts once its loops and quantifiers are written out "
                f"in scope {self.layout.scope.name}; use a smaller scope"
            )

    def fits(self, value: Term) -> Term:
        """Returns the term. A subclass raises UsageError for numbers that it cannot compute; Python has no limit."""
        return value

    def fresh(self) -> int:
        """A number not used before in this function."""
        self._fresh += 1
        return self._fresh

    def scratch(self, family: str = "t") -> str:
        """A Python name not used before in this function."""
        return numbered(family, self.fresh())

    def parameter(self, param: Param, text: str) -> None:
        """Bind a parameter's name to the value whose code is ``text``."""
        value = term(text, 0, self.layout.codes(param.type) - 1)
        self.names[param.name] = add(value, literal(origin(param.type)))
        if isinstance(param.type, NatType | IntType):
            self.ordered[param.name] = param

    # Values ---------------------------------------------------------------------------------------------------

    def lit(self, node: Lit) -> Term:
        """A constant."""
        if node.value is None:
            return FALSE
        if isinstance(node.type, EnumType):
            return literal(node.type.members.index(str(node.value)))
        assert isinstance(node.value, int), node
        return literal(node.value)

    def read(self, node: Read) -> Term:
        """A variable's value in the state, or a given constant."""
        if node.var in self.layout.given:
            return self.given(node)
        code = f"{self.old if node.old else self.state}[{self.cell(node.var, node.keys).text}]"
        return add(term(code, 0, self.layout.codes(node.type) - 1), literal(origin(node.type)))

    def given(self, node: Read) -> Term:
        """A constant of the scope: a number where the cell is known, else a look-up in a tuple."""
        var = self.layout.system.var(node.var)
        values = [code + origin(node.type) for code in self.layout.given[node.var]]
        index = self.index(node.var, var.keys, node.keys)
        if index.constant:
            return literal(values[index.lo])
        return term(f"{tuple(values)}[{index.text}]", min(values), max(values))

    def lookup(self, node: MapRead) -> Term:
        """A cell of a parameter that is a whole map: a digit of its code."""
        assert isinstance(node.arg.type, MapType)
        code, base = self.expr(node.arg), self.layout.codes(node.type)
        index = self.index(node.arg.name, node.arg.type.keys, node.keys)
        pieces = [
            remainder(term(f"({code.text} // {base**place})", 0, code.hi // base**place, code), literal(base))
            for place in range(index.lo, index.hi + 1)
        ]
        # A key that is not known now: nested choices by the index, the last one without a test.
        *others, last = enumerate(pieces, start=index.lo)
        text = last[1].text
        for place, piece in reversed(others):
            text = f"({piece.text} if {index.text} == {place} else {text})"
        return add(term(text, 0, base - 1, code), literal(origin(node.type)))

    def cell(self, var: str, keys: tuple[Expr, ...]) -> Term:
        """The index of a cell in the state; raises UsageError if the variable is a dropped ghost."""
        if var in self.layout.dropped:
            raise UsageError(f"{self.what} reads or writes the ghost {var}, which is dropped here; keep it")
        field = self.layout.field(var)
        return add(literal(field.offset), self.index(var, field.keys, keys))

    def index(self, var: str, kinds: tuple[Key, ...], keys: tuple[Expr, ...]) -> Term:
        """The index of a cell within its variable, in row-major order. Raises UsageError for a literal without a cell.

        A ``Within`` has cut the step if a computed key is beyond its bound. The text must have a value also where it
        is not used, so it takes the nearest key.
        """
        found = literal(0)
        for kind, key in zip(kinds, keys, strict=True):
            size, value = self.layout.scope.size(kind), self.expr(key)
            if isinstance(kind, BoolType) and not value.constant:
                # A condition gives a bool, and a kernel adds numbers only.
                value = truth(f"int({value.text})")
            if not isinstance(key, Lit):
                value = nearest(value, size - 1)
            if not 0 <= value.lo <= value.hi < size:
                number = value.hi if value.hi >= size else value.lo
                raise UsageError(
                    f"{self._place(key, number)}{self.what}: a key of {var} may be {number}, and {kind} "
                    f"ends at {size - 1} in scope {self.layout.scope.name}; give the scope a larger {kind}"
                )
            found = add(multiply(found, literal(size)), value)
        return found

    def _place(self, key: Expr, number: int) -> str:
        """The beginning of a message about a key: its place and its text, or else the place of its statement."""
        at = key.at if isinstance(key, Lit) else None
        if at is None:
            return "" if self.at is None else f"{self.at}: "
        # An expression that was typed in has no file.
        return f"{at if at.file else f'column {at.column}'}: {key.type}({number}): "

    # Conditions -----------------------------------------------------------------------------------------------

    def negation(self, arg: Term) -> Term:
        """Whether the condition fails."""
        return literal(1 - arg.lo) if arg.constant else truth(f"(not {arg.text})")

    def conjunction(self, args: Iterator[Term]) -> Term:
        """Whether all hold. Parts behind one that is surely false are never computed: they may not fit the scope."""
        # ``args`` is an iterator, so a part that is not reached here is not even written.
        open_parts: list[Term] = []
        for arg in args:
            if arg.constant and not arg.lo:
                return FALSE
            if not arg.constant:
                open_parts.append(arg)
        return self.connected(" and ", open_parts, empty=TRUE)

    def disjunction(self, args: Iterator[Term]) -> Term:
        """Whether one holds. Parts behind one that is surely true are never computed: they may not fit the scope."""
        open_parts: list[Term] = []
        for arg in args:
            if arg.constant and arg.lo:
                return TRUE
            if not arg.constant:
                open_parts.append(arg)
        return self.connected(" or ", open_parts, empty=FALSE)

    def connected(self, connective: str, parts: list[Term], empty: Term) -> Term:
        """The parts that are not constant, joined by the connective; ``empty`` if there are none."""
        if len(parts) <= 1:
            return parts[0] if parts else empty
        return truth(f"({connective.join(part.text for part in parts)})")

    def compare(self, op: str, left: Term, right: Term) -> Term:
        """A comparison of two values of one type."""
        if left.constant and right.constant:
            return literal(COMPARISONS[op](left.lo, right.lo))
        return truth(f"({left.text} {op} {right.text})")

    def ruled(self, label: str, cond: Term) -> Term:  # noqa: ARG002 - a subclass needs the label
        """A labelled condition, the test of a choice between values. A subclass may note that it holds."""
        return cond

    def quantified(self, node: Quantified) -> Term:
        """``all`` or ``any``, written out over the elements."""
        # A generator: each body is written while its element is bound.
        bodies = (self.expr(node.body) for _ in self.elements(node.var, node.domain))
        return self.conjunction(bodies) if node.kind == "all" else self.disjunction(bodies)

    def elements(self, var: str, domain: Key) -> Iterator[int]:
        """Bind the variable to each element in turn; yields the element's code."""
        for code in range(self.layout.scope.size(domain)):
            self.names[var] = literal(code)
            yield code

    # Optionals, choices and numbers ---------------------------------------------------------------------------

    def is_none(self, optional: Term) -> Term:
        """Whether an Optional is None."""
        return self.compare("==", optional, FALSE)

    def unwrap(self, optional: Term, of: Plain) -> Term:
        """The value of an Optional that is not None."""
        return add(unwrapped(optional, self.scratch()), literal(origin(of)))

    def wrap(self, value: Term, optional: OptionalType) -> Term:
        """A value as an Optional."""
        return wrapped(subtract(value, literal(origin(optional.of))), self.scratch())

    def if_else(self, node: IfElse) -> Term:
        """One of two values."""
        test = self.expr(node.test)
        if test.constant:
            return self.expr(node.then if test.lo else node.orelse)
        then, orelse = self.expr(node.then), self.expr(node.orelse)
        text = f"({then.text} if {test.text} else {orelse.text})"
        return term(text, min(then.lo, orelse.lo), max(then.hi, orelse.hi))

    def arithmetic(self, node: Arithmetic) -> Term:
        """A computed number."""
        args = [self.expr(arg) for arg in node.args]
        match node.op:
            case "+":
                return reduce(add, args)
            case "-":
                return reduce(subtract, args)
            case "*":
                return reduce(multiply, args)
            case "%":
                return remainder(args[0], args[1])
            case "min":
                return least(args)
            case "max":
                return greatest(args)
            case "abs":
                return magnitude(args[0])

    def fold(self, node: Fold) -> Term:
        """``count``, ``sum``, ``min`` or ``max`` over a domain, written out."""
        chosen: list[tuple[Term, Term]] = []
        for _ in self.elements(node.var, node.domain):
            where = self.expr(node.where)
            if where != FALSE:
                chosen.append((where, self.expr(node.value)))
        if node.kind in ("count", "sum"):
            return total([self.counted(where, value) for where, value in chosen])
        combine = least if node.kind == "min" else greatest
        values = [value for _, value in chosen]
        if all(where == TRUE for where, _ in chosen):
            return combine(values) if values else self.expr(node.default)
        default = self.expr(node.default)
        # An element that is not chosen adds nothing to the tuple: ``*()``.
        items = [
            value.text if where == TRUE else f"*(({value.text},) if {where.text} else ())" for where, value in chosen
        ]
        text = f"{node.kind}(({', '.join(items)},), default={default.text})"
        return term(text, min(t.lo for t in (*values, default)), max(t.hi for t in (*values, default)))

    def counted(self, where: Term, value: Term) -> Term:
        """The term that an element adds to a sum: its value, or 0 if it is not chosen."""
        if where == TRUE:
            return value
        # A condition is 0 or 1 already.
        if value == literal(1):
            return where
        return term(f"({value.text} if {where.text} else 0)", min(0, value.lo), max(0, value.hi))


def origin(kind: Scalar | Choice) -> int:
    """The number whose code is 0: the least value of an Int, and 0 for other types."""
    return kind.lo if isinstance(kind, IntType) else 0
