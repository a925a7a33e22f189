"""The state of idempotent producers: the next sequence number of each, and its batches that were appended already.

A producer numbers its records within a producer epoch, from 0 on, and sends a batch again if it gets no answer. The
log recognises the repetition by producer id, epoch and sequence number, and refuses a batch that would leave a gap: an
idempotent producer finds no duplicate and no gap in its sequence (I-8).

Readings of ours, where the facts are silent:

- The last five batches of a producer are remembered, as in Kafka. A repetition of an older one is refused.
- A producer without state begins at sequence number 0, as one with a new epoch does. Kafka accepts any number from it,
  because Kafka forgets producers after a time; we keep them.
- A snapshot has all five batches, where Kafka's has the last one. A reload restores the state exactly.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from zlib import crc32

import msgspec

from impl.broker.partition.batches import SEQUENCES, Batch
from impl.broker.wal_format import DamagedError
from impl.errors import E
from impl.rules import RefusedError

REMEMBERED = 5
"""The number of batches of a producer that the log recognises if they come again."""

_VERSION = 1
_HEAD = struct.Struct(">BI")
_END = struct.Struct(">q")
_PRODUCER = struct.Struct(">qiB")
_ENTRY = struct.Struct(">iIq")


class ProducerRefusedError(RefusedError):
    """A batch does not follow what its producer has sent."""

    def __init__(self, error: E, message: str) -> None:
        super().__init__("I-8", error)
        self.message = message

    def __str__(self) -> str:
        return f"{self.error.name}: {self.message}"


class BatchEntry(msgspec.Struct, frozen=True, gc=False):
    """A batch of the log: the sequence number of its first record, the number of its records, its base offset."""

    sequence: int
    count: int
    base: int


class ProducerState(msgspec.Struct, frozen=True, gc=False):
    """A producer: its epoch, and its last batches under that epoch, the newest one last. There is at least one."""

    epoch: int
    batches: tuple[BatchEntry, ...]

    @property
    def next(self) -> int:
        """The sequence number of the record after its last one."""
        last = self.batches[-1]
        return (last.sequence + last.count) % SEQUENCES


class Producers:
    """The producers of a partition. ``end``: all batches below this offset have been counted."""

    def __init__(self, end: int = 0) -> None:
        self.end = end
        self._producers: dict[int, ProducerState] = {}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Producers):
            return NotImplemented
        return self.end == other.end and self._producers == other._producers

    __hash__ = None  # type: ignore[assignment]

    def check(self, batch: Batch) -> int | None:
        """Check a batch that a client sends. Returns None if it is new, or the base offset of its first copy.

        The first copy may not be confirmed yet; the caller then waits for it before it answers. Raises
        ProducerRefusedError.
        """
        if not batch.is_idempotent:
            return None
        known = self._producers.get(batch.producer)
        # A producer without state, or with a new epoch, begins at 0.
        if known is None or batch.producer_epoch > known.epoch:
            _require_next(batch, 0)
            return None
        if batch.producer_epoch < known.epoch:
            message = f"producer {batch.producer} has epoch {known.epoch}, and the batch has {batch.producer_epoch}"
            raise ProducerRefusedError(E.INVALID_PRODUCER_EPOCH, message)
        for each in known.batches:
            if (each.sequence, each.count) == (batch.sequence, batch.count):
                return each.base
        _require_next(batch, known.next)
        return None

    def append(self, batch: Batch) -> None:
        """Count a batch of the log, which follows all batches counted so far. It is not checked again.

        The leader calls this as soon as the batch has its offset, so that the next batch of the producer can be
        checked. Recovery calls it for each batch of the scan. Raises ValueError unless the batch holds ``end``.
        """
        if not batch.base <= self.end < batch.end:
            raise ValueError(f"a batch from {batch.base} to {batch.end} does not follow a log that ends at {self.end}")
        self.end = batch.end
        if not batch.is_idempotent:
            return
        known = self._producers.get(batch.producer)
        # Batches of an older epoch are forgotten.
        before = known.batches if known is not None and known.epoch == batch.producer_epoch else ()
        new = BatchEntry(batch.sequence, batch.count, batch.base)
        self._producers[batch.producer] = ProducerState(batch.producer_epoch, (*before, new)[-REMEMBERED:])

    def snapshot(self) -> bytes:
        """The state in bytes, to be stored in PRODUCER_SNAPSHOTS at offset ``end``."""
        parts = [_END.pack(self.end)]
        for number, producer in sorted(self._producers.items()):
            parts.append(_PRODUCER.pack(number, producer.epoch, len(producer.batches)))
            parts += (_ENTRY.pack(each.sequence, each.count, each.base) for each in producer.batches)
        rest = b"".join(parts)
        return _HEAD.pack(_VERSION, crc32(rest)) + rest


def reload(snapshots: Mapping[int, bytes], start: int, end: int) -> Producers:
    """The producers of a log that is truncated to [start, end): step 6, row 4. Raises DamagedError.

    The state is that of the newest usable snapshot, or of no producer at ``start``. The caller then appends the batches
    of the log from ``Producers.end`` on. It is not enough to remove the truncated batches from the present state: the
    last five batches of a producer would then lack older ones, which are in the log but were dropped from the state.
    """
    offset = max(usable_snapshots(snapshots, start, end), default=None)
    return Producers(start) if offset is None else decode(snapshots[offset], offset)


def usable_snapshots(snapshots: Mapping[int, bytes], start: int, end: int) -> dict[int, bytes]:
    """The snapshots that a log truncated to [start, end) keeps.

    A snapshot of an offset above ``end`` counts batches that are gone. A snapshot of an offset below ``start`` lacks
    batches that cannot be read any more.
    """
    return {offset: data for offset, data in snapshots.items() if start <= offset <= end}


def decode(data: bytes, offset: int) -> Producers:
    """The producers of a snapshot that is stored at an offset. Raises DamagedError."""
    if len(data) < _HEAD.size + _END.size:
        raise DamagedError(f"the producer snapshot has {len(data)} bytes, too few for its offset")
    version, checksum = _HEAD.unpack_from(data)
    if version != _VERSION:
        raise DamagedError(f"the producer snapshot has version {version}; {_VERSION} is known")
    if crc32(memoryview(data)[_HEAD.size :]) != checksum:
        raise DamagedError("the producer snapshot is damaged")
    (end,) = _END.unpack_from(data, _HEAD.size)
    if end != offset:
        raise DamagedError(f"the producer snapshot at offset {offset} is that of offset {end}")
    found = Producers(end)
    place = _HEAD.size + _END.size
    while place < len(data):
        number, producer, place = _producer(data, place)
        found._producers[number] = producer
    return found


def _producer(data: bytes, place: int) -> tuple[int, ProducerState, int]:
    """The id of a producer, the producer, and the place after it."""
    begin = place + _PRODUCER.size
    if begin <= len(data):
        number, epoch, count = _PRODUCER.unpack_from(data, place)
        end = begin + count * _ENTRY.size
        if count and end <= len(data):
            batches = tuple(BatchEntry(*fields) for fields in _ENTRY.iter_unpack(data[begin:end]))
            return number, ProducerState(epoch, batches), end
    raise DamagedError(f"the producer at byte {place} of a snapshot is cut off")


def _require_next(batch: Batch, wanted: int) -> None:
    if batch.sequence != wanted:
        message = f"producer {batch.producer} sends sequence number {batch.sequence}, and {wanted} is next"
        raise ProducerRefusedError(E.OUT_OF_ORDER_SEQUENCE_NUMBER, message)
