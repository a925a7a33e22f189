"""The numbers of an idempotent producer: its epoch, and the next sequence number of each partition.

A batch has the same numbers in every attempt, so that the log recognises a repetition (I-8). If the outcome of a batch
stays unknown, the log may hold it or not, so the next sequence number is unknown. The producer then begins a new epoch,
which starts at 0 in every partition.
"""

from __future__ import annotations

from impl.broker.partition.batches import SEQUENCES
from impl.client.leaders import Key


class Sequences:
    """``epoch``: the producer epoch of the next batch."""

    def __init__(self) -> None:
        self.epoch = 0
        self._next: dict[Key, int] = {}

    def next(self, key: Key) -> int:
        """The sequence number of the next record in a partition."""
        return self._next.get(key, 0)

    def advance(self, key: Key, epoch: int, count: int) -> None:
        """Advance past a batch of ``count`` records that the log holds, and that was sent under ``epoch``."""
        if epoch == self.epoch:
            self._next[key] = (self.next(key) + count) % SEQUENCES

    def restart(self, epoch: int) -> None:
        """Begin a new epoch, since the next number of ``epoch`` is unknown. A later call for ``epoch`` does nothing."""
        if epoch == self.epoch:
            self.epoch += 1
            self._next.clear()
