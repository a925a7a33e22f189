"""The guards of a step: the conditions under which it is taken.

A step evaluates its conditions in order. If the first condition that fails is a rule, the rule refuses the step. If it
is a bound, the bound cuts the step, which says nothing about the protocol.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import attrs
import z3

from holdfast.lower.smt.values import conjunction, disjunction, implication, negation


@attrs.frozen(eq=False)
class PathGuard:
    """One condition, or all conditions of an ``if`` or a loop.

    ``holds``: the formula that all of them hold. ``refused``: makes the formula that one of their rules refuses the
    step; None if there is no rule among them. ``cuts``: whether there is a bound among them.
    """

    holds: z3.BoolRef
    refused: Callable[[], z3.BoolRef] | None
    cuts: bool


def rule(holds: z3.BoolRef) -> PathGuard:
    """The guard of a ``require``."""
    return PathGuard(holds, lambda: negation(holds), cuts=False)


def bound(holds: z3.BoolRef) -> PathGuard:
    """The guard that a value is within its type."""
    return PathGuard(holds, None, cuts=True)


def either(test: z3.BoolRef, then: Sequence[PathGuard], orelse: Sequence[PathGuard], ctx: z3.Context) -> PathGuard:
    """The guard of an ``if``: the conditions of the branch that ``test`` selects."""
    no = negation(test)
    holds = [implication(test, all_hold(then, ctx)), implication(no, all_hold(orelse, ctx))]

    def refused() -> z3.BoolRef:
        taken = [conjunction([when, is_refused(each, ctx)], ctx) for when, each in ((test, then), (no, orelse))]
        return disjunction(taken, ctx)

    every = (*then, *orelse)
    has_rule = any(guard.refused is not None for guard in every)
    return PathGuard(conjunction(holds, ctx), refused if has_rule else None, has_bound(every))


def all_hold(guards: Sequence[PathGuard], ctx: z3.Context) -> z3.BoolRef:
    """The formula that all guards hold, so that the step is taken."""
    return conjunction([guard.holds for guard in guards], ctx)


def is_refused(guards: Sequence[PathGuard], ctx: z3.Context) -> z3.BoolRef:
    """The formula that the first guard to fail, in this order, is a rule."""
    if not has_bound(guards):
        # All guards are rules, so whichever fails first refuses the step.
        return negation(all_hold(guards, ctx))
    return disjunction(
        [
            conjunction([all_hold(guards[:place], ctx), guard.refused()], ctx)
            for place, guard in enumerate(guards)
            if guard.refused is not None
        ],
        ctx,
    )


def has_bound(guards: Sequence[PathGuard]) -> bool:
    """Whether a bound is among the guards."""
    return any(guard.cuts for guard in guards)
