"""Random records of every kind, with few ids, so that they change the same rows."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

from impl import records as r
from impl.metadata.log import MetadataBatch

LAST = 4


def random_batches(draw: random.Random, count: int) -> Iterator[MetadataBatch]:
    """A batch with streams, topics and partitions, then ``count`` batches of one to four records.

    Only the last stream is ever removed, and not created again, since ids are not reused (ID-01).
    """
    streams = [r.S3Stream(stream, -1, -1, 0, r.StreamState.CLOSED) for stream in range(LAST + 1)]
    topics = [r.Topic(f"t{topic}") for topic in range(4)]
    yield MetadataBatch((*streams, *topics, *(r.Partition(topic.name, 0, (1, 2), (1,), 1) for topic in topics)))
    for index in range(count):
        records = tuple(_MAKERS[draw.choice(r.KINDS)](draw) for _ in range(draw.randint(1, 4)))
        yield MetadataBatch(records, term=index // 40, time=index * 7)


def _id(draw: random.Random) -> int:
    return draw.randint(0, 3)


def _stream_id(draw: random.Random) -> int:
    return draw.randint(0, LAST)


def _span(draw: random.Random) -> tuple[int, int]:
    start = draw.randint(0, 40)
    return start, start + draw.randint(0, 20)


def _stream(draw: random.Random) -> r.S3Stream:
    tags = tuple(r.Tag(key, str(_id(draw))) for key in ("topic", "partition")) if draw.random() < 0.3 else ()
    index = draw.randint(-1, 3)
    return r.S3Stream(_id(draw), index, index, draw.randint(0, 30), draw.choice(list(r.StreamState)), tags)


def _change(draw: random.Random) -> r.PartitionChange:
    return r.PartitionChange(
        f"t{_id(draw)}",
        0,
        isr=draw.choice([None, (1,), (1, 2)]),
        leader=draw.choice([None, -1, 2]),
        replicas=draw.choice([None, (2, 1)]),
        original=draw.choice([None, (), (1,)]),
        marker=draw.choice([None, -1, 4]),
    )


def _entries(draw: random.Random) -> tuple[r.UncommittedOffsets, ...]:
    spans = [_span(draw) for _ in range(draw.randint(1, 3))]
    return tuple(r.UncommittedOffsets(_id(draw), start, end) for start, end in spans)


def _broker(draw: random.Random) -> r.BrokerRegistration:
    return r.BrokerRegistration(_id(draw), draw.choice(["active", "fenced", "shutting_down", "gone"]))


def _partition(draw: random.Random) -> r.Partition:
    return r.Partition(f"t{_id(draw)}", _id(draw), (1, 2), (1,), 1, original=draw.choice([None, (2, 1)]))


def _object(draw: random.Random) -> r.S3Object:
    state = draw.choice([r.ObjectState.PREPARED, r.ObjectState.COMMITTED, r.ObjectState.MARK_DESTROYED])
    return r.S3Object(_id(draw), draw.randint(0, 99), state, draw.randint(0, 10**12), draw.randint(0, 3))


_MAKERS: dict[type[r.MetadataRecord], Callable[[random.Random], r.MetadataRecord]] = {
    r.AssignedStreamId: lambda d: r.AssignedStreamId(_id(d)),
    r.S3Stream: _stream,
    r.RemoveS3Stream: lambda d: r.RemoveS3Stream(LAST),
    r.Range: lambda d: r.Range(_stream_id(d), _id(d), _id(d), *_span(d), _id(d)),
    r.RemoveRange: lambda d: r.RemoveRange(_stream_id(d), _id(d)),
    r.S3StreamObject: lambda d: r.S3StreamObject(_stream_id(d), *_span(d), _id(d)),
    r.RemoveS3StreamObject: lambda d: r.RemoveS3StreamObject(_stream_id(d), _id(d)),
    r.S3StreamSetObject: lambda d: r.S3StreamSetObject(_id(d), _id(d), _id(d), 5, d.choice([b"", b"\x01\xff"])),
    r.RemoveStreamSetObject: lambda d: r.RemoveStreamSetObject(_id(d), _id(d)),
    r.S3Object: _object,
    r.RemoveS3Object: lambda d: r.RemoveS3Object(_id(d)),
    r.AssignedS3ObjectId: lambda d: r.AssignedS3ObjectId(_id(d)),
    r.NodeWALMetadata: lambda d: r.NodeWALMetadata(_id(d), _id(d), d.random() < 0.5),
    r.S3StreamEndOffsets: lambda d: r.S3StreamEndOffsets(r.pack_end_offsets({_id(d): d.randint(0, 60)})),
    r.NodeWALUncommittedOffsets: lambda d: r.NodeWALUncommittedOffsets(_id(d), _entries(d)),
    r.KV: lambda d: r.KV((r.KeyValue(f"k{_id(d)}", bytes([_id(d)])),)),
    r.RemoveKV: lambda d: r.RemoveKV((f"k{_id(d)}",)),
    r.BrokerRegistration: _broker,
    r.Topic: lambda d: r.Topic(f"t{_id(d)}", d.random() < 0.5),
    r.Partition: _partition,
    r.PartitionChange: _change,
}
