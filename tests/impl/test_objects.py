"""The life of objects against streams.md 4."""

from __future__ import annotations

import pytest

from impl.controller.objects import (
    DEEP_DELETE,
    InputTreatment,
    ObjectClock,
    commit_object,
    mark_destroyed,
    prepare,
    replace_attributes,
)
from impl.controller.view import OperationResult, Profile
from impl.errors import E
from impl.metadata.image import StoredObject
from impl.records import ObjectState, S3Object
from impl.rules import RefusedError, without
from tests.impl.stream_layer import Tables, kinds

PREPARED, COMMITTED, MARKED = ObjectState.PREPARED, ObjectState.COMMITTED, ObjectState.MARK_DESTROYED


def stored(*states: ObjectState) -> Tables:
    """Objects from id 0, each 5 bytes large in its state since 3 ms, with the attributes 2."""
    tables = Tables(now=40)
    tables.inject(*(S3Object(each, 5, state, 3, 2) for each, state in enumerate(states)))
    return tables


def test_prepare() -> None:
    """OB-01: ids follow each other, and the deadline is counted from now."""
    tables = Tables(now=40)
    outcome = tables.run(prepare, 2, 100)
    assert (kinds(outcome), outcome.values) == (["AOID", "PREP", "PREP"], {"first": 0})
    assert tables.image.objects == {0: StoredObject(0, PREPARED, 140), 1: StoredObject(0, PREPARED, 140)}
    assert tables.run(prepare, 1, 100).values == {"first": 2}


@pytest.mark.parametrize(
    ("object_id", "error", "label"),
    [
        (7, E.OBJECT_NOT_EXIST, "OB-02.missing"),
        (0, E.REDUNDANT_OPERATION, "OB-02.redundant"),
        (1, E.OBJECT_NOT_EXIST, "OB-02.destroyed"),
    ],
)
def test_only_prepared_objects_commit(object_id: int, error: E, label: str) -> None:
    """OB-02: each other state answers with its error."""
    tables = stored(COMMITTED, MARKED)
    with pytest.raises(RefusedError) as refused:
        commit_object(tables.view, object_id, 9, 0)
    assert refused.value.error is error
    with without(label):
        assert commit_object(tables.view, object_id, 9, 0)


def test_commit_of_an_object() -> None:
    """OB-02: size, attributes and time are stored; the id -1 needs no record."""
    tables = stored(PREPARED)
    assert commit_object(tables.view, 0, 9, 4) == [S3Object(0, 9, COMMITTED, 40, 4)]
    assert commit_object(tables.view, -1, 9, 4) == []
    with without("OB-02.noop"), pytest.raises(RefusedError):
        commit_object(tables.view, -1, 9, 4)


def test_marks() -> None:
    """OB-03: prepared and committed objects are marked, with a flag or forgotten as the operation says."""
    view = stored(PREPARED, COMMITTED, COMMITTED).view
    assert mark_destroyed(view, (0, 1)) == [S3Object(0, 5, MARKED, 40, 2), S3Object(1, 5, MARKED, 40, 2)]
    marked = mark_destroyed(view, (1, 2), (InputTreatment.DEEP_DELETE, InputTreatment.KEEP_DATA))
    assert marked is not None
    assert marked[0] == S3Object(1, 5, MARKED, 40, 2 | DEEP_DELETE)
    assert [each.KIND for each in marked] == ["OBJX", "RMOBJ"]
    with without("OB-03.deep", "OB-03.keep"):
        assert mark_destroyed(view, (1,), (InputTreatment.DEEP_DELETE,)) == mark_destroyed(view, (1,))
        assert mark_destroyed(view, (1,), (InputTreatment.KEEP_DATA,)) == mark_destroyed(view, (1,))


def test_marks_are_all_or_nothing() -> None:
    """OB-03: one missing or marked object refuses all."""
    view = stored(COMMITTED, MARKED).view
    assert mark_destroyed(view, (0, 7)) is None
    assert mark_destroyed(view, (0, 1)) is None
    with without("OB-03.missing"):
        assert mark_destroyed(view, (0, 7))
    with without("OB-03.marked"):
        assert mark_destroyed(view, (0, 1))


def test_replace_attributes() -> None:
    """OB-06: only attributes change; as built, the size becomes the timestamp (AM-07)."""
    tables = stored(COMMITTED, PREPARED)
    assert tables.run(replace_attributes, 0, 99, 4).records == (S3Object(0, 5, COMMITTED, 3, 4),)
    assert tables.run(replace_attributes, 1, 99, 4).error is E.OBJECT_NOT_COMMITED
    assert tables.run(replace_attributes, 7, 99, 4).error is E.OBJECT_NOT_EXIST
    with without("OB-06.state"):
        assert tables.run(replace_attributes, 1, 99, 4).error is E.NONE
    with without("OB-06.missing"):
        assert tables.run(replace_attributes, 7, 99, 4).error is E.OBJECT_NOT_COMMITED
    tables.profile = Profile(as_built=frozenset({"AM-07"}))
    assert tables.run(replace_attributes, 0, 99, 4).records == (S3Object(0, 5, COMMITTED, 99, 4),)


