"""The numbers of an idempotent producer: its epoch, and the next sequence number of each partition.

A batch keeps its numbers however often it is sent, so that the log recognises a repetition (I-8). If the outcome of a
batch is unknown at last, the log may hold it or not, and no sequence number is right for the next one. A new producer
epoch begins again at 0 in every partition.
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
        """The log holds a batch that was sent under an epoch."""
        if epoch == self.epoch:
            self._next[key] = (self.next(key) + count) % SEQUENCES

    def restart(self, epoch: int) -> None:
        """Nobody knows which number is next after a batch of this epoch. Another batch may have said so already."""
        if epoch == self.epoch:
            self.epoch += 1
            self._next.clear()
