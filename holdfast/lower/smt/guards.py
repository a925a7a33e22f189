"""Under which conditions a step is taken, and what is in its way otherwise: a rule, or a bound.

A step meets its conditions in an order. A rule that is the first to fail refuses it; a bound that is the first to fail
cuts it, which says nothing of the protocol.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import attrs
import z3

from holdfast.lower.smt.values import conjunction, disjunction, implication, negation


@attrs.frozen(eq=False)
class PathGuard:
    """A condition, or the conditions of a whole ``if`` or loop: ``holds`` says that nothing is in the way.

    ``refused`` makes the formula that a rule in it refuses the step; None: there is no rule in it. ``cuts`` tells
    whether there is a bound in it.
    """

    holds: z3.BoolRef
    refused: Callable[[], z3.BoolRef] | None
    cuts: bool


def rule(holds: z3.BoolRef) -> PathGuard:
    """What a ``require`` demands."""
    return PathGuard(holds, lambda: negation(holds), cuts=False)


def bound(holds: z3.BoolRef) -> PathGuard:
    """That a value has its type."""
    return PathGuard(holds, None, cuts=True)


def either(test: z3.BoolRef, then: Sequence[PathGuard], orelse: Sequence[PathGuard], ctx: z3.Context) -> PathGuard:
    """The conditions of the branch that is run."""
    no = negation(test)
    holds = [implication(test, all_hold(then, ctx)), implication(no, all_hold(orelse, ctx))]

    def refused() -> z3.BoolRef:
        taken = [conjunction([when, is_refused(each, ctx)], ctx) for when, each in ((test, then), (no, orelse))]
        return disjunction(taken, ctx)

    every = (*then, *orelse)
    has_rule = any(guard.refused is not None for guard in every)
    return PathGuard(conjunction(holds, ctx), refused if has_rule else None, has_bound(every))


def all_hold(guards: Sequence[PathGuard], ctx: z3.Context) -> z3.BoolRef:
    """That the step is taken."""
    return conjunction([guard.holds for guard in guards], ctx)


def is_refused(guards: Sequence[PathGuard], ctx: z3.Context) -> z3.BoolRef:
    """That a rule is the first to fail, of conditions that are met in this order."""
    if not has_bound(guards):
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
    """Whether a bound is among them."""
    return any(guard.cuts for guard in guards)
