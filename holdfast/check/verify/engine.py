"""Making many comparisons side by side, each in a process of its own choosing."""

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
    """Make a comparison; whatever goes wrong is part of what is found.

    A command that could not be asked, or did not answer in time, leaves the question open. What breaks down has
    contradicted itself.
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
    """Make comparisons side by side, and hand each over as it is done; after so many ``seconds`` the rest is left out.

    ``waiting`` is told now and then what is not done yet. What is begun is ended when the caller stops asking.
    """
    meter = Meter(Budget())
    with ProcessPoolExecutor(
        processes,
        mp_context=multiprocessing.get_context("spawn"),
        # Ctrl-C reaches every process of the terminal; the one that started the others answers it.
        initializer=signal.signal,
        initargs=(signal.SIGINT, signal.SIG_IGN),
    ) as pool:
        # The longest first, so that none is left to run alone at the end.
        left = {pool.submit(run, folder, job, slow=slow): job for job in sorted(jobs, key=lambda job: -job.weight)}
        try:
            while left:
                done, _ = wait(left, 0.5, FIRST_COMPLETED)
                for future in [future for future in left if future in done]:
                    del left[future]
                    yield future.result()
                waiting(list(left.values()))
                if seconds is not None and meter.seconds > seconds:
                    return
        finally:
            if left:
                processes_begun = multiprocessing.active_children()
                pool.shutdown(wait=False, cancel_futures=True)
                for process in processes_begun:
                    process.terminate()
