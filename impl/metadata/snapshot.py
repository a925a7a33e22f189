"""The snapshot of an image: records from which ``load`` makes it again, in the order of RT-02 (streams.md 15).

Equal images give equal records and equal bytes. AM-02: as built, a snapshot has no failover flag.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from impl import records as r
from impl.metadata.image import Image
from impl.records import AnyRecord, MetadataRecord

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(list[AnyRecord])


def snapshot(image: Image, as_built: frozenset[str] = frozenset()) -> tuple[MetadataRecord, ...]:
    """The records of an image. ``as_built`` names the suspicious spots that are built in."""
    return tuple(_records(image, keep_flag="AM-02" not in as_built))


def load(records: Iterable[MetadataRecord]) -> Image:
    """The image that the records of a snapshot make."""
    image = Image()
    apply = image.apply
    for record in records:
        apply(record)
    image.forget(image.mark())
    return image


def encode(records: Iterable[MetadataRecord]) -> bytes:
    """The bytes of a snapshot."""
    return _encoder.encode(tuple(records))


def decode(data: bytes) -> list[MetadataRecord]:
    """The records of a snapshot's bytes. Raises msgspec.DecodeError for other bytes."""
    return _decoder.decode(data)


def _records(image: Image, *, keep_flag: bool) -> Iterator[MetadataRecord]:
    if image.ids["stream"] >= 0:
        yield r.AssignedStreamId(image.ids["stream"])
    for stream in _keys(image.streams, image.ranges, image.stream_objects):
        yield from _stream(image, stream)
    for node in _keys(image.nodes, image.set_objects):
        yield from _node(image, node, keep_flag=keep_flag)
    for node, entries in sorted(image.entries.items()):
        if entries:
            rows = sorted(entries.items())
            yield r.NodeWALUncommittedOffsets(
                node, tuple(r.UncommittedOffsets(stream, entry.start, entry.to) for stream, entry in rows)
            )
    # After the streams: an end has no effect on a stream that does not exist yet.
    if image.streams:
        ends = {stream: row.end for stream, row in sorted(image.streams.items())}
        yield r.S3StreamEndOffsets(r.pack_end_offsets(ends))
    yield from _objects(image)
    for key, value in sorted(image.kv.items()):
        yield r.KV((r.KeyValue(key, value),))
    yield from _partitions(image)


def _stream(image: Image, stream: int) -> Iterator[MetadataRecord]:
    row = image.streams.get(stream)
    if row is not None:
        yield r.S3Stream(stream, row.epoch, row.range_index, row.start, row.state, row.tags)
    for index, each in sorted(image.ranges.get(stream, {}).items()):
        yield r.Range(stream, each.epoch, index, each.start, each.end, each.node)
    for number, held in sorted(image.stream_objects.get(stream, {}).items()):
        yield r.S3StreamObject(stream, held.start, held.end, number)


def _node(image: Image, node: int, *, keep_flag: bool) -> Iterator[MetadataRecord]:
    row = image.nodes.get(node)
    if row is not None:
        yield r.NodeWALMetadata(node, row.epoch, row.failover and keep_flag)
    for number, held in sorted(image.set_objects.get(node, {}).items()):
        yield r.S3StreamSetObject(node, number, held.order, held.data_time, held.ranges)


def _objects(image: Image) -> Iterator[MetadataRecord]:
    if image.ids["object"] >= 0:
        yield r.AssignedS3ObjectId(image.ids["object"])
    for number, row in sorted(image.objects.items()):
        yield r.S3Object(number, row.size, row.state, row.timestamp, row.attributes)


def _partitions(image: Image) -> Iterator[MetadataRecord]:
    for broker, state in sorted(image.brokers.items()):
        yield r.BrokerRegistration(broker, state)
    for name, elastic in sorted(image.topics.items()):
        yield r.Topic(name, elastic)
    for _, partition in sorted(image.partitions.items()):
        yield partition


def _keys(first: Mapping[int, Any], *others: Mapping[int, Mapping[int, Any]]) -> list[int]:
    """The keys of the first table, and the keys of the others that have rows, ascending.

    Removals leave empty tables behind, and a snapshot does not depend on them.
    """
    return sorted({*first, *(key for table in others for key, rows in table.items() if rows)})
