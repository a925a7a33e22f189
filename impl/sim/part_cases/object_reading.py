"""Runs of reads from objects, some of which are unnamed, gone, short or damaged.

A read gets all of its range, or fails. The metadata change while reads are under way. The judge knows the batches that
were written, and the defects.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from impl.broker.object_lookup import InvalidReadError
from impl.broker.reader import RecordReader
from impl.broker.stream_api import read_of
from impl.broker.wal_format import WalRecord
from impl.sim.part_cases.object_shelf import DAMAGED, GONE, INDEXED, NOWHERE, SHORT, STREAM, ObjectShelf, RecordHolder
from impl.sim.tape import Draw, one
from impl.sim.violation import PartViolation
from impl.store.bucket import Bucket
from impl.tasks import FailedError, Gate, Tasks

LONGEST_MS = 120_000
"""How long a read waits for metadata (PL-13)."""
STEPS, STEPS_MS = 24, (1_000, 30_000, 119_000)


class RecentRecords:
    """A cache with the newest batches of the stream. One of them may be lost."""

    def __init__(self, records: Sequence[WalRecord], lost: WalRecord | None) -> None:
        self.lost = lost
        self._held = [each for each in records if each is not lost]

    def read(self, stream: int, begin: int, end: int) -> list[WalRecord]:
        """The batches that have an offset of a range, as far as the cache has them."""
        return [each for each in self._held if each.stream == stream and each.base < end and each.end > begin]


class ReadAttempt(msgspec.Struct, eq=False):
    """A read of [``begin``, ``end``) from ``since`` on. ``split``: the end of the part that objects have to give.

    ``bar``: why nothing may be read: the stream is missing, or starts above ``begin``; "" if nothing bars the read.
    ``met``: the obstacles that the read has met so far, in the words of ``obstacles``.
    """

    gate: Gate[list[WalRecord]]
    begin: int
    end: int
    split: int
    since: int
    bar: str
    met: set[str]


TRIMMED, BROKEN, LATE = "trimmed", "broken", "late"
"""A range begins below the start; a batch is damaged or lost, which a read notices at once; an object is not there."""


def obstacles(shelf: ObjectShelf, begin: int, end: int) -> set[str]:
    """What keeps a read of [begin, end) from its end. An object is taken as a whole."""
    found = {TRIMMED} if begin < shelf.start else set()
    named = [each for each in shelf.holders if each.is_named]
    if any(each.defect in (SHORT, DAMAGED) and each.start < end and each.end > begin for each in named):
        found |= {BROKEN, LATE}
    if any(each.defect == GONE and _may_ask(each, begin, end) for each in named):
        found.add(LATE)
    for record in shelf.overlapping(begin, end):
        if not any(each.start <= record.base < each.end for each in named):
            found.add(LATE)
    return found


def _may_ask(holder: RecordHolder, begin: int, end: int) -> bool:
    """Whether a read asks for an object. An index has to be read before anybody knows its offsets (MD-03)."""
    return holder.kind == INDEXED or (holder.start < end and holder.end > begin)


class ObjectReads:
    """A reader, what it has asked the store for, and its reads."""

    def __init__(self, draw: Draw) -> None:
        self._draw, self._shelf, self._tasks = draw, ObjectShelf(draw), Tasks()
        bucket = Bucket(self._tasks, lambda number, operation: (number, operation))
        self._reader = RecordReader(
            self._tasks,
            bucket,
            lambda: self._shelf.image,
            indexes=one(draw, (1, 256)),
            index_bytes=one(draw, (64, 4096)),
        )
        recent = self._shelf.records[int(draw() * (len(self._shelf.records) + 1)) :]
        self._cache = RecentRecords(recent, one(draw, recent) if recent and draw() < 0.3 else None)
        self._read_both = read_of(self._cache, self._reader)
        self._asked: list[tuple[int, Any]] = []
        self._reads: list[ReadAttempt] = []

    def run(self) -> PartViolation | None:
        """Make the steps of the run, then wait for the end of each read. Tell the first violation; None if none."""
        for _ in range(STEPS):
            found = self._step()
            if found is not None:
                return found
        self._answer_all()
        found = self._judge()
        if found is not None:
            return found
        self._pass(LONGEST_MS)
        self._answer_all()
        found = self._judge()
        if found is None and self._reads:
            return PartViolation("PL-13", "a read does not end within two minutes")
        return found

    def _step(self) -> PartViolation | None:
        how = self._draw()
        if how < 0.25:
            return self._begin()
        if how < 0.4:
            before = [*self._shelf.holders]
            self._shelf.change(self._draw)
            self._note([each for each in before if each not in self._shelf.holders])
            self._reader.image_changed()
            self._pass(0)
        elif how < 0.5:
            self._pass(one(self._draw, STEPS_MS))
        elif self._asked:
            self._answer(int(self._draw() * len(self._asked)))
        return self._judge()

    def _begin(self) -> PartViolation | None:
        """Begin a read: of objects alone, which may be invalid, or of objects and the cache as a handle allows it."""
        draw, shelf = self._draw, self._shelf
        is_cached = draw() < 0.4 and shelf.start < shelf.end
        stream = NOWHERE if not is_cached and draw() < 0.05 else STREAM
        least = shelf.start if is_cached else 0
        begin = least + int(draw() * (shelf.end - least))
        end = begin + 1 + int(draw() * (shelf.end - begin))
        cached = self._cache.read(stream, begin, end) if is_cached else []
        split = min(end, cached[0].base) if cached else end
        lost = self._cache.lost
        met = {BROKEN} if cached and lost is not None and lost.base < end and lost.end > begin else set[str]()
        gate = self._tasks.start(self._read(stream, begin, end, is_cached=is_cached))
        bar = "of a missing stream" if stream == NOWHERE else "below the start" if begin < shelf.start else ""
        self._reads.append(ReadAttempt(gate, begin, end, split, self._tasks.now, bar, met))
        self._note([])
        self._pass(0)
        return self._judge()

    async def _read(self, stream: int, begin: int, end: int, *, is_cached: bool) -> list[WalRecord]:
        if is_cached:
            return await self._read_both(stream, begin, end)
        return await self._reader.read(stream, begin, end)

    # The outside ------------------------------------------------------------------------------------------------

    def _pass(self, ms: int) -> None:
        self._asked += self._tasks.run(self._tasks.now + ms)

    def _answer(self, place: int) -> None:
        number, operation = self._asked.pop(place)
        self._tasks.answer(number, self._shelf.store.execute(operation))
        self._pass(0)

    def _answer_all(self) -> None:
        while self._asked:
            self._answer(0)

    def _note(self, replaced: list[RecordHolder]) -> None:
        """Note the obstacles of each read under way, which may have found a replaced object before."""
        for each in self._reads:
            each.met |= obstacles(self._shelf, each.begin, each.split)
            if any(_may_ask(holder, each.begin, each.split) for holder in replaced):
                each.met.add(LATE)

    # The facts --------------------------------------------------------------------------------------------------

    def _judge(self) -> PartViolation | None:
        """Judge the reads that have ended, and forget them."""
        for each in tuple(self._reads):
            if each.gate.happened:
                self._reads.remove(each)
            found = None
            if each.bar:
                found = _judged_bar(each)
            elif each.gate.happened:
                found = self._judged_end(each)
            if found is not None:
                return found
        return None

    def _judged_end(self, read: ReadAttempt) -> PartViolation | None:
        """A read returns what was written, all of it; or it fails, if it has met an obstacle for long enough."""
        try:
            found = read.gate.result()
        except FailedError:
            if read.met & {TRIMMED, BROKEN}:
                return None
            if LATE not in read.met:
                return PartViolation("PL-13", "a read fails, though objects and cache have all of its range")
            if self._tasks.now < read.since + LONGEST_MS:
                return PartViolation("MD-02", "a read does not wait two minutes for metadata that name its range")
            return None
        written = self._shelf.overlapping(read.begin, read.end)
        if found == written:
            return None
        if all(each in written for each in found):
            return PartViolation("PL-13", "a read returns a range with a hole, and no error")
        return PartViolation("PL-13", "a read returns batches that nobody wrote at these offsets")


def _judged_bar(read: ReadAttempt) -> PartViolation | None:
    """A read that is invalid is refused at once."""
    if read.gate.happened:
        try:
            read.gate.result()
        except InvalidReadError:
            return None
        except FailedError:
            pass
    return PartViolation("MD-01", f"a reader does not refuse a read {read.bar}")


def judged(draw: Draw) -> PartViolation | None:
    """Make a run of reads, and tell the first violation; None if there is none."""
    return ObjectReads(draw).run()
