"""The operations on streams (streams.md 3), and the registration of a node, which answers with its streams (6)."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from impl.controller.nodes import NO_STREAM, check_node_epoch, check_ownership, is_locked, owner_of
from impl.controller.objects import InputTreatment, mark_destroyed
from impl.controller.ranges import range_record, removable, trim_ranges
from impl.controller.view import OperationResult, View
from impl.errors import E
from impl.metadata.image import Image, Stream, StreamRange
from impl.records import (
    PARTITION_TAG,
    TOPIC_TAG,
    AssignedStreamId,
    MetadataRecord,
    NodeWALMetadata,
    NodeWALUncommittedOffsets,
    RemoveRange,
    RemoveS3Stream,
    S3Stream,
    StreamState,
    Tag,
    UncommittedOffsets,
)
from impl.rules import RefusedError, require, rule


def partition_tags(topic: str, partition: int) -> tuple[Tag, ...]:
    """The tags of a stream of a partition."""
    return Tag(TOPIC_TAG, topic), Tag(PARTITION_TAG, str(partition))


def partition_of(row: Stream) -> tuple[str, int]:
    """The topic and the partition of a stream, ("", -1) if it is not tagged."""
    tags = {tag.key: tag.value for tag in row.tags}
    return tags.get(TOPIC_TAG, ""), int(tags.get(PARTITION_TAG, "-1"))


def stream_record(stream: int, row: Stream) -> S3Stream:
    """The record that stores a stream. It has no field for the end of the stream (ID-05)."""
    return S3Stream(stream, row.epoch, row.range_index, row.start, row.state, row.tags)


def create_stream(view: View, node: int, node_epoch: int, tags: tuple[Tag, ...] = ()) -> OperationResult:
    """ST-01, ST-02. Create a stream; the answer holds its id.

    Each request allocates an id, so a repeated request leaves a stream that nobody uses.
    """
    check_node_epoch(view.image, node, node_epoch, failover_barred=True)
    stream = view.image.ids["stream"] + 1
    return OperationResult(
        (AssignedStreamId(stream), stream_record(stream, Stream(tags=tags))), values={"stream": stream}
    )


# Registration ---------------------------------------------------------------------------------------------------


def get_opening_streams(view: View, node: int, node_epoch: int, failover: bool = False) -> OperationResult:
    """ND-01 to ND-03. Register the process ``node_epoch`` of a node; the answer lists the streams of its WAL.

    From then on the checks of node epochs refuse older processes. The list has every stream of which the WAL may hold
    data, by id. An equal epoch overwrites the failover flag too (AM-19). A refusal lists no streams.
    """
    stored = view.image.nodes.get(node)
    try:
        require(stored is None or stored.epoch <= node_epoch, "ND-01", E.NODE_EPOCH_EXPIRED)  # G-32
        streams = _opened_streams(view.image, node)
        if view.profile.v6:
            streams += _sealed_streams(view.image, node, {each["stream"] for each in streams})
    except RefusedError as refused:
        return OperationResult(error=refused.error, values={"streams": []})
    streams.sort(key=lambda each: int(each["stream"]))
    return OperationResult((NodeWALMetadata(node, node_epoch, failover),), values={"streams": streams})


def _opened_streams(image: Image, node: int) -> list[dict[str, int]]:
    """ND-02. The streams that are OPENED on the node."""
    opened = []
    for stream in image.opened_on.get(node, {}):
        row, current = image.streams[stream], image.current_range(stream)
        if current is not None and rule("ND-02"):  # G-33
            end = max(row.end, row.start)
            opened.append({"stream": stream, "epoch": current.epoch, "start": row.start, "end": end})
    return opened


def _sealed_streams(image: Image, node: int, listed: set[int]) -> list[dict[str, int]]:
    """ND-03. The streams of the node's active entries.

    The reported end is the start of the entry: the node still has to commit the offsets from there on. ``listed``: the
    streams that the answer already has.
    """
    sealed = []
    for stream in image.entries.get(node, {}):
        entry = image.active_entry(node, stream)
        if entry is None or not rule("ND-03"):
            continue
        # The range that the fast close has sealed: it ends where the entry ends, and holds the start of the entry.
        fitting = [
            row
            for row in image.ranges.get(stream, {}).values()
            if row.node == node and row.start <= entry.start < row.end and row.end == entry.to
        ]
        require(bool(fitting), "ND-03.none", E.STREAM_INNER_ERROR)  # G-34
        require(len(fitting) <= 1, "ND-03.many", E.STREAM_INNER_ERROR)
        require(stream not in listed, "ND-03.listed", E.STREAM_INNER_ERROR)
        start = image.streams[stream].start
        sealed += [{"stream": stream, "epoch": row.epoch, "start": start, "end": entry.start} for row in fitting]
    return sealed


# Open -----------------------------------------------------------------------------------------------------------


def open_stream(
    view: View, node: int, node_epoch: int, stream: int, epoch: int, tags: tuple[Tag, ...] = ()
) -> OperationResult:
    """ST-10 to ST-24. Open a stream under ``epoch``. The answer holds its start, and the offset of the next append."""
    check_node_epoch(view.image, node, node_epoch, failover_barred=True)  # ST-10
    stored = view.image.streams.get(stream, NO_STREAM)
    require(stream in view.image.streams, "ST-11", E.STREAM_NOT_EXIST)
    require(stored.epoch <= epoch, "ST-12", E.STREAM_FENCED)  # G-01
    if rule("ST-13", stored.epoch == epoch):
        records = _open_again(view, node, stream)
    else:
        records = _open_anew(view, node, stream, epoch, tags)
    return OperationResult(tuple(records), values={"start": stored.start, "next": stored.end})


def _open_again(view: View, node: int, stream: int) -> list[MetadataRecord]:
    """ST-20 to ST-24. The owner returns with the epoch of its range, and gets the same range.

    After open, close and open under one epoch, a late duplicate of the close ends the new lease (AM-20). The controller
    cannot tell the two closes apart. Brokers prevent this: they never open a stream again under an epoch that they have
    closed.
    """
    stored = view.image.streams.get(stream, NO_STREAM)
    require(view.image.current_range(stream) is not None, "ST-20", E.STREAM_INNER_ERROR)
    require(owner_of(view.image, stream) == node, "ST-21", E.STREAM_FENCED)  # G-03
    require(view.image.active_entry(node, stream) is None, "ST-22", E.STREAM_NOT_CLOSED)  # G-04
    if rule("ST-23", stored.state is StreamState.OPENED):
        return []
    return [stream_record(stream, replace(stored, state=StreamState.OPENED))]  # ST-24


def _open_anew(view: View, node: int, stream: int, epoch: int, tags: tuple[Tag, ...]) -> list[MetadataRecord]:
    """ST-14 to ST-18. A new epoch begins a new range where the stream ends."""
    image = view.image
    stored = image.streams.get(stream, NO_STREAM)
    require(stored.state is StreamState.CLOSED, "ST-14", E.STREAM_NOT_CLOSED)  # G-02
    require(image.active_entry(node, stream) is None, "ST-15", E.STREAM_NOT_CLOSED)  # G-04
    owner = owner_of(image, stream)
    require(owner == node or not is_locked(image, owner), "ST-16", E.NODE_LOCKED)  # G-05
    index = stored.range_index + 1
    opened = replace(stored, epoch=epoch, range_index=index, state=StreamState.OPENED)
    if rule("ST-17.tags", not stored.tags):
        opened = replace(opened, tags=tags)
    records: list[MetadataRecord] = [stream_record(stream, opened)]
    current = image.current_range(stream)
    # The new range begins at the end of the stream, so the range before it has to end there.
    if current is not None and rule("ST-17.seal"):  # G-06
        records.append(range_record(stream, stored.range_index, replace(current, end=stored.end)))
    records.append(range_record(stream, index, StreamRange(epoch, node, stored.end, stored.end)))
    # ``image`` is the state before this open: its current range, which is never removable, is the one sealed above.
    return [*records, *(RemoveRange(stream, each) for each in removable(image, stream))]


# Close ----------------------------------------------------------------------------------------------------------


def close_stream(view: View, node: int, node_epoch: int, stream: int, epoch: int, end: int = -1) -> OperationResult:
    """ST-30 to ST-38. Close a stream.

    ``end``: the offset at which a fast close seals the stream; -1 for the legacy close, after which the next open seals
    it.
    """
    image = view.image
    fast = end >= 0
    require(not fast or view.profile.v6, "ST-30", E.UNSUPPORTED_VERSION)
    check_node_epoch(image, node, node_epoch, failover_barred=not rule("ST-31"))  # G-11
    check_ownership(image, stream, epoch, node)  # ST-32, ST-38
    stored = image.streams.get(stream, NO_STREAM)
    # The checks above make sure of a range, unless a test has switched them off.
    current = image.current_range(stream) or StreamRange(epoch, node, stored.end, stored.end)
    closed = stored.state is StreamState.CLOSED
    if rule("ST-33", closed and (not fast or end == current.end)):  # G-16
        return OperationResult()
    require(not (closed and fast), "ST-34", E.OFFSET_NOT_MATCHED)  # G-15
    require(not fast or end >= stored.end, "ST-35", E.OFFSET_NOT_MATCHED)  # G-14
    records: list[MetadataRecord] = [stream_record(stream, replace(stored, state=StreamState.CLOSED))]  # ST-36
    if rule("ST-37.end", fast and end != current.end):  # G-17
        records.append(range_record(stream, stored.range_index, replace(current, end=end)))
    if rule("ST-37.entry", fast and end > stored.end):  # G-17
        records.append(NodeWALUncommittedOffsets(node, (UncommittedOffsets(stream, stored.end, end),)))
    return OperationResult(tuple(records))


# Trim, delete ---------------------------------------------------------------------------------------------------


def trim_stream(view: View, node: int, node_epoch: int, stream: int, epoch: int, to: int) -> OperationResult:
    """ST-40 to ST-45. Raise the start of a stream to ``to``. A start above the end raises that too.

    Entries do not change (CK-03).
    """
    image = view.image
    check_node_epoch(image, node, node_epoch, failover_barred=True)  # ST-40
    check_ownership(image, stream, epoch, node)
    stored = image.streams.get(stream, NO_STREAM)
    require(stored.state is StreamState.OPENED, "ST-41", E.STREAM_NOT_OPENED)  # G-18
    require(to >= stored.start, "ST-42", E.OFFSET_NOT_MATCHED)  # G-18
    if rule("ST-43", to == stored.start):
        return OperationResult()
    return OperationResult((stream_record(stream, replace(stored, start=to)), *trim_ranges(image, stream, to)))


def delete_stream(view: View, stream: int) -> OperationResult:
    """ST-50 to ST-52. Delete a closed stream. To delete a missing one is a success.

    The controller checks neither node, epoch nor owner (AM-11). Entries stay until the node's next commit.
    """
    if rule("ST-50", stream not in view.image.streams):
        return OperationResult()
    stored = view.image.streams.get(stream, NO_STREAM)
    require(stored.state is StreamState.CLOSED, "ST-51", E.STREAM_NOT_CLOSED)  # G-20
    objects = sorted(view.image.stream_objects.get(stream, {}))
    marked = mark_destroyed(view, objects, (InputTreatment.DEEP_DELETE,) * len(objects))
    require(marked is not None, "ST-52", E.STREAM_INNER_ERROR)
    return OperationResult((RemoveS3Stream(stream), *(marked or ())))


# Describe -------------------------------------------------------------------------------------------------------


def describe_streams(
    view: View,
    stream: int | None = None,
    node: int | None = None,
    topic: str | None = None,
    partition: int | None = None,
) -> OperationResult:
    """ST-60. Describe the stream with an id, else the streams of a node, else the streams tagged with a partition."""
    image = view.image
    require(not (stream is None and node is None and topic is None), "ST-60", E.INVALID_REQUEST)
    if stream is not None:
        found = [each for each in (stream,) if each in image.streams]
    elif node is not None:
        found = [each for each in image.streams if owner_of(image, each) == node]
    else:
        found = [each for each, row in image.streams.items() if partition_of(row) == (topic, partition)]
    return OperationResult(values={"streams": [_description(image, each) for each in sorted(found)]})


def _description(image: Image, stream: int) -> dict[str, Any]:
    row, current = image.streams[stream], image.current_range(stream)
    topic, partition = partition_of(row)
    return {
        "stream": stream,
        "node": -1 if current is None else current.node,
        "state": row.state.name,
        "topic": topic,
        "partition": partition,
        "epoch": row.epoch,
        "start": row.start,
        "end": -1 if current is None else row.end,
    }
