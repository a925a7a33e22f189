"""Segments against a plain list that has the place of every record in the data stream."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from impl.broker.partition import segments as module
from impl.broker.partition.meta_values import LogMeta, SegmentMeta, SegmentSlice, TimeEntry
from impl.broker.partition.segment_metas import StreamEnds, load, store
from impl.broker.partition.segments import LOG, NO_ENTRY, NO_SLICE, TIME, TXN, Segment, Segments, Span
from impl.broker.wal_format import DamagedError

ROLL = 10


def fresh(roll: int = ROLL) -> Segments:
    """An empty log."""
    return load((), 0, 0, StreamEnds(0), roll)


class SegmentsMachine(RuleBasedStateMachine):
    """A log that grows, is truncated and deleted, and is reopened, also with an older stored list."""

    def __init__(self) -> None:
        super().__init__()
        self.segments = fresh()
        self.places: list[int] = []
        """The place in the data stream of each record of the log, deleted ones included."""
        self.stream = 0
        """The end of the data stream."""
        self.start = self.recovery = 0
        self.stored = self.metas()

    def metas(self) -> tuple[SegmentMeta, ...]:
        """The list in LOG, encoded and decoded."""
        return LogMeta.decode(LogMeta({}, store(self.segments)).encode()).segments

    @rule(count=st.integers(1, 4), size=st.integers(1, 8))
    def append(self, count: int, size: int) -> None:
        """Append a batch. It begins a segment if the active one would exceed 10 bytes."""
        before, number = self.segments.active, len(self.segments.segments)
        rolled = self.segments.append(self.stream, count, size, 0, 0)
        assert rolled == (before.log.end > before.log.start and before.size + size > ROLL)
        assert len(self.segments.segments) == number + rolled
        self.places += range(self.stream, self.stream + count)
        self.stream += count

    @rule(back=st.integers(0, 6))
    def truncate(self, back: int) -> None:
        """Recovery finds a corrupt batch. The list is stored before anything else happens."""
        end = max(self.start, len(self.places) - back)
        changed = self.segments.truncate(end, self.stream, 0)
        assert changed == (end < len(self.places))
        del self.places[end:]
        self.recovery = min(self.recovery, end)
        self.stored = self.metas()

    @rule(more=st.integers(-2, 9))
    def delete(self, more: int) -> None:
        """Delete old records. Only whole segments leave the list, which is stored before the streams are trimmed."""
        start = min(self.start + more, len(self.places))
        self.start = max(start, self.start)
        self.recovery = max(self.recovery, self.start)
        before = list(self.segments.segments)
        gone = self.segments.delete(start)
        assert gone == [each for each in before[:-1] if each.end <= self.start]
        assert gone + self.segments.segments == before
        self.stored = self.metas()

    @rule(back=st.integers(0, 5))
    def flush(self, back: int) -> None:
        """Flush the records below an offset."""
        offset = max(0, len(self.places) - back)
        self.segments.flush(offset)
        self.recovery = max(self.recovery, offset)

    @rule(is_clean=st.booleans())
    def reopen(self, is_clean: bool) -> None:
        """Reopen. After a clean close the list is the same; after a crash it may lack segments, not records."""
        if is_clean:
            self.stored = self.metas()
        opened = load(self.stored, self.start, self.recovery, StreamEnds(self.stream), ROLL)
        if is_clean:
            assert opened.segments == self.segments.segments
        assert len(opened.segments) <= len(self.segments.segments)
        self.segments = opened

    @invariant()
    def every_record_is_found(self) -> None:
        """Each record is at its place, in the segment with its offset, and in the spans that are read."""
        segments = self.segments
        assert (segments.start, segments.recovery, segments.end) == (self.start, self.recovery, len(self.places))
        bases = [each.base for each in segments.segments]
        assert bases == sorted(set(bases))
        for offset in range(-1, len(self.places) + 2):
            found = segments.find(offset)
            if self.start <= offset < len(self.places):
                assert found is not None
                assert found.base <= offset < found.end
                assert found.position(offset) == self.places[offset]
            else:
                assert found is None
        for begin, end in ((0, len(self.places) + 1), (self.start + 1, len(self.places) - 1), (3, 3)):
            spans = segments.spans(begin, end)
            read = [(span.base + i, span.start + i) for span in spans for i in range(span.end - span.start)]
            wanted = range(max(begin, self.start), min(end, len(self.places)))
            assert read == [(offset, self.places[offset]) for offset in wanted]

    @invariant()
    def nothing_that_is_trimmed_is_missed(self) -> None:
        """The data stream is trimmed to the first record of the first segment."""
        (first, *_), trims = self.segments.segments, self.segments.trims()
        assert trims == {LOG: self.places[first.base] if first.base < len(self.places) else self.stream}


SegmentsMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=25)
TestSegments = SegmentsMachine.TestCase


@given(st.lists(st.tuples(st.integers(1, 3), st.integers(1, 14)), max_size=15))
def test_segments_are_as_large_as_they_may_be(batches: list[tuple[int, int]]) -> None:
    """A segment takes batches up to its limit of size. A larger batch has a segment of its own."""
    segments, position = fresh(), 0
    wanted: list[list[tuple[int, int]]] = [[]]
    for count, size in batches:
        segments.append(position, count, size, 0, 0)
        position += count
        if wanted[-1] and sum(each for _, each in wanted[-1]) + size > ROLL:
            wanted.append([])
        wanted[-1].append((count, size))
    assert [(each.end - each.base, each.size) for each in segments.segments] == [
        (sum(count for count, _ in part), sum(size for _, size in part)) for part in wanted
    ]


@given(st.lists(st.sampled_from([LOG, TIME, TXN]), max_size=20), st.integers(0, 5))
def test_index_entries_belong_to_the_active_segment(steps: list[str], start: int) -> None:
    """Slices and trims agree with the segment of each entry. Here each batch has a segment."""
    segments, next_of = fresh(roll=1), {LOG: 0, TIME: 5, TXN: 9}
    written: list[tuple[str, int, int]] = []
    for step in steps:
        position = next_of[step]
        if step == LOG:
            segments.append(position, 1, 1, 0, 0)
        elif step == TIME:
            segments.index_time(position, TimeEntry(position, segments.active.base))
        else:
            segments.index_txn(position)
        next_of[step] += 1
        written.append((step, position, segments.active.base))
    segments.delete(min(start, segments.end))

    for each in segments.segments:
        for name, known in ((TIME, each.time), (TXN, each.txn)):
            places = [position for step, position, base in written if (step, base) == (name, each.base)]
            assert known == (SegmentSlice(places[0], places[-1] + 1) if places else NO_SLICE)
        assert each.last_time_entry == (TimeEntry(each.time.end - 1, each.base) if each.time != NO_SLICE else NO_ENTRY)
    first = segments.segments[0].base
    kept = {step: position for step, position, base in reversed(written) if base >= first}
    assert segments.trims() == {LOG: next_of[LOG], **kept}


def test_a_segment_goes_with_its_last_record() -> None:
    """A segment is deleted with its last record, except the active one."""
    segments = fresh(roll=1)
    for position in (0, 2, 4):
        segments.append(position, 2, 1, 0, 0)
    first, second, third = segments.segments
    assert segments.delete(1) == []
    assert segments.delete(2) == [first]
    assert segments.delete(3) == []
    assert segments.delete(6) == [second]
    assert segments.segments == [third]
    assert (segments.start, segments.end) == (6, 6)


def test_a_truncated_log_goes_on_behind_the_corrupt_records() -> None:
    """Offsets 3 and 4 were at 3 and 4 of the data stream. After a truncation new ones are at 6 and 7."""
    segments = fresh(roll=1)
    for position, count in ((0, 2), (2, 3), (5, 1)):
        segments.append(position, count, 6, 100 + position, 7)
    segments.index_time(0, TimeEntry(105, 5))
    assert segments.truncate(3, 6, 8)
    segments.append(6, 2, 4, 200, 9)

    assert segments.segments == [
        Segment(0, SegmentSlice(0, 2), size=6, created=-1, modified=7, first_timestamp=100),
        Segment(2, SegmentSlice(2, 3), size=2, created=7, modified=7, first_timestamp=102),
        Segment(3, SegmentSlice(6, 8), size=4, created=8, modified=9, first_timestamp=200),
    ]
    assert segments.spans(1, 9) == [Span(1, 1, 2), Span(2, 2, 3), Span(3, 6, 8)]


def test_a_truncation_forgets_the_last_time_entry_of_a_record_that_is_gone() -> None:
    """A truncation removes the last time entry if its record is removed, and keeps it otherwise."""
    for cut, left in ((2, NO_ENTRY), (3, TimeEntry(50, 2))):
        segments = fresh()
        segments.append(0, 4, 4, 0, 0)
        segments.index_time(0, TimeEntry(50, 2))
        segments.truncate(cut, 4, 0)
        assert segments.segments[0].last_time_entry == left
        assert segments.segments[0].time == SegmentSlice(0, 1)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda segments: segments.append(4, 1, 1, 0, 0), "1 records at 4 .* ends at 3"),
        (lambda segments: segments.append(2, 1, 1, 0, 0), "1 records at 2 .* ends at 3"),
        (lambda segments: segments.append(3, 0, 1, 0, 0), "0 records"),
        (lambda segments: segments.index_time(2, NO_ENTRY), "entry at 2 .* ends at 1"),
        (lambda segments: segments.index_txn(2), "entry at 2 .* ends at 1"),
        (lambda segments: segments.flush(4), "up to 4 .* ends at 3"),
        (lambda segments: segments.delete(4), "start at 4, and ends at 3"),
        (lambda segments: segments.truncate(4, 3, 0), r"cut at 4 of \[1, 3\)"),
        (lambda segments: segments.truncate(0, 3, 0), r"cut at 0 of \[1, 3\)"),
        (lambda segments: segments.truncate(2, 2, 0), "stream that ends at 2"),
    ],
)
def test_what_does_not_fit_is_refused(wrong: Callable[[Segments], object], message: str) -> None:
    """A gap in a stream, a batch without records and offsets outside the log are refused, and nothing changes."""
    segments = fresh()
    segments.append(0, 3, 3, 0, 0)
    segments.index_time(0, NO_ENTRY)
    segments.index_txn(0)
    segments.delete(1)
    before = (list(segments.segments), segments.start, segments.recovery)
    with pytest.raises(ValueError, match=message):
        wrong(segments)
    assert (segments.segments, segments.start, segments.recovery) == before


def play() -> None:
    """Two batches, a truncation inside the second one, another batch, a deletion, a crash."""
    machine = SegmentsMachine()
    machine.append(3, 8)
    machine.append(4, 8)
    machine.truncate(2)
    machine.append(2, 8)
    machine.delete(4)
    machine.reopen(is_clean=False)
    machine.every_record_is_found()
    machine.nothing_that_is_trimmed_is_missed()


def truncate_the_stream(self: Segments, offset: int, log_end: int, now: int) -> bool:
    """A faulty truncation, after which the log goes on at the last good record's place in the stream."""
    del log_end, now
    self.segments[-1] = module._cut(self.active, offset)
    return True


