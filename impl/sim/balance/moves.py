"""The moves of a run, as the committed metadata tell of them."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from impl.metadata.log import MetadataBatch
from impl.records import Partition, PartitionChange


class PartitionMove(msgspec.Struct):
    """A move: ``begin`` is the time of the commit of the record without a leader, ``end`` that of the election.

    ``end`` is None while nobody leads the partition. Times are virtual milliseconds.
    """

    partition: int
    source: int
    target: int
    begin: int
    end: int | None = None

    @property
    def ms(self) -> int | None:
        """How long the move has taken; None if it has not ended."""
        return None if self.end is None else self.end - self.begin


class MoveLog:
    """``moves``: in the order of their begins."""

    def __init__(self) -> None:
        self.moves: list[PartitionMove] = []
        self._led: dict[int, int] = {}
        """By partition: the broker that has led it last."""

    def committed(self, batches: Sequence[MetadataBatch], now: int) -> None:
        """Note the moves in newly committed batches."""
        for batch in batches:
            for record in batch.records:
                if isinstance(record, Partition):
                    self._led[record.partition] = record.leader
                elif isinstance(record, PartitionChange):
                    self._change(record, now)

    def _change(self, record: PartitionChange, now: int) -> None:
        partition, source = record.partition, self._led[record.partition]
        under_way = next((each for each in self.moves if each.partition == partition and each.end is None), None)
        if record.replicas is not None and record.leader == -1 and record.replicas != (source,):
            if under_way is None:
                self.moves.append(PartitionMove(partition, source, record.replicas[0], now))
            else:
                # The move goes to another broker, and has not ended.
                under_way.target = record.replicas[0]
        if record.leader is not None and record.leader >= 0:
            self._led[partition] = record.leader
            if under_way is not None:
                under_way.end = now
