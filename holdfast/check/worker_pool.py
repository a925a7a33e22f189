"""Work on several cores at once, in processes of their own.

A process prepares itself once, from a payload, and then works on many tasks. Ctrl-C reaches every process of a
terminal, and `timeout` sends SIGTERM to all of its group. The workers ignore both: the process that started them ends
them. If that one is killed, the workers end by themselves. A worker that is told to end and does not is killed.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import Connection
from multiprocessing.connection import wait as wait_for
from multiprocessing.process import BaseProcess
from multiprocessing.synchronize import Event
from types import FrameType
from typing import Any, Self, TypeVar

from holdfast.check.interrupt import deferred, interrupt, raise_swallowed_again
from holdfast.ir.errors import UsageError

P = TypeVar("P")
R = TypeVar("R")
T = TypeVar("T")

PAUSE = 0.5
"""Seconds between two calls of ``waiting``."""

GRACE = 5.0
"""Seconds that a worker has to end in order, once it is told to end or the process that started it is gone."""


class WorkerPool:
    """A pool of worker processes, ended with the ``with`` statement. ``prepare(payload)`` is called first in each."""

    def __init__(self, count: int, prepare: Callable[[P], None], payload: P) -> None:
        self._others = multiprocessing.active_children()
        # A new interpreter for each: a copy of this process would share threads and locks that it cannot use.
        context = multiprocessing.get_context("spawn")
        self._ended = context.Event()
        # Workers wait for the end of this pipe. They do not wait for the event: to set it, this process would wait for
        # each of them, and a worker that was killed never answers.
        self._told, self._telling = context.Pipe(duplex=False)
        self._pool = ProcessPoolExecutor(
            count, mp_context=context, initializer=_begin, initargs=(self._ended, self._told, prepare, payload)
        )
        self._futures: list[Future[Any]] = []
        self._before: Any = None

    def __enter__(self) -> Self:
        # Without a handler, SIGTERM would end this process and leave the workers. Only the main thread may set one.
        # Whoever has set one already, such as ``interruptible``, ends the work in order.
        if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
            self._before = signal.signal(signal.SIGTERM, interrupt)
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGTERM, self._before)
        workers = [process for process in multiprocessing.active_children() if process not in self._others]
        # Work is left after an error, or if the caller wants no more results. Then no process need end well.
        if error is not None or any(not future.done() for future in self._futures):
            # The tasks that a worker still has in its queue end at once.
            self._ended.set()
            self._telling.close()
        # A library such as Z3 may answer no signal for minutes, and some hang at their exit. No result is lost by then.
        patience = threading.Timer(GRACE, _kill, [workers])
        patience.start()
        self._pool.shutdown(cancel_futures=True)
        patience.cancel()
        self._telling.close()
        self._told.close()

    def submit(self, work: Callable[[T], R], task: T) -> Future[R]:
        """Begin a task. Its future raises what ``work`` raises, and BrokenProcessPool if the system ended a worker."""
        with deferred():
            future = self._pool.submit(_work, work, task)
        # A future that is done would keep its result in memory.
        self._futures = [each for each in self._futures if not each.done()] + [future]
        return future

    def in_order(self, work: Callable[[T], R], tasks: Sequence[T], waiting: Callable[[int], None]) -> Iterator[R]:
        """The result of each task, in order. The work begins at once, also if nobody waits for a result yet.

        ``waiting`` is called about twice a second with the number of results. Raises what ``work`` or ``waiting``
        raises, and UsageError if the system ended a worker.
        """
        return self._in_order(self._submitted(work, tasks), waiting)

    def _in_order(self, futures: Sequence[Future[R]], waiting: Callable[[int], None]) -> Iterator[R]:
        for number, future in enumerate(futures):
            while not wait([future], PAUSE).done:
                waiting(sum(each.done() for each in futures))
            yield _result(future, number, len(futures))

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
        with deferred():
            futures = [self._pool.submit(_work, work, task) for task in tasks]
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


_ended: list[Event] = []
"""In a worker: the event that the pool is ended, whatever tasks are left."""


def _begin(ended: Event, told: Connection, prepare: Callable[[P], None], payload: P) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # No SIG_IGN: programs that a worker starts would ignore the signal, too.
    signal.signal(signal.SIGTERM, _ignore)
    # See ``deferred``.
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
    raise_swallowed_again()
    _ended.append(ended)
    threading.Thread(target=_end_when_told, args=(told,), daemon=True).start()
    prepare(payload)


def _ignore(_number: int, _frame: FrameType | None) -> None:
    """The handler of SIGTERM in a worker that is in no search."""


def _end_when_told(told: Connection) -> None:
    """Wait until the pool is ended, or the process that started this one is gone, and end this one."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    wait_for([told, parent.sentinel])
    _ended[0].set()
    if signal.getsignal(signal.SIGTERM) is not _ignore:
        # A search takes SIGTERM as Ctrl-C: it ends in order, and removes what it has on disk.
        os.kill(os.getpid(), signal.SIGTERM)
        threading.Event().wait(GRACE)
    # Without tasks this process would wait for one for ever.
    os._exit(1)


def _kill(workers: Sequence[BaseProcess]) -> None:
    for worker in workers:
        worker.kill()


def _work(work: Callable[[T], R], task: T) -> R:
    if _ended[0].is_set():
        raise KeyboardInterrupt
    return work(task)
