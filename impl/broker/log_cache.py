"""The log cache: the newest records of a broker. Some of them are only in its WAL so far (PL-10 to PL-12).

New records enter the active block. A full block is archived, uploaded and committed. Its records stay for readers until
their room is needed.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from itertools import takewhile

import msgspec

from impl.broker.wal_format import NOTHING, WalRecord
from impl.rules import rule

OVERHEAD = 1_024
"""The bytes that each record counts for, besides its payload."""
WIDEST = 2**31 - 1
"""The maximum number of offsets of one stream in one block: an index counts them in 31 bits."""
MOST_BLOCKS = 64
"""The maximum number of archived blocks, as far as the oldest ones are committed."""


class CacheLimits(msgspec.Struct, frozen=True):
    """A block is full with ``block`` bytes or ``streams`` streams. ``capacity``: the bytes of all blocks together.

    ``widest``: the maximum number of offsets of one stream in one block.
    """

    block: int = 500 << 20
    streams: int = 10_000
    capacity: int = 2 << 30
    widest: int = WIDEST


class CacheBlock:
    """Records by stream; the records of a stream are in the order of their appends.

    ``position``: the WAL offset of the last record, set when the block is archived. ``size``: in bytes, with OVERHEAD.
    """

    def __init__(self) -> None:
        self.streams: dict[int, list[WalRecord]] = {}
        self.size = 0
        self.position = NOTHING
        self.is_committed = False

    def has_room(self, record: WalRecord, widest: int) -> bool:
        """Whether the block, with the record, has at most ``widest`` offsets of the record's stream."""
        there = self.streams.get(record.stream)
        return there is None or record.base + record.count - there[0].base <= widest

    def put(self, record: WalRecord) -> None:
        """Add a record."""
        self.streams.setdefault(record.stream, []).append(record)
        self.size += len(record.payload) + OVERHEAD


class LogCache:
    """The blocks of a broker. ``size``: the bytes of all blocks. ``gaps``: how often a stream skipped offsets."""

    def __init__(self, limits: CacheLimits = CacheLimits()) -> None:  # noqa: B008 - frozen
        self.active = CacheBlock()
        self.archived: deque[CacheBlock] = deque()
        self.size = 0
        self.gaps = 0
        self._limits = limits
        self._position = NOTHING
        self._runs: dict[int, list[list[WalRecord]]] = {}
        """By stream: its records in runs without a gap. A stream has one run, unless an append has failed."""

    def put(self, record: WalRecord, position: int) -> CacheBlock | None:
        """Add a record with its WAL offset. If the record fills the active block, archives and returns that block.

        Records come in the order of their positions (PL-02). If the record does not fit into the active block, that
        block is archived first, and the caller finds it in ``archived`` only.
        """
        if not self.active.has_room(record, self._limits.widest):
            self.archive()
        self.active.put(record)
        self.size += len(record.payload) + OVERHEAD
        self._position = position
        runs = self._runs.setdefault(record.stream, [])
        if runs and runs[-1][-1].base + runs[-1][-1].count == record.base:
            runs[-1].append(record)
        else:
            self.gaps += bool(runs)
            runs.append([record])
        full = self.active.size >= self._limits.block or len(self.active.streams) >= self._limits.streams
        return self.archive() if full else None

    def archive(self) -> CacheBlock | None:
        """End the active block, and return it; None if it is empty (PL-11)."""
        if not self.active.streams:
            return None
        block, self.active = self.active, CacheBlock()
        block.position = self._position
        self.archived.append(block)
        return block

    def commit(self, block: CacheBlock) -> None:
        """Mark a block as committed. If there is little room, free the oldest blocks that are committed (PL-11)."""
        block.is_committed = True
        while self.archived and (self.size > self._limits.capacity * 0.9 or len(self.archived) > MOST_BLOCKS):
            if rule("PL-11", not self.archived[0].is_committed):
                return
            self._free(self.archived.popleft())

    @property
    def position(self) -> int:
        """The WAL offset of the newest record; NOTHING before the first."""
        return self._position

    @property
    def pinned(self) -> int:
        """The bytes that cannot be freed: all bytes from the oldest uncommitted block on."""
        return self.size - sum(block.size for block in takewhile(lambda each: each.is_committed, self.archived))

    def read(self, stream: int, begin: int, end: int) -> list[WalRecord]:
        """The records that overlap [begin, end), if the cache has the whole range (PL-12).

        Otherwise the records of the newest run, if that run begins within the range and reaches the end of the range.
        Otherwise none.
        """
        runs = self._runs.get(stream, [])
        for run in reversed(runs):
            if run[0].base <= begin and run[-1].base + run[-1].count >= end:
                return _overlapping(run, begin, end)
        if runs and begin < runs[-1][0].base < end <= runs[-1][-1].base + runs[-1][-1].count:
            return _overlapping(runs[-1], begin, end)
        return []

    def _free(self, block: CacheBlock) -> None:
        self.size -= block.size
        # The oldest block is freed first, so its records are the first ones in the runs of their streams.
        for stream, records in block.streams.items():
            left, runs = len(records), self._runs[stream]
            while left:
                taken = min(left, len(runs[0]))
                del runs[0][:taken]
                left -= taken
                if not runs[0]:
                    del runs[0]
            if not runs:
                del self._runs[stream]


def _overlapping(run: list[WalRecord], begin: int, end: int) -> list[WalRecord]:
    """The records of a run that have an offset of the range."""
    # The last record with a base at or below ``begin`` may reach into the range.
    first = max(bisect_right(run, begin, key=_base) - 1, 0)
    found = run[first : bisect_right(run, end - 1, key=_base)]
    return [record for record in found if record.base + record.count > begin]


def _base(record: WalRecord) -> int:
    return record.base
