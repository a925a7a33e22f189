"""The tables of streams.md 4 and 5: objects, uploads, compactions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from impl.controller.commits import CommittedObject, SetCommit, StreamCommit
from impl.controller.continuity import CommittedRange
from impl.errors import E
from impl.metadata.image import Entry, Image
from impl.oracles.answers.checks import differs, entry_of, newest_range, node_check, owner, owner_check
from impl.oracles.answers.expected_answer import ExpectedAnswer, refused, unchanged, written
from impl.oracles.answers.marks import marks_fail, wrong_marks
from impl.records import ObjectState, StreamState
from impl.wire import PrepareObjects

NOOP = -1


def prepared(image: Image, asked: PrepareObjects, now: int) -> ExpectedAnswer:
    """OB-01."""
    first = image.ids["object"] + 1

    def effect(after: Image) -> Iterator[str]:
        for number in range(first, first + asked.count):
            row = after.objects.get(number)
            found = None if row is None else (row.state.name, row.timestamp)
            yield from differs(f"object {number}", found, ("PREPARED", now + asked.ttl_ms))

    return written(effect, first=first)


def object_check(image: Image, number: int) -> E:
    """OB-02. The error of the commit of an object."""
    row = image.objects.get(number)
    if number == NOOP:
        return E.NONE
    if row is None or row.state not in (ObjectState.PREPARED, ObjectState.COMMITTED):
        return E.OBJECT_NOT_EXIST
    return E.REDUNDANT_OPERATION if row.state is ObjectState.COMMITTED else E.NONE


def _attributes(image: Image, number: int, attributes: int) -> ExpectedAnswer:
    """OB-06."""
    row = image.objects.get(number)
    if row is None:
        return refused(E.OBJECT_NOT_EXIST)
    if row.state is not ObjectState.COMMITTED:
        return refused(E.OBJECT_NOT_COMMITED)
    wanted = row.size, row.state, row.timestamp, attributes

    def effect(after: Image) -> Iterator[str]:
        here = after.objects.get(number)
        found = None if here is None else (here.size, here.state, here.timestamp, here.attributes)
        yield from differs(f"object {number}", found, wanted)

    return written(effect)


def stream_committed(image: Image, commit: StreamCommit) -> ExpectedAnswer:
    """CO-01 to CO-06."""
    if commit.sources == (commit.object,):
        return _attributes(image, commit.object, commit.attributes)
    error = node_check(image, commit.node, commit.node_epoch)
    if error is E.NONE and commit.epoch != -1:
        error = owner_check(image, commit.stream, commit.epoch, commit.node)
    if error is E.NONE:
        error = object_check(image, commit.object)
    if error is not E.NONE:
        return unchanged() if error is E.REDUNDANT_OPERATION else refused(error)
    if marks_fail(image, commit.sources):
        return refused(E.COMPACTED_OBJECTS_NOT_FOUND)
    before = {each: image.objects[each] for each in commit.sources}
    names = [each.name for each in commit.operations[: len(commit.sources)]]
    how = dict(zip(commit.sources, names + ["DELETE"] * (len(commit.sources) - len(names)), strict=True))

    def effect(after: Image) -> Iterator[str]:
        yield from wrong_marks(after, before, how)
        yield from _is_committed(after, commit.object)
        held = after.stream_objects.get(commit.stream, {})
        for each in commit.sources:
            if each in held:
                yield f"object {each} still belongs to stream {commit.stream}, whose compaction has replaced it"
        if commit.object != NOOP and commit.object not in held:
            yield f"object {commit.object} does not belong to stream {commit.stream}"

    # Without an object and without sources nothing is left to write.
    return written(effect) if commit.sources or commit.object != NOOP else unchanged()


def _is_committed(after: Image, number: int) -> Iterator[str]:
    row = after.objects.get(number)
    if number != NOOP:
        yield from differs(f"object {number}", None if row is None else row.state.name, "COMMITTED")


def set_committed(image: Image, commit: SetCommit) -> ExpectedAnswer:
    """CS-01 to CS-35."""
    error = node_check(image, commit.node, commit.node_epoch, failover_passes=commit.failover)
    if error is not E.NONE:
        return refused(error)
    if commit.compacted == (commit.object,):
        return _attributes(image, commit.object, commit.attributes)
    error = object_check(image, commit.object)
    if error is not E.NONE:
        return unchanged() if error is E.REDUNDANT_OPERATION else refused(error)
    held = image.set_objects.get(commit.node, {})
    if marks_fail(image, commit.compacted) or not set(commit.compacted) <= set(held):
        return refused(E.COMPACTED_OBJECTS_NOT_FOUND)
    for each in commit.stream_objects:
        error = E.NONE if each.stream not in image.streams else object_check(image, each.object)
        if error is not E.NONE:
            return unchanged() if error is E.REDUNDANT_OPERATION else refused(error)
    return _compacted(image, commit) if commit.compacted else _uploaded(image, commit)


def _compacted(image: Image, commit: SetCommit) -> ExpectedAnswer:
    """CS-04, CS-08, CS-35."""
    inputs = [image.set_objects[commit.node][each] for each in commit.compacted]
    order = min(each.order for each in inputs) if commit.order == -1 else commit.order
    time = min(each.data_time for each in inputs)
    before = {each: image.objects[each] for each in commit.compacted}
    ends, entries = _raised(image, commit.stream_objects), dict(image.entries.get(commit.node, {}))

    def effect(after: Image) -> Iterator[str]:
        held = after.set_objects.get(commit.node, {})
        yield from wrong_marks(after, before, dict.fromkeys(before, "DELETE"))
        yield from _has_objects(after, commit)
        if commit.object != NOOP:
            output = held.get(commit.object)
            found = None if output is None else (output.order, output.data_time)
            yield from differs(f"the order and time of output {commit.object}", found, (order, time))
        for each in commit.compacted:
            if each in held:
                yield f"object {each} is still an object of node {commit.node}, whose compaction has replaced it"
        yield from _has_ends(after, ends)
        yield from differs(f"the entries of node {commit.node}", after.entries.get(commit.node, {}), entries)

    return written(effect)


def _uploaded(image: Image, commit: SetCommit) -> ExpectedAnswer:
    """CS-05 to CS-07, CS-09, CS-20 to CS-35."""
    node = commit.node
    ranges = (*commit.ranges, *(CommittedRange(each.stream, each.start, each.end) for each in commit.stream_objects))
    for each in ranges:
        error = continuity(image, node, each)
        if error is not E.NONE:
            return refused(error)
    ends = {each.stream: image.streams[each.stream].end for each in ranges if each.stream in image.streams}
    ends |= _raised(image, commit.stream_objects)
    reached: dict[int, int] = {}
    for each in ranges:
        reached[each.stream] = max(each.end, reached.get(each.stream, each.end))
        if owner(image, each.stream) == node and entry_of(image, node, each.stream) is None:
            ends[each.stream] = max(each.end, ends[each.stream])
    entries = dict(_entries_after(image, node, reached))

    def effect(after: Image) -> Iterator[str]:
        yield from _has_objects(after, commit)
        yield from _has_ends(after, ends)
        yield from differs(f"the entries of node {node}", after.entries.get(node, {}), entries)

    return ExpectedAnswer(errors=(E.NONE,), effect=effect)


def continuity(image: Image, node: int, each: CommittedRange) -> E:
    """CS-20 to CS-29b."""
    row, newest = image.streams.get(each.stream), newest_range(image, each.stream)
    entry = entry_of(image, node, each.stream)
    if row is None or each.end <= row.start:
        return E.NONE
    if entry is not None:
        stored = image.entries[node][each.stream]
        fits = each.start == entry.start or (stored.start <= row.start and each.start < row.start)
        return E.NONE if each.end <= entry.to and fits else E.OFFSET_NOT_MATCHED
    if row.state is not StreamState.OPENED:
        return E.STREAM_NOT_OPENED
    if newest is None:
        return E.STREAM_INNER_ERROR
    if newest.node != node:
        return E.STREAM_FENCED
    fits = each.start == row.end if row.end > row.start else each.start <= row.start
    return E.NONE if fits else E.OFFSET_NOT_MATCHED


def _entries_after(image: Image, node: int, reached: dict[int, int]) -> Iterator[tuple[int, Entry]]:
    """CS-30 to CS-33. ``reached``: by stream, the end that the request commits."""
    for stream, stored in image.entries.get(node, {}).items():
        if entry_of(image, node, stream) is None or reached.get(stream) == stored.to:
            continue
        start = reached.get(stream, stored.start)
        yield stream, Entry(start, stored.to) if start > image.streams[stream].start else stored


def _raised(image: Image, objects: Sequence[CommittedObject]) -> dict[int, int]:
    """The ends of the streams of objects, which the objects raise (CS-07)."""
    ends: dict[int, int] = {}
    for each in objects:
        if each.stream in image.streams:
            ends[each.stream] = max(each.end, ends.get(each.stream, image.streams[each.stream].end))
    return ends


def _has_ends(after: Image, ends: dict[int, int]) -> Iterator[str]:
    for stream, end in ends.items():
        yield from differs(f"the end of stream {stream}", after.streams[stream].end, end)


def _has_objects(after: Image, commit: SetCommit) -> Iterator[str]:
    """CS-05, CS-07. The objects of a commit afterwards."""
    yield from _is_committed(after, commit.object)
    if commit.object != NOOP and commit.object not in after.set_objects.get(commit.node, {}):
        yield f"object {commit.object} is no object of node {commit.node}"
    for each in commit.stream_objects:
        if each.stream in after.streams:
            yield from _is_committed(after, each.object)
            if each.object not in after.stream_objects.get(each.stream, {}):
                yield f"object {each.object} does not belong to stream {each.stream}"
        elif each.object in after.objects:
            state = after.objects[each.object].state.name
            yield from differs(f"object {each.object}, whose stream is gone,", state, "MARK_DESTROYED")
