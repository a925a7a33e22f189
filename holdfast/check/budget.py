"""How long a check may take, how many states it may store, how much memory it may use; and Ctrl-C.

This is the one place that reads the clock. Nothing here influences what a check finds, only when it stops.
"""

from __future__ import annotations

import math
import re
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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
"""What may stand behind a number in a budget: the limit it sets, and how much of it one is."""

_LIMIT = re.compile(r"(?P<number>\d+(?:\.\d+)?(?:e\d+)?)\s*(?P<unit>[A-Za-z]+)")
_REMEDY = "write limits such as 30s,1e6states,2GB (units: " + ", ".join(UNITS) + ")"


@attrs.frozen
class Budget:
    """Limits on one check; None is no limit. ``memory_bytes`` is of the whole process, as the system counts it."""

    seconds: float | None = None
    states: int | None = None
    memory_bytes: int | None = None

    @classmethod
    def parse(cls, text: str) -> Budget:
        """The budget that ``30s,1e6states,2GB`` describes: at most one limit of each kind, in any order.

        Raises UsageError for anything else.
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
            if not (limits[kind] if kind == "seconds" else math.floor(limits[kind])) or math.isinf(limits[kind]):
                raise UsageError(f"budget {text!r}: {part.strip()!r} is not a possible limit; {_REMEDY}")
        states, memory = limits.get("states"), limits.get("memory_bytes")
        return cls(
            seconds=limits.get("seconds"),
            states=None if states is None else int(states),
            memory_bytes=None if memory is None else int(memory),
        )


def _name(kind: str) -> str:
    return {"seconds": "time", "states": "number of states", "memory_bytes": "memory"}[kind]


SEARCHING = "searching"
"""What ``Progress.stage`` says while states are counted."""


@attrs.frozen
class Progress:
    """How far a check has come: what a progress display shows.

    ``rate`` is distinct states a second since the start; ``left`` is what remains of the budget.
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
    """The memory this process occupies."""
    return int(psutil.Process().memory_info().rss)


@attrs.define
class Meter:
    """Watches the limits of one check and reports its progress, looking at the clock some twenty times a second.

    ``spent`` names the limit that was exceeded, once there is one; a check stops then.
    """

    budget: Budget
    report: Callable[[Progress], None] | None = None
    clock: Callable[[], float] = time.monotonic  # noqa: TID251 - budgets and progress are what a clock is for
    memory: Callable[[], int] = resident_bytes
    spent: str | None = None
    _start: float = attrs.field(init=False)
    _looked: float = attrs.field(init=False)
    _reported: float = attrs.field(init=False)
    _stride: int = attrs.field(init=False, default=64)
    _wait: int = attrs.field(init=False, default=64)

    def __attrs_post_init__(self) -> None:
        self._start = self._looked = self._reported = self.clock()

    @property
    def seconds(self) -> float:
        """Since the start."""
        return self.clock() - self._start

    def tick(self, depth: int, distinct: int, generated: int, queue: int) -> bool:
        """Count one expanded state; whether the check must stop because a limit is exceeded.

        The number of states is compared every time, so where it ends a check depends on nothing but the model.
        """
        if self.budget.states is not None and distinct > self.budget.states:
            self._spend(f"states: more than {self.budget.states:,}")
        self._wait -= 1
        if not self._wait:
            self._look(depth, distinct, generated, queue)
        return self.spent is not None

    def look(self, depth: int, distinct: int, generated: int, queue: int) -> bool:
        """As ``tick``, for what is asked rarely: after many states at once."""
        self._wait = 1
        return self.tick(depth, distinct, generated, queue)

    def stage(self, what: str) -> None:
        """Say what goes on before there is anything to count."""
        if self.report is not None:
            self.report(Progress(0, 0, 0, 0, 0.0, self.memory(), self.seconds, self.budget, what))

    def _look(self, depth: int, distinct: int, generated: int, queue: int) -> None:
        now, memory = self.clock(), self.memory()
        # The number of states between two looks follows the speed of the model.
        pause = now - self._looked
        self._stride = min(2 * self._stride, 1 << 16) if pause < 0.03 else max(self._stride // 2, 1)
        self._wait, self._looked = self._stride, now
        seconds = now - self._start
        limits = self.budget
        if limits.seconds is not None and seconds > limits.seconds:
            self._spend(f"time: more than {limits.seconds:g} s")
        elif limits.memory_bytes is not None and memory > limits.memory_bytes:
            self._spend(f"memory: more than {limits.memory_bytes / 1e6:,.0f} MB")
        if self.report is not None and now - self._reported >= 0.25:
            self._reported = now
            rate = distinct / seconds if seconds else 0.0
            left = Budget(
                seconds=None if limits.seconds is None else max(limits.seconds - seconds, 0.0),
                states=None if limits.states is None else max(limits.states - distinct, 0),
                memory_bytes=None if limits.memory_bytes is None else max(limits.memory_bytes - memory, 0),
            )
            self.report(Progress(depth, distinct, generated, queue, rate, memory, seconds, left))

    def _spend(self, limit: str) -> None:
        """The first limit that is exceeded is the one that counts."""
        self.spent = self.spent or limit


@contextmanager
def interruptible(meter: Meter, *, whole: bool = False) -> Iterator[None]:
    """Within this context the first Ctrl-C, or SIGTERM, spends the meter, so that the check stops between two states.

    A second one raises KeyboardInterrupt, as Ctrl-C does elsewhere. Signals reach the main thread alone; in another one
    nothing changes.
    A shell starts background jobs with SIGINT ignored; a partial answer is still what someone who sends it wants.

    Whoever has no use for a partial answer wants it ``whole``: then nothing changes either. A Ctrl-C that comes after
    the meter was last asked would be lost on someone who goes on with the answer.
    """
    before = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)}
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
"""What ``Meter.spent`` says after Ctrl-C or SIGTERM."""
