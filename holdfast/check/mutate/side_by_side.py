"""Trials of mutants side by side: each core tries one mutant at a time, in a process of its own.

A trial needs the whole model and its mutant alone, so trials do not depend on each other. Only the choice of partners
depends on the facts of all mutants; these are sent along. The facts are the same as of one process after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import attrs

from holdfast.check.budget import Budget
from holdfast.check.mutate.limits import Interruption, MutationLimits
from holdfast.check.mutate.result import Mutant, MutantFacts
from holdfast.ir.system import Scope, System
from holdfast.trace.trace import Trace


class MutantTrials(Protocol):
    """The part of ``engine.Mutation`` that a process calls."""

    facts: dict[str, MutantFacts]

    def established(self, mutant: Mutant) -> MutantFacts: ...

    def in_pairs(self, mutant: Mutant) -> None: ...


@attrs.frozen
class TrialPayload:
    """Everything that a process needs to try mutants of a model. ``make`` makes the trials: it is ``Mutation``."""

    make: Callable[..., MutantTrials]
    system: System
    variants: Mapping[str, System]
    scopes: tuple[Scope, ...]
    target: str
    options: object
    budget: Budget


@attrs.frozen
class TrialTask:
    """A mutant to try alone, or in pairs if the ``facts`` of all mutants alone are given."""

    mutant: Mutant
    facts: Mapping[str, MutantFacts] | None


@attrs.frozen
class TrialResult:
    """The facts of a mutant, and the killing runs by name. ``ended_by`` is a limit that ends the whole command."""

    facts: MutantFacts | None
    runs: Sequence[tuple[str, Trace]]
    ended_by: str | None = None


_runs: list[tuple[str, Trace]] = []
_trials: list[MutantTrials] = []
"""The trials of this process, once it is prepared, and the runs that kill the present mutant."""


def prepare(payload: TrialPayload) -> None:
    """Prepare this process for the mutants of a model."""
    trials = payload.make(
        payload.system,
        payload.scopes,
        MutationLimits(payload.budget, cores=1),
        target=payload.target,
        options=payload.options,
        variants=payload.variants,
        show=lambda name, trace: _runs.append((name, trace)),
    )
    _trials.append(trials)


def try_one(task: TrialTask) -> TrialResult:
    """Try a mutant, in a prepared process."""
    [trials] = _trials
    _runs.clear()
    try:
        if task.facts is None:
            facts = trials.established(task.mutant)
        else:
            trials.facts = dict(task.facts)
            trials.in_pairs(task.mutant)
            facts = trials.facts[task.mutant.name]
    except Interruption as stopped:
        return TrialResult(None, tuple(_runs), str(stopped))
    return TrialResult(facts, tuple(_runs))
