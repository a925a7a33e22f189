"""A batch of records: the unit of a produce request. A record of a data stream stores one batch.

    batch    magic, CRC-32 of the rest; base offset, leader epoch, producer id, producer epoch, first sequence number,
             timestamp, number of values; the values
    value    length, bytes

All integers are big-endian. The form is ours: the facts say only that batches have these fields, and that recovery
recognises a corrupt one.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from zlib import crc32

import msgspec

from impl.broker.wal_format import DamagedError

ABSENT = -1
"""The leader epoch, timestamp, producer id, producer epoch or sequence number of a batch that has none."""
SEQUENCES = 2**31
"""Sequence numbers begin again at 0 after the largest int32."""

_MAGIC = b"hfB1"
_HEAD = struct.Struct(">4sI")
_FIELDS = struct.Struct(">qiqiiqI")
_LENGTH = struct.Struct(">I")


class Batch(msgspec.Struct, frozen=True, gc=False):
    """Records with consecutive offsets of a partition, the first of them at ``base``.

    ``leader_epoch``: the epoch under which it was appended. ``timestamp``: the largest timestamp of its records, in
    milliseconds. ``producer``, ``producer_epoch``, ``sequence``: of an idempotent producer, its id, its epoch, and the
    sequence number of the first record; all ABSENT otherwise. Raises ValueError for fields that do not fit together.
    """

    base: int
    values: tuple[bytes, ...]
    leader_epoch: int = ABSENT
    timestamp: int = ABSENT
    producer: int = ABSENT
    producer_epoch: int = ABSENT
    sequence: int = ABSENT

    def __post_init__(self) -> None:
        if not self.values:
            raise ValueError("a batch has at least one record")
        if self.base < 0:
            raise ValueError(f"a batch has base offset {self.base}, below 0")
        producer = (self.producer, self.producer_epoch, self.sequence)
        if not (min(producer) >= 0 and self.sequence < SEQUENCES) and producer != (ABSENT, ABSENT, ABSENT):
            raise ValueError(f"a batch has producer id, producer epoch and sequence number {producer}")

    @property
    def count(self) -> int:
        """The number of its records, which is also the number of its offsets."""
        return len(self.values)

    @property
    def end(self) -> int:
        """The offset after its last record."""
        return self.base + len(self.values)

    @property
    def is_idempotent(self) -> bool:
        """Whether the batch has a sequence number."""
        return self.producer != ABSENT

    def placed(self, base: int, leader_epoch: int) -> Batch:
        """The batch with the base offset and the leader epoch that the leader gives to it."""
        return msgspec.structs.replace(self, base=base, leader_epoch=leader_epoch)


class Scan(msgspec.Struct, frozen=True, gc=False):
    """``batches``: the sound batches of a part of a log. ``end``: the offset after them.

    ``damage``: why the scan stopped at ``end``; None if all batches are sound.
    """

    batches: tuple[Batch, ...]
    end: int
    damage: str | None = None


def encode(batch: Batch) -> bytes:
    """The bytes of a batch."""
    parts = [
        _FIELDS.pack(
            *(batch.base, batch.leader_epoch, batch.producer, batch.producer_epoch, batch.sequence),
            *(batch.timestamp, len(batch.values)),
        )
    ]
    for value in batch.values:
        parts += (_LENGTH.pack(len(value)), value)
    rest = b"".join(parts)
    return _HEAD.pack(_MAGIC, crc32(rest)) + rest


def decode(data: bytes) -> Batch:
    """The batch with these bytes. Raises DamagedError."""
    if len(data) < _HEAD.size + _FIELDS.size:
        raise DamagedError(f"the batch has {len(data)} bytes, too few for its fields")
    magic, checksum = _HEAD.unpack_from(data)
    if magic != _MAGIC:
        raise DamagedError(f"the batch is of another kind or of another version: its magic is {magic!r}")
    if crc32(memoryview(data)[_HEAD.size :]) != checksum:
        raise DamagedError("the batch is damaged")
    base, leader_epoch, producer, producer_epoch, sequence, timestamp, count = _FIELDS.unpack_from(data, _HEAD.size)
    values = _values(data, _HEAD.size + _FIELDS.size)
    if len(values) != count:
        raise DamagedError(f"the batch has {len(values)} records, and its fields say {count}")
    try:
        return Batch(base, values, leader_epoch, timestamp, producer, producer_epoch, sequence)
    except ValueError as error:
        raise DamagedError(str(error)) from error


def _values(data: bytes, place: int) -> tuple[bytes, ...]:
    values: list[bytes] = []
    while place < len(data):
        begin = place + _LENGTH.size
        if begin > len(data):
            raise DamagedError(f"the record at byte {place} of a batch is cut off")
        place = begin + _LENGTH.unpack_from(data, place)[0]
        if place > len(data):
            raise DamagedError(f"the record at byte {begin} of a batch is cut off")
        values.append(data[begin:place])
    return tuple(values)


def scan(start: int, payloads: Iterable[bytes]) -> Scan:
    """The batches of a log up to the first corrupt one, where recovery truncates (step 6, row 5).

    ``start``: the offset from which the log was read; it may lie inside the first batch. A batch is also corrupt if it
    does not begin where the one before ends, or has an older leader epoch.
    """
    batches: list[Batch] = []
    end, epoch = start, ABSENT
    for payload in payloads:
        try:
            batch = decode(payload)
        except DamagedError as error:
            return Scan(tuple(batches), end, str(error))
        if not (batch.base == end if batches else batch.base <= end < batch.end):
            return Scan(tuple(batches), end, f"a batch begins at offset {batch.base}, and the log has come to {end}")
        if batch.leader_epoch < epoch:
            reason = f"the batch at offset {end} has leader epoch {batch.leader_epoch}, and the one before has {epoch}"
            return Scan(tuple(batches), end, reason)
        batches.append(batch)
        end, epoch = batch.end, batch.leader_epoch
    return Scan(tuple(batches), end)
