"""Budgets of a check: time, number of states, memory. Also the handling of Ctrl-C.

This is the only module that reads the clock. It decides when a check stops, never what a check finds.
"""

from __future__ import annotations

import math
import os
import re
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from types import FrameType

import attrs
import psutil

from holdfast.ir.errors import UsageError

UNITS: dict[str, tuple[str, float]] = {
    "s": ("seconds", 1),
    "min": ("seconds", 60),
    "h": ("seconds", 3600),
    "states": ("states", 1),
    "MB": ("memory_bytes", 1e6),
    "GB": ("memory_bytes", 1e9),
    "MiB": ("memory_bytes", 2**20),
    "GiB": ("memory_bytes", 2**30),
}
"""The units of a budget: for each, the limit that it sets, and the factor to seconds, states or bytes."""

_LIMIT = re.compile(r"(?P<number>\d+(?:\.\d+)?(?:e\d+)?)\s*(?P<unit>[A-Za-z]+)")
_REMEDY = "write limits such as 30s,1e6states,2GB (units: " + ", ".join(UNITS) + ")"


@attrs.frozen
class Budget:
    """Limits on one check; None is no limit. ``memory_bytes`` limits the resident memory of the whole process."""

    seconds: float | None = None
    states: int | None = None
    memory_bytes: int | None = None

    @classmethod
    def parse(cls, text: str) -> Budget:
        """Read a budget such as ``30s,1e6states,2GB``: at most one limit of each kind, in any order.

        Raises UsageError for any other text, and for a limit of zero or infinity.
        """
        limits: dict[str, float] = {}
        for part in text.split(","):
            found = _LIMIT.fullmatch(part.strip())
            if found is None or found["unit"] not in UNITS:
                raise UsageError(f"budget {text!r}: {part.strip()!r} is not a limit; {_REMEDY}")
            kind, factor = UNITS[found["unit"]]
            if kind in limits:
                raise UsageError(f"budget {text!r}: {part.strip()!r} sets the {_name(kind)} twice; keep one")
            limits[kind] = float(found["number"]) * factor
            # States and bytes are whole numbers: a limit that rounds down to 0 is refused like 0 itself.
            if math.isinf(limits[kind]) or not (limits[kind] if kind == "seconds" else math.floor(limits[kind])):
                raise UsageError(f"budget {text!r}: {part.strip()!r} is not a possible limit; {_REMEDY}")
        states, memory = limits.get("states"), limits.get("memory_bytes")
        return cls(
            seconds=limits.get("seconds"),
            states=None if states is None else int(states),
            memory_bytes=None if memory is None else int(memory),
        )

    @property
    def out_of_time(self) -> str:
        """The limit that ends a check whose time is up, as its answer names it."""
        return f"time: more than {self.seconds:g} s"


def _name(kind: str) -> str:
    return {"seconds": "time", "states": "number of states", "memory_bytes": "memory"}[kind]


SEARCHING = "searching"
"""The value of ``Progress.stage`` while states are counted."""


@attrs.frozen
class Progress:
    """The progress of a check, for a progress display.

    ``queue`` is the number of states that wait for expansion. ``rate`` is the number of distinct states per second
    since the start. ``left`` is the rest of the budget.
    """

    depth: int
    distinct: int
    generated: int
    queue: int
    rate: float
    memory_bytes: int
    seconds: float
    left: Budget
    stage: str = SEARCHING


def resident_bytes() -> int:
    """The resident memory of this process in bytes."""
    return int(_process(os.getpid()).memory_info().rss)


@cache
def _process(number: int) -> psutil.Process:
    """The process with that number. To ask psutil for it takes longer than to read its memory."""
    return psutil.Process(number)


