"""A link with a bandwidth that its transfers share in equal parts."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from impl.sim.move.conditions import nearest
from impl.sim.queue import Queue


class Transfer:
    """A transfer. ``left``: the bytes that are not transferred yet. ``done`` is called when none are left."""

    __slots__ = ("done", "left")

    def __init__(self, size: int, done: Callable[[], None]) -> None:
        self.left, self.done = Fraction(size), done


class FairLink:
    """The link of one broker. ``rate``: its bytes per millisecond.

    Shares are exact. The end of a transfer is rounded to the clock, and the next transfers count from its exact end.
    """

    def __init__(self, queue: Queue, rate: Fraction) -> None:
        self._queue, self._rate = queue, rate
        self._transfers: list[Transfer] = []
        self._exact = Fraction(queue.now)
        """The time up to which the bytes of the transfers are counted."""
        self._plan = 0
        """The number of the newest plan for the next end; older plans are void."""

    def send(self, size: int, done: Callable[[], None]) -> None:
        """Transfer a number of bytes, and call ``done`` at the end."""
        self._count(Fraction(self._queue.now))
        self._transfers.append(Transfer(size, done))
        self._schedule()

    def _count(self, until: Fraction) -> None:
        """Count the transfers up to a time; before that time no transfer ends."""
        if until > self._exact and self._transfers:
            share = (until - self._exact) * self._rate / len(self._transfers)
            for each in self._transfers:
                each.left -= share
        self._exact = max(self._exact, until)

    def _next_end(self) -> Fraction:
        return self._exact + min(each.left for each in self._transfers) * len(self._transfers) / self._rate

    def _schedule(self) -> None:
        self._plan += 1
        if self._transfers:
            self._queue.at(nearest(self._next_end()), self._end, self._plan)

    def _end(self, plan: int) -> None:
        """End the transfers that are done, unless another transfer has begun since this was planned."""
        if plan != self._plan:
            return
        self._count(self._next_end())
        ended = [each for each in self._transfers if each.left <= 0]
        self._transfers = [each for each in self._transfers if each.left > 0]
        self._schedule()
        # The link is consistent again before the callbacks, which may begin new transfers.
        for each in ended:
            each.done()
