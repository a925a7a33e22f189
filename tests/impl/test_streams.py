"""The operations on streams against the tables of streams.md 3."""

from __future__ import annotations

from typing import Any

import pytest

from impl.controller.commits import CommittedObject
from impl.controller.nodes import lock_node, unlock_node
from impl.controller.ranges import first_run
from impl.controller.streams import (
    close_stream,
    create_stream,
    delete_stream,
    describe_streams,
    get_opening_streams,
    open_stream,
    partition_tags,
    trim_stream,
)
from impl.errors import E
from impl.metadata.image import Entry, Stream, StreamObject, StreamRange
from impl.records import ObjectState, Range, S3Object, S3Stream, StreamState
from impl.rules import without
from tests.impl.stream_layer import Tables, kinds, opened, sealed


def test_create_allocates_ids_in_sequence() -> None:
    """ST-02: a new stream is CLOSED with epoch -1 and no range, and a repeated request makes another one."""
    tables = opened()
    outcome = tables.run(create_stream, 0, 1)
    assert (outcome.values, kinds(outcome)) == ({"stream": 1}, ["ASID", "STREAM"])
    assert tables.image.streams[1] == Stream(-1, -1, 0, 0, StreamState.CLOSED)
    assert tables.run(create_stream, 0, 1).values == {"stream": 2}


def test_create_needs_a_registered_node() -> None:
    """ST-01: an unknown node, an old process and a node under failover create nothing."""
    tables = opened()
    assert tables.run(create_stream, 7, 1).error is E.NODE_EPOCH_NOT_EXIST
    assert tables.run(create_stream, 0, 0).error is E.NODE_EPOCH_EXPIRED
    tables.run(get_opening_streams, 0, 1, failover=True)
    assert tables.run(create_stream, 0, 1).error is E.NODE_FENCED


# Open -----------------------------------------------------------------------------------------------------------


def test_first_open_begins_a_range() -> None:
    """ST-17: without an old range there is one record of a stream and one of a range."""
    tables = opened()
    tables.run(create_stream, 0, 1)
    outcome = tables.run(open_stream, 0, 1, 1, 5)
    assert (outcome.values, kinds(outcome)) == ({"start": 0, "next": 0}, ["STREAM", "RANGE"])
    assert tables.image.current_range(1) == StreamRange(5, 0, 0, 0)


def test_open_seals_the_old_range() -> None:
    """ST-17: a later open rewrites the old range with the end of the stream, where the new range starts."""
    tables = opened()
    tables.commit(0, (0, 0, 8))
    tables.run(close_stream, 0, 1, 0, 1)
    assert tables.image.ranges[0][0] == StreamRange(1, 0, 0, 0)
    outcome = tables.run(open_stream, 1, 1, 0, 3)
    assert (outcome.values, kinds(outcome)) == ({"start": 0, "next": 8}, ["STREAM", "RANGE", "RANGE"])
    assert tables.image.ranges[0] == {0: StreamRange(1, 0, 0, 8), 1: StreamRange(3, 1, 8, 8)}
    assert tables.image.streams[0] == Stream(3, 1, 0, 8, StreamState.OPENED)


def test_open_without_seal_leaves_a_hole() -> None:
    """Without ST-17.seal the old range still ends where it started."""
    tables = opened()
    tables.commit(0, (0, 0, 8))
    tables.run(close_stream, 0, 1, 0, 1)
    with without("ST-17.seal"):
        tables.run(open_stream, 1, 1, 0, 3)
    assert tables.image.ranges[0][0] == StreamRange(1, 0, 0, 0)


@pytest.mark.parametrize(
    ("arguments", "error", "label"),
    [
        ((7, 1, 0, 2), E.NODE_EPOCH_NOT_EXIST, "CK-01.unknown"),
        ((1, 0, 0, 2), E.NODE_EPOCH_EXPIRED, "CK-01.expired"),
        ((1, 1, 9, 2), E.STREAM_NOT_EXIST, "ST-11"),
        ((0, 1, 0, 0), E.STREAM_FENCED, "ST-12"),
        ((1, 1, 0, 1), E.STREAM_FENCED, "ST-21"),
        ((1, 1, 0, 2), E.STREAM_NOT_CLOSED, "ST-14"),
        ((0, 1, 0, 2), E.STREAM_NOT_CLOSED, "ST-14"),
        ((0, 1, 1, -1), E.STREAM_INNER_ERROR, "ST-20"),
    ],
)
def test_open_is_refused(arguments: tuple[int, ...], error: E, label: str) -> None:
    """Each row that refuses an open answers with its error, and not without its guard."""
    tables = opened()
    tables.run(create_stream, 0, 1)
    outcome = tables.run(open_stream, *arguments)
    assert (outcome.error, outcome.records) == (error, ())
    with without(label):
        assert tables.run(open_stream, *arguments).error is not error


