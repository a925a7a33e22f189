"""When a property says something at all.

``all(claim for s in Stream if open[s])`` says nothing in a state without an open stream. A property whose trigger no
reached state satisfies is vacuous: it holds, and means nothing.
"""

from __future__ import annotations

from holdfast.ir.compile.simplify import simplify
from holdfast.ir.expr import FALSE, TRUE, And, Expr, IfElse, Implies, IsNone, Lit, Not, Or, Quantified, negate


def trigger_of(claim: Expr) -> Expr:
    """The condition under which the claim is more than trivially true."""
    return simplify(_trigger(claim))


def _claims_a_value(arg: Expr) -> bool:
    return isinstance(arg, Not) and isinstance(arg.arg, IsNone)


def _trigger(claim: Expr) -> Expr:
    match claim:
        case Lit(True):
            return FALSE
        case Implies(left, right):
            return And((left, _trigger(right)))
        case Or(args):
            # `not a or b` is how Python says that a implies b; so is `x is None or b`. But `x is not None` is a claim.
            guards = [negate(arg) for arg in args if isinstance(arg, Not | IsNone) and not _claims_a_value(arg)]
            return And(tuple(guards)) if guards and len(guards) < len(args) else TRUE
        case And(args):
            return Or(tuple(_trigger(arg) for arg in args))
        case IfElse(test, then, orelse):
            return Or((And((test, _trigger(then))), And((negate(test), _trigger(orelse)))))
        case Quantified("all", var, domain, body):
            return Quantified("any", var, domain, _trigger(body))
    return TRUE
