"""The meter of a rate: the moving rate of one minute that a broker reports of a partition (AB-07)."""

from __future__ import annotations

import math

TICK_MS = 5_000
WINDOW_MS = 60_000
SHARE = 1 - math.exp(-TICK_MS / WINDOW_MS)
"""The weight of the newest tick."""


class RateMeter:
    """Counts bytes, and knows their rate in bytes per second.

    Each tick of 5 s takes its own rate into an exponential mean; the first tick is the first mean. So the rate is 0 for
    5 s, and a change of load is visible by two thirds after a minute.
    """

    def __init__(self, now: int) -> None:
        self._due = now + TICK_MS
        self._bytes = 0
        self._rate: float | None = None

    def add(self, size: int, now: int) -> None:
        """Count bytes at a time in milliseconds, which never goes back."""
        self._tick(now)
        self._bytes += size

    def rate(self, now: int) -> float:
        """The rate at a time."""
        self._tick(now)
        return 0.0 if self._rate is None else self._rate

    def _tick(self, now: int) -> None:
        while now >= self._due:
            newest = self._bytes * 1_000 / TICK_MS
            self._rate = newest if self._rate is None else self._rate + SHARE * (newest - self._rate)
            self._bytes = 0
            self._due += TICK_MS
