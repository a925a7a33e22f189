"""Runs cases in several processes, and ends all of them within seconds after a signal."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import TypeVar

SIGNALS = (signal.SIGINT, signal.SIGTERM)

T = TypeVar("T")


def results(run: Callable[[int], T], numbers: Sequence[int], jobs: int) -> Iterator[T]:
    """The results of all cases, in order. Close the iterator to end all processes, also in the middle of cases."""
    if jobs == 1:
        yield from map(run, numbers)
        return
    # Each process has the command imported, as a copy of this one.
    pool = ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("fork"), initializer=disregard_signals)
    try:
        yield from pool.map(run, numbers, chunksize=4)
    finally:
        workers = multiprocessing.active_children()
        # Without ``cancel_futures`` the pool would run all remaining cases first.
        pool.shutdown(wait=False, cancel_futures=True)
        for worker in workers:
            worker.kill()


def disregard_signals() -> None:
    """Let SIGINT and SIGTERM do nothing in this process. A program that it starts still gets them.

    ``pkill`` sends a signal to every process of the harness; only the first one decides what ends.
    """
    for number in SIGNALS:
        # SIG_IGN would be inherited by the commands.
        signal.signal(number, lambda *_: None)
