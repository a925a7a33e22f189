"""Asks Z3 many questions in parallel, group by group. The answers depend on the groups, not on the number of cores."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYet
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack
from functools import partial
from types import TracebackType
from typing import Self

from holdfast.check.budget import Meter
from holdfast.check.worker_pool import WorkerPool
from holdfast.ir.errors import UsageError
from holdfast.lower.smt.solve import SolverAnswer, SolverQuestion, SolverSession, ask

AHEAD = 3
"""The number of queued groups for each process: enough that no process is idle."""

MANY, BRIEF = 150, 2.0
"""Other processes are started for MANY questions or more, or for questions of more than BRIEF seconds.

Few and brief questions are asked in this process. There Ctrl-C takes effect only after the current answer.
"""

QuestionMaker = Callable[[], SolverQuestion | SolverAnswer]
"""Makes a question; an Answer instead if the answer is already known."""

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
        self._pool: WorkerPool | None = None
        self._stack = ExitStack()

    def _started(self) -> WorkerPool:
        """The pool, started at the first call. The start takes a second, so a little work is done without the pool."""
        if self._pool is None:
            self._pool = self._stack.enter_context(WorkerPool(self._processes, _nothing, None))
        return self._pool

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        # Groups that are left are not waited for: Z3 could go on until the limit of its current question.
        self._stack.__exit__(kind, error, at)

    def answers(
        self, questions: Sequence[QuestionMaker], seconds: float, *, groups: Sequence[str] | None = None
    ) -> list[SolverAnswer]:
        """The answers in the order of the questions. The arguments are those of ``each``, which may raise."""
        found = dict(self.each(questions, seconds, groups=groups))
        return [found[number] for number in range(len(questions))]

    def each(
        self,
        questions: Sequence[QuestionMaker],
        seconds: float,
        seed: int = 0,
        *,
        minimal: bool = False,
        groups: Sequence[str] | None = None,
    ) -> Iterator[tuple[int, SolverAnswer]]:
        """Yield the number and the answer of each question, group by group.

        An answer is ``unknown`` after the effort of ``seconds`` seconds. ``groups``: the name of each question's group
        (None: all are of one group); questions of one group should have most formulas in common. ``seed`` and
        ``minimal`` are those of ``holdfast.lower.smt.solve.SolverSession``. Raises LimitExceeded when the check must
        stop.
        """
        here = not self._processes or (self._pool is None and len(questions) < MANY and seconds <= BRIEF)
        queue: deque[tuple[list[int], Iterator[SolverAnswer]]] = deque()
        # Made in this order, whatever the groups: formulas number their names, and Z3's search depends on the names.
        every: list[SolverQuestion | SolverAnswer] = []
        for make in questions:
            self.look()
            every.append(make())
        for numbers in _members(["" for _ in questions] if groups is None else groups):
            made = [every[number] for number in numbers]
            if here:
                found = self._asked_here(made, seconds, seed, minimal=minimal)
            else:
                asked = [each for each in made if isinstance(each, SolverQuestion)]
                work = partial(_ask_all, seconds=seconds, seed=seed, minimal=minimal)
                future = self._started().submit(work, asked)
                found = self._asked_there(made, future)
            queue.append((numbers, found))
            # A bounded queue: answers are passed on early.
            if here or len(queue) > AHEAD * self._processes:
                yield from self._counted(*queue.popleft())
        while queue:
            yield from self._counted(*queue.popleft())

    def _asked_here(
        self, made: Sequence[SolverQuestion | SolverAnswer], seconds: float, seed: int, *, minimal: bool
    ) -> Iterator[SolverAnswer]:
        asked = [each for each in made if isinstance(each, SolverQuestion)]
        session = SolverSession(asked, seed, minimal=minimal) if asked else None
        for each in made:
            allowed = self.allowed(seconds)
            yield each if isinstance(each, SolverAnswer) else ask(each, allowed, seed, session=session)

    def _asked_there(
        self, made: Sequence[SolverQuestion | SolverAnswer], future: Future[list[SolverAnswer]]
    ) -> Iterator[SolverAnswer]:
        answers = iter(self._wait(future))
        for each in made:
            yield each if isinstance(each, SolverAnswer) else next(answers)

    def _wait(self, future: Future[list[SolverAnswer]]) -> list[SolverAnswer]:
        while True:
            self.look()
            try:
                return future.result(timeout=GLANCE)
            except NotYet:
                continue
            except BrokenProcessPool as error:
                raise UsageError(
                    "the system ended one of the processes that asked Z3, perhaps for lack of memory; use --cores 1"
                ) from error

    def allowed(self, seconds: float) -> float:
        """The given number of seconds, or less if the budget leaves less. Raises LimitExceeded if it leaves none."""
        self.look()
        limit = self.meter.budget.seconds
        return seconds if limit is None else max(min(seconds, limit - self.meter.seconds), 0.0)

    def look(self) -> None:
        """Raise LimitExceeded when the check must stop. Long work that asks nothing calls it now and then."""
        if self.meter.look(0, self.asked, self.asked, 0):
            raise LimitExceeded

    def _counted(self, numbers: Sequence[int], answers: Iterator[SolverAnswer]) -> Iterator[tuple[int, SolverAnswer]]:
        for number, answer in zip(numbers, answers, strict=True):
            self.asked += 1
            self.seconds += answer.seconds
            yield number, answer


def _members(groups: Sequence[str]) -> list[list[int]]:
    """The numbers of the questions of each group, in the order of their first questions."""
    found: dict[str, list[int]] = {}
    for number, group in enumerate(groups):
        found.setdefault(group, []).append(number)
    return list(found.values())


def _nothing(_: None) -> None:
    """A group brings its formulas, so a process has nothing to prepare."""


def _ask_all(questions: Sequence[SolverQuestion], *, seconds: float, seed: int, minimal: bool) -> list[SolverAnswer]:
    """The answers to the questions of a group, in a process of the pool."""
    session = SolverSession(questions, seed, minimal=minimal) if questions else None
    return [ask(each, seconds, seed, session=session) for each in questions]
