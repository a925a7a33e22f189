"""Commits of uploads against the tables of streams.md 5."""

from __future__ import annotations

import pytest

from impl.controller.commits import CommittedObject
from impl.controller.nodes import unpack_ranges
from impl.controller.objects import DEEP_DELETE
from impl.controller.streams import (
    close_stream,
    create_stream,
    delete_stream,
    get_opening_streams,
    open_stream,
    trim_stream,
)
from impl.errors import E
from impl.metadata.image import Entry, StoredObject, Stream, StreamObject
from impl.records import NodeWALUncommittedOffsets, ObjectState, S3Stream, StreamState, UncommittedOffsets
from impl.rules import without
from tests.impl.stream_layer import kinds, opened, sealed

# WAL uploads ----------------------------------------------------------------------------------------------------


def test_upload_of_one_object() -> None:
    """CS-03 to CS-06: the object commits, joins the node's data, and moves the stream's end."""
    tables = opened()
    tables.now = 70
    outcome = tables.commit(0, (0, 0, 4), size=100, attributes=2)
    assert (outcome.error, kinds(outcome)) == (E.NONE, ["OBJ+", "SSO", "ENDOFF"])
    assert tables.image.objects[0] == StoredObject(100, ObjectState.COMMITTED, 70, 2)
    held = tables.image.set_objects[0][0]
    assert (held.order, held.data_time, unpack_ranges(held.ranges)) == (0, 70, [(0, 0, 4)])
    assert tables.image.streams[0].end == 4


def test_upload_of_a_stream_object_alone() -> None:
    """CS-05, CS-07: the id -1 is no object, and an object of one stream moves its end too."""
    tables = opened()
    outcome = tables.commit(-1, objects=(CommittedObject(3, 0, 0, 4, 50, 1),))
    assert kinds(outcome) == ["ENDOFF", "OBJ+", "SO"]
    assert tables.image.streams[0].end == 4
    assert tables.image.stream_objects[0] == {3: StreamObject(0, 4)}
    assert tables.image.objects[3] == StoredObject(50, ObjectState.COMMITTED, 0, 1)
    assert tables.image.set_objects == {}


def test_upload_needs_its_end_record() -> None:
    """Without CS-06 a committed range moves no end."""
    tables = opened()
    with without("CS-06"):
        tables.commit(0, (0, 0, 4))
    assert tables.image.streams[0].end == 0


@pytest.mark.parametrize(
    ("node", "epoch", "error", "label"),
    [(7, 1, E.NODE_EPOCH_NOT_EXIST, "CK-01.unknown"), (0, 0, E.NODE_EPOCH_EXPIRED, "CK-01.expired")],
)
def test_upload_of_another_process(node: int, epoch: int, error: E, label: str) -> None:
    """CS-01: unknown nodes and old processes commit nothing."""
    tables = opened()
    assert tables.commit(0, (0, 0, 4), node=node, epoch=epoch).error is error
    with without(label):
        assert tables.commit(0, (0, 0, 4), node=node, epoch=epoch).error is not error


def test_upload_during_a_failover() -> None:
    """CS-01: the flag bars the old process, and not the failover worker."""
    tables = opened()
    tables.run(get_opening_streams, 0, 1, failover=True)
    assert tables.commit(0, (0, 0, 4)).error is E.NODE_FENCED
    with without("CS-01"):
        assert tables.commit(0, (0, 0, 4), failover=True).error is E.NODE_FENCED
    assert tables.commit(0, (0, 0, 4), failover=True).error is E.NONE


def test_repeated_upload() -> None:
    """CS-03: the retry of a commit whose answer was lost succeeds without effect, whatever its ranges say now."""
    tables = opened()
    tables.commit(0, (0, 0, 4))
    again = tables.commit(0, (0, 0, 4))
    assert (again.error, again.records) == (E.NONE, ())
    with without("CS-03"):
        assert tables.commit(0, (0, 0, 4)).error is E.REDUNDANT_OPERATION
    with without("CS-03", "OB-02.redundant"):
        assert tables.commit(0, (0, 0, 4)).error is E.OFFSET_NOT_MATCHED


def test_same_data_under_another_id() -> None:
    """CS-29a: the same range again fails, though its object is a new one."""
    tables = opened()
    tables.commit(0, (0, 0, 4))
    assert tables.commit(1, (0, 0, 4)).error is E.OFFSET_NOT_MATCHED
    assert tables.image.objects[1].state is ObjectState.PREPARED


def test_upload_of_a_missing_object() -> None:
    """CS-03, CS-07: an object that was never prepared refuses the request, as main object and beside one."""
    tables = opened()
    assert tables.commit(99, (0, 0, 4)).error is E.OBJECT_NOT_EXIST
    assert tables.commit(0, objects=(CommittedObject(99, 0, 0, 4),)).error is E.OBJECT_NOT_EXIST
    assert tables.image.objects[0].state is ObjectState.PREPARED


