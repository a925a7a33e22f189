"""The image: the tables that the metadata log makes. ``apply`` changes them; ``undo_to`` takes changes back (EX-03).

Rows are immutable. A change puts another row into a table, and the journal keeps the row that was there before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from impl import records as r
from impl.metadata.rows import Entry, Node, SetObject, StoredObject, Stream, StreamObject, StreamRange
from impl.records import MetadataRecord, StreamState, Tag

__all__ = ["Entry", "Image", "Node", "SetObject", "StoredObject", "Stream", "StreamObject", "StreamRange", "Table"]

Table = dict[Any, Any]
_ABSENT = object()


class Image:
    """The tables of the metadata. Everybody may read them; only ``apply`` and ``undo_to`` write them."""

    def __init__(self) -> None:
        self.streams: dict[int, Stream] = {}
        self.ranges: dict[int, dict[int, StreamRange]] = {}
        """By stream and index, ascending."""
        self.stream_objects: dict[int, dict[int, StreamObject]] = {}
        """By stream and object."""
        self.set_objects: dict[int, dict[int, SetObject]] = {}
        """By node and object."""
        self.nodes: dict[int, Node] = {}
        self.entries: dict[int, dict[int, Entry]] = {}
        """By node and stream."""
        self.objects: dict[int, StoredObject] = {}
        self.kv: dict[str, bytes] = {}
        self.brokers: dict[int, str] = {}
        self.topics: dict[str, bool] = {}
        """By name; whether the topic is elastic."""
        self.partitions: dict[tuple[str, int], r.Partition] = {}
        self.ids: dict[str, int] = {"stream": -1, "object": -1}
        """The newest stream id and the newest object id that were allocated."""
        self.opened_on: dict[int, dict[int, None]] = {}
        """By node: the OPENED streams whose newest range is on it (derived)."""
        self._tags: dict[Tag, Tag] = {}
        self._journal: list[tuple[Table, Any, Any]] = []
        """The changes that can be taken back: the table, the key, and the row before; ``_ABSENT`` if there was none."""

    # Reading --------------------------------------------------------------------------------------------------

    def current_range(self, stream: int) -> StreamRange | None:
        """The newest range of a stream, which names its owner; None if it has none."""
        row = self.streams.get(stream)
        return None if row is None else self.ranges.get(stream, {}).get(row.range_index)

    def active_entry(self, node: int, stream: int) -> Entry | None:
        """The entry of a node on a stream, from its effective start, while it is active (CK-03)."""
        entry = self.entries.get(node, {}).get(stream)
        row = self.streams.get(stream)
        if entry is None or row is None:
            return None
        start = max(row.start, entry.start)
        return Entry(start, entry.to) if start < entry.to else None

    # Writing --------------------------------------------------------------------------------------------------

    def apply(self, record: MetadataRecord) -> None:
        """Change the tables by a record, without any check."""
        _APPLY[type(record)](self, record)

    def mark(self) -> int:
        """A mark of the present state, for ``undo_to``, ``forget`` and ``changes``."""
        return len(self._journal)

    def undo_to(self, mark: int) -> None:
        """Take back every change since the mark."""
        restored: dict[int, Table] = {}
        while len(self._journal) > mark:
            table, key, before = self._journal.pop()
            if before is _ABSENT:
                del table[key]
            else:
                if key not in table:
                    restored[id(table)] = table
                table[key] = before
        # A restored row comes last in its table, but readers rely on ascending ranges: sort the table again.
        for table in restored.values():
            rows = sorted(table.items())
            table.clear()
            table.update(rows)

    def forget(self, mark: int) -> None:
        """Drop the journal up to the mark: the changes before it can be taken back no more.

        Earlier marks, and this one, are void then. The caller has to lower later marks by ``mark``.
        """
        del self._journal[:mark]

    def changes(self, mark: int) -> Iterator[tuple[Table, Any, Any]]:
        """The changes since the mark, oldest first: the table, the key, and the row before (None if there was none)."""
        for table, key, before in self._journal[mark:]:
            yield table, key, None if before is _ABSENT else before

    def _put(self, table: Table, key: Any, row: Any) -> None:
        self._journal.append((table, key, table.get(key, _ABSENT)))
        table[key] = row

    def _drop(self, table: Table, key: Any) -> None:
        if key in table:
            self._journal.append((table, key, table.pop(key)))

    def _put_stream(self, stream: int, row: Stream) -> None:
        self._put(self.streams, stream, row)
        self._index(stream)

    def _index(self, stream: int) -> None:
        """Update ``opened_on`` after a change of a stream or of its ranges."""
        row = self.streams.get(stream)
        now = self.current_range(stream) if row is not None and row.state is StreamState.OPENED else None
        for node in [node for node, streams in self.opened_on.items() if stream in streams]:
            if now is None or now.node != node:
                self._drop(self.opened_on[node], stream)
        if now is not None and stream not in self.opened_on.setdefault(now.node, {}):
            self._put(self.opened_on[now.node], stream, None)

    def _lift(self, stream: int, end: int) -> None:
        """Raise the end of a stream; it never falls."""
        row = self.streams.get(stream)
        if row is not None and end > row.end:
            self._put(self.streams, stream, msgspec.structs.replace(row, end=end))

    def _stream_id(self, record: r.AssignedStreamId) -> None:
        self._put(self.ids, "stream", record.assigned_stream_id)

    def _object_id(self, record: r.AssignedS3ObjectId) -> None:
        self._put(self.ids, "object", record.assigned_s3_object_id)

    def _stream(self, record: r.S3Stream) -> None:
        # The start never falls. The record has no end: the old one stays, unless the start has passed it. The old tags
        # stay if the record has none.
        before = self.streams.get(record.stream_id, Stream())
        start = max(before.start, record.start_offset)
        self._put_stream(
            record.stream_id,
            Stream(
                record.epoch,
                record.range_index,
                start,
                max(before.end, record.start_offset),
                record.stream_state,
                self._shared(record.tags) if record.tags else before.tags,
            ),
        )

    def _shared(self, tags: tuple[Tag, ...]) -> tuple[Tag, ...]:
        """The tags, with one object for equal ones, to save memory: the streams of a topic share its tag."""
        return tuple([self._tags.setdefault(tag, tag) for tag in tags])

    def _remove_stream(self, record: r.RemoveS3Stream) -> None:
        for table in (self.ranges, self.stream_objects):
            for key in list(table.get(record.stream_id, {})):
                self._drop(table[record.stream_id], key)
        self._drop(self.streams, record.stream_id)
        self._index(record.stream_id)

    def _range(self, record: r.Range) -> None:
        ranges = self.ranges.setdefault(record.stream_id, {})
        row = StreamRange(record.epoch, record.node_id, record.start_offset, record.end_offset)
        self._put(ranges, record.range_index, row)
        self._lift(record.stream_id, record.end_offset)
        self._index(record.stream_id)

    def _remove_range(self, record: r.RemoveRange) -> None:
        self._drop(self.ranges.setdefault(record.stream_id, {}), record.range_index)
        self._index(record.stream_id)

    def _stream_object(self, record: r.S3StreamObject) -> None:
        objects = self.stream_objects.setdefault(record.stream_id, {})
        self._put(objects, record.object_id, StreamObject(record.start_offset, record.end_offset))
        self._lift(record.stream_id, record.end_offset)

    def _remove_stream_object(self, record: r.RemoveS3StreamObject) -> None:
        self._drop(self.stream_objects.setdefault(record.stream_id, {}), record.object_id)

    def _set_object(self, record: r.S3StreamSetObject) -> None:
        objects = self.set_objects.setdefault(record.node_id, {})
        self._put(objects, record.object_id, SetObject(record.order_id, record.data_time_in_ms, record.ranges))

    def _remove_set_object(self, record: r.RemoveStreamSetObject) -> None:
        self._drop(self.set_objects.setdefault(record.node_id, {}), record.object_id)

    def _object(self, record: r.S3Object) -> None:
        row = StoredObject(record.object_size, record.object_state, record.timestamp, record.attributes)
        self._put(self.objects, record.object_id, row)

    def _remove_object(self, record: r.RemoveS3Object) -> None:
        self._drop(self.objects, record.object_id)

    def _node(self, record: r.NodeWALMetadata) -> None:
        self._put(self.nodes, record.node_id, Node(record.node_epoch, record.failover_mode))

    def _ends(self, record: r.S3StreamEndOffsets) -> None:
        for stream, end in r.unpack_end_offsets(record.end_offsets).items():
            self._lift(stream, end)

    def _entries(self, record: r.NodeWALUncommittedOffsets) -> None:
        entries = self.entries.setdefault(record.node_id, {})
        # Equal offsets remove an entry; a start above the end has no effect.
        for each in record.entries:
            if each.start_offset < each.end_offset:
                self._put(entries, each.stream_id, Entry(each.start_offset, each.end_offset))
            elif each.start_offset == each.end_offset:
                self._drop(entries, each.stream_id)

    def _kv(self, record: r.KV) -> None:
        for pair in record.key_values:
            self._put(self.kv, pair.key, pair.value)

    def _remove_kv(self, record: r.RemoveKV) -> None:
        for key in record.keys:
            self._drop(self.kv, key)

    def _broker(self, record: r.BrokerRegistration) -> None:
        self._put(self.brokers, record.broker_id, record.state)

    def _topic(self, record: r.Topic) -> None:
        self._put(self.topics, record.name, record.elastic)

    def _partition(self, record: r.Partition) -> None:
        self._put(self.partitions, (record.topic, record.partition), record)

    def _change(self, record: r.PartitionChange) -> None:
        key = (record.topic, record.partition)
        self._put(self.partitions, key, changed(self.partitions[key], record))


def changed(before: r.Partition, record: r.PartitionChange) -> r.Partition:
    """The registration of a partition after a change record.

    Every record raises the partition epoch by one; a record that writes the leader raises the leader epoch too.
    """
    fields = ("isr", "leader", "replicas", "adding_replicas", "removing_replicas", "leader_recovery_state")
    found = {name: value for name in fields if (value := getattr(record, name)) is not None}
    # In a record None means "not changed", so () and -1 stand for "none".
    if record.original is not None:
        found["original"] = record.original or None
    if record.marker is not None:
        found["marker"] = None if record.marker < 0 else record.marker
    found["partition_epoch"] = before.partition_epoch + 1
    if record.leader is not None:
        found["leader_epoch"] = before.leader_epoch + 1
    return msgspec.structs.replace(before, **found)


_APPLY: dict[type[MetadataRecord], Callable[[Image, Any], None]] = {
    r.AssignedStreamId: Image._stream_id,
    r.AssignedS3ObjectId: Image._object_id,
    r.S3Stream: Image._stream,
    r.RemoveS3Stream: Image._remove_stream,
    r.Range: Image._range,
    r.RemoveRange: Image._remove_range,
    r.S3StreamObject: Image._stream_object,
    r.RemoveS3StreamObject: Image._remove_stream_object,
    r.S3StreamSetObject: Image._set_object,
    r.RemoveStreamSetObject: Image._remove_set_object,
    r.S3Object: Image._object,
    r.RemoveS3Object: Image._remove_object,
    r.NodeWALMetadata: Image._node,
    r.S3StreamEndOffsets: Image._ends,
    r.NodeWALUncommittedOffsets: Image._entries,
    r.KV: Image._kv,
    r.RemoveKV: Image._remove_kv,
    r.BrokerRegistration: Image._broker,
    r.Topic: Image._topic,
    r.Partition: Image._partition,
    r.PartitionChange: Image._change,
}
