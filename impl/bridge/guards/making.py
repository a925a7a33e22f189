"""Makes the rows of all rules: first the runs of the default mix with all rules, then the trials of each rule."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import takewhile
from types import MappingProxyType
from typing import TypeVar

import msgspec

from holdfast.check.worker_pool import WorkerPool
from holdfast.ir.errors import HoldfastError
from impl.bridge.guards.part_runs import PartRun, part_decisions, part_runs
from impl.bridge.guards.progress import GuardProgress, RunDecisions
from impl.bridge.guards.row import NOT_TRIED, GuardRow, GuardStore
from impl.bridge.guards.trial import TRIES, GuardTrial, evidence, reached
from impl.rules import guards
from impl.sim.check import check
from impl.sim.mix import is_sound, question

CHUNK = 10
"""The number of runs of one task."""
PART_CHUNK = 250
"""The number of runs of parts of one task."""

T = TypeVar("T")
R = TypeVar("R")


class ViolatedMixError(HoldfastError):
    """A run of the mix is violated with all rules, so the lack of a rule would show nothing."""

    exit_code = 12


def made(
    numbers: Sequence[int],
    progress: GuardProgress,
    jobs: int,
    show: Callable[[str], None],
    go_on: Callable[[], bool],
    tries: int = TRIES,
    before: Sequence[GuardRow] = (),
) -> GuardStore:
    """The rows of all rules. ``show`` is told how much is left; ``tries``: as for ``GuardTrial``.

    ``before``: the rows of an earlier trial, whose runs are tried first.

    If ``go_on`` says no, the rules that were not tried have rows without a finder. Raises ViolatedMixError.
    """
    with _without_assertions(), WorkerPool(jobs, _prepare, None) as pool:
        missing = [number for number in numbers if number not in progress.runs]
        chunks = [tuple(missing[at : at + CHUNK]) for at in range(0, len(missing), CHUNK)]
        for chunk in _each(pool, _decisions, chunks, lambda left: show(f"{left * CHUNK:,} runs are left")):
            for each in chunk:
                progress.runs[each.number] = each
                progress.keep(run=each)
            if not go_on():
                break
        # Interrupted, the runs that were made count, up to the first one that is missing.
        runs = [progress.runs[number] for number in takewhile(progress.runs.__contains__, numbers)]
        for run in runs:
            if run.violated and is_sound(question(run.number)):
                problem = f"run {run.number} of the mix is violated with all rules"
                raise ViolatedMixError(f"{problem}: {run.violated}; mend the implementation first")
        parts = list[PartDecisions]()
        every_part = tuple(part_runs()) if go_on() else ()
        of_parts = [every_part[at : at + PART_CHUNK] for at in range(0, len(every_part), PART_CHUNK)]
        for found in _each(pool, _part_decisions, of_parts, lambda _: show("runs of parts")):
            parts += found
            if not go_on():
                break
        parts.sort(key=lambda each: each.run)
        every = list(_tasks(runs, tries, {row.label: row for row in before}, parts))
        # A limit may come, so the rules that take least time are tried first. An earlier row that names a finder saves
        # most of the time; after these rules come the rules that most runs reach.
        tasks = sorted(every, key=lambda each: (not each.trial.was_found, -each.runs, each.trial.label))
        tasks = [each for each in tasks if _is_open(each, progress.rows.get(each.trial.label))]
        for row in _each(pool, _row, tasks if go_on() else [], lambda left: show(f"{left} rules are left")):
            progress.rows[row.label] = row
            progress.keep(row=row)
            if not go_on():
                break
    return GuardStore(runs=len(runs), rows=tuple(_counted(each, progress.rows.get(each.trial.label)) for each in every))


def _is_open(task: RowTask, row: GuardRow | None) -> bool:
    """Whether a rule is to be tried: it was not, nothing was found, or only now a run reaches it."""
    return row is None or not row.finder or (row.reached is None and task.reached is not None)


def _counted(task: RowTask, row: GuardRow | None) -> GuardRow:
    """The row of a rule with the counts of all runs that were made since."""
    found = _untried(task) if row is None else row
    return msgspec.structs.replace(found, decided=task.decided, runs=task.runs, idle=task.idle)


def _untried(task: RowTask) -> GuardRow:
    return GuardRow(label=task.trial.label, decided=task.decided, runs=task.runs, idle=task.idle, said=NOT_TRIED)


@contextmanager
def _without_assertions() -> Iterator[None]:
    """Switch off assertions in the processes that start within the block: no rule is to be found by one."""
    before = os.environ.get("PYTHONOPTIMIZE")
    os.environ["PYTHONOPTIMIZE"] = "1"
    try:
        yield
    finally:
        del os.environ["PYTHONOPTIMIZE"]
        if before is not None:
            os.environ["PYTHONOPTIMIZE"] = before


def _prepare(_: None) -> None:
    if __debug__:
        raise RuntimeError("assertions are on")


def _each(pool: WorkerPool, work: Callable[[T], R], tasks: Sequence[T], waiting: Callable[[int], None]) -> Iterator[R]:
    if tasks:
        yield from pool.as_done(work, tasks, lambda left: waiting(len(left)))


def _decisions(numbers: tuple[int, ...]) -> list[RunDecisions]:
    found = []
    for number in numbers:
        checked = check(question(number))
        said = checked.error or next((f"{each.oracle}: {each.message}" for each in checked.violations), "")
        kinds = tuple(sorted(kind for kind, times in checked.run.happened.items() if times))
        found.append(RunDecisions(number, checked.run.decided, kinds, said))
    return found


class PartDecisions(msgspec.Struct, frozen=True):
    """A run of a part: how often each rule decided something, and whether an oracle objects."""

    run: PartRun
    decided: dict[str, int]
    violated: bool = False


def _part_decisions(runs: Sequence[PartRun]) -> list[PartDecisions]:
    found = []
    for run in runs:
        times, wrong = part_decisions(run)
        found.append(PartDecisions(run, times, bool(wrong.finder)))
    return found


class RowTask(msgspec.Struct, frozen=True):
    """The task of a process: a trial, and what the runs of the mix say of its rule.

    ``idle``: no run of the mix decides anything by the rule, so ``decided`` and ``runs`` are of runs of parts.
    """

    trial: GuardTrial
    decided: int
    runs: int
    idle: bool
    reached: int | None
    kinds: tuple[str, ...]


def _tasks(
    made: Sequence[RunDecisions],
    tries: int = TRIES,
    before: Mapping[str, GuardRow] = MappingProxyType({}),
    parts: Sequence[PartDecisions] = (),
) -> Iterator[RowTask]:
    """The task of each rule. The runs of parts are counted for the rules that decide nothing in the mix."""
    for label in guards():
        deciding = [each for each in made if label in each.decided]
        simplest = min(deciding, key=lambda each: (len(each.kinds), each.number), default=None)
        others = [each for each in parts if label in each.decided]
        sound = tuple(each.run for each in others if not each.violated)
        counted = [each.decided[label] for each in (deciding or others)]
        yield RowTask(
            GuardTrial(label, _tried(deciding, label)[:tries], tries, before.get(label), sound),
            sum(counted),
            len(counted),
            not deciding,
            None if simplest is None else simplest.number,
            () if simplest is None else simplest.kinds,
        )


def _tried(deciding: Sequence[RunDecisions], label: str) -> tuple[int, ...]:
    """The runs to try: in turn one in which the rule decided most often, and one with a low number."""
    often = sorted(deciding, key=lambda each: (-each.decided[label], each.number))
    pairs = ((one.number, other.number) for one, other in zip(often, deciding, strict=True))
    return tuple(dict.fromkeys(number for pair in pairs for number in pair))


def _row(task: RowTask) -> GuardRow:
    label, found = task.trial.label, evidence(task.trial)
    kinds = () if task.reached is None else reached(task.reached, label, task.kinds, task.trial.before)
    return GuardRow(
        label=label, decided=task.decided, runs=task.runs, idle=task.idle, reached=task.reached, faults=kinds,
        **msgspec.structs.asdict(found),
    )  # fmt: skip
