"""The properties of the metadata after each batch: leases, epochs, ranges, and registrations (SP-01 to SP-10)."""

from __future__ import annotations

from itertools import pairwise

from impl.metadata.image import Image
from impl.records import Partition, StreamState
from stateful_tests.partition.broken import claim
from stateful_tests.partition.cluster import Cluster, streams_of


class Registrations:
    """Checks the metadata, and compares them with earlier ones. ``check`` is called after each step."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._seen = 0
        self._epochs: dict[tuple[str, object], int] = {}
        """By kind and key of an epoch or index: its largest value so far. None of them ever decreases."""
        self._leader_epochs: dict[object, tuple[int, int]] = {}
        """By partition: its leader epoch and its partition epoch."""

    def check(self) -> None:
        """Check the metadata if they have changed. Raises BrokenError."""
        if len(self._cluster.batches) == self._seen:
            return
        self._seen = len(self._cluster.batches)
        image = self._cluster.image
        for node, row in image.nodes.items():
            self._grows("node epoch", node, row.epoch)
        for stream in image.streams:
            self._check_stream(image, stream)
        for key, partition in image.partitions.items():
            self._check_partition(image, key, partition)

    def _grows(self, what: str, key: object, value: int) -> None:
        before = self._epochs.get((what, key), value)
        claim(before <= value, "SP-03", f"the {what} of {key} falls from {before} to {value}")
        self._epochs[what, key] = value

    def _check_stream(self, image: Image, stream: int) -> None:
        row, ranges = image.streams[stream], list(image.ranges.get(stream, {}).items())
        self._grows("epoch", stream, row.epoch)
        self._grows("range index", stream, row.range_index)
        holders = [node for node, streams in image.opened_on.items() if stream in streams]
        current = image.current_range(stream)
        opened = row.state is StreamState.OPENED
        owners = [current.node] if opened and current is not None else []
        claim(holders == owners, "SP-01", f"stream {stream} is OPENED on {holders}, and its range is that of {owners}")
        for (before, left), (index, right) in pairwise(ranges):
            text = f"range {index} of stream {stream} begins at {right.start}, and range {before} ends at {left.end}"
            # An open removes ranges whose offsets are in stream objects (ST-18); nothing else may leave a gap.
            tiles = left.end == right.start if index == before + 1 else left.end <= right.start
            claim(tiles, "SP-04", text)
            rises = left.epoch < right.epoch or (left.epoch == right.epoch and left.node == right.node)
            text = f"range {index} of stream {stream} has epoch {right.epoch} after {left.epoch} of another owner"
            claim(rises, "SP-04", text)

    def _check_partition(self, image: Image, key: tuple[str, int], row: Partition) -> None:
        self._grows("leader epoch", key, row.leader_epoch)
        self._grows("partition epoch", key, row.partition_epoch)
        leader_epoch, partition_epoch = self._leader_epochs.get(key, (row.leader_epoch, row.partition_epoch))
        counted = row.leader_epoch == leader_epoch or row.partition_epoch > partition_epoch
        claim(counted, "SP-03", f"the leader epoch of {key} changes, and its partition epoch does not")
        self._leader_epochs[key] = row.leader_epoch, row.partition_epoch
        for stream in streams_of(image, row.partition):
            epoch = image.streams[stream].epoch
            text = f"stream {stream} of {key} has epoch {epoch}, above the leader epoch {row.leader_epoch}"
            claim(epoch <= row.leader_epoch, "SP-03", text)
        claim(len(row.replicas) == 1 and row.isr == row.replicas, "SP-10", f"{key} has {row.replicas} and {row.isr}")
        claim(row.leader in (-1, *row.isr), "SP-10", f"{row.leader} leads {key}, and its ISR is {row.isr}")
