"""When a controller plans its rounds (AB-54, AB-55)."""

from __future__ import annotations

INTERVAL_MS = 60_000
"""The default time between the end of a round and the next one."""


class RoundSchedule:
    """The times of rounds. The first is due one interval after the start, and each later one an interval after the end
    of the one before, so that the period is the interval plus the work.
    """

    def __init__(self, now: int, interval_ms: int = INTERVAL_MS) -> None:
        self._interval = interval_ms
        self.due: int | None = now + interval_ms
        """The time of the next round in milliseconds; None after a fatal error."""

    def is_due(self, now: int) -> bool:
        """Whether a round begins now."""
        return self.due is not None and now >= self.due

    def ended(self, now: int, *, fatal: bool = False) -> None:
        """A round has ended: done, skipped (AB-55), or with an exception. A fatal error ends all rounds (AB-54)."""
        self.due = None if fatal else now + self._interval
