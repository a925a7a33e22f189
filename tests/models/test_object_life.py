"""Objects: what a late request, an expiry or a second compaction does, with and without the rule that stops it."""

from __future__ import annotations

import pytest

from holdfast.lang import Scope
from models.object_life import ObjectLife
from models.parts.errors import E
from models.parts.objects import Life, Object, ObjectError
from models.parts.streams import Offset

WIDE = Scope({Object: 5, Offset: 4})
A, B, C, D, F = (Object.element(number) for number in range(5))


def uploaded(*removed: str, variants: tuple[str, ...] = ()) -> ObjectLife:
    """The uploads A = [0, 1) and B = [1, 2) are committed; C and D are prepared."""
    state = ObjectLife.at(WIDE, removed=removed, variants=variants).start()
    for each in (A, B, C, D):
        state = state.take("prepare", o=each)
    for number, each in enumerate((A, B)):
        state = state.take("upload", o=each, a=Offset(number), b=Offset(number + 1)).take("commit", o=each)
    return state


def compacted(state: ObjectLife, output: Object, *inputs: Object) -> ObjectLife:
    """The output is written from these inputs, and waits for its commit."""
    for each in inputs:
        state = state.take("compact", o=output, i=each)
    return state


def readable(state: ObjectLife) -> list[int]:
    """The offsets that a reader finds in objects that are listed and not deleted."""
    found = [each for each in (A, B, C, D, F) if state.listed[each] and state.life[each] == Life.COMMITTED]
    return [number for number in range(4) if any(state.contains[each, Offset(number)] for each in found)]


def test_an_output_replaces_its_inputs() -> None:
    """CS-05, CS-08. Readers find the same data in the output, and the inputs are deleted."""
    state = compacted(uploaded(), C, A, B).take("commit", o=C).take("delete", o=A).take("delete", o=B)
    assert readable(state) == [0, 1]
    assert [each for each in (A, B, C) if state.listed[each]] == [C]
    assert state.end_offset == Offset(2)


def test_an_expired_object_is_not_committed() -> None:
    """OB-02. Without the rule a deleted output takes the place of its inputs, and readers find nothing."""
    state = compacted(uploaded(), C, A, B).take("expire", o=C)
    assert state.refusal("commit", o=C) == ("OB-02", ObjectError.OBJECT_NOT_EXIST)
    state = compacted(uploaded("OB-02"), C, A, B).take("expire", o=C)
    late = state.take("commit", o=C)
    assert not late.holds("lives_once", old=state)
    assert not any(late.life[each] == Life.COMMITTED for each in (A, B))


def test_an_object_is_replaced_once() -> None:
    """OB-03. The second of two compactions of one object is refused as a whole, and its other input stays."""
    state = compacted(compacted(uploaded(), C, A), D, A, B).take("commit", o=C)
    assert state.refusal("commit", o=D) == ("OB-03", ObjectError.COMPACTED_OBJECTS_NOT_FOUND)
    assert readable(state) == [0, 1]


def test_a_compaction_that_fails_half_way_loses_an_input() -> None:
    """OB-03. If the failing compaction marks its other input, that input is deleted while readers still need it."""
    state = compacted(compacted(uploaded(variants=("marks_one_by_one",)), C, A), D, A, B).take("commit", o=C)
    state = state.take("commit", o=D)
    assert not state.holds("listed_is_committed")
    state = state.take("delete", o=B)
    assert readable(state) == [0]
    assert not state.holds("no_hole")


def test_a_repeated_commit_has_no_effect() -> None:
    """CS-03. A commit that arrives again succeeds; one that arrives after the object was replaced is refused."""
    state = uploaded()
    again = state.take("commit", o=A)
    assert (again.entry_from, again.end_offset, readable(again)) == (state.entry_from, state.end_offset, [0, 1])
    assert again.life[A] == Life.COMMITTED
    state = compacted(state, C, A).take("commit", o=C)
    assert state.refusal("commit", o=A) == ("OB-02", ObjectError.OBJECT_NOT_EXIST)


@pytest.mark.parametrize(("removed", "start"), [((), 2), (("CS-35",), 1)])
def test_a_compaction_leaves_the_entry_alone(removed: tuple[str, ...], start: int) -> None:
    """CS-35. Without the rule the entry starts again where the output ends, and [1, 2) may be committed again."""
    state = uploaded(*removed).take("fast_close", b=Offset(3))
    assert (state.entry_from, state.entry_to) == (Offset(2), Offset(3))
    state = compacted(state, C, A).take("commit", o=C)
    assert state.entry_from == Offset(start)
    again = state.take("upload", o=D, a=Offset(1), b=Offset(2))
    if removed:
        assert not again.take("commit", o=D).holds("uploaded_once", old=again, o=D)
    else:
        assert again.refusal("commit", o=D) == ("CS-23", E.OFFSET_NOT_MATCHED)


def test_an_upload_stays_within_the_entry() -> None:
    """CS-22, CS-23. The node uploads what it owes, in order, and not beyond the end of its entry."""
    state = uploaded().take("fast_close", b=Offset(3))
    beyond = state.take("upload", o=C, a=Offset(2), b=Offset(4))
    assert beyond.refusal("commit", o=C) == ("CS-22", E.OFFSET_NOT_MATCHED)
    assert state.refusal("fast_close", b=Offset(4)) == ("ST-15", None)
    drained = state.take("upload", o=C, a=Offset(2), b=Offset(3)).take("commit", o=C)
    assert not drained.has_entry()
    assert readable(drained) == [0, 1, 2]
