"""Waiting without a clock: the coroutines of a node, each of which parks until an input wakes it.

A node that waits is written as ``async def``. It awaits nothing but what ``Tasks`` and ``Gate`` offer: an answer, a
delay, or something that another task of the node does. To await is to emit an output and to park under a number, which
is the id of the output; the answer comes back with that number. Between two awaits nobody else runs in the node.

Tasks know no clock: the driver says what time it is, and asks when the next delay ends. In a crash all coroutines end
where they are, so a node has no ``finally`` that would go on.
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
"""An await: its file, from the folder of ``impl``, its line, and its function."""
_ROOT = str(Path(__file__).parent / "_")[:-1]


class FailedError(Exception):
    """A task has failed in a way that its rules speak of. Any other error in a task is a fault of the node."""


class TimedOutError(FailedError):
    """What a task waited for did not happen in time."""


class Tasks:
    """The tasks of one node.

    ``outputs`` are those that the tasks have emitted since the driver took them last. ``now`` is the time of the last
    input, in milliseconds.
    """

    def __init__(self, now: int = 0) -> None:
        self.now = now
        self.outputs: list[Any] = []
        self._ids = 0
        self._parked: dict[int, tuple[Job[Any], Gate[Any]]] = {}
        """By the number that wakes it, each task that waits: its coroutine, and the gate for its end."""
        self._ready: deque[tuple[Job[Any], Gate[Any], Any]] = deque()
        """The tasks that can go on, each with the value that its await returns."""
        self._delays: list[tuple[int, int]] = []
        """A heap of the times at which delays end, each with the number under which a task parks."""

    # For nodes ------------------------------------------------------------------------------------------------

    def start(self, job: Job[T]) -> Gate[T]:
        """Start a task. It runs when the present one parks. The gate opens with its result, or with its FailedError."""
        gate: Gate[T] = Gate(self)
        self._ready.append((job, gate, None))
        return gate

    async def ask(self, output: Callable[[int], Any]) -> Any:
        """Emit the output that ``output`` makes of an id, and wait for the answer with that id."""
        number = self._next()
        self.outputs.append(output(number))
        return await _Park(number)

    async def sleep(self, ms: int) -> None:
        """Wait for a number of milliseconds."""
        await _Park(self._due(ms))

    # For drivers ----------------------------------------------------------------------------------------------

    def answer(self, number: int, value: Any) -> bool:
        """Give the answer to an output. False if nobody waits for it, as after a repetition."""
        return self._wake(number, value)

    def run(self, now: int) -> list[Any]:
        """Run all tasks that can run at a time, and return what they have emitted.

        Raises the error of a task unless it is a FailedError; the node cannot be used any more then.
        """
        self.now = max(self.now, now)
        while self._delays and self._delays[0][0] <= self.now:
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
        """When the next delay ends of which a task still waits for the end; None if there is none."""
        while self._delays and self._delays[0][1] not in self._parked:
            heapq.heappop(self._delays)
        return self._delays[0][0] if self._delays else None

    def places(self) -> list[list[Place]]:
        """Where each task waits, in the order of their numbers: its function's await, and so on to the innermost one.

        A crash happens to all of them; so a simulator can say which awaits it has tried.
        """
        return [_places(self._parked[number][0]) for number in sorted(self._parked)]

    def crash(self) -> None:
        """End all tasks where they are."""
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
    """Something that happens once, such as the end of a task: a value, or an error. Any number of tasks may wait."""

    def __init__(self, tasks: Tasks) -> None:
        self._tasks = tasks
        self._waiting: list[int] = []
        self._error: FailedError | None = None
        self._value: Any = None
        self.happened = False

    def open(self, value: T) -> None:
        """It has happened. Raises ValueError if it has happened already."""
        self._happen(value, None)

    def fail(self, error: FailedError) -> None:
        """It has failed: whoever waits gets the error. Raises ValueError if it has happened already."""
        self._happen(None, error)

    async def wait(self, ms: int | None = None) -> T:
        """The value, once it is there; raises the error, and TimedOutError after ``ms`` milliseconds."""
        if not self.happened:
            number = self._tasks._next() if ms is None else self._tasks._due(ms)
            self._waiting.append(number)
            if await _Park(number) is not self:
                self._waiting.remove(number)
                raise TimedOutError
        return self.result()

    def result(self) -> T:
        """The value of what has happened; raises the error if it has failed, and ValueError if it has not happened."""
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
    """To await it is to park under the number; the value is what the task is woken with."""

    __slots__ = ("_number",)

    def __init__(self, number: int) -> None:
        self._number = number

    def __await__(self) -> Generator[int, Any, Any]:
        return (yield self._number)


def _places(job: Job[Any]) -> list[Place]:
    """The awaits of a coroutine and of those that it waits for, as far as they are outside this file."""
    found: list[Place] = []
    here: Any = job
    while isinstance(here, CoroutineType):
        code, frame = here.cr_code, here.cr_frame
        if code.co_filename != __file__ and frame is not None:
            found.append((code.co_filename.removeprefix(_ROOT), frame.f_lineno, code.co_qualname))
        here = here.cr_await
    return found