def delete_all_older(self: Segments, start: int) -> list[Segment]:
    """A faulty deletion that removes the segment of the new start, too."""
    self.start = self.recovery = start
    gone, self.segments = self.segments[:-1], self.segments[-1:]
    return gone


@pytest.mark.parametrize(
    ("target", "name", "wrong"),
    [
        (Segments, "truncate", truncate_the_stream),
        (Segments, "delete", delete_all_older),
        (module, "_cut", lambda segment, end: segment),
        (Segment, "position", lambda self, offset: offset),
        (Segments, "trims", lambda self: {LOG: self.active.log.start}),
    ],
    ids=["truncate", "delete", "cut", "position", "trims"],
)
def test_known_wrong_variants_are_caught(
    target: object, name: str, wrong: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One run shows the error of each variant."""
    play()
    monkeypatch.setattr(target, name, wrong)
    with pytest.raises((AssertionError, ValueError, DamagedError)):
        play()


def test_a_truncation_has_to_be_stored() -> None:
    """With the list from before a truncation a crash would restore the truncated record instead of the new one."""
    segments = fresh()
    segments.append(0, 2, 2, 0, 0)
    old = store(segments)
    segments.truncate(1, 2, 0)
    new = store(segments)
    segments.append(2, 1, 1, 0, 0)
    assert load(new, 0, 0, StreamEnds(3)).spans(0, 2) == segments.spans(0, 2) == [Span(0, 0, 1), Span(1, 2, 3)]
    assert load(old, 0, 0, StreamEnds(3)).spans(0, 2) == [Span(0, 0, 2)]
