"""Expressions of the transition system: typed, total, without effects.

Optionals are explicit. ``Unwrap`` appears only after a test for None (the compiler checks this). ``Wrap`` appears only
where an Optional is needed and the value is plain. The names of bound variables are unique within one action or
property, so substitution cannot capture a name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal

import attrs

from holdfast.ir.errors import Place
from holdfast.ir.types import BOOL, INT, BoolType, Key, NumberType, OptionalType, Plain, Scalar, Type


@attrs.frozen
class Lit:
    """A constant: bool, int (for Nat, Int and computed numbers), the name of an Enum member, or None.

    ``at``: the place of a number that a scope may be too small for. It does not count when constants are compared.
    """

    value: bool | int | str | None
    type: Type
    at: Place | None = attrs.field(default=None, eq=False, repr=False)


@attrs.frozen
class Name:
    """A parameter, a loop variable, a quantified variable or a local."""

    name: str
    type: Type


@attrs.frozen
class Read:
    """The value of a state variable at a key. A plain field has no keys.

    ``old``: read the state before the step (step properties only).
    """

    var: str
    keys: tuple[Expr, ...]
    type: Scalar
    old: bool = False


@attrs.frozen
class MapRead:
    """The value of a parameter that is a whole map, at a key."""

    arg: Name
    keys: tuple[Expr, ...]
    type: Scalar


@attrs.frozen
class Not:
    """Negation."""

    arg: Expr

    @property
    def type(self) -> BoolType:
        return BOOL


@attrs.frozen
class And:
    """Conjunction, left to right: a later part may rely on an earlier one, such as a test for None."""

    args: tuple[Expr, ...]

    @property
    def type(self) -> BoolType:
        return BOOL


@attrs.frozen
class Or:
    """Disjunction, left to right."""

    args: tuple[Expr, ...]

    @property
    def type(self) -> BoolType:
        return BOOL


@attrs.frozen
class Implies:
    """``left`` implies ``right``. The compiler makes it from the filter of an ``all(... if ...)``."""

    left: Expr
    right: Expr

    @property
    def type(self) -> BoolType:
        return BOOL


CompareOp = Literal["==", "!=", "<", "<=", ">", ">="]

MIRRORED: dict[CompareOp, CompareOp] = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
"""The comparison that holds of ``b`` and ``a`` if this one holds of ``a`` and ``b``."""


@attrs.frozen
class Compare:
    """A comparison of two values of one type, or of two numbers whose units do not differ.

    Only Nat, Int and computed numbers have an order.
    """

    op: CompareOp
    left: Expr
    right: Expr

    @property
    def type(self) -> BoolType:
        return BOOL


@attrs.frozen
class IsNone:
    """Whether an Optional is None."""

    arg: Expr

    @property
    def type(self) -> BoolType:
        return BOOL


@attrs.frozen
class Unwrap:
    """The value of an Optional that is known not to be None here."""

    arg: Expr
    type: Plain


@attrs.frozen
class Wrap:
    """A plain value as an Optional."""

    arg: Expr
    type: OptionalType


@attrs.frozen
class IfElse:
    """``then`` if ``test`` else ``orelse``; both have type ``type``."""

    test: Expr
    then: Expr
    orelse: Expr
    type: Type


@attrs.frozen
class Ruled:
    """A condition with a rule label. It is False if the rule is removed.

    It appears only as the test of an If or an IfElse.
    """

    label: str
    arg: Expr

    @property
    def type(self) -> BoolType:
        return BOOL


@attrs.frozen
class Quantified:
    """``all`` or ``any`` over one variable; the filter of the comprehension is part of ``body``."""

    kind: Literal["all", "any"]
    var: str
    domain: Key
    body: Expr

    @property
    def type(self) -> BoolType:
        return BOOL


@attrs.frozen
class Fold:
    """``count``, ``sum``, ``min`` or ``max`` of ``value`` over the elements that satisfy ``where``.

    ``default`` is the value of an empty ``min`` or ``max``; ``count`` and ``sum`` start at 0.
    """

    kind: Literal["count", "sum", "min", "max"]
    var: str
    domain: Key
    where: Expr
    value: Expr
    default: Expr
    type: NumberType


ArithmeticOp = Literal["+", "-", "*", "%", "min", "max", "abs"]


@attrs.frozen
class Arithmetic:
    """``+``, ``-``; ``*`` and ``%`` by a constant, for ``%`` above 0; ``min``, ``max`` of several; ``abs`` of one."""

    op: ArithmeticOp
    args: tuple[Expr, ...]
    type: NumberType


Expr = (
    Lit | Name | Read | MapRead | Not | And | Or | Implies | Compare | IsNone | Unwrap | Wrap | IfElse
    | Ruled | Quantified | Fold
    | Arithmetic
)  # fmt: skip

TRUE = Lit(True, BOOL)
FALSE = Lit(False, BOOL)
ZERO = Lit(0, INT)


def children(expr: Expr) -> tuple[Expr, ...]:
    """The direct parts of an expression, in order of evaluation."""
    match expr:
        case Lit() | Name():
            return ()
        case Read(keys=keys):
            return keys
        case MapRead(arg, keys):
            return (arg, *keys)
        case Not(arg) | IsNone(arg) | Unwrap(arg) | Wrap(arg) | Ruled(arg=arg):
            return (arg,)
        case And(args) | Or(args) | Arithmetic(args=args):
            return args
        case Implies(left, right) | Compare(left=left, right=right):
            return (left, right)
        case IfElse(test, then, orelse):
            return (test, then, orelse)
        case Quantified(body=body):
            return (body,)
        case Fold(where=where, value=value, default=default):
            return (where, value, default)


def rebuild(expr: Expr, change: Callable[[Expr], Expr]) -> Expr:
    """The expression with ``change`` applied to each direct part."""
    match expr:
        case Lit() | Name():
            return expr
        case Read(keys=keys):
            return attrs.evolve(expr, keys=tuple(change(key) for key in keys))
        case MapRead(arg, keys):
            of = change(arg)
            assert isinstance(of, Name), "a parameter that is a map is only ever renamed"
            return attrs.evolve(expr, arg=of, keys=tuple(change(key) for key in keys))
        case Not() | IsNone() | Unwrap() | Wrap() | Ruled():
            return attrs.evolve(expr, arg=change(expr.arg))
        case And() | Or() | Arithmetic():
            return attrs.evolve(expr, args=tuple(change(arg) for arg in expr.args))
        case Implies() | Compare():
            return attrs.evolve(expr, left=change(expr.left), right=change(expr.right))
        case IfElse():
            return attrs.evolve(expr, test=change(expr.test), then=change(expr.then), orelse=change(expr.orelse))
        case Quantified():
            return attrs.evolve(expr, body=change(expr.body))
        case Fold():
            return attrs.evolve(expr, where=change(expr.where), value=change(expr.value), default=change(expr.default))


def walk(expr: Expr) -> Iterator[Expr]:
    """The expression and all its parts, each before its own parts."""
    left = [expr]
    while left:
        part = left.pop()
        yield part
        left.extend(reversed(children(part)))


def free_names(expr: Expr) -> frozenset[str]:
    """The names that an expression takes from outside. Bound names are unique, so none of them is free elsewhere."""
    found = {part.name for part in walk(expr) if isinstance(part, Name)}
    return frozenset(found - {part.var for part in walk(expr) if isinstance(part, Quantified | Fold)})


def substitute(expr: Expr, names: dict[str, Expr]) -> Expr:
    """The expression with names replaced. Bound names are unique, so nothing is captured."""
    if isinstance(expr, Name):
        return names.get(expr.name, expr)
    return rebuild(expr, lambda part: substitute(part, names))


def conjunction(args: list[Expr]) -> Expr:
    """``And`` of the parts: nested conjunctions are flattened, and True is dropped. No parts give True."""
    flat: list[Expr] = []
    for arg in args:
        flat.extend(arg.args if isinstance(arg, And) else (arg,))
    flat = [arg for arg in flat if arg != TRUE]
    return TRUE if not flat else flat[0] if len(flat) == 1 else And(tuple(flat))


def negate(arg: Expr) -> Expr:
    """The negation of an expression. The negation of ``Not(arg)`` is ``arg``."""
    return arg.arg if isinstance(arg, Not) else Not(arg)


def is_last(expr: Expr) -> bool:
    """Whether an expression is the greatest of all values of a Nat: ``Index.last``."""
    match expr:
        case Fold("max", var, _, where, Name(name)):
            return where == TRUE and name == var
    return False
