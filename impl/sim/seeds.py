"""The runs of many seeds, in parallel processes. The outcomes come in the order of the seeds."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Generator
from concurrent.futures import Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool

import msgspec

from impl.sim.check import Question, check
from impl.sim.outcome import RunSummary, outcome
from impl.sim.run import RunStoppedError

AHEAD = 4
"""The number of runs that are submitted for each process, so that no process is idle."""
POLL_S = 0.2


class WorkerError(Exception):
    """A process that made runs has ended before its time."""


def outcomes(question: Question, seeds: range, jobs: int, go_on: Callable[[], bool]) -> Generator[RunSummary]:
    """The outcome of each seed in turn. ``jobs``: the number of processes; with 1 the runs are made in this process.

    The generator asks ``go_on`` several times a second, and ends if the answer is no. When the caller closes it, the
    processes end. Raises WorkerError if a process has ended before its time.
    """
    found = _here(question, seeds, go_on) if jobs == 1 else _side_by_side(question, seeds, jobs, go_on)
    yield from found


def _here(question: Question, seeds: range, go_on: Callable[[], bool]) -> Generator[RunSummary]:
    for seed in seeds:
        try:
            checked = check(msgspec.structs.replace(question, seed=seed), go_on)
        except RunStoppedError:
            return
        yield outcome(checked)


def _one(question: Question, seed: int) -> RunSummary:
    return outcome(check(msgspec.structs.replace(question, seed=seed)))


def _side_by_side(question: Question, seeds: range, jobs: int, go_on: Callable[[], bool]) -> Generator[RunSummary]:
    left = iter(seeds)
    begun: deque[Future[RunSummary]] = deque()
    pool = ProcessPoolExecutor(
        jobs, mp_context=multiprocessing.get_context("spawn"), initializer=_leave_signals_to_the_parent
    )
    try:
        while True:
            while len(begun) < jobs * AHEAD and (seed := next(left, None)) is not None:
                # A new process is deaf to Ctrl-C, which would end it in the middle of its imports with a traceback.
                before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
                begun.append(pool.submit(_one, question, seed))
                signal.pthread_sigmask(signal.SIG_SETMASK, before)
            if not begun or not go_on():
                return
            # Only the oldest run is awaited, which keeps the order of the seeds.
            if wait([begun[0]], POLL_S).done:
                try:
                    yield begun.popleft().result()
                except BrokenProcessPool:
                    raise WorkerError("a worker process ended early, perhaps out of memory") from None
    finally:
        # The shutdown awaits no run, so the processes that still make one are killed.
        processes = multiprocessing.active_children()
        pool.shutdown(wait=False, cancel_futures=True)
        for process in processes:
            process.kill()


def _leave_signals_to_the_parent() -> None:
    """The process that started this one answers signals: Ctrl-C reaches all, and `timeout` sends SIGTERM to all.

    If that process is killed, this one ends too: nobody wants its runs.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
