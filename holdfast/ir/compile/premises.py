"""The premise of a property: the condition under which the property is not trivially true.

``all(claim for s in Stream if open[s])`` is trivially true in a state without an open stream. A property is vacuous if
no reached state satisfies its premise: it holds, but shows nothing.
"""

from __future__ import annotations

from holdfast.ir.compile.simplify import simplify
from holdfast.ir.expr import FALSE, TRUE, And, Expr, IfElse, Implies, IsNone, Lit, Not, Or, Quantified, negate


def premise_of(claim: Expr) -> Expr:
    """The condition under which the claim is not trivially true."""
    return simplify(_premise(claim))


def _claims_a_value(arg: Expr) -> bool:
    """Whether an expression is ``x is not None``."""
    return isinstance(arg, Not) and isinstance(arg.arg, IsNone)


def _premise(claim: Expr) -> Expr:
    match claim:
        case Lit(True):
            return FALSE
        case Implies(left, right):
            return And((left, _premise(right)))
        case Or(args):
            # In Python `not a or b` and `x is None or b` are implications, with the guards `a` and `x is not None`. But
            # a part `x is not None` of an `or` is a claim; its negation is no guard.
            guards = [negate(arg) for arg in args if isinstance(arg, Not | IsNone) and not _claims_a_value(arg)]
            return And(tuple(guards)) if guards and len(guards) < len(args) else TRUE
        case And(args):
            return Or(tuple(_premise(arg) for arg in args))  # one part that is not trivially true is enough
        case IfElse(test, then, orelse):
            return Or((And((test, _premise(then))), And((negate(test), _premise(orelse)))))
        case Quantified("all", var, domain, body):
            return Quantified("any", var, domain, _premise(body))
    return TRUE