def test_repeated_stream_object() -> None:
    """CS-07: a committed sibling makes the whole request a repetition, before continuity is judged."""
    tables = opened()
    tables.commit(-1, objects=(CommittedObject(3, 0, 0, 4),))
    outcome = tables.commit(0, (0, 9, 12), objects=(CommittedObject(3, 0, 0, 4),))
    assert (outcome.error, outcome.records) == (E.NONE, ())
    with without("CS-07.redundant"):
        assert tables.commit(0, (0, 9, 12), objects=(CommittedObject(3, 0, 0, 4),)).error is E.REDUNDANT_OPERATION


def test_stream_object_of_a_missing_stream() -> None:
    """CS-07: it is destroyed with what it links, the rest commits, and a repetition changes nothing."""
    tables = opened()
    outcome = tables.commit(0, (0, 0, 4), objects=(CommittedObject(3, 9, 0, 4),))
    assert (outcome.error, kinds(outcome)) == (E.NONE, ["OBJ+", "SSO", "ENDOFF", "OBJX"])
    assert tables.image.objects[3] == StoredObject(0, ObjectState.MARK_DESTROYED, 0, DEEP_DELETE)
    assert tables.commit(-1, objects=(CommittedObject(3, 9, 0, 4),)).records == ()
    with without("CS-07.missing"):
        assert kinds(tables.commit(-1, objects=(CommittedObject(4, 9, 0, 4),))) == ["OBJ+", "SO"]


# Continuity -----------------------------------------------------------------------------------------------------


def test_range_of_a_missing_stream() -> None:
    """CS-20: the object commits, and its data of the stream is orphaned."""
    tables = opened()
    assert kinds(tables.commit(0, (9, 5, 8))) == ["OBJ+", "SSO"]
    with without("CS-20"):
        assert tables.commit(1, (9, 5, 8)).error is E.STREAM_NOT_OPENED


def test_range_below_the_start() -> None:
    """CS-21: trimmed data passes from any node and in any state, and moves nothing."""
    tables = opened()
    tables.run(trim_stream, 0, 1, 0, 1, 8)
    tables.run(close_stream, 0, 1, 0, 1)
    assert kinds(tables.commit(0, (0, 2, 8), node=1)) == ["OBJ+", "SSO"]
    assert tables.image.streams[0].end == 8
    with without("CS-21"):
        assert tables.commit(1, (0, 2, 8), node=1).error is E.STREAM_NOT_OPENED


@pytest.mark.parametrize(
    ("committed", "node", "error", "label"),
    [
        ((0, 3, 9), 0, E.OFFSET_NOT_MATCHED, "CS-29a"),
        ((0, 5, 9), 0, E.OFFSET_NOT_MATCHED, "CS-29a"),
        ((0, 4, 9), 1, E.STREAM_FENCED, "CS-28"),
        ((1, 1, 2), 0, E.OFFSET_NOT_MATCHED, "CS-29b"),
        ((2, 0, 2), 0, E.STREAM_NOT_OPENED, "CS-26"),
        ((3, 0, 2), 0, E.STREAM_INNER_ERROR, "CS-27"),
    ],
)
def test_continuity_refuses(committed: tuple[int, int, int], node: int, error: E, label: str) -> None:
    """CS-26 to CS-29b: each row refuses the whole request with its error, and not without its guard.

    Stream 0 is committed to 4; stream 1 is OPENED and empty, 2 CLOSED, and 3 OPENED without a range.
    """
    tables = opened()
    tables.commit(0, (0, 0, 4))
    for _ in range(3):
        tables.run(create_stream, 0, 1)
    for stream in (1, 2):
        tables.run(open_stream, 0, 1, stream, 1)
    tables.run(close_stream, 0, 1, 2, 1)
    tables.inject(S3Stream(3, 1, 0, 0, StreamState.OPENED))
    outcome = tables.commit(1, committed, node=node)
    assert (outcome.error, outcome.records) == (error, ())
    assert tables.image.objects[1].state is ObjectState.PREPARED
    with without(label):
        assert tables.commit(1, committed, node=node).error is not error


def test_upload_into_an_empty_stream() -> None:
    """CS-29b: where nothing is committed above the start, the range may begin below it."""
    tables = opened()
    tables.run(trim_stream, 0, 1, 0, 1, 8)
    assert tables.commit(0, (0, 6, 10)).error is E.NONE
    assert tables.image.streams[0].end == 10


def test_two_ranges_of_a_stream() -> None:
    """AM-06: each range is judged on the end before the request, and the larger end counts."""
    tables = opened()
    assert tables.commit(0, (0, 0, 6), (0, 0, 4)).error is E.NONE
    assert tables.image.streams[0].end == 6
    assert tables.commit(1, (0, 6, 8), (0, 8, 9)).error is E.OFFSET_NOT_MATCHED


def test_one_bad_range_refuses_all() -> None:
    """CS-09: the first range that fails fails the request, also where it stands behind stream objects."""
    tables = opened()
    outcome = tables.commit(0, (0, 0, 4), objects=(CommittedObject(3, 0, 2, 4),))
    assert (outcome.error, outcome.records) == (E.OFFSET_NOT_MATCHED, ())
    assert tables.image.objects[3].state is ObjectState.PREPARED


