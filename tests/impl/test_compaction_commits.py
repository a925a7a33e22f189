"""Commits of compactions against the tables of streams.md 5."""

from __future__ import annotations

import pytest

from impl.controller.commits import CommittedObject, SetCommit, commit_stream_set_object
from impl.controller.objects import InputTreatment
from impl.controller.streams import (
    close_stream,
    get_opening_streams,
)
from impl.errors import E
from impl.metadata.image import Entry, SetObject, StoredObject, StreamObject
from impl.records import ObjectState, S3Object
from impl.rules import without
from tests.impl.stream_layer import Tables, kinds, opened, sealed

# Compaction -----------------------------------------------------------------------------------------------------


def compactable() -> Tables:
    """Objects 1 and 2 of node 0, with orders 1 and 2 and times 10 and 20, and stream 0 committed up to 8."""
    tables = opened()
    for object_id, end in ((1, 4), (2, 8)):
        tables.now = object_id * 10
        assert tables.commit(object_id, (0, end - 4, end)).error is E.NONE
    tables.now = 50
    return tables


def test_compaction() -> None:
    """CS-04 to CS-08: the inputs go, and the output has their lowest order and time."""
    tables = compactable()
    outcome = tables.commit(3, compacted=(2, 1), order=-1)
    assert (outcome.error, kinds(outcome)) == (E.NONE, ["OBJ+", "OBJX", "OBJX", "SSO", "RMSSO", "RMSSO"])
    assert tables.image.set_objects[0] == {3: SetObject(1, 10, b"\x01")}
    assert tables.image.objects[1].state is ObjectState.MARK_DESTROYED


def test_compaction_into_stream_objects() -> None:
    """CS-07: the objects of single streams come behind the inputs, and need no continuity (CS-35)."""
    tables = compactable()
    outcome = tables.commit(-1, compacted=(1,), objects=(CommittedObject(3, 0, 0, 4),))
    assert kinds(outcome) == ["OBJX", "OBJ+", "SO", "RMSSO"]
    assert tables.commit(-1, compacted=(2,), objects=(CommittedObject(3, 0, 4, 8),)).records == ()


def test_compaction_moves_no_end_and_no_entry() -> None:
    """CS-35, G-30: neither ends nor entries change, whatever the ranges of the request say."""
    tables = sealed()
    outcome = tables.commit(3, (0, 4, 10), compacted=(0,))
    assert kinds(outcome) == ["OBJ+", "OBJX", "SSO", "RMSSO"]
    assert tables.image.entries[0][0] == Entry(4, 10)


def test_compaction_of_unknown_inputs() -> None:
    """CS-04, AM-12: a missing or marked input refuses all, and so does one that is no object of the node."""
    tables = compactable()
    outcome = tables.commit(3, compacted=(1, 99))
    assert (outcome.error, outcome.records) == (E.COMPACTED_OBJECTS_NOT_FOUND, ())
    assert tables.commit(3, compacted=(1, 4)).error is E.COMPACTED_OBJECTS_NOT_FOUND
    with without("CS-04.foreign"):
        assert commit_of(tables, 1, 4) is E.NONE
    tables.inject(S3Object(1, 0, ObjectState.MARK_DESTROYED, 0))
    assert tables.commit(3, compacted=(1, 2)).error is E.COMPACTED_OBJECTS_NOT_FOUND
    with without("CS-04.destroyed"):
        assert commit_of(tables, 1, 2) is E.NONE


def commit_of(tables: Tables, *compacted: int) -> E:
    """The answer to a compaction of inputs into object 3, which is not applied."""
    return commit_stream_set_object(tables.view, SetCommit(0, 1, 3, 3, compacted=compacted)).error


@pytest.mark.parametrize(
    ("label", "held"),
    [("CS-04.order", SetObject(-1, 10, b"\x01")), ("CS-04.time", SetObject(1, 50, b"\x01"))],
)
def test_compaction_without_its_minima(label: str, held: SetObject) -> None:
    """CS-04 takes the order and the time of the output from its inputs."""
    tables = compactable()
    with without(label):
        tables.commit(3, compacted=(1, 2), order=-1)
    assert tables.image.set_objects[0][3] == held


def test_repeated_cleanup() -> None:
    """CS-04: the repetition of a commit that only removes inputs finds them gone (INV-15)."""
    tables = compactable()
    assert tables.commit(-1, compacted=(1,)).error is E.NONE
    assert tables.commit(-1, compacted=(1,)).error is E.COMPACTED_OBJECTS_NOT_FOUND


