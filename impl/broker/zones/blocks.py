"""The payload of a channel record: one batch of one partition, as its producer has sent it (ZR-12).

    block   magic byte 1, int16 length of the topic, int32 partition, the topic in UTF-8, the batch

The form is ours, like that of a batch. All integers are big-endian.
"""

from __future__ import annotations

import struct

import msgspec

from impl.broker.partition import batches
from impl.broker.partition.batches import Batch
from impl.broker.wal_format import DamagedError

_MAGIC = 1
_HEAD = struct.Struct(">Bhi")


class ProduceBlock(msgspec.Struct, frozen=True, gc=False):
    """A batch for a partition. It has no offset yet, so its base is 0."""

    topic: str
    partition: int
    batch: Batch

    def encode(self) -> bytes:
        """The bytes."""
        topic = self.topic.encode()
        return _HEAD.pack(_MAGIC, len(topic), self.partition) + topic + batches.encode(self.batch)


def decode(data: bytes) -> ProduceBlock:
    """The block with these bytes. Raises DamagedError."""
    if len(data) < _HEAD.size:
        raise DamagedError(f"the block has {len(data)} bytes, too few for its head")
    magic, length, partition = _HEAD.unpack_from(data)
    if magic != _MAGIC:
        raise DamagedError(f"the block is of another kind: its magic byte is {magic}")
    batch = _HEAD.size + length
    if not _HEAD.size <= batch <= len(data):
        raise DamagedError(f"the topic of the block is said to have {length} bytes of {len(data) - _HEAD.size}")
    try:
        topic = data[_HEAD.size : batch].decode()
    except UnicodeDecodeError as error:
        raise DamagedError("the topic of the block is no UTF-8") from error
    return ProduceBlock(topic, partition, batches.decode(data[batch:]))
