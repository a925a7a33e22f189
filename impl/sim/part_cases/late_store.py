"""An object store in memory whose operations arrive when a run says so: at once, late, without an answer, or never."""

from __future__ import annotations

from impl.sim.tape import Draw, one
from impl.store.interface import Answer, Operation, Unsure
from impl.store.memory import MemoryStore

RATES = (0.0, 0.05, 0.2)
"""How often an operation has a fault. A run draws one of these rates."""


class LateStore:
    """``objects``: the store. ``late``: operations that their senders have given up, and that may still arrive."""

    def __init__(self, draw: Draw) -> None:
        self.objects = MemoryStore()
        self.late: list[Operation] = []
        self._draw = draw
        self._rate = one(draw, RATES)

    def deliver(self, operation: Operation) -> Answer:
        """The answer to an operation. At times it is Unsure: then the operation arrives now, later, or never."""
        if self._draw() >= self._rate:
            return self.objects.execute(operation)
        fault = self._draw()
        if fault < 0.4:
            self.objects.execute(operation)
        elif fault < 0.8:
            self.late.append(operation)
        return Unsure("the answer is lost")

    def arrive_late(self) -> None:
        """One of the late operations arrives."""
        if self.late:
            self.objects.execute(self.late.pop(int(self._draw() * len(self.late))))

    def heal(self) -> None:
        """No operation has a fault from now on, and the late ones never arrive."""
        self._rate = 0.0
        self.late.clear()
