"""Sealed ranges: what a reader finds through them, which of them go, and who may open behind a locked node."""

from __future__ import annotations

import pytest

from holdfast.lang import Scope
from models.parts.errors import E
from models.parts.nodes import Node
from models.parts.streams import Offset
from models.sealed_ranges import RangeIndex, SealedRanges

WIDE = Scope({Node: 3, RangeIndex: 4, Offset: 5})
A, B, C = (Node.element(number) for number in range(3))


def written(*removed: str) -> SealedRanges:
    """A has opened the stream and committed [0, 1)."""
    return SealedRanges.at(WIDE, removed=removed).start(n=A).take("commit", n=A, b=Offset(1))


def sealed(*removed: str) -> SealedRanges:
    """A has committed [0, 1) and closed at 2, so that it owes [1, 2)."""
    return written(*removed).take("close", b=Offset(2), fast=True)


def reads(state: SealedRanges, offset: Offset) -> bool:
    """MD-01, written directly: a stream object, or the objects of the node that the offset's range names."""
    for index in map(RangeIndex, range(4)):
        ends = index != state.current and state.range_end[index] <= offset
        if state.kept[index] and state.range_start[index] <= offset and not ends:
            return state.in_object[offset] or state.in_set[state.owner[index], offset]
    return state.in_object[offset]


def found(state: SealedRanges) -> list[int]:
    """The offsets of the stream that a reader finds."""
    return [number for number in range(5) if Offset(number) < state.end_offset and reads(state, Offset(number))]


def test_a_reader_finds_data_by_the_range_of_its_node() -> None:
    """ST-17, MD-01. After an open by another node the data of the first owner is still found."""
    state = written().take("close", b=Offset(0), fast=False).take("open", n=B, r=RangeIndex(1))
    assert found(state.take("commit", n=B, b=Offset(2))) == [0, 1]


@pytest.mark.parametrize(("removed", "readable"), [((), [0]), (("ST-18.current",), []), (("ST-17.seal",), [])])
def test_a_range_whose_record_is_empty_stays_if_it_is_current(removed: tuple[str, ...], readable: list[int]) -> None:
    """ST-18, ST-17. After a legacy close the record says that the range is empty, and readers need it all the same."""
    state = written(*removed).take("close", b=Offset(0), fast=False)
    assert state.range_start[RangeIndex(0)] == state.range_end[RangeIndex(0)]
    state = state.take("open", n=B, r=RangeIndex(1))
    assert found(state) == readable
    assert state.holds("no_hole") == (not removed)


@pytest.mark.parametrize(("removed", "kept"), [((), True), (("ST-18.covered",), False)])
def test_a_range_with_data_of_the_node_stays(removed: tuple[str, ...], kept: bool) -> None:
    """ST-18. The second open after it does not remove a range, unless stream objects contain all of it."""
    state = written(*removed)
    for index, node in ((1, B), (2, C)):
        state = state.take("close", b=Offset(0), fast=False).take("open", n=node, r=RangeIndex(index))
    assert state.kept[RangeIndex(0)] == kept
    assert state.holds("no_hole") == kept


def test_a_range_that_stream_objects_cover_goes() -> None:
    """ST-18. Readers do not need the range any more."""
    state = written().take("split", n=A, x=Offset(0))
    for index, node in ((1, B), (2, C)):
        state = state.take("close", b=Offset(0), fast=False).take("open", n=node, r=RangeIndex(index))
    assert not state.kept[RangeIndex(0)]
    assert found(state) == [0]


def two_ranges(*removed: str) -> SealedRanges:
    """A has [0, 2), which is uploaded, and owes [3, 4) of a later range; B has [2, 3) between them."""
    state = sealed(*removed).take("commit", n=A, b=Offset(2)).take("open", n=B, r=RangeIndex(1))
    state = state.take("commit", n=B, b=Offset(3)).take("close", b=Offset(3), fast=True)
    return state.take("open", n=A, r=RangeIndex(2)).take("close", b=Offset(4), fast=True)


def test_a_recovery_takes_the_range_of_the_entry() -> None:
    """ND-03. Of two sealed ranges of one node, only the one that ends with the entry matches."""
    state = two_ranges()
    assert state.holds("two_sealed_ranges")
    for other in (0, 1):
        assert state.refusal("recover", n=A, r=RangeIndex(other)) == ("ND-03", E.STREAM_INNER_ERROR)
    assert found(state.take("recover", n=A, r=RangeIndex(2))) == [0, 1, 2, 3]


def test_a_recovery_of_another_range_loses_data() -> None:
    """ND-03. If any range of the node will do, the recovery uploads up to the wrong end and drops the rest."""
    state = two_ranges("ND-03").take("recover", n=A, r=RangeIndex(0))
    assert found(state) == [0, 1, 2]
    assert not state.holds("no_hole")


def test_nobody_opens_behind_a_locked_owner() -> None:
    """ST-16. Only the locked owner itself may open; without the rule the new owner waits for a locked node."""
    state = sealed().take("lock", n=A, trips=True)
    assert state.refusal("open", n=B, r=RangeIndex(1)) == ("ST-16", None)
    state = sealed("ST-16").take("lock", n=A, trips=True)
    after = state.take("open", n=B, r=RangeIndex(1))
    assert not after.holds("opens_readable", old=state)
    assert found(after.take("commit", n=A, b=Offset(2))) == [0]


def test_an_earlier_owner_that_is_locked_is_not_seen() -> None:
    """ST-16 looks at the last owner alone, so C opens although A is locked and still owes [1, 2)."""
    state = sealed().take("open", n=B, r=RangeIndex(1)).take("close", b=Offset(2), fast=True)
    state = state.take("lock", n=A, trips=True)
    assert state.holds("locked_behind")
    assert found(state.take("open", n=C, r=RangeIndex(2))) == [0]
