"""The records of a broker that are in its WAL and perhaps nowhere else: the log cache (PL-10 to PL-12).

Records come into the active block. A block that is full is archived, uploaded and committed; its records stay, for
readers, until their room is needed.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from itertools import takewhile

import msgspec

from impl.broker.wal_format import NOTHING, Record
from impl.rules import rule

OVERHEAD = 1_024
"""Bytes that each record counts besides its payload."""
WIDEST = 2**31 - 1
"""An index counts the offsets of a block in 31 bits."""
MOST_BLOCKS = 64


class Limits(msgspec.Struct, frozen=True):
    """A block is full with ``block`` bytes or ``streams`` streams; ``capacity`` bytes are the room of all blocks.

    ``widest``: the most offsets of one stream in one block.
    """

    block: int = 500 << 20
    streams: int = 10_000
    capacity: int = 2 << 30
    widest: int = WIDEST


class Block:
    """Records of some streams, each stream's in the order of their appends.

    ``position``: the WAL offset of the last record, known when the block is archived. ``size``: with OVERHEAD.
    """

    def __init__(self) -> None:
        self.streams: dict[int, list[Record]] = {}
        self.size = 0
        self.position = NOTHING
        self.is_committed = False

    def has_room(self, record: Record, widest: int) -> bool:
        """Whether the offsets of the record's stream fit into one block with those that are there."""
        there = self.streams.get(record.stream)
        return there is None or record.base + record.count - there[0].base <= widest

    def put(self, record: Record) -> None:
        """Add a record."""
        self.streams.setdefault(record.stream, []).append(record)
        self.size += len(record.payload) + OVERHEAD


class LogCache:
    """The blocks of a broker. ``size``: the bytes of all of them. ``gaps``: how often a stream skipped offsets."""

    def __init__(self, limits: Limits = Limits()) -> None:  # noqa: B008 - frozen
        self.active = Block()
        self.archived: deque[Block] = deque()
        self.size = 0
        self.gaps = 0
        self._limits = limits
        self._position = NOTHING
        self._runs: dict[int, list[list[Record]]] = {}
        """By stream, its records in runs without a gap. There is one, unless an append has failed."""

    def put(self, record: Record, position: int) -> Block | None:
        """Add a record, which is at a position of the WAL. Returns the block that the record has filled, archived.

        Records come in the order of their positions (PL-02). If the record does not fit into the active block, that
        block is archived before, and the caller finds it among ``archived``.
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

    def archive(self) -> Block | None:
        """End the active block, and return it; None if it is empty (PL-11)."""
        if not self.active.streams:
            return None
        block, self.active = self.active, Block()
        block.position = self._position
        self.archived.append(block)
        return block

    def commit(self, block: Block) -> None:
        """A block is committed. The oldest blocks leave if they are, and if there is little room (PL-11)."""
        block.is_committed = True
        while self.archived and (self.size > self._limits.capacity * 0.9 or len(self.archived) > MOST_BLOCKS):
            if rule("PL-11", not self.archived[0].is_committed):
                return
            self._free(self.archived.popleft())

    @property
    def pinned(self) -> int:
        """The bytes that cannot leave: all but those of the oldest blocks, as far as these are committed."""
        return self.size - sum(block.size for block in takewhile(lambda each: each.is_committed, self.archived))

    def read(self, stream: int, begin: int, end: int) -> list[Record]:
        """The records that overlap [begin, end), if they are all there; otherwise those of its end, or none (PL-12).

        The records of the end are those of the newest run. It has to begin within the range, and to reach its end.
        """
        runs = self._runs.get(stream, [])
        for run in reversed(runs):
            if run[0].base <= begin and run[-1].base + run[-1].count >= end:
                return _overlapping(run, begin, end)
        if runs and begin < runs[-1][0].base < end <= runs[-1][-1].base + runs[-1][-1].count:
            return _overlapping(runs[-1], begin, end)
        return []

    def _free(self, block: Block) -> None:
        self.size -= block.size
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


def _overlapping(run: list[Record], begin: int, end: int) -> list[Record]:
    """The records of a run that have an offset of the range."""
    first = max(bisect_right(run, begin, key=_base) - 1, 0)
    found = run[first : bisect_right(run, end - 1, key=_base)]
    return [record for record in found if record.base + record.count > begin]


def _base(record: Record) -> int:
    return record.base
