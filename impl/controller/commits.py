"""Commits of objects: WAL uploads and compactions (streams.md 5). Each is all or nothing."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from impl.controller.continuity import CommittedRange, check_continuity, entry_changes, moved_ends
from impl.controller.nodes import check_node_epoch, check_ownership, pack_ranges
from impl.controller.objects import (
    NOOP,
    InputTreatment,
    commit_object,
    mark_destroyed,
    replace_attributes,
)
from impl.controller.view import OperationResult, View
from impl.errors import E
from impl.metadata.image import SetObject
from impl.records import (
    MetadataRecord,
    RemoveS3StreamObject,
    RemoveStreamSetObject,
    S3StreamEndOffsets,
    S3StreamObject,
    S3StreamSetObject,
    pack_end_offsets,
)
from impl.rules import RefusedError, require, rule


class CommittedObject(msgspec.Struct, frozen=True):
    """An object with the offsets [start, end) of one stream, committed beside a stream set object."""

    object: int
    stream: int
    start: int
    end: int
    size: int = 0
    attributes: int = 0


class SetCommit(msgspec.Struct, frozen=True):
    """A commit of an object with data of many streams: a compaction of the ``compacted`` objects, else a WAL upload."""

    node: int
    node_epoch: int
    object: int
    order: int
    size: int = 0
    attributes: int = 0
    failover: bool = False
    ranges: tuple[CommittedRange, ...] = ()
    stream_objects: tuple[CommittedObject, ...] = ()
    compacted: tuple[int, ...] = ()


class StreamCommit(msgspec.Struct, frozen=True):
    """A commit of a compaction of ``sources``, objects of one stream. Epoch -1: do not check the owner (CO-03)."""

    node: int
    node_epoch: int
    object: int
    size: int
    stream: int
    epoch: int
    start: int
    end: int
    sources: tuple[int, ...] = ()
    attributes: int = 0
    operations: tuple[InputTreatment, ...] = ()


def commit_stream_set_object(view: View, commit: SetCommit) -> OperationResult:
    """CS-01 to CS-35. Commit a stream set object. A repeated commit succeeds and changes nothing."""
    exempt = rule("CS-01", commit.failover)  # G-10
    check_node_epoch(view.image, commit.node, commit.node_epoch, failover_barred=not exempt)
    if rule("CS-02", commit.compacted == (commit.object,)):
        return replace_attributes(view, commit.object, commit.size, commit.attributes)
    try:
        records = commit_object(view, commit.object, commit.size, commit.attributes)
    except RefusedError as refused:
        if refused.error is E.REDUNDANT_OPERATION and rule("CS-03"):  # G-21
            return OperationResult()
        raise
    return _commit_compaction(view, commit, records) if commit.compacted else _commit_upload(view, commit, records)


def _commit_upload(view: View, commit: SetCommit, records: list[MetadataRecord]) -> OperationResult:
    """CS-05 to CS-09. Commit a WAL upload. Its ranges, and those of its stream objects, move ends and entries."""
    if commit.object != NOOP:  # CS-05
        records.append(_set_object(commit, commit.order, view.now))
    committed = [
        *commit.ranges,
        *(CommittedRange(each.stream, each.start, each.end) for each in commit.stream_objects),
    ]
    ends = moved_ends(view.image, commit.node, committed)
    if rule("CS-06", bool(ends)):
        records.append(S3StreamEndOffsets(pack_end_offsets(ends)))
    siblings = _commit_stream_objects(view, commit.stream_objects)
    if siblings is None:
        return OperationResult()
    records += siblings
    # A refusal drops all records above, since none of them is applied yet.
    for each in committed:  # CS-09
        check_continuity(view.image, commit.node, each)
    records += entry_changes(view, commit.node, committed)
    return OperationResult(tuple(records))


def _commit_compaction(view: View, commit: SetCommit, records: list[MetadataRecord]) -> OperationResult:
    """CS-04 to CS-08. Commit a compaction. Its data was committed before, so no end and no entry moves (CS-35, G-30).

    If an input is not a stream set object of the node, AutoMQ fails with an unhandled error (AM-12). Here the
    controller refuses the whole commit as if the input were missing.
    """
    held = view.image.set_objects.get(commit.node, {})
    marked = mark_destroyed(view, commit.compacted)
    require(marked is not None, "CS-04.destroyed", E.COMPACTED_OBJECTS_NOT_FOUND)
    require(all(each in held for each in commit.compacted), "CS-04.foreign", E.COMPACTED_OBJECTS_NOT_FOUND)
    inputs = [held.get(each, SetObject(commit.order, view.now)) for each in commit.compacted]
    order = commit.order
    if rule("CS-04.order", order == -1):
        order = min(each.order for each in inputs)
    time = view.now
    if rule("CS-04.time"):
        time = min(each.data_time for each in inputs)
    records += marked or ()
    if commit.object != NOOP:  # CS-05
        records.append(_set_object(commit, order, time))
    siblings = _commit_stream_objects(view, commit.stream_objects)
    if siblings is None:
        return OperationResult()
    records += siblings
    records += (RemoveStreamSetObject(commit.node, each) for each in commit.compacted)  # CS-08
    return OperationResult(tuple(records))


def _set_object(commit: SetCommit, order: int, data_time: int) -> S3StreamSetObject:
    ranges = pack_ranges((each.stream, each.start, each.end) for each in commit.ranges)
    return S3StreamSetObject(commit.node, commit.object, order, data_time, ranges)


def _commit_stream_objects(view: View, objects: Sequence[CommittedObject]) -> list[MetadataRecord] | None:
    """CS-07. The records for stream objects; None if one of them is committed already.

    Then the request repeats an earlier one, and has no effect. If the stream of an object is missing, the object is
    destroyed and the commit goes on. An object that was marked before stays marked.
    """
    records: list[MetadataRecord] = []
    for each in objects:
        if rule("CS-07.missing", each.stream not in view.image.streams):
            records += mark_destroyed(view, (each.object,), (InputTreatment.DEEP_DELETE,)) or ()
            continue
        try:
            records += commit_object(view, each.object, each.size, each.attributes)
        except RefusedError as refused:
            if refused.error is E.REDUNDANT_OPERATION and rule("CS-07.redundant"):  # G-21
                return None
            raise
        records.append(S3StreamObject(each.stream, each.start, each.end, each.object))
    return records


def commit_stream_object(view: View, commit: StreamCommit) -> OperationResult:
    """CO-01 to CO-06. Commit a compaction of one stream.

    The controller checks neither state nor offsets of the stream, so its end may rise (AM-07).
    """
    if rule("CO-01", commit.sources == (commit.object,)):
        return replace_attributes(view, commit.object, commit.size, commit.attributes)
    check_node_epoch(view.image, commit.node, commit.node_epoch, failover_barred=True)  # CO-02
    if rule("CO-03", commit.epoch != -1):
        check_ownership(view.image, commit.stream, commit.epoch, commit.node)
    try:
        records = commit_object(view, commit.object, commit.size, commit.attributes)
    except RefusedError as refused:
        if refused.error is E.REDUNDANT_OPERATION and rule("CO-04"):
            return OperationResult()
        raise
    marked = mark_destroyed(view, commit.sources, commit.operations)
    require(marked is not None, "CO-05", E.COMPACTED_OBJECTS_NOT_FOUND)
    records += marked or ()
    if commit.object != NOOP:  # CO-06
        records.append(S3StreamObject(commit.stream, commit.start, commit.end, commit.object))
    records += (RemoveS3StreamObject(commit.stream, each) for each in commit.sources)
    return OperationResult(tuple(records))
