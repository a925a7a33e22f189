"""A partition with a history, as the metadata and the bucket have it after its last leader has closed it in order.

The values of the meta stream are real, and stand in a real object. The objects of the data stream and of the time index
stream have rows in the metadata; the bucket has their sizes.
"""

from __future__ import annotations

import msgspec

from impl.broker.object_format import encode as encode_object
from impl.broker.object_format import object_key
from impl.broker.partition import meta_stream
from impl.broker.partition.host import meta_key
from impl.broker.partition.meta import Value
from impl.broker.partition.meta_values import (
    ABSENT,
    EpochEntry,
    LeaderEpochCheckpoint,
    LogMeta,
    PartitionMeta,
    ProducerSnapshots,
    SegmentSlice,
    TimeEntry,
)
from impl.broker.partition.producers import Producers
from impl.broker.partition.segment_metas import store
from impl.broker.partition.segments import LOG, NO_SLICE, ROLL_BYTES, TIME, TXN, Segment, Segments
from impl.broker.wal_format import WalRecord
from impl.controller.streams import partition_tags
from impl.metadata.log import MetadataBatch
from impl.records import (
    KV,
    AnyRecord,
    AssignedS3ObjectId,
    AssignedStreamId,
    KeyValue,
    ObjectState,
    Partition,
    Range,
    S3Object,
    S3Stream,
    S3StreamObject,
    StreamState,
    Topic,
)

TOPIC, PARTITION = "orders", 0
SOURCE, TARGET = 1, 2
META, DATA, TIMES = 0, 1, 2
"""The ids of the streams."""
RECORD_BYTES = 1 << 10
"""The bytes of each record of the history. A record takes one offset."""
BEGIN_MS, SEGMENT_MS = 1_700_000_000_000, 10_000
"""The timestamp of the first record, and the time that a segment takes to fill."""
INDEX_BYTES = 44
"""The bytes of one entry of the time index in its object."""


class StoredHistory(msgspec.Struct, frozen=True):
    """The metadata and the bucket of a partition with a history.

    ``segments``: the number of segments. ``log_bytes``: the bytes of the value of LOG, which has an entry for each of
    them. ``end``: the first offset after the history. ``batch``: the metadata. ``objects``: by key, the bytes of
    objects; ``sizes``: by key, the sizes of the other objects.
    """

    segments: int
    log_bytes: int
    end: int
    batch: MetadataBatch
    objects: dict[str, bytes]
    sizes: dict[str, int]


def stored(size: int) -> StoredHistory:
    """The history of ``size`` bytes of a partition, which broker 1 leads next. It has at least one segment."""
    segments = _segments(size)
    end, count = segments.end, len(segments.segments)
    log = LogMeta({LOG: DATA, TIME: TIMES, TXN: ABSENT}, store(segments))
    snapshots = ProducerSnapshots({end: Producers(end).snapshot()})
    partition = PartitionMeta(0, 0, end, clean=True)
    values: tuple[Value, ...] = (LeaderEpochCheckpoint((EpochEntry(0, 0),)), snapshots, log, partition)
    meta = encode_object(
        WalRecord(META, 0, place, 1, meta_stream.encode(each.KEY, each.encode())) for place, each in enumerate(values)
    )
    rows = [(META, 0, len(values), len(meta)), (TIMES, 0, count - 1, INDEX_BYTES * (count - 1))]
    rows += [(DATA, each.log.start, each.log.end, each.size) for each in segments.segments[:-1]]
    sizes = {object_key(number): row[3] for number, row in enumerate(rows)}
    objects = {object_key(META): meta}
    ends = {META: len(values), DATA: end, TIMES: count - 1}
    return StoredHistory(
        count,
        len(log.encode()),
        end,
        MetadataBatch(_records(rows, ends)),
        objects,
        {k: sizes[k] for k in sizes.keys() - objects},
    )


def _segments(size: int) -> Segments:
    """Full segments, the last of them perhaps in part, and an active one without a record."""
    # Rounded up to whole records, and at least one.
    offsets, full = max(1, -(-size // RECORD_BYTES)), ROLL_BYTES // RECORD_BYTES
    found: list[Segment] = []
    for base in range(0, offsets, full):
        end, number = min(base + full, offsets), len(found)
        begin = BEGIN_MS + number * SEGMENT_MS
        last = TimeEntry(begin + SEGMENT_MS - 1, end - 1)
        found.append(
            Segment(
                *(
                    base,
                    SegmentSlice(base, end),
                    SegmentSlice(number, number + 1),
                    NO_SLICE,
                    (end - base) * RECORD_BYTES,
                ),
                *(begin, begin + SEGMENT_MS - 1, begin, last),
            )
        )
    found.append(Segment(offsets, SegmentSlice(offsets, offsets), created=BEGIN_MS + len(found) * SEGMENT_MS))
    return Segments(found, 0, offsets)


def _records(rows: list[tuple[int, int, int, int]], ends: dict[int, int]) -> tuple[AnyRecord, ...]:
    """The metadata. ``rows``: the stream, start, end and size of each object, by object id."""
    found: list[AnyRecord] = [AssignedStreamId(len(ends) - 1), AssignedS3ObjectId(len(rows) - 1)]
    for stream, end in ends.items():
        found += (
            S3Stream(stream, 0, 0, 0, StreamState.CLOSED, partition_tags(TOPIC, PARTITION)),
            Range(stream, 0, 0, 0, end, SOURCE),
        )
    for number, (stream, start, end, size) in enumerate(rows):
        found += (
            S3Object(number, size, ObjectState.COMMITTED, BEGIN_MS),
            S3StreamObject(stream, start, end, number),
        )
    return (
        *found,
        KV((KeyValue(meta_key(TOPIC, PARTITION), META.to_bytes(8)),)),
        Topic(TOPIC, elastic=True),
        Partition(TOPIC, PARTITION, (SOURCE,), (SOURCE,), SOURCE, leader_epoch=1, partition_epoch=1),
    )
