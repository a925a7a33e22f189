"""Work on several cores at once, in processes of their own.

A process prepares itself once, from a payload, and then works on many tasks. Ctrl-C reaches every process of a
terminal. The workers ignore it: the process that started them ends them.
"""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any, Self, TypeVar

from holdfast.ir.errors import UsageError

P = TypeVar("P")
R = TypeVar("R")
T = TypeVar("T")

PAUSE = 0.5
"""Seconds between two calls of ``waiting``."""


class WorkerPool:
    """A pool of worker processes, ended with the ``with`` statement. ``prepare(payload)`` is called first in each."""

    def __init__(self, count: int, prepare: Callable[[P], None], payload: P) -> None:
        self._others = multiprocessing.active_children()
        self._pool = ProcessPoolExecutor(
            count,
            # A new interpreter for each: a copy of this process would share threads and locks that it cannot use.
            mp_context=multiprocessing.get_context("spawn"),
            initializer=_begin,
            initargs=(prepare, payload),
        )
        self._futures: list[Future[Any]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        # Work is left after an error, or if the caller wants no more results. Then no process need end well.
        if any(not future.done() for future in self._futures):
            for process in multiprocessing.active_children():
                if process not in self._others:
                    process.terminate()
        self._pool.shutdown(cancel_futures=True)

    def in_order(self, work: Callable[[T], R], tasks: Sequence[T], waiting: Callable[[int], None]) -> Iterator[R]:
        """The result of each task, in order. ``waiting`` is called about twice a second with the number of results.

        Raises what ``work`` or ``waiting`` raises, and UsageError if the system ended a worker.
        """
        futures = self._submitted(work, tasks)
        for number, future in enumerate(futures):
            while not wait([future], PAUSE).done:
                waiting(sum(each.done() for each in futures))
            yield _result(future, number, len(tasks))

    def as_done(
        self, work: Callable[[T], R], tasks: Sequence[T], waiting: Callable[[Sequence[T]], None]
    ) -> Iterator[R]:
        """The result of each task as soon as it is there. ``waiting`` is called with the tasks that are not done.

        Raises as ``in_order`` does.
        """
        left = dict(enumerate(self._submitted(work, tasks)))
        while left:
            wait(left.values(), PAUSE, FIRST_COMPLETED)
            for number in [number for number, future in left.items() if future.done()]:
                yield _result(left.pop(number), number, len(tasks))
            waiting([tasks[number] for number in left])

    def _submitted(self, work: Callable[[T], R], tasks: Sequence[T]) -> list[Future[R]]:
        futures = [self._pool.submit(work, task) for task in tasks]
        self._futures += futures
        return futures


def _result(future: Future[R], number: int, tasks: int) -> R:
    try:
        return future.result()
    except BrokenProcessPool as error:
        raise UsageError(
            f"the system ended one of the processes that worked on task {number + 1} of {tasks}, perhaps for lack of "
            "memory; use --cores 1"
        ) from error


def _begin(prepare: Callable[[P], None], payload: P) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    prepare(payload)
