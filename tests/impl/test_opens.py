"""Opens of streams against the tables of streams.md 3."""

from __future__ import annotations

import pytest

from impl.controller.nodes import lock_node, unlock_node
from impl.controller.ranges import first_run
from impl.controller.streams import (
    close_stream,
    create_stream,
    get_opening_streams,
    open_stream,
    partition_tags,
    trim_stream,
)
from impl.errors import E
from impl.metadata.image import Entry, Stream, StreamObject, StreamRange
from impl.records import Range, S3Stream, StreamState
from impl.rules import without
from tests.impl.stream_layer import Tables, kinds, opened, sealed


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
