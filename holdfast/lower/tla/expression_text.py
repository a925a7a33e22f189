"""Writes expressions of the transition system as TLA+.

None is the model value ``Nil``, so an Optional needs no wrapping. Members of an Enum are strings, elements of a Sort
are model values, and numbers are integers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

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
)
from holdfast.ir.types import BoolType, Choice, Key, MapType, OptionalType, SortType
from holdfast.lower.tla.names import TlaNames
from holdfast.lower.tla.text import (
    ADDED,
    COMPARED,
    MULTIPLIED,
    NEGATED,
    WHOLE,
    Text,
    bound,
    bracketed,
    call,
    choice,
    hang,
    image_set,
    implication,
    infix,
    junction,
    mapped,
    within_set,
    word,
)

NIL = "Nil"
"""The model value that stands for None."""

_COMPARED = {"==": "=", "!=": "#", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_HELPERS = {"min": "Least", "max": "Greatest", "sum": "Sum", "abs": "Abs"}


class Globals:
    """The names of the module that expressions mention, and the helper operators that they need.

    ``variables``: the TLA+ names of variables and given constants, by the model's names. ``changing``: the model's
    names of the variables that can change. ``domains``: the set of a type's values, by the type's name.
    """

    def __init__(self, names: TlaNames) -> None:
        self.names = names
        self.variables: dict[str, str] = {}
        self.changing: set[str] = set()
        self.domains: dict[str, str] = {}
        self.greatest: dict[str, str] = {}
        """The TLA+ constant that bounds a Nat, by the Nat's name."""
        self.needed: set[str] = set()
        """The helper operators that are used, such as Least, Greatest, Sum and Abs."""

    def domain(self, kind: Choice | OptionalType) -> str:
        """The set of the values of a type."""
        match kind:
            case MapType(keys, value):
                return "[" + r" \X ".join(map(self.domain, keys)) + f" -> {self.domain(value)}]"
            case BoolType():
                return "BOOLEAN"
            case OptionalType(of):
                return rf"{self.domain(of)} \cup {{{NIL}}}"
            case _:
                return self.domains[kind.name]

    def types(self) -> Iterable[str]:
        """The names of the types that have a set of their own."""
        return self.domains


