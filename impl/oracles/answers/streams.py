"""The tables of streams.md 3: create, open, close, trim, delete, describe."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from impl.errors import E
from impl.items import CloseItem, CreateItem, OpenItem, TrimItem
from impl.metadata.image import Entry, Image, Stream, StreamObject, StreamRange
from impl.oracles.answers.checks import differs, entry_of, is_locked, newest_range, node_check, owner, owner_check
from impl.oracles.answers.expected_answer import ExpectedAnswer, refused, unchanged, written
from impl.oracles.answers.marks import marks_fail, wrong_marks
from impl.records import PARTITION_TAG, TOPIC_TAG, StreamState, Tag
from impl.wire import DescribeStreams


def created(image: Image, node: int, epoch: int, item: CreateItem) -> ExpectedAnswer:
    """ST-01, ST-02."""
    error = node_check(image, node, epoch)
    if error is not E.NONE:
        return refused(error)
    stream = image.ids["stream"] + 1
    return written(lambda after: differs(f"stream {stream}", after.streams.get(stream), Stream(tags=item.tags)))


def opened(image: Image, node: int, epoch: int, item: OpenItem) -> ExpectedAnswer:
    """ST-10 to ST-24."""
    error = node_check(image, node, epoch)
    if error is not E.NONE:
        return refused(error)
    row, newest = image.streams.get(item.stream), newest_range(image, item.stream)
    if row is None:
        return refused(E.STREAM_NOT_EXIST)
    if row.epoch > item.epoch:
        return refused(E.STREAM_FENCED)
    waits = entry_of(image, node, item.stream) is not None
    values = {"start": row.start, "next": row.end}
    if row.epoch == item.epoch:
        if newest is None:
            return refused(E.STREAM_INNER_ERROR)
        if newest.node != node:
            return refused(E.STREAM_FENCED)
        if waits:
            return refused(E.STREAM_NOT_CLOSED)
        if row.state is StreamState.OPENED:
            return unchanged(**values)
        wanted = {item.stream: dict(image.ranges[item.stream])}
        return written(lambda after: _is_opened(after, item.stream, row.epoch, row.tags, wanted), **values)
    if row.state is StreamState.OPENED or waits:
        return refused(E.STREAM_NOT_CLOSED)
    if newest is not None and newest.node != node and is_locked(image, newest.node):
        return refused(E.NODE_LOCKED)
    ranges = {
        index: each for index, each in image.ranges.get(item.stream, {}).items() if not _goes(image, item.stream, index)
    }
    if newest is not None:
        ranges[row.range_index] = StreamRange(newest.epoch, newest.node, newest.start, row.end)
    ranges[row.range_index + 1] = StreamRange(item.epoch, node, row.end, row.end)
    wanted, tags = {item.stream: ranges}, row.tags or item.tags
    return written(lambda after: _is_opened(after, item.stream, item.epoch, tags, wanted), **values)


def _is_opened(
    after: Image, stream: int, epoch: int, tags: tuple[Tag, ...], ranges: dict[int, dict[int, StreamRange]]
) -> Iterator[str]:
    """ST-17, ST-24: the stream and its ranges after an open."""
    row = after.streams[stream]
    found = row.state, row.epoch, row.range_index, row.tags
    yield from differs(f"opened stream {stream}", found, (StreamState.OPENED, epoch, max(ranges[stream]), tags))
    yield from differs(f"the ranges of opened stream {stream}", after.ranges.get(stream, {}), ranges[stream])


def _goes(image: Image, stream: int, index: int) -> bool:
    """ST-18. Whether an open removes a range."""
    held = sorted(image.stream_objects.get(stream, {}).values(), key=lambda each: (each.start, each.end))
    if not held or index == image.streams[stream].range_index:
        return False
    each, end = image.ranges[stream][index], _first_gap(held)
    return (held[0].start <= each.start and each.end <= end) or each.start == each.end


def _first_gap(held: Sequence[StreamObject]) -> int:
    """The end of the first run of objects without a gap. They ascend by their starts."""
    ends = [max(each.end for each in held[: number + 1]) for number in range(len(held))]
    gaps = (end for end, (_, behind) in zip(ends, pairwise(held), strict=False) if behind.start > end)
    return next(gaps, ends[-1])


def closed(image: Image, node: int, epoch: int, item: CloseItem, *, fast: bool) -> ExpectedAnswer:
    """ST-30 to ST-38. ``fast``: whether this version has the fast close."""
    if item.end >= 0 and not fast:
        return refused(E.UNSUPPORTED_VERSION)
    error = node_check(image, node, epoch, failover_passes=True)
    if error is E.NONE:
        error = owner_check(image, item.stream, item.epoch, node)
    if error is not E.NONE:
        return refused(error)
    row, newest = image.streams[item.stream], newest_range(image, item.stream)
    assert newest is not None
    if row.state is StreamState.CLOSED:
        return unchanged() if item.end in (-1, newest.end) else refused(E.OFFSET_NOT_MATCHED)
    if 0 <= item.end < row.end:
        return refused(E.OFFSET_NOT_MATCHED)
    end, sealed = (row.end, newest.end) if item.end < 0 else (item.end, item.end)
    entry = image.entries.get(node, {}).get(item.stream)
    if item.end > row.end:
        entry = Entry(row.end, item.end)

    def effect(after: Image) -> Iterator[str]:
        here, last = after.streams[item.stream], newest_range(after, item.stream)
        found = here.state, here.epoch, here.end, None if last is None else last.end
        yield from differs(f"closed stream {item.stream}", found, (StreamState.CLOSED, row.epoch, end, sealed))
        what = f"what node {node} has to commit of closed stream {item.stream}"
        yield from differs(what, after.entries.get(node, {}).get(item.stream), entry)

    return written(effect)


def trimmed(image: Image, node: int, epoch: int, item: TrimItem) -> ExpectedAnswer:
    """ST-40 to ST-45."""
    error = node_check(image, node, epoch)
    if error is E.NONE:
        error = owner_check(image, item.stream, item.epoch, node)
    if error is not E.NONE:
        return refused(error)
    row = image.streams[item.stream]
    if row.state is StreamState.CLOSED:
        return refused(E.STREAM_NOT_OPENED)
    if item.to < row.start:
        return refused(E.OFFSET_NOT_MATCHED)
    if item.to == row.start:
        return unchanged()
    before = sorted(image.ranges[item.stream].items())
    if any(earlier.end > later.start for (_, earlier), (_, later) in pairwise(before)):
        return ExpectedAnswer(errors=(E.NONE,), writes=True)  # The facts know no ranges that overlap.
    ranges = dict(_trimmed_ranges(before, row, item.to))

    def effect(after: Image) -> Iterator[str]:
        here = after.streams[item.stream]
        found = here.start, here.end, here.state
        yield from differs(f"trimmed stream {item.stream}", found, (item.to, max(row.end, item.to), StreamState.OPENED))
        yield from differs(f"the ranges of trimmed stream {item.stream}", after.ranges[item.stream], ranges)

    return written(effect)


def _trimmed_ranges(
    ranges: Iterable[tuple[int, StreamRange]], row: Stream, to: int
) -> Iterator[tuple[int, StreamRange]]:
    """ST-44. The ranges after a trim. Those at or above its offset are as before."""
    for index, each in ranges:
        if each.start >= to:
            yield index, each
        elif index == row.range_index:
            yield index, StreamRange(each.epoch, each.node, to, max(to, row.end))
        elif each.end > to:
            yield index, StreamRange(each.epoch, each.node, to, each.end)


def deleted(image: Image, stream: int) -> ExpectedAnswer:
    """ST-50 to ST-52."""
    row = image.streams.get(stream)
    if row is None:
        return unchanged()
    if row.state is not StreamState.CLOSED:
        return refused(E.STREAM_NOT_CLOSED)
    objects = sorted(image.stream_objects.get(stream, {}))
    if marks_fail(image, objects):
        return refused(E.STREAM_INNER_ERROR)
    before = {each: image.objects[each] for each in objects}

    def effect(after: Image) -> Iterator[str]:
        if stream in after.streams or after.ranges.get(stream) or after.stream_objects.get(stream):
            yield f"deleted stream {stream} is still there"
        yield from wrong_marks(after, before, dict.fromkeys(before, "DEEP_DELETE"))

    return written(effect)


def described(image: Image, asked: DescribeStreams) -> ExpectedAnswer:
    """ST-60. Only the ids of the streams are looked at."""
    if asked.stream is not None:
        found = [asked.stream] if asked.stream in image.streams else []
    elif asked.node is not None:
        found = [stream for stream in image.streams if owner(image, stream) == asked.node]
    elif asked.topic is not None:
        wanted = {Tag(TOPIC_TAG, asked.topic), Tag(PARTITION_TAG, str(asked.partition))}
        found = [stream for stream, row in image.streams.items() if wanted <= set(row.tags)]
    else:
        return refused(E.INVALID_REQUEST)
    return unchanged(streams=sorted(found))
