"""The segments of a partition's log, and the place of each record in the streams.

All segments share one data stream, one time index stream and one transaction stream; a segment has a slice of each. A
record takes one offset in the partition and one in the data stream, so within a segment the two offsets differ by a
constant. The constant grows when recovery truncates the log: a stream cannot lose its end, so the truncated records
stay in the stream, between two slices, and are never read.

A change of the list has to be stored in LOG before the next action that depends on it:

- After ``truncate``, before an append is acknowledged. Otherwise the truncated records come back after a crash, and
  new records do not stand at their offsets.
- After ``delete``, with the new start in PARTITION, before the streams are trimmed.

A roll may be stored at any time (``segment_metas``).
"""

from __future__ import annotations

from bisect import bisect_right

import msgspec

from impl.broker.partition.meta_values import ABSENT, SegmentSlice, TimeEntry

LOG, TIME, TXN = "log", "tim", "txn"
"""The names of the streams in ``streamMap``."""
NO_SLICE = SegmentSlice(ABSENT, ABSENT)
NO_ENTRY = TimeEntry(ABSENT, ABSENT)
ROLL_BYTES = 1 << 30
"""The maximum bytes of a segment with more than one batch: Kafka's default for log.segment.bytes."""


class Segment(msgspec.Struct, frozen=True):
    """A segment: the fields of SegmentMeta, and the ends of its slices. ``log`` may be empty, the others NO_SLICE."""

    base: int
    log: SegmentSlice
    time: SegmentSlice = NO_SLICE
    txn: SegmentSlice = NO_SLICE
    size: int = 0
    created: int = ABSENT
    modified: int = ABSENT
    first_timestamp: int = ABSENT
    last_time_entry: TimeEntry = NO_ENTRY

    @property
    def end(self) -> int:
        """The partition offset after its last record."""
        return self.base + self.log.end - self.log.start

    def position(self, offset: int) -> int:
        """The offset in the data stream of a partition offset."""
        return self.log.start + offset - self.base


class Span(msgspec.Struct, frozen=True, gc=False):
    """Offsets [``start``, ``end``) of the data stream. The first has offset ``base`` in the partition."""

    base: int
    start: int
    end: int