def test_open_of_a_process_under_failover() -> None:
    """ST-10: the failover flag bars an open, and not without the guard."""
    tables = opened()
    tables.run(get_opening_streams, 0, 1, failover=True)
    assert tables.run(open_stream, 0, 1, 0, 1).error is E.NODE_FENCED
    with without("CK-01.flag"):
        assert tables.run(open_stream, 0, 1, 0, 1).error is E.NONE


def test_open_again_under_the_same_epoch() -> None:
    """ST-23, ST-24: an OPENED stream needs no record, a CLOSED one is opened in the same range."""
    tables = opened()
    outcome = tables.run(open_stream, 0, 1, 0, 1)
    assert (outcome.error, outcome.records, outcome.values) == (E.NONE, (), {"start": 0, "next": 0})
    with without("ST-23"):
        assert kinds(tables.run(open_stream, 0, 1, 0, 1)) == ["STREAM"]
    tables.run(close_stream, 0, 1, 0, 1)
    assert kinds(tables.run(open_stream, 0, 1, 0, 1)) == ["STREAM"]
    assert tables.image.streams[0] == Stream(1, 0, 0, 0, StreamState.OPENED)


def test_equal_epoch_without_its_rows_begins_a_range() -> None:
    """Without ST-13 a repeated open is judged as a new one, and refused."""
    tables = opened()
    with without("ST-13"):
        assert tables.run(open_stream, 0, 1, 0, 1).error is E.STREAM_NOT_CLOSED


@pytest.mark.parametrize(("epoch", "label"), [(2, "ST-15"), (1, "ST-22")])
def test_active_entry_bars_the_open(epoch: int, label: str) -> None:
    """ST-15, ST-22: a node that has data of the stream to commit does not open it again; another node may."""
    tables = sealed()
    assert tables.run(open_stream, 0, 1, 0, epoch).error is E.STREAM_NOT_CLOSED
    with without(label):
        assert tables.run(open_stream, 0, 1, 0, epoch).error is E.NONE


def test_entry_of_another_node_does_not_bar_the_open() -> None:
    """ST-15 looks at the entry of the requesting node only, and at active ones only (CK-03)."""
    tables = sealed()
    assert tables.run(open_stream, 1, 1, 0, 2).values == {"start": 0, "next": 10}
    tables.run(trim_stream, 1, 1, 0, 2, 10)
    tables.run(close_stream, 1, 1, 0, 2)
    assert tables.image.entries[0][0] == Entry(4, 10)
    assert tables.run(open_stream, 0, 1, 0, 3).error is E.NONE


def test_lock_of_the_owner() -> None:
    """ST-16: the stream of a locked node goes to no other node, but the locked node may open it."""
    tables = opened()
    tables.run(close_stream, 0, 1, 0, 1)
    tables.run(lock_node, 0)
    assert tables.run(open_stream, 1, 1, 0, 2).error is E.NODE_LOCKED
    assert tables.run(open_stream, 0, 1, 0, 2).error is E.NONE
    tables.run(close_stream, 0, 1, 0, 2)
    with without("ST-16"):
        assert open_stream(tables.view, 1, 1, 0, 3).error is E.NONE
    tables.run(unlock_node, 0)
    assert tables.run(open_stream, 1, 1, 0, 3).error is E.NONE


def test_tags_are_stored_once() -> None:
    """ST-17: an open stores its tags only in a stream that has none."""
    tables = opened()
    tables.run(create_stream, 0, 1)
    tables.run(open_stream, 0, 1, 1, 1, partition_tags("a", 3))
    tables.run(close_stream, 0, 1, 1, 1)
    tables.run(open_stream, 0, 1, 1, 2, partition_tags("b", 4))
    assert tables.image.streams[1].tags == partition_tags("a", 3)
    tables.run(create_stream, 0, 1)
    with without("ST-17.tags"):
        tables.run(open_stream, 0, 1, 2, 1, partition_tags("a", 3))
    assert tables.image.streams[2].tags == ()


