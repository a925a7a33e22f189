"""The Optionals that a condition proves not to be None."""

from __future__ import annotations

from holdfast.ir.expr import And, Expr, IsNone, Not, Or, Read, Ruled, walk

Facts = frozenset[Expr]

NOTHING: Facts = frozenset()


def when_true(cond: Expr) -> Facts:
    """The Optionals that are not None where the condition holds."""
    match cond:
        case Not(arg):
            return when_false(arg)
        case And(args):
            return NOTHING.union(*(when_true(arg) for arg in args))
        case Ruled(arg=arg):
            return when_true(arg)
    return NOTHING


def when_false(cond: Expr) -> Facts:
    """The Optionals that are not None where the condition fails.

    A rule proves nothing here: it fails also if it is removed.
    """
    match cond:
        case IsNone(arg):
            return frozenset({arg})
        case Not(arg):
            return when_true(arg)
        case Or(args):
            return NOTHING.union(*(when_false(arg) for arg in args))
    return NOTHING


def after_write(facts: Facts, var: str) -> Facts:
    """The facts that hold after a write to a variable: those that do not read it. The old state never changes."""
    return frozenset(
        fact
        for fact in facts
        if not any(isinstance(part, Read) and part.var == var and not part.old for part in walk(fact))
    )
