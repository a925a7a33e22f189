"""Asks Z3 many questions in parallel and returns the answers in the order of the questions."""

from __future__ import annotations

import multiprocessing
import signal
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from types import TracebackType
from typing import Self

from holdfast.check.budget import Meter
from holdfast.lower.smt.solve import SolverAnswer, SolverQuestion, ask

AHEAD = 16
"""The number of queued questions for each process: enough that no process is idle."""

MANY, BRIEF = 40, 2.0
"""Other processes are started for MANY questions or more, or for questions of more than BRIEF seconds.

Few and brief questions are asked in this process. There Ctrl-C takes effect only after the current answer.
"""

QuestionMaker = Callable[[], SolverQuestion | SolverAnswer]
"""Makes a question when its turn comes; an Answer instead if the answer is already known."""

GLANCE = 0.05
"""The seconds between two checks of the limits while this process waits for an answer."""


class LimitExceeded(Exception):
    """A limit of the check is exceeded, or it was interrupted."""


class Askers:
    """A pool of processes that ask Z3; with 0 processes, this process asks Z3 itself. Use it as a context manager."""

    def __init__(self, processes: int, meter: Meter) -> None:
        self.meter = meter
        self.asked = 0
        """The number of questions that have been answered."""
        self.seconds = 0.0
        """The total time that Z3 took for all answers."""
        self._processes = processes
        self._pool: ProcessPoolExecutor | None = None

    def _started(self) -> ProcessPoolExecutor:
        """The pool, started at the first call. The start takes a second, so a little work is done without the pool."""
        if self._pool is None:
            self._pool = ProcessPoolExecutor(
                self._processes,
                mp_context=multiprocessing.get_context("spawn"),
                # Ctrl-C reaches every process of the terminal. Only the parent process handles it.
                initializer=signal.signal,
                initargs=(signal.SIGINT, signal.SIG_IGN),
            )
        return self._pool

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._pool is None:
            return
        started = dict(getattr(self._pool, "_processes", None) or {})
        self._pool.shutdown(wait=kind is None, cancel_futures=True)
        if kind is not None:
            # Otherwise each process would go on until the time limit of its current question.
            for process in started.values():
                process.terminate()

    def answers(
        self, questions: Sequence[QuestionMaker], seconds: float, seed: int = 0, *, minimal: bool = False
    ) -> Iterator[SolverAnswer]:
        """Yield the answers in the order of the questions. An answer is ``unknown`` after ``seconds`` seconds.

        ``seed`` and ``minimal`` are those of ``holdfast.lower.smt.solve.ask``. Raises LimitExceeded when the check must
        stop.
        """
        if not self._processes or (self._pool is None and len(questions) < MANY and seconds <= BRIEF):
            for each in questions:
                allowed, question = self.allowed(seconds), each()
                yield self._counted(
                    question if isinstance(question, SolverAnswer) else ask(question, allowed, seed, minimal=minimal)
                )
            return
        pool = self._started()
        waiting: deque[SolverAnswer | Future[SolverAnswer]] = deque()
        for each in questions:
            question = each()
            waiting.append(
                question
                if isinstance(question, SolverAnswer)
                else pool.submit(ask, question, seconds, seed, minimal=minimal)
            )
            # A bounded queue: questions are made late, and answers are passed on early.
            if len(waiting) > AHEAD * self._processes:
                yield self._counted(self._wait(waiting.popleft()))
        while waiting:
            yield self._counted(self._wait(waiting.popleft()))

    def _wait(self, given: SolverAnswer | Future[SolverAnswer]) -> SolverAnswer:
        if isinstance(given, SolverAnswer):
            return given
        while True:
            self._look()
            try:
                return given.result(timeout=GLANCE)
            except NotYet:
                continue

    def allowed(self, seconds: float) -> float:
        """The given number of seconds, or less if the budget leaves less. Raises LimitExceeded if it leaves none."""
        self._look()
        limit = self.meter.budget.seconds
        return seconds if limit is None else max(min(seconds, limit - self.meter.seconds), 0.0)

    def _look(self) -> None:
        if self.meter.look(0, self.asked, self.asked, 0):
            raise LimitExceeded

    def _counted(self, answer: SolverAnswer) -> SolverAnswer:
        self.asked += 1
        self.seconds += answer.seconds
        return answer
