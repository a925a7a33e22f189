"""Trials of operator mutants, each core one at a time. The rows are those of one core, in the order of the mutants."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

import attrs

from holdfast.check.budget import INTERRUPTED, Budget
from holdfast.check.mutate.bench import Bench, MutantTrial
from holdfast.check.mutate.limits import Interruption, MutationLimits
from holdfast.check.mutate.operators import Operator, operators
from holdfast.check.mutate.result import Kill, OperatorRow, OperatorWay
from holdfast.check.worker_pool import WorkerPool
from holdfast.ir.errors import UsageError
from holdfast.ir.system import Scope, System

PATIENCE = 20_000
"""Number of states to search of each operator mutant. Each one is another model, so no shared kernel can search it."""

FEW = 20
"""The number of operator mutants up to which one process ends sooner than several, which begin late."""


@attrs.frozen
class OperatorOutcome:
    """What became of an operator mutant."""

    way: OperatorWay
    kill: Kill | None


def try_operators(
    system: System,
    bench: Bench,
    limits: MutationLimits,
    keep: Callable[[OperatorRow], None],
    known: Callable[[str, str, int], OperatorRow | None] = lambda where, change, number: None,
) -> None:
    """Try every operator mutant in one scope. Raises Interruption.

    ``keep`` is called with each row as it is established. ``known`` returns an earlier row for a ``where``, ``change``
    and number, or None; a known mutant is not tried again.
    """
    every = list(operators(system))
    alike: Counter[tuple[str, str]] = Counter()
    numbers: list[int] = []
    for each in every:
        numbers.append(alike[each.where, each.change])
        alike[each.where, each.change] += 1
    earlier = [known(each.where, each.change, number) for each, number in zip(every, numbers, strict=True)]
    untried = [position for position, row in enumerate(earlier) if row is None]
    outcomes = _outcomes(every, untried, bench, limits)
    for each, number, row in zip(every, numbers, earlier, strict=True):
        if row is not None:
            keep(attrs.evolve(row, place=str(each.at)))
        elif (found := next(outcomes)) is not None:
            keep(OperatorRow(str(each.at), each.where, each.change, number, found.way, found.kill))


def _outcomes(
    every: Sequence[Operator], untried: Sequence[int], bench: Bench, limits: MutationLimits
) -> Iterator[OperatorOutcome | None]:
    """The outcomes of the mutants at these positions, in order; None for one that does not fit the scope."""
    if limits.cores == 1 or len(untried) <= FEW:
        for position in untried:
            limits.now = f"operator {position + 1} of {len(every)}, in {every[position].where}"
            yield _outcome(every[position], bench)
        return

    def waiting(done: int) -> None:
        limits.now = f"operator {done} of {len(untried)}"
        limits.meter().stage(limits.now)

    count, budget = limits.cores, limits.meter().budget
    if budget.memory_bytes is not None:
        budget = attrs.evolve(budget, memory_bytes=budget.memory_bytes // count)
    # A model's class need not be importable in another process, and the trials do without it.
    payload = _OperatorPayload(
        attrs.evolve(bench.system, python=object),
        bench.scope,
        bench.target,
        attrs.evolve(budget, states=limits.budget.states),
    )
    with WorkerPool(count, _prepare, payload) as processes:
        for found in processes.in_order(_try_one, untried, waiting):
            if isinstance(found, str):
                # A process knows only the rest of the time that was left when it began.
                raise Interruption(INTERRUPTED if found == INTERRUPTED else limits.budget.out_of_time)
            yield found


def _outcome(mutant: Operator, bench: Bench) -> OperatorOutcome | None:
    try:
        trial = bench.try_changed(mutant.system, mutant.action, PATIENCE)
    except UsageError:
        # The changed model does not fit the scope, because a condition that kept it within is gone.
        return None
    return OperatorOutcome(_way(trial), trial.kill)


def _way(trial: MutantTrial) -> OperatorWay:
    if trial.kill is not None:
        return "killed"
    if trial.same:
        return "equivalent"
    return "survived" if trial.ended_by is None else "undecided"


# In a process of the pool -----------------------------------------------------------------------------------------


@attrs.frozen
class _OperatorPayload:
    """Everything that a process needs to try operator mutants. It lists the mutants itself, in the same order."""

    system: System
    scope: Scope
    target: str
    budget: Budget


_prepared: list[tuple[list[Operator], Bench]] = []
"""The mutants and the bench of this process, once it is prepared."""


def _prepare(payload: _OperatorPayload) -> None:
    limits = MutationLimits(payload.budget, cores=1)
    _prepared.append((list(operators(payload.system)), Bench(payload.system, payload.scope, payload.target, limits)))


def _try_one(position: int) -> OperatorOutcome | str | None:
    """The outcome of a mutant; a text if a limit ended the command."""
    [(every, bench)] = _prepared
    try:
        return _outcome(every[position], bench)
    except Interruption as stopped:
        return str(stopped)
