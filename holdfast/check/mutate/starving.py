"""Liveness of a mutant that violates no other property: which liveness properties does it violate?"""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from holdfast.check.mutate.limits import MutationLimits
from holdfast.check.mutate.result import Kill
from holdfast.ir.system import LIVENESS, Scope, System
from holdfast.trace.trace import Trace


@attrs.frozen
class Starvation:
    """The liveness properties that a mutant violates, with the run of the first one.

    ``ended_by`` says why this is unknown; None if it is known.
    """

    kills: tuple[Kill, ...] = ()
    trace: Trace | None = None
    ended_by: str | None = None


def starved(mutant: System, scopes: Sequence[Scope], target: str, limits: MutationLimits) -> Starvation:
    """Check the liveness of a mutant in one scope after the other, until one is violated. Raises Interruption."""
    if next(mutant.of_kind(*LIVENESS), None) is None:
        return Starvation()
    from holdfast.check.live.engine import live  # noqa: PLC0415 - SciPy takes a while to import

    ended_by: str | None = None
    for scope in scopes:
        meter = limits.meter()
        found = live(mutant, scope, budget=meter.budget, progress=limits.progress, target=target)
        if found.findings:
            return Starvation(tuple(Kill.of(trace) for trace in found.findings), found.findings[0])
        limits.check(found.ended_by)
        if found.verdict == "inconclusive":
            ended_by = ended_by or found.ended_by or f"in scope {scope.name} it depends on steps that a bound cut"
    return Starvation(ended_by=ended_by)
