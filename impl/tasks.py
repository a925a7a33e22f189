"""Waiting without a clock: the coroutines of a node park, and the inputs of the node wake them.

Code of a node that waits is an ``async def``. It awaits only what ``Tasks`` and ``Gate`` offer: an answer, a delay, or
an event in another task of the node. To await an answer, a task emits an output and parks under a number. The output
carries the number as its id, and the answer comes back with it. Between two awaits no other task of the node runs.

Tasks read no clock: the driver passes the time, and asks when the next delay ends. A crash ends all coroutines at their
awaits. Therefore a node has no ``finally``: it would still run after the crash.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Coroutine, Generator
from pathlib import Path
from types import CoroutineType
from typing import Any, Generic, TypeVar

T = TypeVar("T")
Job = Coroutine[int, Any, T]
Place = tuple[str, int, str]
"""An await: its file, relative to the folder of ``impl``, its line, and its function."""
_ROOT = str(Path(__file__).parent / "_")[:-1]
"""The folder of ``impl``, with a separator at its end."""


class FailedError(Exception):
    """A task failed in a way that the protocol foresees. Any other exception in a task is a bug of the node."""


class TimedOutError(FailedError):
    """The event that a task waited for did not happen in time."""


class Tasks:
    """The tasks of one node.

    ``outputs``: emitted by tasks, not yet taken by the driver. ``now``: the time of the last input, in milliseconds.
    """

    def __init__(self, now: int = 0) -> None:
        self.now = now
        self.outputs: list[Any] = []
        self._ids = 0
        self._parked: dict[int, tuple[Job[Any], Gate[Any]]] = {}
        """The tasks that wait, by the number that wakes each: its coroutine, and the gate that opens when it ends."""
        self._ready: deque[tuple[Job[Any], Gate[Any], Any]] = deque()
        """The tasks that can go on, each with the value that its await returns."""
        self._delays: list[tuple[int, int]] = []
        """A heap of delays: the time at which each ends, and the number under which its task parks."""

    # For nodes ------------------------------------------------------------------------------------------------

    def start(self, job: Job[T]) -> Gate[T]:
        """Start a task. It runs once the current task parks. The gate opens with its result, or its FailedError."""
        gate: Gate[T] = Gate(self)
        self._ready.append((job, gate, None))
        return gate

    async def ask(self, output: Callable[[int], Any]) -> Any:
        """Emit ``output(id)`` for a new id, and wait for the answer with that id."""
        number = self._next()
        self.outputs.append(output(number))
        return await _Park(number)

    async def sleep(self, ms: int) -> None:
        """Wait for a number of milliseconds."""
        await _Park(self._due(ms))

    # For drivers ----------------------------------------------------------------------------------------------

    def answer(self, number: int, value: Any) -> bool:
        """Pass the answer to an output to its task. False if no task waits for it, as for a repeated answer."""
        return self._wake(number, value)

    def run(self, now: int) -> list[Any]:
        """Run all tasks that can run at the time ``now``, in milliseconds. Returns the outputs that they have emitted.

        Raises any exception of a task other than a FailedError. The node cannot be used after that.
        """
        self.now = max(self.now, now)
        while self._delays and self._delays[0][0] <= self.now:
            # A gate may have woken the task before its delay ended. Then the number is not parked, and nothing happens.
            self._wake(heapq.heappop(self._delays)[1], None)
        while self._ready:
            job, gate, value = self._ready.popleft()
            try:
                self._parked[job.send(value)] = job, gate
            except StopIteration as stop:
                gate.open(stop.value)
            except FailedError as error:
                gate.fail(error)
        outputs, self.outputs = self.outputs, []
        return outputs

    @property
    def due(self) -> int | None:
        """The time at which the next delay ends; None if no task waits for a delay. Drops delays of woken tasks."""
        while self._delays and self._delays[0][1] not in self._parked:
            heapq.heappop(self._delays)
        return self._delays[0][0] if self._delays else None

    def places(self) -> list[list[Place]]:
        """The awaits of each task that waits, from the outermost to the innermost, in the order of the tasks' numbers.

        A crash hits all of these awaits, so a simulator can report which awaits it has crashed.
        """
        return [_places(self._parked[number][0]) for number in sorted(self._parked)]

    def crash(self) -> None:
        """End all tasks at their awaits."""
        for job in (*(each[0] for each in self._ready), *(each[0] for each in self._parked.values())):
            job.close()
        self._ready.clear()
        self._parked.clear()

    # ----------------------------------------------------------------------------------------------------------

    def _next(self) -> int:
        self._ids += 1
        return self._ids

    def _due(self, ms: int) -> int:
        number = self._next()
        heapq.heappush(self._delays, (self.now + ms, number))
        return number

    def _wake(self, number: int, value: Any) -> bool:
        task = self._parked.pop(number, None)
        if task is None:
            return False
        self._ready.append((*task, value))
        return True


class Gate(Generic[T]):
    """An event that happens once, such as the end of a task, with a value or an error. Any number of tasks may wait."""

    def __init__(self, tasks: Tasks) -> None:
        self._tasks = tasks
        self._waiting: list[int] = []
        self._error: FailedError | None = None
        self._value: Any = None
        self.happened = False

    def open(self, value: T) -> None:
        """The event happens: each waiting task gets the value. Raises ValueError if it has happened already."""
        self._happen(value, None)

    def fail(self, error: FailedError) -> None:
        """The event fails: each waiting task gets the error. Raises ValueError if it has happened already."""
        self._happen(None, error)

    async def wait(self, ms: int | None = None) -> T:
        """Wait for the event, and return its value. Raises its error, and TimedOutError after ``ms`` milliseconds."""
        if not self.happened:
            number = self._tasks._next() if ms is None else self._tasks._due(ms)
            self._waiting.append(number)
            # The event wakes its tasks with the gate itself, a delay wakes its task with None.
            if await _Park(number) is not self:
                self._waiting.remove(number)
                raise TimedOutError
        return self.result()

    def result(self) -> T:
        """The value of the event. Raises its error if it failed, and ValueError if it has not happened yet."""
        if not self.happened:
            raise ValueError("the gate is not open")
        if self._error is not None:
            raise self._error
        value: T = self._value
        return value

    def _happen(self, value: Any, error: FailedError | None) -> None:
        if self.happened:
            raise ValueError("a gate opens once")
        self.happened, self._value, self._error = True, value, error
        for number in self._waiting:
            self._tasks._wake(number, self)


class _Park:
    """An awaitable that parks its task under a number. The await returns the value with which the task is woken."""

    __slots__ = ("_number",)

    def __init__(self, number: int) -> None:
        self._number = number

    def __await__(self) -> Generator[int, Any, Any]:
        return (yield self._number)


def _places(job: Job[Any]) -> list[Place]:
    """The awaits of a coroutine, from the outermost to the innermost, without the awaits in this file."""
    found: list[Place] = []
    here: Any = job
    while isinstance(here, CoroutineType):
        code, frame = here.cr_code, here.cr_frame
        if code.co_filename != __file__ and frame is not None:
            found.append((code.co_filename.removeprefix(_ROOT), frame.f_lineno, code.co_qualname))
        here = here.cr_await
    return found
