"""The log cache against a list of all put records: what reads return, what is freed, and where blocks end."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from impl.broker.log_cache import MOST_BLOCKS, OVERHEAD, WIDEST, CacheBlock, CacheLimits, LogCache
from impl.broker.wal_format import WalRecord
from impl.rules import without

STREAMS = st.integers(0, 2)
OFFSETS = st.integers(0, 40)


def record(stream: int, base: int, count: int = 1, payload: bytes = b"") -> WalRecord:
    """A record of epoch 0."""
    return WalRecord(stream, 0, base, count, payload)


def expected(there: list[WalRecord], stream: int, begin: int, end: int) -> list[WalRecord]:
    """PL-12, computed offset by offset. ``there``: the records in the cache, in the order of appends."""
    own = [each for each in there if each.stream == stream]
    runs: list[list[WalRecord]] = []
    for each in own:
        if runs and runs[-1][-1].base + runs[-1][-1].count == each.base:
            runs[-1].append(each)
        else:
            runs.append([each])
    covered = [{offset for each in run for offset in range(each.base, each.base + each.count)} for run in runs]
    wanted = set(range(begin, end))
    for run, offsets in reversed(list(zip(runs, covered, strict=True))):
        if wanted <= offsets:
            return [each for each in run if wanted & set(range(each.base, each.base + each.count))]
    if not runs:
        return []
    offsets = covered[-1]
    if begin < min(offsets) < end and set(range(min(offsets), end)) <= offsets:
        return [each for each in runs[-1] if wanted & set(range(each.base, each.base + each.count))]
    return []


class CacheMachine(RuleBasedStateMachine):
    """Records are put, blocks are committed in any order, and every read is compared."""

    @initialize(block=st.integers(1, 5), streams=st.integers(1, 3), capacity=st.integers(2, 12))
    def begin(self, block: int, streams: int, capacity: int) -> None:
        """Limits in records rather than bytes."""
        self.limits = CacheLimits(block=block * OVERHEAD, streams=streams, capacity=capacity * OVERHEAD)
        self.cache = LogCache(self.limits)
        self.blocks: list[list[WalRecord]] = [[]]
        """The records of each block that was not freed, the active one last."""
        self.next = [0, 0, 0]
        self.position = 0

    @rule(stream=STREAMS, count=st.integers(1, 4), skipped=st.sampled_from([0, 0, 0, 3]))
    def put(self, stream: int, count: int, skipped: int) -> None:
        """Put the next record of a stream, sometimes after a gap."""
        self.position += 7
        new = record(stream, self.next[stream] + skipped, count)
        self.next[stream] = new.base + count
        filled = self.cache.put(new, self.position)
        self.blocks[-1].append(new)
        now = self.blocks[-1]
        full = len(now) * OVERHEAD >= self.limits.block or len({each.stream for each in now}) >= self.limits.streams
        assert (filled is not None) == full
        if filled is not None:
            assert filled is self.cache.archived[-1]
            assert filled.position == self.position
            self.blocks.append([])

    @precondition(lambda self: self.blocks[-1:] != [[]])
    @rule()
    def archive(self) -> None:
        """Archive the active block early."""
        block = self.cache.archive()
        assert block is not None
        assert block.position == self.position
        self.blocks.append([])

    @precondition(lambda self: self.cache.archived)
    @rule(place=OFFSETS)
    def commit(self, place: int) -> None:
        """Commit any block. The oldest committed blocks are freed if there is little room."""
        blocks = list(self.cache.archived)
        self.cache.commit(blocks[place % len(blocks)])
        while len(self.blocks) > 1 and blocks[0].is_committed and self._is_full():
            del self.blocks[0], blocks[0]
        assert list(self.cache.archived) == blocks

    def _is_full(self) -> bool:
        return sum(map(len, self.blocks)) * OVERHEAD > self.limits.capacity * 0.9

    @rule(stream=STREAMS, begin=OFFSETS, length=st.integers(1, 20))
    def read(self, stream: int, begin: int, length: int) -> None:
        """Read any range."""
        there = [each for block in self.blocks for each in block]
        assert self.cache.read(stream, begin, begin + length) == expected(there, stream, begin, begin + length)

    def teardown(self) -> None:
        """The cache's sizes are those of its records."""
        if hasattr(self, "cache"):
            assert self.cache.size == sum(map(len, self.blocks)) * OVERHEAD


TestCache = CacheMachine.TestCase


@given(st.integers(0, 3), st.integers(0, 3))
def test_a_range_of_an_empty_cache_is_not_there(begin: int, length: int) -> None:
    """A range of an empty cache is missing, and so is one of a stream without records."""
    cache = LogCache()
    assert cache.read(0, begin, begin + length) == []
    cache.put(record(1, 0), 0)
    assert cache.read(0, begin, begin + length) == []


def test_a_read_of_the_end_begins_within_the_range() -> None:
    """PL-12. A cached part at the begin of a range does not help if the end is missing."""
    cache = LogCache()
    cache.put(record(0, 10, 5), 0)
    cache.put(record(0, 15, 5), 1)
    assert [each.base for each in cache.read(0, 12, 20)] == [10, 15]
    assert [each.base for each in cache.read(0, 5, 20)] == [10, 15]
    assert [each.base for each in cache.read(0, 5, 15)] == [10]
    assert cache.read(0, 5, 10) == []
    assert cache.read(0, 12, 21) == []


def test_a_block_holds_a_limited_span() -> None:
    """PL-10. A record that would exceed the limit begins the next block, and the full one is archived."""
    cache = LogCache()
    cache.put(record(0, 0), 3)
    assert cache.put(record(0, 1, WIDEST - 1), 4) is None
    assert not cache.archived
    assert cache.put(record(0, WIDEST), 5) is None
    (block,) = cache.archived
    assert block.position == 4
    assert list(cache.active.streams) == [0]


def test_many_blocks_leave_without_need_of_room() -> None:
    """PL-11. At most 64 blocks wait to be freed, even if there is room."""
    cache = LogCache(CacheLimits(block=1))
    blocks = [cache.put(record(0, base), base) for base in range(MOST_BLOCKS + 2)]
    for block in blocks:
        assert isinstance(block, CacheBlock)
        cache.commit(block)
    assert len(cache.archived) == MOST_BLOCKS


def test_what_is_not_committed_stays() -> None:
    """PL-11. Without the rule a reader misses records that are in no object."""
    limits = CacheLimits(block=1, capacity=OVERHEAD)

    def left() -> list[WalRecord]:
        cache = LogCache(limits)
        first, second = (cache.put(record(0, base), base) for base in range(2))
        assert first is not None
        assert second is not None
        cache.commit(second)
        return cache.read(0, 0, 2)

    assert len(left()) == 2
    with without("PL-11"):
        assert left() == []
