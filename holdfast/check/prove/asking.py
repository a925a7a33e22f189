"""Questions for Z3, answered side by side, with their answers in the order in which they were asked."""

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
"""How many questions wait for each process: enough that none is idle."""

MANY, BRIEF = 40, 2.0
"""How many questions are worth the start of other processes; and how many seconds, for Ctrl-C waits for an answer."""

QuestionMaker = Callable[[], SolverQuestion | SolverAnswer]
"""Writes a question when it is its turn, or knows the answer."""

GLANCE = 0.05
"""Seconds between two looks at the limits while an answer is waited for."""


class LimitExceeded(Exception):
    """A limit of the check is exceeded, or it was interrupted."""


class Askers:
    """Processes that ask Z3; with none, this process asks by itself. To be used as a context."""

    def __init__(self, processes: int, meter: Meter) -> None:
        self.meter = meter
        self.asked = 0
        """How many questions have been answered."""
        self.seconds = 0.0
        """How long all answers took together."""
        self._processes = processes
        self._pool: ProcessPoolExecutor | None = None

    def _started(self) -> ProcessPoolExecutor:
        """The processes. They take a second to start, so that little work is done without."""
        if self._pool is None:
            self._pool = ProcessPoolExecutor(
                self._processes,
                mp_context=multiprocessing.get_context("spawn"),
                # Ctrl-C reaches every process of the terminal; the one that started the others answers it.
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
            # What is asked there would go on for its whole time.
            for process in started.values():
                process.terminate()

    def answers(
        self, questions: Sequence[QuestionMaker], seconds: float, seed: int = 0, *, minimal: bool = False
    ) -> Iterator[SolverAnswer]:
        """The answers, each within so many seconds or ``unknown``; what is an answer already stays one.

        Raises LimitExceeded when the check must stop.
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
        """Of so many seconds those that the limits of the check leave. Raises LimitExceeded if that is none."""
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
