"""The virtual clock, and the events of the future in the order (time, sequence)."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Any

Action = Callable[..., None]


class Queue:
    """``now``: the virtual time in milliseconds. It moves from event to event."""

    __slots__ = ("_heap", "_sequence", "now")

    def __init__(self, now: int = 0) -> None:
        self.now = now
        self._heap: list[tuple[int, int, Action, tuple[Any, ...]]] = []
        self._sequence = 0

    def at(self, time: int, action: Action, *arguments: Any) -> None:
        """Call ``action`` at a time, after the events that were added before for the same time."""
        # The number breaks ties of the time, so that the heap never compares actions.
        self._sequence += 1
        heapq.heappush(self._heap, (max(self.now, time), self._sequence, action, arguments))

    def run(self, until: int) -> None:
        """Run all events up to and including a time, and move the clock there."""
        heap, pop = self._heap, heapq.heappop
        while heap and heap[0][0] <= until:
            self.now, _, action, arguments = pop(heap)
            action(*arguments)
        self.now = until
