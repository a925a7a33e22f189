"""Values that a rule asks of a parameter, such as ``k == self.length[n]`` or ``e > self.epoch``.

Where the state asks for more than the last value of the parameter, the rule refuses every argument. No assignment goes
beyond a bound there. So a search that looks at assignments alone would say that the bounds cut nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from holdfast.ir.expr import (
    MIRRORED,
    And,
    Compare,
    CompareOp,
    Expr,
    Implies,
    Lit,
    Name,
    Or,
    Quantified,
    Ruled,
    conjunction,
    walk,
)

BEYOND: dict[CompareOp, CompareOp] = {"==": ">", ">=": ">", ">": ">="}
"""``p op value`` asks ``p`` for more than its last value where ``value`` compares with the last value in this way."""


def asks_beyond(cond: Expr, last: Mapping[str, int]) -> Iterator[tuple[str, Expr]]:
    """For each parameter that a rule may ask for too much: its name, and the test whether a state does.

    ``last``: the last value of each parameter that is a number, by name. The test is for that argument: it holds if
    ``cond`` is false, and only a greater argument can make it true.
    """
    if any(isinstance(part, Ruled) for part in walk(cond)):
        # Whoever computes such a condition notes its rules, so no part of it is computed again.
        return
    found = (part for part in walk(cond) if isinstance(part, Name) and part.name in last)
    for param in dict.fromkeys(found):
        beyond = _beyond(cond, param, Lit(last[param.name], param.type))
        if beyond is not None:
            yield param.name, conjunction([Compare("==", param, Lit(last[param.name], param.type)), beyond])


def _beyond(cond: Expr, param: Name, last: Lit) -> Expr | None:
    """The test for the argument ``last``; None if ``cond`` does not compare the parameter with a value."""
    match cond:
        case Compare(op, left, right):
            for one, other, how in ((left, right, op), (right, left, MIRRORED[op])):
                if one == param and param not in walk(other) and how in BEYOND:
                    return Compare(BEYOND[how], other, last)
        case And(args):
            found = [(arg, _beyond(arg, param, last)) for arg in args]
            asking = [each for _, each in found if each is not None]
            if asking:
                some = asking[0] if len(asking) == 1 else Or(tuple(asking))
                return conjunction([*(arg for arg, each in found if each is None), some])
        case Implies(left, right):
            inner = _beyond(right, param, last)
            return None if inner is None else conjunction([left, inner])
        case Quantified("all", var, domain, body):
            inner = _beyond(body, param, last)
            return None if inner is None else Quantified("any", var, domain, inner)
    return None