# The clock ------------------------------------------------------------------------------------------------------


class ClockedTables(Tables):
    """Tables with an object clock, and a retention of one second."""

    def __init__(self) -> None:
        super().__init__(Profile(object_retention_ms=1000))
        self.clock = ObjectClock()

    def check(self, advance_ms: int, *, hold_deletes: bool = False) -> OperationResult:
        """Move the clock and run a check."""
        self.now += advance_ms
        outcome = self.clock.check(self.view, hold_deletes=hold_deletes)
        self.inject(*outcome.records)
        return outcome

    def mark(self, *ids: int) -> None:
        """Mark objects, which are new."""
        self.inject(*(S3Object(each, 5, MARKED, self.now) for each in ids))


def test_expiry() -> None:
    """OB-04: an object expires above its deadline, and not at it."""
    tables = ClockedTables()
    tables.run(prepare, 1, 100)
    assert kinds(tables.check(100)) == []
    with without("OB-04"):
        assert kinds(tables.check(1)) == []
    assert kinds(tables.check(1)) == ["OBJX"]


def test_expiry_of_many() -> None:
    """OB-04: one round expires 2000 objects."""
    tables = ClockedTables()
    tables.run(prepare, 2001, 100)
    assert len(tables.check(101).records) == 2000
    assert len(tables.check(1).records) == 1


def test_generations() -> None:
    """OB-05: an object is deleted at the second swap after its mark, each more than the retention after the last."""
    tables = ClockedTables()
    tables.mark(0)
    assert tables.check(1000).values == {"deletes": []}
    assert tables.check(1).values == {"deletes": []}
    tables.mark(1)
    assert tables.check(1000).values == {"deletes": []}
    outcome = tables.check(1)
    assert (outcome.values, kinds(outcome)) == ({"deletes": [1]}, ["RMOBJ"])
    assert sorted(tables.image.objects) == [1]
    assert tables.check(1001).values == {"deletes": [1]}
    assert tables.image.objects == {}


def test_deletion_without_retention() -> None:
    """Without OB-05.retention nothing is deleted: the rule is what makes a check delete."""
    tables = ClockedTables()
    tables.mark(0)
    tables.check(1001)
    with without("OB-05.retention"):
        assert tables.check(1001).values == {"deletes": []}


def test_expired_objects_join_after_the_swap() -> None:
    """OB-05: what a check marks itself joins the young generation behind the swap, so it waits for two more."""
    tables = ClockedTables()
    tables.run(prepare, 1, 100)
    assert kinds(tables.check(1001)) == ["OBJX"]
    assert tables.check(1001).values == {"deletes": []}
    assert tables.check(1001).values == {"deletes": [1]}


def test_old_generation_of_many() -> None:
    """OB-05: a round deletes 2000 objects, 1000 a call; the generations swap when the old one fits into a round."""
    tables = ClockedTables()
    tables.mark(*range(2500))
    tables.check(1001)
    tables.mark(3000)
    assert tables.check(1001).values == {"deletes": [1000, 1000]}
    assert tables.check(1).values == {"deletes": [500]}
    assert tables.check(1000).values == {"deletes": []}
    assert tables.check(1).values == {"deletes": [1]}


def test_rest_of_the_old_generation() -> None:
    """Without OB-05.rest the generations swap, and the rest waits for the retention again."""
    tables = ClockedTables()
    tables.mark(*range(2500))
    tables.check(1001)
    with without("OB-05.rest"):
        tables.check(1001)
    assert tables.check(1).values == {"deletes": []}


def test_deletion_in_flight() -> None:
    """OB-05: during a deletion a check does nothing, and expires nothing."""
    tables = ClockedTables()
    tables.mark(50)
    tables.check(1001)
    tables.run(prepare, 1, 100)
    held = tables.check(1001, hold_deletes=True)
    assert (held.values, kinds(held)) == ({"deletes": [1]}, ["OBJX"])
    tables.run(prepare, 1, 100)
    assert tables.check(2000, hold_deletes=True) == OperationResult(values={"deletes": []})
    with without("OB-05.in_flight"):
        forgetful = ObjectClock()
        forgetful._in_flight = (50,)
        assert kinds(forgetful.check(tables.view, hold_deletes=True)) == ["RMOBJ", "OBJX"]
    assert kinds(tables.check(1)) == ["RMOBJ", "OBJX"]


def test_another_controller() -> None:
    """OB-05: a successor finds the marked objects, and counts the retention from its own start."""
    tables = ClockedTables()
    tables.mark(0)
    tables.check(1001)
    tables.clock.forget(tables.now)
    assert tables.check(1001).values == {"deletes": []}
    assert tables.check(1001).values == {"deletes": [1]}
    tables.clock.forget()
    tables.mark(1)
    assert [tables.check(1001).values["deletes"] for _ in range(3)] == [[], [], [1]]
