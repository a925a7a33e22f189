"""The alarm of a node: it rings at the time for which the node asked last."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from impl.real.clock import Clock


class Alarm:
    """``ring`` is called in the event loop, not before the time has come."""

    def __init__(self, clock: Clock, ring: Callable[[], None]) -> None:
        self._clock, self._ring = clock, ring
        self._timer: asyncio.TimerHandle | None = None

    def set(self, at: int) -> None:
        """Ring at a time in milliseconds, and not at an earlier choice."""
        self.cancel()
        delay = max(0, at * 1_000 - self._clock.micros()) / 1_000_000
        self._timer = asyncio.get_running_loop().call_later(delay, self._come, at)

    def cancel(self) -> None:
        """Do not ring."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _come(self, at: int) -> None:
        self._timer = None
        if self._clock.now() < at:  # Timers of the event loop may be early by some microseconds.
            self.set(at)
        else:
            self._ring()