class TlaExpressions:
    """Writes the expressions of one operator. Its parameters and bound variables get names that are unique in it."""

    def __init__(self, module: Globals, *, primed: bool = False) -> None:
        self.module = module
        self.names = TlaNames(module.names.taken)
        self.locals = {f"greatest {nat}": name for nat, name in module.greatest.items()}
        self.versions: set[str] = set()
        """The names that LET defines for values of variables between two lines of an action."""
        self.used: set[str] = set()
        """The names that a written text mentions."""
        self.primed = primed
        """Whether expressions read the state after the step, except for reads that are marked as old."""

    def local(self, name: str) -> str:
        """The TLA+ name of a parameter, a local or a bound variable; it counts as used from now on."""
        found = self.declared(name)
        self.used.add(found)
        return found

    def declared(self, name: str) -> str:
        """The TLA+ name of a parameter, a local or a bound variable, which does not count as used yet."""
        if name not in self.locals:
            self.locals[name] = self.names.take(name)
        return self.locals[name]

    def fresh(self, kinds: Sequence[Key]) -> tuple[str, ...]:
        """Bound variables for the keys of a function. The names have a space, so no name of a model equals them.

        Functions that are written out are never nested, so all of them share their bound variables.
        """
        found: list[str] = []
        for place, kind in enumerate(kinds):
            name = f"{kind} {sum(kind == other for other in kinds[:place])}"
            if name not in self.locals:
                self.locals[name] = self.names.take(str(kind)[:1].lower())
            found.append(name)
        return tuple(found)

    def alias(self, name: str, known: str) -> None:
        """Give a local the TLA+ name ``known``, which another one has already."""
        self.locals[name] = known

    def version(self, var: str) -> str:
        """A new name for the value of a variable between two lines of an action."""
        name = self.names.take(self.module.variables[var])
        self.versions.add(name)
        return name

    def expr(self, node: Expr) -> Text:  # noqa: C901 - one case for each kind of node
        """The text of an expression."""
        match node:
            case Lit():
                return self.literal(node)
            case Name(name):
                return word(self.local(name))
            case Read():
                return self.read(node)
            case MapRead(arg, keys):
                return hang(f"{self.local(arg.name)}[", self.listed(keys), "]")
            case Not(arg):
                return self.negation(arg)
            case And(args):
                return self.joined("/\\", self.without_tests(args))
            case Or(args):
                return self.joined(r"\/", args)
            case Implies(left, right):
                return implication(self.expr(left), self.expr(right))
            case Compare(op, left, right):
                return infix(self.expr(left), _COMPARED[op], self.expr(right), COMPARED)
            case IsNone(arg):
                return infix(self.expr(arg), "=", word(NIL), COMPARED)
            case Unwrap(arg) | Wrap(arg):
                return self.expr(arg)
            case IfElse(test, then, orelse):
                return choice(self.expr(test), self.expr(then), self.expr(orelse))
            case Ruled(label, arg):
                return self.labelled(label, arg)
            case Quantified():
                return self.quantified(node)
            case Fold():
                return self.fold(node)
            case Arithmetic():
                return self.arithmetic(node)

    # Values ---------------------------------------------------------------------------------------------------

    def literal(self, node: Lit) -> Text:
        """A constant."""
        match node.value:
            case None:
                return word(NIL)
            case bool():
                return word(str(node.value).upper())
            case str():
                return word(f'"{node.value}"')
            case int():
                return word(str(node.value), WHOLE if node.value >= 0 else ADDED)

    def read(self, node: Read) -> Text:
        """A variable at its key; primed if it is read in the state after the step."""
        name = self.variable(node.var)
        if self.primed and not node.old and node.var in self.module.changing:
            name += "'"
        return hang(f"{name}[", self.listed(node.keys), "]") if node.keys else word(name)

    def variable(self, name: str) -> str:
        """The TLA+ name of a variable, or of a value from ``version``."""
        if name in self.versions:
            self.used.add(name)
            return name
        return self.module.variables[name]

    def listed(self, parts: Iterable[Expr]) -> Text:
        """Expressions with commas between them."""
        found, *rest = (self.expr(part) for part in parts)
        for text in rest:
            *before, last = found.lines
            found = Text((*before, *hang(f"{last}, ", text).lines))
        return found

    # Conditions -----------------------------------------------------------------------------------------------

    def negation(self, arg: Expr) -> Text:
        """A negation; the negation of an equality or of a test for None is written with ``#``."""
        match arg:
            case IsNone(of):
                return infix(self.expr(of), "#", word(NIL), COMPARED)
            case Compare("==", left, right):
                return infix(self.expr(left), "#", self.expr(right), COMPARED)
            case _:
                return Text(hang("~", bracketed(self.expr(arg), NEGATED + 1)).lines, NEGATED)

    def joined(self, bullet: str, args: Iterable[Expr]) -> Text:
        """A conjunction or disjunction."""
        texts = [self.expr(arg) for arg in args]
        return texts[0] if len(texts) == 1 else junction(bullet, texts)

    def without_tests(self, args: Sequence[Expr]) -> list[Expr]:
        """The conjuncts without each test for None that the equality right after it implies.

        A test may be left out only if the rest is false (not true, and not an error) whenever the test is false.
        ``Nil = value`` is false for every value but Nil. So in ``x is not None and x == value`` the equality alone
        suffices, provided that ``value`` always has a value. No other conjunct may stand between the two: without the
        test it would be evaluated for Nil.
        """
        kept: list[Expr] = []
        implied: tuple[Expr, ...] = ()
        for arg in reversed(args):
            if isinstance(arg, Not) and isinstance(arg.arg, IsNone) and arg.arg.arg in implied:
                continue
            implied = _unwrapped(arg)
            kept.append(arg)
        return kept[::-1]

    def labelled(self, label: str, arg: Expr) -> Text:
        """A condition with the label of its rule."""
        text = bracketed(self.expr(arg), COMPARED)
        return Text((*text.lines[:-1], f"{text.lines[-1]} (* {label} *)"), COMPARED)

    def quantified(self, node: Quantified) -> Text:
        """``all`` or ``any``; directly nested quantifiers of one kind share a head."""
        bounds: list[str] = []
        body: Expr = node
        while isinstance(body, Quantified) and body.kind == node.kind:
            bounds.append(rf"{self.local(body.var)} \in {self.module.domain(body.domain)}")
            body = body.body
        sign = r"\A" if node.kind == "all" else r"\E"
        return bound(f"{sign} {', '.join(bounds)}", self.expr(body))

    # Numbers --------------------------------------------------------------------------------------------------

    def arithmetic(self, node: Arithmetic) -> Text:
        """A computed number."""
        args = [self.expr(arg) for arg in node.args]
        match node.op:
            case "%":
                # The precedence of % overlaps that of + and -, so TLA+ demands brackets between them.
                left, right = (bracketed(arg, MULTIPLIED + 1) for arg in args)
                *before, last = left.lines
                return Text((*before, *hang(f"{last} % ", right).lines), ADDED)
            case "+" | "-" | "*":
                level = MULTIPLIED if node.op == "*" else ADDED
                found = args[0]
                for text in args[1:]:
                    left = found if found.joint == node.op else bracketed(found, level + 1)
                    right = bracketed(text, level + 1)
                    *before, last = left.lines
                    found = Text((*before, *hang(f"{last} {node.op} ", right).lines), level, node.op)
                return found
            case "min" | "max":
                self.module.needed.add(_HELPERS[node.op])
                return hang(f"{_HELPERS[node.op]}({{", self.listed(node.args), "}, 0)")
            case "abs":
                self.module.needed.add("Abs")
                return hang("Abs(", args[0], ")")

    def fold(self, node: Fold) -> Text:
        """``count``, ``sum``, ``min`` or ``max`` over a domain."""
        var, domain = self.local(node.var), self.module.domain(node.domain)
        everything = isinstance(node.where, Lit) and node.where.value is True
        chosen = word(domain) if everything else within_set(rf"{var} \in {domain}", self.expr(node.where))
        if node.kind == "count":
            return call("Cardinality", [chosen])
        self.module.needed.add(_HELPERS[node.kind])
        value = self.expr(node.value)
        if node.kind == "sum":
            counted = value if everything else choice(self.expr(node.where), value, word("0"))
            return call("Sum", [mapped(rf"{var} \in {domain}", counted)])
        itself = isinstance(node.value, Name) and node.value.name == node.var
        values = chosen if itself else image_set(value, rf"{var} \in", chosen)
        return call(_HELPERS[node.kind], [values, self.expr(node.default)])


def _unwrapped(arg: Expr) -> tuple[Expr, ...]:
    """The Optionals that an equality compares with an expression that always has a value."""
    if not isinstance(arg, Compare) or arg.op != "==":
        return ()
    sides = ((arg.left, arg.right), (arg.right, arg.left))
    return tuple(side.arg for side, other in sides if isinstance(side, Unwrap) and _is_value(other))


def _is_value(expr: Expr) -> bool:
    """Whether an expression always has a value, never Nil or an error, in any context."""
    match expr:
        case Lit(value=value):
            return value is not None
        case Name(type=kind):
            return not isinstance(kind, OptionalType)
        case Read(keys=keys, type=kind):
            # A key that is a number may be beyond the last key of the function, where it has no value.
            total = all(isinstance(key.type, SortType) and _is_value(key) for key in keys)
            return total and not isinstance(kind, OptionalType)
        case _:
            return False
