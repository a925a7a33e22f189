"""The segments of a log as LOG stores them in ``segmentMetas`` (reassignment.md 3), and how a broker rebuilds them.

The slices of the last segment are stored without their ends, because they end where the streams end. So a crash may
come between a roll and the next write of LOG: the last stored segment then takes in all later records. Its stored size
is then too small, but the size only decides when the segment rolls. The facts name the fields and are silent about
their use: this use is a reading of ours.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from impl.broker.partition.meta_values import ABSENT, SegmentMeta, SegmentSlice
from impl.broker.partition.segments import NO_SLICE, ROLL_BYTES, Segment, Segments
from impl.broker.wal_format import DamagedError


class StreamEnds(msgspec.Struct, frozen=True, gc=False):
    """The next offset of each stream of the partition; 0 if it is not created yet."""

    log: int
    time: int = 0
    txn: int = 0


def store(segments: Segments) -> tuple[SegmentMeta, ...]:
    """The segments in the form in which LOG stores them."""
    *closed, active = segments.segments
    opened = (SegmentSlice(each.start, ABSENT) for each in (active.log, active.time, active.txn))
    return (*(_meta(each, each.log, each.time, each.txn) for each in closed), _meta(active, *opened))


def load(
    metas: Iterable[SegmentMeta], start: int, recover: int, ends: StreamEnds, roll_bytes: int = ROLL_BYTES
) -> Segments:
    """The segments of a log that is opened (step 6, row 4). ``start`` and ``recover``: the values in PARTITION.

    The recovery point is at most the end of the log (row 5). A partition without segments gets an empty one. Raises
    DamagedError unless the segments make one log that holds ``start``, and their slices lie in the streams one after
    the other.
    """
    segments: list[Segment] = []
    # ``place``: the offset in each stream at which the slices so far end.
    place = StreamEnds(0)
    stored = list(metas)
    for number, each in enumerate(stored, 1):
        bound = ends if number == len(stored) else StreamEnds(ABSENT, ABSENT, ABSENT)
        log = _closed(each.log, place.log, bound.log)
        time = _closed(each.time, place.time, bound.time)
        txn = _closed(each.txn, place.txn, bound.txn)
        if log == NO_SLICE or each.suffix or (segments and each.base != segments[-1].end):
            raise DamagedError(f"the segment with base offset {each.base} does not continue the log")
        place = StreamEnds(log.end, max(place.time, time.end), max(place.txn, txn.end))
        segments.append(
            Segment(
                *(each.base, log, time, txn, each.size, each.created, each.modified),
                *(each.first_timestamp, each.last_time_entry),
            )
        )
    if place.log > ends.log or place.time > ends.time or place.txn > ends.txn:
        raise DamagedError(f"the segments end at {place} of the streams, which end at {ends}")
    if not segments or place.log < ends.log:
        segments.append(Segment(segments[-1].end if segments else start, SegmentSlice(ends.log, ends.log)))
    if not segments[0].base <= start <= segments[-1].end:
        raise DamagedError(f"the log starts at {start}, and its segments are [{segments[0].base}, {segments[-1].end})")
    return Segments(segments, start, max(start, min(recover, segments[-1].end)), roll_bytes)


def _closed(stored: SegmentSlice, begin: int, bound: int) -> SegmentSlice:
    """A slice with its end. A slice that is stored without an end ends at ``bound``.

    ``begin``: the end of the slices of older segments. Raises DamagedError if the slice begins below it.
    """
    end = bound if stored.end == ABSENT and stored.start != ABSENT else stored.end
    if stored != NO_SLICE and not begin <= stored.start <= end:
        raise DamagedError(f"a segment has offsets {stored.start} to {end} of a stream, after others up to {begin}")
    return SegmentSlice(stored.start, end)


def _meta(segment: Segment, log: SegmentSlice, time: SegmentSlice, txn: SegmentSlice) -> SegmentMeta:
    return SegmentMeta(
        *(segment.base, segment.created, segment.modified, "", segment.size),
        *(log, time, txn, segment.first_timestamp, segment.last_time_entry),
    )
