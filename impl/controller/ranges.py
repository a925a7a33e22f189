"""The ranges of a stream: which ones an open removes, and which ones a trim changes (streams.md 3)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from impl.controller.nodes import NO_STREAM
from impl.metadata.image import Image, StreamObject, StreamRange
from impl.records import MetadataRecord, Range, RemoveRange
from impl.rules import rule


def range_record(stream: int, index: int, row: StreamRange) -> Range:
    """The record that stores a range."""
    return Range(stream, row.epoch, index, row.start, row.end, row.node)


def removable(image: Image, stream: int) -> Iterator[int]:
    """ST-18. The indexes of the ranges that an open removes: those whose offsets stream objects hold, and empty ones.

    The current range stays. A stream without stream objects keeps all its ranges, also the empty ones.
    """
    run = first_run(image.stream_objects.get(stream, {}).values())
    if run is None:
        return
    current = image.streams.get(stream, NO_STREAM).range_index
    for index, row in sorted(image.ranges.get(stream, {}).items()):
        if rule("ST-18.current", index == current):  # G-07
            continue
        covered = rule("ST-18.covered", run[0] <= row.start and row.end <= run[1])
        if covered or rule("ST-18.empty", row.start == row.end):
            yield index


def first_run(objects: Iterable[StreamObject]) -> tuple[int, int] | None:
    """The offsets [a, b) from the lowest start of the objects up to their first gap; None without objects."""
    run: tuple[int, int] | None = None
    for each in sorted(objects, key=lambda held: held.start):
        if run is None:
            run = (each.start, each.end)
        elif rule("ST-18.gap", each.start > run[1]):
            break
        else:
            # Objects may overlap, so a later start does not mean a later end.
            run = (run[0], max(run[1], each.end))
    return run


def trim_ranges(image: Image, stream: int, to: int) -> Iterator[MetadataRecord]:
    """ST-44. The records that change the ranges of a stream when it is trimmed to ``to``.

    The ranges ascend by index and offset, so the walk stops at the first one that stays or is cut.
    """
    stored = image.streams.get(stream, NO_STREAM)
    for index, row in sorted(image.ranges.get(stream, {}).items()):
        if rule("ST-44.stop", row.start >= to):
            return
        if rule("ST-44.current", index == stored.range_index):
            end = to if rule("ST-44.lift", to > stored.end) else stored.end  # G-19
            yield range_record(stream, index, StreamRange(row.epoch, row.node, to, end))
            return
        if rule("ST-44.remove", row.end <= to):
            yield RemoveRange(stream, index)
        else:
            yield range_record(stream, index, StreamRange(row.epoch, row.node, to, row.end))
            return
