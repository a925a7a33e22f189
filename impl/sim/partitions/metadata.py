"""The committed metadata, as an operator sees them: brokers, partitions and their streams."""

from __future__ import annotations

from collections import Counter

from impl.broker.partition.host import meta_key
from impl.metadata.image import Image
from impl.metadata.log import MetadataBatch, replay
from impl.records import PARTITION_TAG, Partition, PartitionChange, StreamState

TOPIC = "t"
"""The topic of a run; the key of a partition in the history is its number."""


class Metadata:
    """The metadata of the partitions of a run. ``image``: the newest one.

    ``handovers``: how often a partition got another leader than it had before.
    """

    def __init__(self) -> None:
        self.image = Image()
        self.handovers = 0
        self._last: dict[int, int] = {}
        """By partition: the broker that led it last."""

    def learn(self, batches: tuple[MetadataBatch, ...]) -> None:
        """Apply committed batches to the image, and count the handovers in them."""
        for batch in batches:
            replay((batch,), self.image)
            for record in batch.records:
                if isinstance(record, Partition | PartitionChange) and record.topic == TOPIC:
                    self._led(record.partition, self.image.partitions[TOPIC, record.partition].leader)

    def _led(self, partition: int, leader: int) -> None:
        if leader >= 0:
            self.handovers += self._last.get(partition, leader) != leader
            self._last[partition] = leader

    def active(self) -> list[int]:
        """The nodes whose brokers are active, ascending."""
        return sorted(node for node, state in self.image.brokers.items() if state == "active")

    def home(self, partition: int) -> int:
        """The broker that a partition is assigned to."""
        return self.image.partitions[TOPIC, partition].replicas[0]

    def is_settled(self, partition: int) -> bool:
        """Whether the broker of a partition is active, leads it, and has all of its streams open (LP-01, LP-05).

        A stream that was never opened does not count: its creation was repeated, since an answer was lost.
        """
        row = self.image.partitions.get((TOPIC, partition))
        if row is None or row.marker is not None or row.leader != row.replicas[0] or row.leader not in self.active():
            return False
        used = [stream for stream in self.streams(partition) if self.image.streams[stream].epoch >= 0]
        return all(self._opener(stream) == row.leader for stream in used)

    def streams(self, partition: int) -> list[int]:
        """The streams of a partition that the metadata have."""
        tag = str(partition)
        return [
            stream
            for stream, row in self.image.streams.items()
            if any((each.key, each.value) == (PARTITION_TAG, tag) for each in row.tags)
        ]

    def meta_streams(self) -> dict[int, int]:
        """The meta streams of the partitions that have one, by stream: the number of the partition."""
        found = ((number, self.image.kv.get(meta_key(TOPIC, number))) for _, number in self.image.partitions)
        return {int.from_bytes(value): number for number, value in found if value is not None}

    def loads(self) -> Counter[int]:
        """By node: the number of partitions that are assigned to it."""
        return Counter(row.replicas[0] for row in self.image.partitions.values() if row.topic == TOPIC)

    def _opener(self, stream: int) -> int | None:
        """The node that has a stream open."""
        current = self.image.current_range(stream)
        is_open = self.image.streams[stream].state is StreamState.OPENED
        return current.node if is_open and current is not None else None
