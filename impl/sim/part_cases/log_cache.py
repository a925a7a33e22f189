"""Random runs of a small log cache, judged by a list of all records that were put (PL-10 to PL-12).

The uploader keeps its promise: it commits the archived blocks in their order (PL-22).
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from impl.broker.log_cache import CacheBlock, CacheLimits, LogCache
from impl.broker.wal_format import WalRecord
from impl.sim.tape import Draw, one
from impl.sim.violation import JudgedRun, PartViolation

STREAMS, LARGEST = 3, 3_000
"""The number of streams, and the largest payload in bytes."""
STEPS, LONG_STEPS = 120, 320
"""The most steps of a run, and of a run in which each record fills a block."""
COUNTED_BYTES, BLOCKS = 1_024, 64
"""What a record counts for besides its payload (PL-10), and the most blocks if the oldest is committed (PL-11)."""


class CachedRecord:
    """A record that was put, with its WAL offset. ``is_committed``: a commit of its block has covered it."""

    def __init__(self, record: WalRecord, position: int) -> None:
        self.record, self.position = record, position
        self.bytes = len(record.payload) + COUNTED_BYTES
        self.is_committed = False


class CacheRun(JudgedRun):
    """A cache, and all records that were put. ``found``: the first violation."""

    def __init__(self, draw: Draw) -> None:
        self._draw = draw
        blocks = 2 + int(draw() * 6)
        self._is_long = draw() < 0.2
        # If a record fills a block, the cache has so much room that only the number of blocks is limited.
        block = 1 if self._is_long else 2_000 + int(draw() * 4_000)
        self._limits = CacheLimits(
            block=block,
            streams=one(draw, (1, 2, 10)),
            capacity=10_000_000 if self._is_long else block * blocks,
            widest=one(draw, (8, 10_000)),
        )
        self._cache = LogCache(self._limits)
        self._put: list[CachedRecord] = []
        """All records, in their order."""
        self._archived: list[tuple[CacheBlock, list[CachedRecord]]] = []
        """The blocks that are not committed, with the records that they must have."""
        self._cut = 0
        """The number of records that are in archived blocks."""
        self._known = 0
        """The number of blocks of the cache that are archived and known, as far as they have not left it."""
        self._next = [0] * STREAMS
        self._position = 0

    def play(self) -> None:
        """Make random steps until one violates something."""
        for _ in range(10 + int(self._draw() * (LONG_STEPS if self._is_long else STEPS))):
            one(self._draw, _STEPS)(self)
            if self.found is not None:
                return
        self._judge_records()

    # Steps --------------------------------------------------------------------------------------------------------

    def _append(self) -> None:
        stream = int(self._draw() * STREAMS)
        # The stream was away in between.
        self._next[stream] += 5 if self._draw() < 0.05 else 0
        count, payload = 1 + int(self._draw() * 3), bytes(int(self._draw() * LARGEST))
        record = WalRecord(stream, 0, self._next[stream], count, payload)
        self._next[stream] += count
        self._position += 1 + int(self._draw() * 100)
        self._cache.put(record, self._position)
        self._put.append(CachedRecord(record, self._position))
        self._take_blocks()

    def _archive(self) -> None:
        self._cache.archive()
        self._take_blocks()
        if self._cut < len(self._put):
            self.violate("PL-11", "an archived block does not have all records that were put")

    def _take_blocks(self) -> None:
        """Take the new blocks, as the uploader does, and judge their records."""
        for block in tuple(self._cache.archived)[self._known :]:
            count = sum(map(len, block.streams.values()))
            there = self._put[self._cut : self._cut + count]
            self._cut += count
            self._known += 1
            self._archived.append((block, there))
            self._judge_block(block, there)
        open_records = self._put[self._cut :]
        streams = {each.record.stream for each in open_records}
        if sum(each.bytes for each in open_records) >= self._limits.block or len(streams) >= self._limits.streams:
            self.violate("PL-10", "a cache does not archive a block that is full")

    def _commit(self) -> None:
        if not self._archived:
            return
        block, records = self._archived.pop(0)
        for each in records:
            each.is_committed = True
        self._cache.commit(block)
        self._known = left = len(self._cache.archived)
        self._judge_records()
        size, pinned = self._cache.size, sum(each.bytes for each in self._put if not each.is_committed)
        if 10 * size > 9 * self._limits.capacity and size > pinned:
            self.violate("PL-11", "a cache with little room keeps records that are committed")
        if left > BLOCKS and left > len(self._archived):
            self.violate("PL-11", "a cache with many blocks keeps one that is committed")

    def _read(self) -> None:
        stream = int(self._draw() * STREAMS)
        begin = int(self._draw() * (self._next[stream] + 1))
        end = begin + 1 + int(self._draw() * (self._next[stream] - begin + 2))
        found = self._cache.read(stream, begin, end)
        there = self._overlapping(stream, begin, end)
        if found != [each.record for each in there[len(there) - len(found) :]]:
            self.violate("PL-12", "a read of the cache returns other records than the newest ones of its range")
        if found and (found[-1].end < end or not _is_whole(found)):
            self.violate("PL-12", "a read of the cache has a hole, or ends too early")
        covers = bool(there) and there[0].record.base <= begin and there[-1].record.end >= end
        whole = covers and _is_whole([each.record for each in there])
        if whole and not any(each.is_committed for each in there) and len(found) < len(there):
            self.violate("PL-11", "a read of the cache misses a record that no commit has covered")
        newest = self._newest_run(stream)
        if newest and not any(each.is_committed for each in newest) and not found:
            first, last = newest[0].record, newest[-1].record
            if begin < first.base < end <= last.end:
                self.violate("PL-12", "a read of the cache does not find the newest records of its range")

    def _newest_run(self, stream: int) -> list[CachedRecord]:
        """The records of a stream after its last gap."""
        found: list[CachedRecord] = []
        for each in reversed([each for each in self._put if each.record.stream == stream]):
            if found and each.record.end != found[-1].record.base:
                break
            found.append(each)
        return found[::-1]

    def _overlapping(self, stream: int, begin: int, end: int) -> list[CachedRecord]:
        of_stream = (each for each in self._put if each.record.stream == stream)
        return [each for each in of_stream if each.record.base < end and each.record.end > begin]

    # Judgements ---------------------------------------------------------------------------------------------------

    def _judge_block(self, block: CacheBlock, there: list[CachedRecord]) -> None:
        if block.position != there[-1].position:
            self.violate("PL-11", "an archived block does not carry the WAL offset of its last record")
        for stream, records in block.streams.items():
            if records != [each.record for each in there if each.record.stream == stream]:
                self.violate("PL-10", "the blocks of a cache do not have its records in their order")
            if len(records) > 1 and records[-1].end - records[0].base > self._limits.widest:
                self.violate("PL-10", "a block has more offsets of a stream than an index can count")

    def _judge_records(self) -> None:
        """A record is found as long as no commit has covered it, and the size is that of the records that are found."""
        size = 0
        for each in self._put:
            record = each.record
            is_there = self._cache.read(record.stream, record.base, record.end) == [record]
            if not is_there and not each.is_committed:
                self.violate("PL-11", "a record that no commit has covered is not in the cache")
            size += each.bytes if is_there else 0
        if size != self._cache.size:
            self.violate("PL-11", "the size of the cache is not that of its records")


def _is_whole(records: list[WalRecord]) -> bool:
    """Whether each record begins where the one before it ends."""
    return all(each.end == after.base for each, after in pairwise(records))


_STEPS: tuple[Callable[[CacheRun], None], ...] = (
    *(CacheRun._append,) * 5, CacheRun._archive, *(CacheRun._commit,) * 2, *(CacheRun._read,) * 3
)  # fmt: skip
"""The steps of a run, each as often as it counts in the draw."""


def judged(draw: Draw) -> PartViolation | None:
    """Make a run of a log cache, and tell what it violates; None if nothing."""
    run = CacheRun(draw)
    run.play()
    return run.found
