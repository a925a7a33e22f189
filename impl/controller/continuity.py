"""The check that a WAL upload continues the committed data of its streams, and its effect on entries (streams.md 5)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from impl.controller.nodes import NO_STREAM, owner_of
from impl.controller.view import View
from impl.errors import E
from impl.metadata.image import Image
from impl.records import NodeWALUncommittedOffsets, StreamState, UncommittedOffsets
from impl.rules import require, rule

ENTRIES_PER_RECORD = 10_000
"""The most entries that one record holds (streams.md 14)."""


class CommittedRange(msgspec.Struct, frozen=True):
    """The offsets [start, end) of a stream that a commit adds. That start < end is not checked (AM-06)."""

    stream: int
    start: int
    end: int


def check_continuity(image: Image, node: int, committed: CommittedRange) -> None:
    """CS-20 to CS-29b. Refuse a range that ``node`` may not commit now. ``image``: the state before the request."""
    stored = image.streams.get(committed.stream, NO_STREAM)
    if rule("CS-20", committed.stream not in image.streams):  # G-29
        return
    if rule("CS-21", committed.end <= stored.start):  # G-28
        return
    entry = image.active_entry(node, committed.stream)
    if entry is not None:
        require(committed.end <= entry.to, "CS-22", E.OFFSET_NOT_MATCHED)  # G-23
        # An active entry never starts below its stream. If both starts are equal, the stored entry may start lower.
        before_trim = entry.start == stored.start and committed.start < stored.start
        continues = committed.start == entry.start or rule("CS-24", before_trim)
        require(continues, "CS-25", E.OFFSET_NOT_MATCHED)  # G-24
        return
    require(stored.state is StreamState.OPENED, "CS-26", E.STREAM_NOT_OPENED)  # G-25
    require(image.current_range(committed.stream) is not None, "CS-27", E.STREAM_INNER_ERROR)
    require(owner_of(image, committed.stream) == node, "CS-28", E.STREAM_FENCED)  # G-26
    if stored.end > stored.start:
        require(committed.start == stored.end, "CS-29a", E.OFFSET_NOT_MATCHED)  # G-27
    else:
        require(committed.start <= stored.start, "CS-29b", E.OFFSET_NOT_MATCHED)


def moved_ends(image: Image, node: int, committed: Iterable[CommittedRange]) -> dict[int, int]:
    """CS-06, CS-35. By stream that the node owns: its new end. Historical data, of an active entry, moves no end."""
    ends: dict[int, int] = {}
    for each in committed:
        if owner_of(image, each.stream) != node:
            continue
        if rule("CS-35", image.active_entry(node, each.stream) is not None):
            continue
        ends[each.stream] = max(each.end, ends.get(each.stream, each.end))
    return ends


def entry_changes(view: View, node: int, committed: Iterable[CommittedRange]) -> Iterator[NodeWALUncommittedOffsets]:
    """CS-30 to CS-34. The changes of the node's entries by a WAL commit, also of streams outside the commit."""
    ends: dict[int, int] = {}
    for each in committed:
        ends[each.stream] = max(each.end, ends.get(each.stream, each.end))
    changes = list(_changes(view.image, node, ends))
    for at in range(0, len(changes), ENTRIES_PER_RECORD):
        yield NodeWALUncommittedOffsets(node, tuple(changes[at : at + ENTRIES_PER_RECORD]))


def _changes(image: Image, node: int, ends: dict[int, int]) -> Iterator[UncommittedOffsets]:
    """The changed entries. A commit up to the end of an entry removes it (CS-32).

    An entry whose start equals its end is a removal (CS-34).
    """
    for stream, stored in sorted(image.entries.get(node, {}).items()):
        if image.active_entry(node, stream) is None:
            if rule("CS-30"):  # G-31
                yield UncommittedOffsets(stream, stored.to, stored.to)
        elif stream not in ends:  # CS-31
            continue
        elif rule("CS-33", ends[stream] > image.streams[stream].start):
            yield UncommittedOffsets(stream, ends[stream], stored.to)
