"""Kinds of images: images without their numbers. A signature is a hash of a kind, of SIGNATURE_BITS bits.

Streams, nodes and partitions have no names in a kind, and no epochs and no offsets: it says in which conditions they
are.
"""

from __future__ import annotations

from zlib import crc32

from impl import records as r
from impl.metadata.image import Image
from impl.metadata.log import MetadataBatch, replay

SIGNATURE_BITS = 16

_SILENT = (r.AssignedStreamId, r.AssignedS3ObjectId, r.S3Object, r.RemoveS3Object, r.KV, r.RemoveKV)
"""The records that leave the kind of an image as it is."""


class ImageKinds:
    """The kinds of images that the batches of a run make. ``signatures``: their signatures."""

    def __init__(self) -> None:
        self.signatures: set[int] = set()
        self._image = Image()
        self._met: set[object] = set()

    def add(self, batch: MetadataBatch) -> None:
        """Apply a batch, and add the kind of the image after it."""
        replay((batch,), self._image)
        if all(isinstance(record, _SILENT) for record in batch.records):
            return
        kind = kind_of(self._image)
        if kind not in self._met:
            self._met.add(kind)
            self.signatures.add(signature_of(kind))


def signature_of(kind: object) -> int:
    """The signature of a kind: equal on every machine."""
    return crc32(repr(kind).encode()) & ((1 << SIGNATURE_BITS) - 1)


def kind_of(image: Image) -> tuple[object, ...]:
    """The kind of an image: which conditions its streams have, and the conditions of its nodes and partitions, sorted.

    How many streams have a condition does not count: more detail would make nearly every image a kind of its own.
    """
    brokers = image.brokers
    sealed = {stream for entries in image.entries.values() for stream in entries}
    streams = sorted({_stream(image, stream, brokers, sealed) for stream in image.streams})
    nodes = sorted(
        (brokers.get(node, ""), row.failover, bool(image.entries.get(node))) for node, row in image.nodes.items()
    )
    return tuple(streams), tuple(nodes), tuple(sorted({_partition(row) for row in image.partitions.values()}))


def _stream(image: Image, stream: int, brokers: dict[int, str], sealed: set[int]) -> tuple[int, str, bool]:
    """The state of a stream, the state of its owner's broker, and whether it has a sealed end that is not committed."""
    owner = image.current_range(stream)
    state = "" if owner is None else brokers.get(owner.node, "none")
    return int(image.streams[stream].state), state, stream in sealed


def _partition(row: r.Partition) -> tuple[object, ...]:
    """Whether a partition has a leader, whether that is its first replica, and whether it moves."""
    return row.leader >= 0, row.leader == row.replicas[0], bool(row.adding_replicas), bool(row.removing_replicas)