class Segments:
    """``segments``: sorted by base, without a gap, at least one. Appends go to the last one, the active segment.

    ``start``: the first offset of the log; records of the first segment before it are deleted. ``recovery``: records
    below this offset need no scan after a crash, since they and their index entries are flushed.
    """

    def __init__(self, segments: list[Segment], start: int, recovery: int, roll_bytes: int = ROLL_BYTES) -> None:
        self.segments = segments
        self.start = start
        self.recovery = recovery
        self._roll_bytes = roll_bytes

    @property
    def active(self) -> Segment:
        """The segment that grows."""
        return self.segments[-1]

    @property
    def end(self) -> int:
        """The offset of the next record."""
        return self.segments[-1].end

    # Read -----------------------------------------------------------------------------------------------------

    def find(self, offset: int) -> Segment | None:
        """The segment that holds an offset; None outside [start, end)."""
        if not self.start <= offset < self.end:
            return None
        return self.segments[bisect_right(self.segments, offset, key=_base) - 1]

    def spans(self, begin: int, end: int) -> list[Span]:
        """The spans of the data stream with the offsets of [begin, end) that the log has: one span for each segment."""
        begin, end = max(begin, self.start), min(end, self.end)
        found = []
        while begin < end:
            segment = self.find(begin)
            assert segment is not None, "the offset is in the log, whose segments have no gap"
            last = min(end, segment.end)
            found.append(Span(begin, segment.position(begin), segment.position(last)))
            begin = last
        return found

    # Grow -----------------------------------------------------------------------------------------------------

    def append(self, position: int, count: int, size: int, timestamp: int, now: int) -> bool:
        """Add a batch of ``count`` records and ``size`` bytes, which has offset ``position`` in the data stream.

        The batch begins a new segment if the active one would become too large with it. Returns whether it does.
        Raises ValueError if the batch does not follow the active segment in the data stream.
        """
        active = self.active
        if position != active.log.end or count < 1:
            raise ValueError(f"{count} records at {position} of the data stream; the segment ends at {active.log.end}")
        rolled = self.rolls(size)
        if rolled:
            active = Segment(self.end, SegmentSlice(position, position), created=now)
            self.segments.append(active)
        self.segments[-1] = msgspec.structs.replace(
            active,
            log=SegmentSlice(active.log.start, position + count),
            size=active.size + size,
            modified=now,
            first_timestamp=timestamp if active.log.start == active.log.end else active.first_timestamp,
        )
        return rolled

    def rolls(self, size: int) -> bool:
        """Whether a batch of ``size`` bytes would begin a new segment."""
        active = self.active
        return active.log.start < active.log.end and active.size + size > self._roll_bytes

    def index_time(self, position: int, entry: TimeEntry) -> None:
        """Add an entry to the time index of the active segment; it has offset ``position`` in the time stream."""
        time = _grown(self.active.time, position)
        self.segments[-1] = msgspec.structs.replace(self.active, time=time, last_time_entry=entry)

    def index_txn(self, position: int) -> None:
        """Add an entry to the transaction index of the active segment, at ``position`` of the transaction stream."""
        self.segments[-1] = msgspec.structs.replace(self.active, txn=_grown(self.active.txn, position))

    def flush(self, offset: int) -> None:
        """Note that records below an offset, and their index entries, are flushed. Raises ValueError above the end."""
        if offset > self.end:
            raise ValueError(f"records up to {offset} are flushed, and the log ends at {self.end}")
        self.recovery = max(self.recovery, offset)

    # Shrink ---------------------------------------------------------------------------------------------------

    def truncate(self, offset: int, log_end: int, now: int) -> bool:
        """End the log at ``offset``, where recovery found a corrupt batch. Returns whether anything changes.

        ``log_end``: the end of the data stream, where a new active segment begins. Later segments are dropped. The
        size of the segment that is cut becomes an estimate. Its time index may keep entries of records that are gone;
        a reader skips an entry whose offset is not below the end of the segment. Raises ValueError for an offset
        outside the log, or a stream that ends before the log.
        """
        if not self.start <= offset <= self.end or log_end < self.active.log.end:
            raise ValueError(f"cut at {offset} of [{self.start}, {self.end}), with a stream that ends at {log_end}")
        # Nothing lies beyond the cut, neither in the log nor in the data stream.
        if offset == self.end and log_end == self.active.log.end:
            return False
        kept = [segment for segment in self.segments if segment.base < offset]
        if kept and kept[-1].end > offset:
            kept[-1] = _cut(kept[-1], offset)
        self.segments = [*kept, Segment(offset, SegmentSlice(log_end, log_end), created=now)]
        self.recovery = min(self.recovery, offset)
        return True

    def delete(self, start: int) -> list[Segment]:
        """Let the log begin at ``start``. Returns the removed segments: those that end at ``start`` or before it. The
        active segment stays. Nothing happens if the log starts later already. Raises ValueError above the end.
        """
        if start > self.end:
            raise ValueError(f"the log is to start at {start}, and ends at {self.end}")
        self.start = max(self.start, start)
        self.recovery = max(self.recovery, self.start)
        gone = [segment for segment in self.segments[:-1] if segment.end <= self.start]
        del self.segments[: len(gone)]
        return gone

    def trims(self) -> dict[str, int]:
        """By name of a stream: the offset below which no segment has a record. A stream without a slice is left out.

        The offsets lie between batches, because recovery of a WAL drops a batch that a trim has cut (AM-08).
        """
        found = {LOG: self.segments[0].log.start}
        slices = [(TIME, each.time) for each in self.segments] + [(TXN, each.txn) for each in self.segments]
        for name, known in slices:
            # Segments are sorted, so the first slice is the lowest one.
            if known != NO_SLICE:
                found.setdefault(name, known.start)
        return found


def _grown(known: SegmentSlice, position: int) -> SegmentSlice:
    if known != NO_SLICE and position != known.end:
        raise ValueError(f"an index entry at {position} of its stream, and the slice ends at {known.end}")
    return SegmentSlice(position if known == NO_SLICE else known.start, position + 1)


def _cut(segment: Segment, end: int) -> Segment:
    """A segment without the records from an offset on."""
    count = end - segment.base
    is_gone = segment.last_time_entry.offset >= end
    return msgspec.structs.replace(
        segment,
        log=SegmentSlice(segment.log.start, segment.log.start + count),
        size=segment.size * count // (segment.end - segment.base),
        last_time_entry=NO_ENTRY if is_gone else segment.last_time_entry,
    )


def _base(segment: Segment) -> int:
    return segment.base