@attrs.define
class Meter:
    """Watches the limits of one check and reports its progress. It reads the clock about twenty times a second.

    ``spent`` is None until a limit is exceeded. Then it names that limit, and the check has to stop. ``reserve`` is the
    time in seconds that the check needs after it has stopped. The limit of time covers it.
    """

    budget: Budget
    report: Callable[[Progress], None] | None = None
    clock: Callable[[], float] = time.monotonic  # noqa: TID251 - budgets and progress are what a clock is for
    memory: Callable[[], int] = resident_bytes
    spent: str | None = None
    reserve: float = 0.0
    _start: float = attrs.field(init=False)
    _looked: float = attrs.field(init=False)
    _reported: float = attrs.field(init=False)
    _stride: int = attrs.field(init=False, default=1)
    _wait: int = attrs.field(init=False, default=1)

    def __attrs_post_init__(self) -> None:
        self._start = self._looked = self._reported = self.clock()

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return self.clock() - self._start

    def tick(self, depth: int, distinct: int, generated: int, queue: int) -> bool:
        """Count one expanded state. Return whether the check must stop because a limit is exceeded.

        Every call compares the number of states with its limit. So the state at which this limit ends a check depends
        on the model alone, unlike time and memory.
        """
        if self.budget.states is not None and distinct > self.budget.states:
            self._spend(f"states: more than {self.budget.states:,}")
        self._wait -= 1
        if not self._wait:
            self._look(depth, distinct, generated, queue)
        return self.spent is not None

    def look(self, depth: int, distinct: int, generated: int, queue: int) -> bool:
        """Like ``tick``, for callers that ask rarely, after many states at once: every call reads the clock."""
        # The next tick counts this down to 0.
        self._wait = 1
        return self.tick(depth, distinct, generated, queue)

    def stage(self, what: str) -> None:
        """Report the stage ``what`` of a check that has nothing to count yet, such as compiling."""
        if self.report is not None:
            self.report(Progress(0, 0, 0, 0, 0.0, self.memory(), self.seconds, self.budget, what))

    def _look(self, depth: int, distinct: int, generated: int, queue: int) -> None:
        now, memory = self.clock(), self.memory()
        # The stride is the number of states between two looks at the clock. It doubles as long as the looks follow one
        # another within 0.03 s, and halves otherwise, so it adapts to the speed of the model. It begins with 1: in a
        # large symmetry group one state takes as long as thousands of states of other models.
        pause = now - self._looked
        self._stride = min(2 * self._stride, 1 << 16) if pause < 0.03 else max(self._stride // 2, 1)
        self._wait, self._looked = self._stride, now
        seconds = now - self._start
        limits = self.budget
        if limits.seconds is not None and seconds + self.reserve > limits.seconds:
            self._spend(limits.out_of_time)
        elif limits.memory_bytes is not None and memory > limits.memory_bytes:
            self._spend(f"memory: more than {limits.memory_bytes / 1e6:,.0f} MB")
        if self.report is not None and now - self._reported >= 0.25:
            self._reported = now
            rate = distinct / seconds if seconds else 0.0
            left = Budget(
                seconds=None if limits.seconds is None else max(limits.seconds - seconds - self.reserve, 0.0),
                states=None if limits.states is None else max(limits.states - distinct, 0),
                memory_bytes=None if limits.memory_bytes is None else max(limits.memory_bytes - memory, 0),
            )
            self.report(Progress(depth, distinct, generated, queue, rate, memory, seconds, left))

    def _spend(self, limit: str) -> None:
        """Note an exceeded limit. Only the first one is kept."""
        self.spent = self.spent or limit


@contextmanager
def interruptible(meter: Meter, *, whole: bool = False) -> Iterator[None]:
    """In this context the first Ctrl-C or SIGTERM spends the meter, so that the check stops between two states.

    The second one raises KeyboardInterrupt. Python delivers signals to the main thread only, so in other threads the
    context changes nothing. It replaces an ignored SIGINT too: a shell starts background jobs with SIGINT ignored, and
    a user who sends one still wants the partial answer.

    Set ``whole`` if the caller cannot use a partial answer. Then the context changes nothing, and Ctrl-C raises
    KeyboardInterrupt at once. With the handler, a Ctrl-C after the last look at the meter would go unnoticed, and the
    caller would go on.
    """
    before = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)}
    # None stands for a handler that was not installed from Python, and which could not be put back.
    if whole or threading.current_thread() is not threading.main_thread() or None in before.values():
        yield
        return

    def interrupt(_signal: int, _frame: FrameType | None) -> None:
        if meter.spent == INTERRUPTED:
            raise KeyboardInterrupt
        meter.spent = INTERRUPTED

    for each in before:
        signal.signal(each, interrupt)
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


INTERRUPTED = "interrupted"
"""The value of ``Meter.spent`` after Ctrl-C or SIGTERM."""
