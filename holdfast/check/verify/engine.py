"""Make many comparisons in parallel, in a pool of processes."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from holdfast.check.budget import Budget, Meter
from holdfast.check.result import OUT_OF_BUDGET
from holdfast.check.verify.jobs import JobResult, VerifyJob, make
from holdfast.check.verify.opinions import Opinion
from holdfast.check.worker_pool import WorkerPool
from holdfast.ir.errors import HoldfastError, UsageError


def run(folder: Path, job: VerifyJob, *, slow: bool) -> JobResult:
    """Make a comparison. It raises nothing: an error becomes part of the opinion.

    If an engine cannot be asked (UsageError) or has no answer in time, the comparison is open. Any other error is a
    problem: the engine has failed.
    """
    meter = Meter(Budget())
    outcome = None
    try:
        opinion, outcome = make(folder, job, slow=slow)
    except HoldfastError as error:
        said = tuple(f"{job.name}: {line}" for line in error.lines)
        is_open = isinstance(error, UsageError) or error.exit_code == OUT_OF_BUDGET
        opinion = Opinion("", (), said) if is_open else Opinion("", said)
    except Exception as error:  # noqa: BLE001 - an engine that breaks down must not hide what the others say
        opinion = Opinion("", (f"{job.name}: {type(error).__name__}: {error}",))
    return JobResult(job, opinion, meter.seconds, outcome)


def run_all(
    folder: Path,
    jobs: Sequence[VerifyJob],
    processes: int,
    *,
    slow: bool,
    seconds: float | None = None,
    waiting: Callable[[Sequence[VerifyJob]], None] = lambda jobs: None,
) -> Generator[JobResult]:
    """Make comparisons in parallel, and yield each as soon as it is done. After ``seconds`` the rest is left out.

    ``waiting`` is called about twice a second with the jobs that are not done. If the caller stops early, running
    comparisons are terminated.
    """
    meter = Meter(Budget())

    def look(left: Sequence[VerifyJob]) -> None:
        waiting(left)
        if left and seconds is not None and meter.seconds > seconds:
            raise _OutOfTimeError

    # The longest first, so that none is left to run alone at the end.
    queue = sorted(jobs, key=lambda job: -job.weight)
    with suppress(_OutOfTimeError), WorkerPool(processes, _nothing, None) as pool:
        yield from pool.as_done(partial(run, folder, slow=slow), queue, look)


class _OutOfTimeError(Exception):
    """The time for all comparisons is up."""


def _nothing(_: None) -> None:
    """A comparison loads its model itself, so a process has nothing to prepare."""
