"""A WAL that a dead process has left: its streams, and the objects with their records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from impl.broker.wal_format import NOTHING, WalPlace, WalRecord, encode, end_of, folder_of
from impl.sim.part_cases.recovery_controller import NODE, RecoveredStream
from impl.sim.tape import Draw, one
from impl.store.interface import Put

STREAMS, BATCHES = 4, 4
"""The number of streams, and the most batches of a stream."""


def left_streams(draw: Draw) -> dict[int, RecoveredStream]:
    """Random streams by number, with their acknowledged records. Some of the records are committed."""
    return {number: _stream(draw, number) for number in range(STREAMS)}


def _stream(draw: Draw, number: int) -> RecoveredStream:
    stream = RecoveredStream(number, one(draw, ("open", "open", "sealed", "another")), [], 0)
    for _ in range(int(draw() * (BATCHES + 1))):
        stream.batches.append(_record(draw, stream, stream.durable))
    if stream.kind == "sealed" and not stream.batches:
        stream.kind = "another"
    # All batches of a stream of another node are committed, and not all of a sealed one.
    count = len(stream.batches)
    if stream.kind != "another":
        count = int(draw() * (count + (stream.kind == "open")))
    stream.end = stream.batches[count - 1].end if count else 0
    return stream


def _record(draw: Draw, stream: RecoveredStream, base: int) -> WalRecord:
    return WalRecord(stream.number, 1, base, 1 + int(draw() * 3), b"%f" % draw())


def left_objects(draw: Draw, streams: Mapping[int, RecoveredStream], epoch: int) -> Iterator[Put]:
    """The puts of the objects. ``epoch``: that of the dead process. Some records were never acknowledged."""
    records = _records(draw, streams)
    start = 0
    while records:
        # Within an object records are sorted, so the order of their appends decides only between objects.
        count = 1
        while count < len(records) and draw() < 0.6 and _is_sorted(records[: count + 1]):
            count += 1
        data, _ = encode(start, NODE, epoch, NOTHING, records[:count])
        place = WalPlace(epoch, start, end_of(start, len(data)))
        yield Put(place.key(folder_of(NODE)), data)
        start, records = place.end, records[count:]


def _records(draw: Draw, streams: Mapping[int, RecoveredStream]) -> list[WalRecord]:
    waiting = {number: list(each.batches) for number, each in streams.items()}
    written = list[WalRecord]()
    while any(waiting.values()):
        stream = streams[one(draw, [number for number, left in waiting.items() if left])]
        record = waiting[stream.number].pop(0)
        written.append(record)
        if draw() < 0.1:
            # A late object of an older process.
            written.append(_record(draw, stream, int(draw() * record.end)))
        if not waiting[stream.number]:
            written += _unacknowledged(draw, stream)
    return written


def _unacknowledged(draw: Draw, stream: RecoveredStream) -> list[WalRecord]:
    """What follows the last acknowledged record: records above a sealed end, or behind one that was lost."""
    chance = draw()
    if chance < 0.5 and stream.kind == "sealed":
        return [_record(draw, stream, stream.durable)]
    if chance >= 0.3:
        return []
    first = _record(draw, stream, stream.durable + 1 + int(draw() * 3))
    return [first, _record(draw, stream, first.end)] if chance < 0.15 else [first]


def _is_sorted(records: Sequence[WalRecord]) -> bool:
    """Whether the records of each stream are in the order of their bases."""
    return all(before.base <= after.base for before, after in combinations(records, 2) if before.stream == after.stream)
