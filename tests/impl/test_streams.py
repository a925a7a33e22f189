"""Creating, closing, trimming, deleting and describing streams against the tables of streams.md 3."""

from __future__ import annotations

from typing import Any

import pytest

from impl.controller.commits import CommittedObject
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
from impl.metadata.image import Entry, Stream, StreamRange
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