def many_ranges(*objects: tuple[int, int]) -> Tables:
    """A CLOSED stream with the ranges [0, 4), [4, 4), [4, 8), [8, 12), and stream objects."""
    tables = opened()
    for index, (start, end) in enumerate(((0, 4), (4, 4), (4, 8), (8, 12))):
        tables.inject(Range(0, index + 1, index, start, end, 0))
    tables.inject(S3Stream(0, 4, 3, 0, StreamState.CLOSED))
    for each, (start, end) in enumerate(objects):
        assert tables.compact(each, 0, start, end).error is E.NONE
    return tables


@pytest.mark.parametrize(
    ("objects", "kept"),
    [
        ((), [0, 1, 2, 3, 4]),
        (((0, 4),), [2, 3, 4]),
        (((0, 2), (2, 8)), [3, 4]),
        (((0, 12),), [3, 4]),
        (((0, 3), (3, 5)), [2, 3, 4]),
        (((4, 8),), [0, 3, 4]),
        (((0, 2), (4, 8)), [0, 2, 3, 4]),
    ],
)
def test_open_removes_covered_ranges(objects: tuple[tuple[int, int], ...], kept: list[int]) -> None:
    """ST-18: ranges inside the first run of the stream objects go, and empty ones, but never the current one."""
    tables = many_ranges(*objects)
    outcome = tables.run(open_stream, 0, 1, 0, 5)
    assert sorted(tables.image.ranges[0]) == kept
    assert kinds(outcome) == ["STREAM", "RANGE", "RANGE"] + ["RMRANGE"] * (5 - len(kept))


@pytest.mark.parametrize(
    ("label", "objects", "kept"),
    [
        ("ST-18.current", ((0, 12),), [4]),
        ("ST-18.covered", ((0, 12),), [0, 2, 3, 4]),
        ("ST-18.empty", ((0, 2),), [0, 1, 2, 3, 4]),
        ("ST-18.gap", ((0, 2), (4, 8)), [3, 4]),
    ],
)
def test_removal_without_its_guards(label: str, objects: tuple[tuple[int, int], ...], kept: list[int]) -> None:
    """ST-18 keeps other ranges without each of its parts."""
    tables = many_ranges(*objects)
    with without(label):
        tables.run(open_stream, 0, 1, 0, 5)
    assert sorted(tables.image.ranges[0]) == kept


def test_overlapping_objects_have_no_gap() -> None:
    """A run goes on through an object that starts inside it (ST-18)."""
    assert first_run([StreamObject(3, 9), StreamObject(0, 5), StreamObject(4, 6), StreamObject(10, 12)]) == (0, 9)


# Close ----------------------------------------------------------------------------------------------------------


def test_legacy_close() -> None:
    """ST-36: the range is not written now; ST-33: a repeated close has no effect."""
    tables = opened()
    assert kinds(tables.run(close_stream, 0, 1, 0, 1)) == ["STREAM"]
    assert tables.image.streams[0].state is StreamState.CLOSED
    repeated = tables.run(close_stream, 0, 1, 0, 1)
    assert (repeated.error, repeated.records) == (E.NONE, ())
    with without("ST-33"):
        assert kinds(tables.run(close_stream, 0, 1, 0, 1)) == ["STREAM"]


def test_fast_close() -> None:
    """ST-37: state, range end and entry come in one batch, and the stream ends at the seal."""
    tables = opened()
    tables.commit(0, (0, 0, 4))
    outcome = tables.run(close_stream, 0, 1, 0, 1, 10)
    assert kinds(outcome) == ["STREAM", "RANGE", "UNC"]
    assert tables.image.streams[0] == Stream(1, 0, 0, 10, StreamState.CLOSED)
    assert tables.image.ranges[0][0] == StreamRange(1, 0, 0, 10)
    assert tables.image.entries[0][0] == Entry(4, 10)


def test_fast_close_where_all_is_committed() -> None:
    """ST-37: no entry is needed at the stream's end, and no range record where the range ends there already."""
    tables = opened()
    tables.commit(0, (0, 0, 4))
    assert kinds(tables.run(close_stream, 0, 1, 0, 1, 4)) == ["STREAM", "RANGE"]
    assert tables.image.entries == {}
    tables.run(open_stream, 0, 1, 0, 1)
    assert kinds(tables.run(close_stream, 0, 1, 0, 1, 4)) == ["STREAM"]


