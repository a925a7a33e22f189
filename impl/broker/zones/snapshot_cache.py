"""The cache of a proxy for the partitions of other zones. A stream has no hole in it (ZR-46)."""

from __future__ import annotations

from collections import deque

from impl.broker.wal_format import WalRecord
from impl.rules import rule

OVERHEAD = 1_024
"""The bytes that each record counts for, besides its payload."""


class SnapshotCache:
    """Records by stream, without a gap between them. ``capacity``: in bytes."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._streams: dict[int, deque[WalRecord]] = {}
        self._order: deque[WalRecord] = deque()
        """All records, the oldest first; some of them may be gone from their stream."""
        self._size = 0

    def put(self, record: WalRecord) -> list[WalRecord]:
        """Add a record that follows the last one of its stream. Returns the records that are evicted for it.

        A record that is there already is dropped. One behind a gap empties its stream first (M-18).
        """
        held = self._streams.setdefault(record.stream, deque())
        if held and record.base < held[-1].end:
            return []
        if held and rule("M-18", record.base > held[-1].end):
            self._size -= sum(map(_weight, held))
            held.clear()
        held.append(record)
        self._order.append(record)
        self._size += _weight(record)
        return self._evict()

    def first(self, stream: int) -> int | None:
        """The offset of the first record of a stream; None if there is none."""
        held = self._streams.get(stream)
        return held[0].base if held else None

    def _evict(self) -> list[WalRecord]:
        evicted = []
        while self._size > self._capacity and self._order:
            oldest = self._order.popleft()
            held = self._streams[oldest.stream]
            # Within a stream the oldest record is the first one, unless the stream was emptied since.
            if held and held[0] is oldest:
                held.popleft()
                self._size -= _weight(oldest)
                evicted.append(oldest)
        return evicted

    def read(self, stream: int, begin: int, end: int) -> list[WalRecord]:
        """The records that overlap [begin, end), if the cache has the end of the range; otherwise none.

        The cache may lack the beginning, which is then in objects (ZR-49).
        """
        held = self._streams.get(stream)
        if not held or held[-1].end < end or held[0].base >= end:
            return []
        return [each for each in held if each.base < end and each.end > begin]


def _weight(record: WalRecord) -> int:
    return len(record.payload) + OVERHEAD
