"""Proofs of several models side by side: each core proves one model at a time, in a process of its own."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import attrs

from holdfast.check.budget import INTERRUPTED, Budget
from holdfast.check.prove.engine import prove, unasked
from holdfast.check.prove.proof_state import PROVABLE
from holdfast.check.prove.result import ProofResult
from holdfast.check.worker_pool import WorkerPool
from holdfast.ir.errors import HoldfastError
from holdfast.ir.system import System

Waiting = Callable[[str], None]
"""Called with a text that says what is being done now."""


@attrs.frozen
class ProofTask:
    """A model to prove: the system, the model's name on the command line, and the file that adds lemmas."""

    number: int
    system: System
    target: str
    lemmas_from: str | None

    @property
    def weight(self) -> int:
        """About how long the proof takes, relative to others: the number of obligations."""
        return len(self.system.actions) * sum(prop.kind in PROVABLE for prop in self.system.properties)


def proofs(
    tasks: Sequence[ProofTask], waiting: Waiting, *, cores: int | None, budget: Budget, **options: Any
) -> Iterator[ProofResult]:
    """Yield the result of each proof, in the order of the tasks. ``options`` are those of ``prove``.

    If there are fewer models than cores, one model after the other is proved, each on all cores. After Ctrl-C the last
    result is a partial one. Raises as ``prove`` does, when the results of all earlier tasks have been yielded.
    """
    count = (os.cpu_count() or 1) if cores is None else cores
    if count == 1 or len(tasks) < max(count, 2):
        for task in tasks:
            yield _proved(task, progress=waiting, cores=cores, budget=budget, **options)
        return
    if budget.memory_bytes is not None:
        budget = attrs.evolve(budget, memory_bytes=budget.memory_bytes // count)
    work = partial(_answered, {"cores": 0, "budget": budget, **options})
    # A model's class need not be importable in another process, and the proof does without it.
    portable = [attrs.evolve(task, system=attrs.evolve(task.system, python=object)) for task in tasks]
    ready: dict[int, ProofResult | HoldfastError] = {}
    following = 0
    try:
        with WorkerPool(count, _nothing, None) as pool:
            # The longest first, so that none is left to run alone at the end.
            queue = sorted(portable, key=lambda task: -task.weight)
            for number, found in pool.as_done(work, queue, lambda left: waiting(_working_on(left, count))):
                ready[number] = found
                while following in ready:
                    result = ready.pop(following)
                    if isinstance(result, HoldfastError):
                        raise result
                    yield result
                    following += 1
    except KeyboardInterrupt:
        yield unasked(tasks[following].system, INTERRUPTED, tasks[following].target, options.get("properties"))


def _working_on(left: Sequence[ProofTask], count: int) -> str:
    return f"proving {', '.join(task.target for task in left[:count])}; {len(left)} left"


def _proved(task: ProofTask, **options: Any) -> ProofResult:
    return prove(task.system, target=task.target, lemmas_from=task.lemmas_from, **options)


def _answered(options: Mapping[str, Any], task: ProofTask) -> tuple[int, ProofResult | HoldfastError]:
    """The task's number with its result. An error is a result too: it counts when its turn comes."""
    try:
        return task.number, _proved(task, **options)
    except HoldfastError as error:
        return task.number, error


def _nothing(_: None) -> None:
    """A task brings its model, so a process has nothing to prepare."""