@pytest.mark.parametrize(("label", "left"), [("ST-37.end", ["STREAM", "UNC"]), ("ST-37.entry", ["STREAM", "RANGE"])])
def test_fast_close_is_one_batch(label: str, left: list[str]) -> None:
    """ST-37 needs each of its records."""
    tables = opened()
    with without(label):
        assert kinds(tables.run(close_stream, 0, 1, 0, 1, 10)) == left


def test_repeated_fast_close() -> None:
    """ST-33, ST-34: the same end has no effect, another one is refused."""
    tables = sealed(10)
    repeated = tables.run(close_stream, 0, 1, 0, 1, 10)
    assert (repeated.error, repeated.records) == (E.NONE, ())
    assert tables.run(close_stream, 0, 1, 0, 1, 11).error is E.OFFSET_NOT_MATCHED
    assert tables.run(close_stream, 0, 1, 0, 1).error is E.NONE
    with without("ST-33"):
        assert tables.run(close_stream, 0, 1, 0, 1, 10).error is E.OFFSET_NOT_MATCHED
    with without("ST-34"):
        assert tables.run(close_stream, 0, 1, 0, 1, 11).error is E.NONE


def test_fast_close_after_a_legacy_close() -> None:
    """ST-34: the range of a legacy close still ends where it started, so that the stream's end does not match."""
    tables = opened()
    tables.commit(0, (0, 0, 4))
    tables.run(close_stream, 0, 1, 0, 1)
    assert tables.run(close_stream, 0, 1, 0, 1, 4).error is E.OFFSET_NOT_MATCHED
    assert tables.run(close_stream, 0, 1, 0, 1, 0).error is E.NONE


@pytest.mark.parametrize(
    ("arguments", "error", "label"),
    [
        ((7, 1, 0, 1), E.NODE_EPOCH_NOT_EXIST, "CK-01.unknown"),
        ((0, 0, 0, 1), E.NODE_EPOCH_EXPIRED, "CK-01.expired"),
        ((0, 1, 9, 1), E.STREAM_NOT_EXIST, "CK-02.missing"),
        ((0, 1, 0, 0), E.STREAM_FENCED, "CK-02.epoch_old"),
        ((0, 1, 0, 2), E.STREAM_INNER_ERROR, "CK-02.epoch_new"),
        ((0, 1, 1, -1), E.STREAM_INNER_ERROR, "CK-02.no_range"),
        ((1, 1, 0, 1), E.STREAM_FENCED, "CK-02.node"),
        ((0, 1, 0, 1, 3), E.OFFSET_NOT_MATCHED, "ST-35"),
    ],
)
def test_close_is_refused(arguments: tuple[int, ...], error: E, label: str) -> None:
    """ST-31, ST-32, ST-35: each row answers with its error, and not without its guard."""
    tables = opened()
    tables.commit(0, (0, 0, 4))
    tables.run(create_stream, 0, 1)
    outcome = tables.run(close_stream, *arguments)
    assert (outcome.error, outcome.records) == (error, ())
    with without(label):
        assert tables.run(close_stream, *arguments).error is not error


def test_fast_close_needs_its_version() -> None:
    """ST-30: below V6 an end offset is refused before anything else is checked."""
    tables = opened(v6=False)
    assert tables.run(close_stream, 7, 1, 0, 1, 0).error is E.UNSUPPORTED_VERSION
    assert tables.run(close_stream, 0, 1, 0, 1).error is E.NONE
    with without("ST-30"):
        assert tables.run(close_stream, 7, 1, 0, 1, 0).error is E.NODE_EPOCH_NOT_EXIST


def test_close_passes_the_failover_flag() -> None:
    """ST-31: a process whose failover began may still close, as its failover worker must."""
    tables = opened()
    tables.run(get_opening_streams, 0, 1, failover=True)
    with without("ST-31"):
        assert tables.run(close_stream, 0, 1, 0, 1).error is E.NODE_FENCED
    assert tables.run(close_stream, 0, 1, 0, 1).error is E.NONE


def test_late_close_of_an_old_owner() -> None:
    """ST-38: after another node opened, the old owner is fenced."""
    tables = opened()
    tables.run(close_stream, 0, 1, 0, 1)
    tables.run(open_stream, 1, 1, 0, 2)
    assert tables.run(close_stream, 0, 1, 0, 1).error is E.STREAM_FENCED


