"""The clock that the driver of a cluster and all of its processes share.

It runs as the monotonic clock of the machine, which is one clock for all processes, so that times in different logs can
be compared. It begins at the wall clock of the driver's start, because epochs of nodes and the ages of objects have to
outlast a restart of the machine.
"""

from __future__ import annotations

import time


class Clock:
    """``base``: the wall clock minus the monotonic clock, in seconds, when the driver started."""

    def __init__(self, base: float) -> None:
        self.base = base

    def micros(self) -> int:
        """The time in microseconds."""
        return int((self.base + time.monotonic()) * 1_000_000)  # noqa: TID251 - a driver gives nodes their time

    def now(self) -> int:
        """The time in milliseconds, as nodes count it."""
        return self.micros() // 1_000


def new_clock() -> Clock:
    """The clock of a driver that starts now."""
    return Clock(time.time() - time.monotonic())  # noqa: TID251 - as ``Clock``