def test_new_attributes_of_a_set_object() -> None:
    """CS-02: an object that compacts itself gets attributes, and nothing is asked of continuity."""
    tables = compactable()
    assert kinds(tables.commit(1, (0, 0, 99), compacted=(1,), attributes=4)) == ["OBJ+"]
    assert tables.image.objects[1] == StoredObject(0, ObjectState.COMMITTED, 10, 4)
    with without("CS-02"):
        assert tables.commit(1, compacted=(1,), attributes=8).records == ()


# Compaction of a stream -----------------------------------------------------------------------------------------


def mergeable() -> Tables:
    """Objects 1 and 2 of stream 0, which node 0 has committed up to 8."""
    tables = opened()
    for object_id, end in ((1, 4), (2, 8)):
        tables.commit(-1, objects=(CommittedObject(object_id, 0, end - 4, end),))
    return tables


def test_stream_compaction() -> None:
    """CO-04 to CO-06: the output replaces its sources."""
    tables = mergeable()
    outcome = tables.compact(3, 0, 0, 8, 1, 2, epoch=1)
    assert kinds(outcome) == ["OBJ+", "OBJX", "OBJX", "SO", "RMSO", "RMSO"]
    assert tables.image.stream_objects[0] == {3: StreamObject(0, 8)}
    again = tables.compact(3, 0, 0, 8, 1, 2, epoch=1)
    assert (again.error, again.records) == (E.NONE, ())
    with without("CO-04"):
        assert tables.compact(3, 0, 0, 8, 1, 2).error is E.REDUNDANT_OPERATION


def test_stream_compaction_keeps_linked_data() -> None:
    """CO-05: the operations say what becomes of each source; without one it is DELETE."""
    tables = mergeable()
    outcome = tables.compact(3, 0, 0, 8, 1, 2, operations=(InputTreatment.KEEP_DATA,))
    assert kinds(outcome) == ["OBJ+", "RMOBJ", "OBJX", "SO", "RMSO", "RMSO"]


def test_stream_compaction_without_output() -> None:
    """CO-06: the output -1 only removes sources."""
    assert kinds(mergeable().compact(-1, 0, 0, 0, 1)) == ["OBJX", "RMSO"]


@pytest.mark.parametrize(
    ("named", "error"),
    [
        ({"node": 7}, E.NODE_EPOCH_NOT_EXIST),
        ({"node_epoch": 0}, E.NODE_EPOCH_EXPIRED),
        ({"epoch": 0}, E.STREAM_FENCED),
        ({"epoch": 2}, E.STREAM_INNER_ERROR),
        ({"node": 1, "epoch": 1}, E.STREAM_FENCED),
    ],
)
def test_stream_compaction_of_another(named: dict[str, int], error: E) -> None:
    """CO-02, CO-03: the process is checked always, the owner where the request has an epoch."""
    tables = mergeable()
    assert tables.compact(3, 0, 0, 8, 1, 2, **named).error is error
    with without("CO-03"):
        assert (tables.compact(3, 0, 0, 8, 1, 2, **named).error is E.NONE) == ("epoch" in named)


def test_stream_compaction_during_a_failover() -> None:
    """CO-02: the flag bars it (FO-07), but new attributes come before any check of the node (CO-01)."""
    tables = mergeable()
    tables.run(get_opening_streams, 0, 1, failover=True)
    assert tables.compact(3, 0, 0, 8, 1, 2).error is E.NODE_FENCED
    assert kinds(tables.compact(1, 0, 0, 8, 1, attributes=4)) == ["OBJ+"]
    with without("CO-01"):
        assert tables.compact(1, 0, 0, 8, 1, attributes=4).error is E.NODE_FENCED


def test_stream_compaction_of_missing_sources() -> None:
    """CO-05: a missing source refuses all."""
    tables = mergeable()
    outcome = tables.compact(3, 0, 0, 8, 1, 99)
    assert (outcome.error, outcome.records) == (E.COMPACTED_OBJECTS_NOT_FOUND, ())
    with without("CO-05"):
        assert kinds(tables.compact(3, 0, 0, 8, 1, 99)) == ["OBJ+", "SO", "RMSO", "RMSO"]


def test_stream_compaction_lifts_the_end() -> None:
    """AM-07: the output may end above the stream, also after the stream was closed."""
    tables = mergeable()
    tables.run(close_stream, 0, 1, 0, 1)
    assert tables.compact(3, 0, 0, 20, 1, 2).error is E.NONE
    assert tables.image.streams[0].end == 20
