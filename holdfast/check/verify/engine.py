"""Make many comparisons in parallel, in a pool of processes."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from pathlib import Path

from holdfast.check.budget import Budget, Meter
from holdfast.check.result import OUT_OF_BUDGET
from holdfast.check.verify.jobs import JobResult, VerifyJob, make
from holdfast.check.verify.opinions import Opinion
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
        said = (f"{job.name}: {error}",)
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
    with ProcessPoolExecutor(
        processes,
        mp_context=multiprocessing.get_context("spawn"),
        # Ctrl-C reaches every process of the terminal. The workers ignore it, and the main process handles it.
        initializer=signal.signal,
        initargs=(signal.SIGINT, signal.SIG_IGN),
    ) as pool:
        # The longest first, so that none is left to run alone at the end.
        left = {pool.submit(run, folder, job, slow=slow): job for job in sorted(jobs, key=lambda job: -job.weight)}
        try:
            while left:
                done, _ = wait(left, 0.5, FIRST_COMPLETED)
                # ``done`` is a set; this keeps the order in which the jobs were submitted.
                for future in [future for future in left if future in done]:
                    del left[future]
                    yield future.result()
                waiting(list(left.values()))
                if seconds is not None and meter.seconds > seconds:
                    return
        finally:
            if left:
                # Jobs are left after the time limit, after an exception, or if the caller closed the generator.
                processes_begun = multiprocessing.active_children()
                pool.shutdown(wait=False, cancel_futures=True)
                for process in processes_begun:
                    process.terminate()
