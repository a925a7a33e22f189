"""The stored list of segments: its form, the rebuilt segments, and the lists that are refused."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from impl.broker.partition.meta_values import SegmentMeta, SegmentSlice, TimeEntry
from impl.broker.partition.segment_metas import StreamEnds, load, store
from impl.broker.partition.segments import NO_ENTRY, NO_SLICE, Segment, Segments
from impl.broker.wal_format import DamagedError

ENDS = StreamEnds(9, 4, 2)
FIRST = SegmentMeta(10, 1, 2, "", 30, SegmentSlice(0, 3), SegmentSlice(0, 2), NO_SLICE, 5, TimeEntry(6, 12))
CUT = SegmentMeta(13, 2, 3, "", 20, SegmentSlice(3, 5), NO_SLICE, NO_SLICE, 7, NO_ENTRY)
LAST = SegmentMeta(15, 3, 4, "", 10, SegmentSlice(7, -1), SegmentSlice(2, -1), SegmentSlice(0, -1), 8, NO_ENTRY)


def opened(*metas: SegmentMeta, start: int = 11, recover: int = 16) -> Segments:
    """The log opened from a stored list."""
    return load(metas, start, recover, ENDS)


def test_a_list_is_stored_and_rebuilt() -> None:
    """The slices of the last segment have the ends of the streams."""
    found = opened(FIRST, CUT, LAST)
    assert found.segments == [
        Segment(10, SegmentSlice(0, 3), SegmentSlice(0, 2), NO_SLICE, 30, 1, 2, 5, TimeEntry(6, 12)),
        Segment(13, SegmentSlice(3, 5), NO_SLICE, NO_SLICE, 20, 2, 3, 7),
        Segment(15, SegmentSlice(7, 9), SegmentSlice(2, 4), SegmentSlice(0, 2), 10, 3, 4, 8),
    ]
    assert (found.start, found.recovery, found.end) == (11, 16, 17)
    assert store(found) == (FIRST, CUT, LAST)


def test_the_recovery_point_lies_in_the_log() -> None:
    """Step 6, row 5: the recovery point is at most the log's end, and not in deleted data."""
    assert opened(FIRST, CUT, LAST, recover=99).recovery == 17
    assert opened(FIRST, CUT, LAST, recover=0).recovery == 11


def test_a_partition_begins_with_an_empty_segment() -> None:
    """A new partition has one empty segment at its start offset, wherever the data stream is."""
    found = load((), 7, 0, ENDS)
    assert found.segments == [Segment(7, SegmentSlice(9, 9))]
    assert (found.start, found.end, found.recovery) == (7, 7, 7)


def test_records_behind_a_closed_list_are_not_in_the_log() -> None:
    """If the last segment is stored with an end and the stream goes on, the rest was truncated."""
    found = opened(FIRST, CUT)
    assert found.segments[-1] == Segment(15, SegmentSlice(9, 9))
    assert found.end == 15
    whole = load((FIRST, CUT), 11, 15, StreamEnds(5, 2))
    assert whole.end == 15
    assert len(whole.segments) == 2


WRONG: list[tuple[int, dict[str, Any]]] = [
    (1, {"base": 12}),  # overlaps the segment before
    (2, {"base": 16}),  # leaves a gap
    (0, {"log": SegmentSlice(0, -1)}),  # an open slice that is not the last
    (0, {"time": SegmentSlice(0, -1)}),
    (1, {"log": SegmentSlice(2, 4)}),  # the same records as the segment before
    (1, {"time": SegmentSlice(1, 2)}),
    (2, {"time": SegmentSlice(1, -1)}),
    (1, {"log": NO_SLICE}),
    (1, {"log": SegmentSlice(5, 3)}),
    (0, {"txn": SegmentSlice(-1, 0)}),
    (0, {"suffix": ".a"}),
    (2, {"log": SegmentSlice(7, 10)}),  # beyond the end of the stream
    (2, {"log": SegmentSlice(10, -1)}),
    (2, {"time": SegmentSlice(2, 5)}),
    (2, {"txn": SegmentSlice(0, 3)}),
]


@pytest.mark.parametrize(("number", "fields"), WRONG)
def test_a_list_that_makes_no_log_is_refused(number: int, fields: dict[str, Any]) -> None:
    """Gaps and overlaps are refused, of the partition and of a stream."""
    metas = [FIRST, CUT, LAST]
    metas[number] = msgspec.structs.replace(metas[number], **fields)
    with pytest.raises(DamagedError, match="segment"):
        opened(*metas)


@pytest.mark.parametrize("name", ["time", "txn"])
def test_only_the_last_segment_has_open_slices(name: str) -> None:
    """Only the last segment may have open slices, even if it has none."""
    first = msgspec.structs.replace(FIRST, **{name: SegmentSlice(0, -1)})
    last = msgspec.structs.replace(LAST, **{name: NO_SLICE})
    with pytest.raises(DamagedError, match="offsets 0 to -1"):
        opened(first, CUT, last)


@pytest.mark.parametrize("start", [9, 18])
def test_a_start_outside_the_log_is_refused(start: int) -> None:
    """A start outside the log is refused: PARTITION and LOG are of different times."""
    with pytest.raises(DamagedError, match=rf"starts at {start}, and its segments are \[10, 17\)"):
        opened(FIRST, CUT, LAST, start=start)