# Entries --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("committed", "entry"),
    [((0, 4, 10), None), ((0, 4, 7), Entry(7, 10))],
)
def test_historical_upload(committed: tuple[int, int, int], entry: Entry | None) -> None:
    """CS-23, CS-32, CS-33, CS-35: the entry drains, and the stream's end stays."""
    tables = sealed()
    tables.run(open_stream, 1, 1, 0, 2)
    outcome = tables.commit(1, committed)
    assert (outcome.error, kinds(outcome)) == (E.NONE, ["OBJ+", "SSO", "UNC"])
    assert tables.image.entries[0].get(0) == entry
    assert tables.image.streams[0] == Stream(2, 1, 0, 10, StreamState.OPENED)


@pytest.mark.parametrize(("committed", "label"), [((0, 4, 11), "CS-22"), ((0, 5, 10), "CS-25"), ((0, 3, 10), "CS-25")])
def test_historical_upload_is_refused(committed: tuple[int, int, int], label: str) -> None:
    """CS-22, CS-25: what lies above the seal, or does not continue the entry, is refused."""
    tables = sealed()
    assert tables.commit(1, committed).error is E.OFFSET_NOT_MATCHED
    with without(label):
        assert tables.commit(1, committed).error is E.NONE


def test_historical_upload_around_a_trim() -> None:
    """CS-24: an object that was made before the trim may begin below the new start."""
    tables = sealed()
    tables.run(open_stream, 1, 1, 0, 2)
    tables.run(trim_stream, 1, 1, 0, 2, 6)
    with without("CS-24"):
        assert tables.commit(1, (0, 4, 8)).error is E.OFFSET_NOT_MATCHED
    assert tables.commit(1, (0, 4, 8)).error is E.NONE
    assert tables.image.entries[0][0] == Entry(8, 10)
    assert tables.commit(2, (0, 4, 10)).error is E.OFFSET_NOT_MATCHED


def test_entry_above_the_start_takes_nothing_below() -> None:
    """CS-24: an entry above the stream's start accepts no data below it, since no trim went into it."""
    tables = sealed()
    tables.run(open_stream, 1, 1, 0, 2)
    tables.run(trim_stream, 1, 1, 0, 2, 2)
    assert tables.commit(1, (0, 1, 10)).error is E.OFFSET_NOT_MATCHED


def test_entry_without_its_updates() -> None:
    """CS-32, CS-33: without them an entry does not shrink when its data is committed."""
    tables = sealed()
    with without("CS-33"):
        assert kinds(tables.commit(1, (0, 4, 7))) == ["OBJ+", "SSO"]
    with without("CS-33"):
        tables.commit(2, (0, 4, 10))
    assert tables.image.entries[0][0] == Entry(4, 10)


def test_drained_entry_is_a_removal() -> None:
    """CS-32, CS-34: the record of a drained entry starts at the entry's end."""
    tables = sealed()
    record = tables.commit(1, (0, 4, 10)).records[-1]
    assert record == NodeWALUncommittedOffsets(0, (UncommittedOffsets(0, 10, 10),))


def test_upload_below_an_active_entry() -> None:
    """CS-33: data below the stream's start moves no entry."""
    tables = sealed()
    tables.run(open_stream, 1, 1, 0, 2)
    tables.run(trim_stream, 1, 1, 0, 2, 6)
    assert kinds(tables.commit(1, (0, 4, 6))) == ["OBJ+", "SSO"]
    assert tables.image.entries[0][0] == Entry(4, 10)


def test_sweep_of_entries() -> None:
    """CS-30, CS-31: a commit removes the node's inactive entries and those of missing streams, and no active one."""
    tables = sealed()
    tables.inject(NodeWALUncommittedOffsets(0, (UncommittedOffsets(8, 0, 4), UncommittedOffsets(9, 0, 4))))
    tables.inject(S3Stream(8, 1, 0, 4, StreamState.CLOSED))
    with without("CS-30"):
        tables.commit(1)
    assert sorted(tables.image.entries[0]) == [0, 8, 9]
    assert kinds(tables.commit(2)) == ["OBJ+", "SSO", "UNC"]
    assert tables.image.entries[0] == {0: Entry(4, 10)}


def test_entry_keeps_the_end_of_its_stream() -> None:
    """CS-35: without it a historical commit names an end of the stream."""
    tables = sealed()
    with without("CS-35"):
        assert kinds(tables.commit(1, (0, 4, 7))) == ["OBJ+", "SSO", "ENDOFF", "UNC"]


def test_delete_before_a_commit() -> None:
    """CS-20, CS-30: data of a stream that was deleted in the meantime commits, and its entry goes."""
    tables = sealed()
    tables.run(delete_stream, 0)
    assert tables.image.entries[0] == {0: Entry(4, 10)}
    assert kinds(tables.commit(1, (0, 4, 10))) == ["OBJ+", "SSO", "UNC"]
    assert tables.image.entries[0] == {}