def test_late_duplicate_of_a_close_ends_the_lease() -> None:
    """AM-20: the rows let the duplicate of a close end a lease that the owner opened again under one epoch."""
    tables = opened()
    tables.run(close_stream, 0, 1, 0, 1)
    tables.run(open_stream, 0, 1, 0, 1)
    assert kinds(tables.run(close_stream, 0, 1, 0, 1)) == ["STREAM"]
    assert tables.image.streams[0].state is StreamState.CLOSED


# Trim -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "error", "label"),
    [
        ((0, 0, 0, 1, 2), E.NODE_EPOCH_EXPIRED, "CK-01.expired"),
        ((0, 1, 9, 1, 2), E.STREAM_NOT_EXIST, "CK-02.missing"),
        ((1, 1, 0, 1, 2), E.STREAM_FENCED, "CK-02.node"),
        ((0, 1, 0, 1, 0), E.OFFSET_NOT_MATCHED, "ST-42"),
    ],
)
def test_trim_is_refused(arguments: tuple[int, ...], error: E, label: str) -> None:
    """ST-40, ST-42: each row answers with its error, and not without its guard."""
    tables = opened()
    tables.commit(0, (0, 0, 4))
    tables.run(trim_stream, 0, 1, 0, 1, 1)
    outcome = tables.run(trim_stream, *arguments)
    assert (outcome.error, outcome.records) == (error, ())
    with without(label):
        assert tables.run(trim_stream, *arguments).error is not error


def test_trim_of_a_closed_stream() -> None:
    """ST-41: a CLOSED stream is not trimmed, also not by a node under failover, which ST-40 refuses first."""
    tables = opened()
    tables.run(close_stream, 0, 1, 0, 1)
    assert tables.run(trim_stream, 0, 1, 0, 1, 0).error is E.STREAM_NOT_OPENED
    with without("ST-41"):
        assert tables.run(trim_stream, 0, 1, 0, 1, 0).error is E.NONE
    tables.run(get_opening_streams, 0, 1, failover=True)
    assert tables.run(trim_stream, 0, 1, 0, 1, 0).error is E.NODE_FENCED


def test_trim_to_the_start() -> None:
    """ST-43: no record."""
    tables = opened()
    outcome = tables.run(trim_stream, 0, 1, 0, 1, 0)
    assert (outcome.error, outcome.records) == (E.NONE, ())
    with without("ST-43"):
        assert kinds(tables.run(trim_stream, 0, 1, 0, 1, 0)) == ["STREAM"]


def test_trim_above_the_end() -> None:
    """ST-44: the end of the stream and of its range rise with the start."""
    tables = opened()
    tables.commit(0, (0, 0, 4))
    assert kinds(tables.run(trim_stream, 0, 1, 0, 1, 9)) == ["STREAM", "RANGE"]
    assert tables.image.streams[0] == Stream(1, 0, 9, 9, StreamState.OPENED)
    assert tables.image.ranges[0][0] == StreamRange(1, 0, 9, 9)
    with without("ST-44.lift"):
        tables.run(trim_stream, 0, 1, 0, 1, 12)
    assert tables.image.ranges[0][0] == StreamRange(1, 0, 12, 9)


def trimmable() -> Tables:
    """An OPENED stream of node 0 with the ranges [0, 4), [4, 8) and a current one from 8, committed up to 12."""
    tables = opened()
    for index, (start, end) in enumerate(((0, 4), (4, 8), (8, 8))):
        tables.inject(Range(0, index + 1, index, start, end, 0))
    tables.inject(S3Stream(0, 3, 2, 0, StreamState.OPENED))
    assert tables.commit(0, (0, 8, 12)).error is E.NONE
    return tables


@pytest.mark.parametrize(
    ("to", "ranges", "records"),
    [
        (2, {0: (2, 4), 1: (4, 8), 2: (8, 8)}, ["STREAM", "RANGE"]),
        (4, {1: (4, 8), 2: (8, 8)}, ["STREAM", "RMRANGE"]),
        (5, {1: (5, 8), 2: (8, 8)}, ["STREAM", "RMRANGE", "RANGE"]),
        (8, {2: (8, 8)}, ["STREAM", "RMRANGE", "RMRANGE"]),
        (9, {2: (9, 12)}, ["STREAM", "RMRANGE", "RMRANGE", "RANGE"]),
    ],
)
def test_trim_walks_over_ranges(to: int, ranges: dict[int, tuple[int, int]], records: list[str]) -> None:
    """ST-44: ranges below the new start go, the one around it starts there, the current one ends with the stream."""
    tables = trimmable()
    assert kinds(tables.run(trim_stream, 0, 1, 0, 3, to)) == records
    assert {index: (row.start, row.end) for index, row in tables.image.ranges[0].items()} == ranges


