"""The shortcuts of zone routing: records inside answers, and the memory of a proxy for its own batches."""

from __future__ import annotations

import pytest

from impl.broker.messages import StoreRequest
from impl.broker.partition import batches
from impl.broker.partition.batches import Batch
from impl.broker.wal_format import WalRecord, decode_record
from impl.broker.zones.blocks import ProduceBlock
from impl.broker.zones.inline_records import InlineRecords
from impl.broker.zones.links import ChannelReader, DanglingError, link_to
from impl.broker.zones.recent_blocks import RecentBlocks
from impl.store.bucket import Bucket
from impl.store.memory import MemoryStore
from impl.tasks import Tasks
from impl.zone.encodings import ChannelOffset, WalOffset

OFFSET = ChannelOffset(0, 5, 1, 2, WalOffset(1, 0, 100)).encode()
KEPT_MS = 100


def record(base: int, size: int = 10) -> WalRecord:
    """A record of stream 7."""
    return WalRecord(7, 1, base, 1, b"x" * size)


def taken(inline: InlineRecords, wal_end: int) -> list[int] | None:
    """The bases of the records of the next answer; None if its reader has to read the WAL."""
    found = inline.take(wal_end)
    return None if found is None else [decode_record(each).base for each in found]


def test_the_first_answer_says_only_where_the_wal_ends() -> None:
    """ZR-42. Each further answer has all records since the one before."""
    inline = InlineRecords(1_000)
    inline.add(record(0))
    assert taken(inline, 50) is None
    inline.add(record(1))
    inline.add(record(2))
    assert taken(inline, 150) == [1, 2]
    assert taken(inline, 150) == []
    inline.add(record(3))
    assert taken(inline, 200) == [3]


def test_before_the_first_record_there_is_no_place_to_begin_at() -> None:
    """ZR-42. An empty WAL gives no record inside answers."""
    inline = InlineRecords(1_000)
    assert taken(inline, 0) is None
    inline.add(record(0))
    assert taken(inline, 50) is None
    inline.add(record(1))
    assert taken(inline, 100) == [1]


def test_records_that_are_too_many_are_all_dropped() -> None:
    """ZR-42. One record missing would be a hole, so the reader reads the WAL; the next answer has records again."""
    inline = InlineRecords(2 * record(0).size)
    inline.take(10)
    for base in range(3):
        inline.add(record(base))
    inline.add(record(3))
    assert taken(inline, 200) is None
    inline.add(record(4))
    inline.add(record(5))
    assert taken(inline, 300) == [4, 5]


def test_without_room_there_is_never_a_record() -> None:
    """A reader then always reads the WAL."""
    inline = InlineRecords(0)
    for base in range(3):
        inline.add(record(base))
        assert taken(inline, 100 * (base + 1)) is None


@pytest.mark.parametrize(("waits", "kept"), [(0, True), (KEPT_MS - 1, True), (KEPT_MS, False)])
def test_a_batch_is_kept_for_a_while(waits: int, kept: bool) -> None:
    """ZR-18. It can be taken once."""
    tasks = Tasks()
    recent = RecentBlocks(tasks, KEPT_MS)
    block = ProduceBlock("t", 0, Batch(0, (b"a",)))
    recent.put(OFFSET, block)
    tasks.run(waits)
    assert recent.take(OFFSET) == (block if kept else None)
    assert recent.take(OFFSET) is None


def test_nothing_is_kept_for_no_time() -> None:
    """0 keeps none."""
    recent = RecentBlocks(Tasks(), 0)
    recent.put(OFFSET, ProduceBlock("t", 0, Batch(0, (b"a",))))
    assert recent.take(OFFSET) is None


def test_a_link_to_an_own_batch_needs_no_read() -> None:
    """ZR-18. Here the channel has no such object: with the batch in memory the link is resolved, and only once."""
    tasks, store = Tasks(), MemoryStore()
    recent = RecentBlocks(tasks, KEPT_MS)
    batch = Batch(0, (b"a", b"b"))
    recent.put(OFFSET, ProduceBlock("t", 0, batch))
    reader = ChannelReader(Bucket(tasks, StoreRequest), recent)
    link = WalRecord(7, 1, 20, -2, link_to(batch.placed(40, 3), OFFSET))
    first = tasks.start(reader.resolve(link))
    tasks.run(0)
    assert batches.decode(first.result().payload) == batch.placed(40, 3)
    again = tasks.start(reader.resolve(link))
    for request in tasks.run(0):
        assert isinstance(request, StoreRequest)
        tasks.answer(request.id, store.execute(request.operation))
    tasks.run(0)
    with pytest.raises(DanglingError):
        again.result()
