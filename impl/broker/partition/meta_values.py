"""The four values that a partition keeps in its meta stream (reassignment.md 3). All integers are big-endian.

    PARTITION                 JSON
    LOG                       JSON
    PRODUCER_SNAPSHOTS        byte 0x18, then for each snapshot int64 offset, int32 length, its bytes
    LEADER_EPOCH_CHECKPOINT   int32 version, int32 count, then for each entry int32 epoch, int64 start offset

``decode`` raises DamagedError for anything else: unknown or missing keys, missing or surplus bytes. AutoMQ ignores
unknown keys; we refuse them, because no other version writes our streams.

The facts give the keys of a segment as abbreviations only. We give them the meaning of the fields in AutoMQ's source.
Readings of ours, where both are silent: an offset is never below 0, -1 stands for an absent value, and 0 is the only
version of the checkpoint.
"""

from __future__ import annotations

import struct
from typing import Annotated, ClassVar, Self, TypeVar

import msgspec

from impl.broker.wal_format import DamagedError

ABSENT = -1
"""The end of a slice that still grows, both ends of a slice without entries, the id of a stream not yet created."""

_LAST = 2**63 - 1
Offset = Annotated[int, msgspec.Meta(ge=0, le=_LAST)]
OffsetOrAbsent = Annotated[int, msgspec.Meta(ge=ABSENT, le=_LAST)]

_SNAPSHOTS = 0x18
_SNAPSHOT = struct.Struct(">qi")
_VERSION = 0
_CHECKPOINT = struct.Struct(">ii")
_ENTRY = struct.Struct(">iq")


class PartitionMeta(msgspec.Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """The value of PARTITION.

    ``start``: the first offset of the log. ``cleaner``: the offset that the cleaner has reached. ``recover``: a scan of
    a log that was not closed cleanly begins at this offset. ``clean``: the clean-shutdown flag (SP-09).
    """

    KEY: ClassVar[str] = "PARTITION"
    start: Offset = msgspec.field(name="s")
    cleaner: Offset = msgspec.field(name="c")
    recover: Offset = msgspec.field(name="r")
    clean: bool = msgspec.field(name="cs")

    def encode(self) -> bytes:
        return msgspec.json.encode(self)

    @classmethod
    def decode(cls, data: bytes) -> Self:
        return _from_json(cls, data)


NEW_PARTITION = PartitionMeta(0, 0, 0, clean=False)
"""The value for a partition whose meta stream has none (step 6, row 2)."""


class SegmentSlice(msgspec.Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """The offsets [``start``, ``end``) of a stream, which belong to one segment."""

    start: OffsetOrAbsent = msgspec.field(name="s")
    end: OffsetOrAbsent = msgspec.field(name="e")


class TimeEntry(msgspec.Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """An entry of a time index: a record with a larger timestamp comes after ``offset``.

    Both are ABSENT if the index has no entry.
    """

    timestamp: OffsetOrAbsent = msgspec.field(name="t")
    offset: OffsetOrAbsent = msgspec.field(name="o")


class SegmentMeta(msgspec.Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """A segment in the value of LOG.

    - ``base``: its first offset in the partition.
    - ``created``, ``modified``: the times at which it was made, and last appended to, in milliseconds.
    - ``suffix``: the suffix of its streams' names; always empty here.
    - ``size``: the bytes of its batches.
    - ``log``, ``time``, ``txn``: its slices of the data, time index and transaction streams.
    - ``first_timestamp``: the timestamp of its first batch.
    - ``last_time_entry``: the last entry of its time index.
    """

    base: Offset = msgspec.field(name="bo")
    created: int = msgspec.field(name="ct")
    modified: int = msgspec.field(name="lmt")
    suffix: str = msgspec.field(name="s")
    size: Offset = msgspec.field(name="lsz")
    log: SegmentSlice = msgspec.field(name="ls")
    time: SegmentSlice = msgspec.field(name="ts")
    txn: SegmentSlice = msgspec.field(name="txs")
    first_timestamp: int = msgspec.field(name="fbt")
    last_time_entry: TimeEntry = msgspec.field(name="tle")


class LogMeta(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The value of LOG: the stream of each name, ABSENT if it is not created yet, and the segments by base offset."""

    KEY: ClassVar[str] = "LOG"
    streams: dict[str, OffsetOrAbsent] = msgspec.field(name="streamMap")
    segments: tuple[SegmentMeta, ...] = msgspec.field(name="segmentMetas")

    def encode(self) -> bytes:
        return msgspec.json.encode(self, order="deterministic")

    @classmethod
    def decode(cls, data: bytes) -> Self:
        return _from_json(cls, data)


class ProducerSnapshots(msgspec.Struct, frozen=True):
    """The value of PRODUCER_SNAPSHOTS: by offset, the producer state after all records below that offset."""

    KEY: ClassVar[str] = "PRODUCER_SNAPSHOTS"
    snapshots: dict[int, bytes]

    def encode(self) -> bytes:
        pairs = sorted(self.snapshots.items())
        return bytes([_SNAPSHOTS]) + b"".join(_SNAPSHOT.pack(offset, len(data)) + data for offset, data in pairs)

    @classmethod
    def decode(cls, data: bytes) -> Self:
        if data[:1] != bytes([_SNAPSHOTS]):
            raise DamagedError(f"producer snapshots begin with {data[:1]!r} instead of byte 0x18")
        found: dict[int, bytes] = {}
        place = 1
        while place < len(data):
            begin = place + _SNAPSHOT.size
            if begin > len(data):
                raise DamagedError(f"the producer snapshot at byte {place} is cut off")
            offset, length = _SNAPSHOT.unpack_from(data, place)
            place = begin + length
            if not begin <= place <= len(data) or offset < 0 or offset in found:
                raise DamagedError(f"the producer snapshot before byte {begin} has offset {offset}, length {length}")
            found[offset] = data[begin:place]
        return cls(found)


class EpochEntry(msgspec.Struct, frozen=True, gc=False):
    """Records from offset ``start`` on were written under a leader epoch, up to the start of the next entry."""

    epoch: int
    start: int


class LeaderEpochCheckpoint(msgspec.Struct, frozen=True):
    """The value of LEADER_EPOCH_CHECKPOINT."""

    KEY: ClassVar[str] = "LEADER_EPOCH_CHECKPOINT"
    entries: tuple[EpochEntry, ...] = ()

    def encode(self) -> bytes:
        head = _CHECKPOINT.pack(_VERSION, len(self.entries))
        return head + b"".join(_ENTRY.pack(each.epoch, each.start) for each in self.entries)

    @classmethod
    def decode(cls, data: bytes) -> Self:
        if len(data) < _CHECKPOINT.size:
            raise DamagedError(f"the checkpoint of leader epochs has {len(data)} bytes, too few for its count")
        version, count = _CHECKPOINT.unpack_from(data)
        if version != _VERSION:
            raise DamagedError(f"the checkpoint of leader epochs has version {version}; {_VERSION} is known")
        if len(data) != _CHECKPOINT.size + count * _ENTRY.size:
            raise DamagedError(f"the checkpoint of leader epochs has {len(data)} bytes, and says {count} entries")
        return cls(tuple(EpochEntry(*fields) for fields in _ENTRY.iter_unpack(data[_CHECKPOINT.size :])))


V = TypeVar("V")


def _from_json(kind: type[V], data: bytes) -> V:
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DamagedError(f"the value is no {kind.__name__}: {error}") from error