@pytest.mark.parametrize(
    ("label", "to", "ranges", "records"),
    [
        ("ST-44.stop", 4, {1: (4, 8), 2: (8, 8)}, ["STREAM", "RMRANGE", "RANGE"]),
        ("ST-44.current", 9, {}, ["STREAM", "RMRANGE", "RMRANGE", "RMRANGE"]),
        ("ST-44.remove", 5, {0: (5, 4), 1: (4, 8), 2: (8, 8)}, ["STREAM", "RANGE"]),
    ],
)
def test_trim_without_its_guards(label: str, to: int, ranges: dict[int, tuple[int, int]], records: list[str]) -> None:
    """ST-44 needs each branch of its walk."""
    tables = trimmable()
    with without(label):
        assert kinds(tables.run(trim_stream, 0, 1, 0, 3, to)) == records
    assert {index: (row.start, row.end) for index, row in tables.image.ranges[0].items()} == ranges


def test_trim_leaves_entries() -> None:
    """ST-45: a trim rewrites no entry; one below the new start is inactive."""
    tables = sealed()
    tables.run(open_stream, 1, 1, 0, 2)
    tables.run(trim_stream, 1, 1, 0, 2, 6)
    assert tables.image.entries[0][0] == Entry(4, 10)
    assert tables.image.active_entry(0, 0) == Entry(6, 10)
    tables.run(trim_stream, 1, 1, 0, 2, 10)
    assert tables.image.active_entry(0, 0) is None


# Delete, describe -----------------------------------------------------------------------------------------------


def test_delete() -> None:
    """ST-50 to ST-52: a CLOSED stream goes with its ranges and objects, and a repeated delete has no effect."""
    tables = opened()
    tables.compact(3, 0, 0, 4)
    assert tables.run(delete_stream, 0).error is E.STREAM_NOT_CLOSED
    tables.run(close_stream, 0, 1, 0, 1)
    assert kinds(tables.run(delete_stream, 0)) == ["RMSTREAM", "OBJX"]
    assert tables.image.objects[3].state is ObjectState.MARK_DESTROYED
    assert (tables.image.streams, tables.image.ranges[0], tables.image.stream_objects[0]) == ({}, {}, {})
    outcome = tables.run(delete_stream, 0)
    assert (outcome.error, outcome.records) == (E.NONE, ())
    with without("ST-50"):
        assert kinds(tables.run(delete_stream, 0)) == ["RMSTREAM"]


def test_delete_without_its_guard() -> None:
    """Without ST-51 a stream vanishes under its owner."""
    tables = opened()
    with without("ST-51"):
        assert tables.run(delete_stream, 0).error is E.NONE


def test_delete_needs_its_objects() -> None:
    """ST-52: an object that was marked before stops the delete."""
    tables = opened()
    tables.commit(-1, objects=(CommittedObject(3, 0, 0, 4),))
    tables.run(close_stream, 0, 1, 0, 1)
    tables.inject(S3Object(3, 0, ObjectState.MARK_DESTROYED, 0))
    assert tables.run(delete_stream, 0).error is E.STREAM_INNER_ERROR
    with without("ST-52"):
        assert kinds(tables.run(delete_stream, 0)) == ["RMSTREAM"]


def test_describe() -> None:
    """ST-60: by id, else by node, else by tags; a stream without a range has node and end -1."""
    tables = opened()
    tables.run(create_stream, 0, 1, partition_tags("a", 3))

    def found(**query: Any) -> list[int]:
        return [each["stream"] for each in tables.run(describe_streams, **query).values["streams"]]

    assert found(stream=0) == [0]
    assert found(stream=9) == []
    assert found(stream=1, node=0) == [1]
    assert found(node=0) == [0]
    assert found(node=-1) == [1]
    assert found(topic="a", partition=3) == [1]
    assert found(topic="a", partition=4) == []
    assert tables.run(describe_streams).error is E.INVALID_REQUEST
    with without("ST-60"):
        assert tables.run(describe_streams).error is E.NONE
    assert tables.run(describe_streams, stream=1).values["streams"] == [
        {"stream": 1, "node": -1, "state": "CLOSED", "topic": "a", "partition": 3, "epoch": -1, "start": 0, "end": -1}
    ]
    assert tables.run(describe_streams, stream=0).values["streams"][0]["topic"] == ""
