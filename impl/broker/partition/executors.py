"""Threads for the operations of partitions: some for opens and others for closes (RA-12).

An open may wait until another broker has closed. If opens and closes share their threads, two brokers that swap
partitions wait for each other: opens hold every thread, and the closes that they wait for get none (LP-06).
"""

from __future__ import annotations

from collections import deque

from impl.tasks import Gate, Tasks


class Executor:
    """Lets ``threads`` tasks run side by side, in the order in which they come."""

    def __init__(self, tasks: Tasks, threads: int) -> None:
        self._tasks, self._free = tasks, threads
        self._waiting: deque[Gate[None]] = deque()

    async def enter(self) -> None:
        """Wait for a thread."""
        # A task never overtakes the tasks that wait.
        if self._free and not self._waiting:
            self._free -= 1
            return
        gate: Gate[None] = Gate(self._tasks)
        self._waiting.append(gate)
        await gate.wait()

    def leave(self) -> None:
        """Give the thread to the task that has waited longest, or set it free."""
        if self._waiting:
            self._waiting.popleft().open(None)
        else:
            self._free += 1
