"""Links: what the main appends, what the channel has, and what a link is resolved to (I-13)."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from impl.broker.partition import batches
from impl.broker.partition.batches import Batch
from impl.broker.wal_format import DamagedError, WalPlace, WalRecord, encode, end_of, folder_of
from impl.broker.zones import blocks
from impl.broker.zones.blocks import ProduceBlock
from impl.broker.zones.links import channel_folder, decode_link, key_of, link_to, resolved, span_of
from impl.broker.zones.snapshot_cache import SnapshotCache
from impl.metadata.image import Image
from impl.records import NodeWALUncommittedOffsets, Range, S3Stream, StreamState, UncommittedOffsets
from impl.sim.links import dangling, resolve
from impl.zone.encodings import ChannelOffset, WalOffset

BATCHES = st.builds(
    Batch,
    base=st.just(0),
    values=st.lists(st.binary(max_size=20), min_size=1, max_size=4).map(tuple),
    timestamp=st.integers(-1, 2**40),
)


def channel(*written: ProduceBlock, owner: int = 1, epoch: int = 7) -> tuple[dict[str, bytes], list[ChannelOffset]]:
    """An object of a channel with these blocks, all for main 2, and where each lies."""
    records = [WalRecord(2, 0, number, 1, block.encode()) for number, block in enumerate(written)]
    data, offsets = encode(0, owner, epoch, -1, records)
    places = [
        ChannelOffset(0, 5, owner, 2, WalOffset(epoch, offset, record.size))
        for offset, record in zip(offsets, records, strict=True)
    ]
    return {WalPlace(epoch, 0, end_of(0, len(data))).key(channel_folder(owner)): data}, places


def wal(*records: WalRecord, trim: int = -1, node: int = 2) -> dict[str, bytes]:
    """The object of a node's WAL with these records."""
    data, _ = encode(0, node, 3, trim, records)
    return {WalPlace(3, 0, end_of(0, len(data))).key(folder_of(node)): data}


def link_record(batch: Batch, at: ChannelOffset) -> WalRecord:
    """The link that a main writes for a batch that has its offset."""
    return WalRecord(9, 4, batch.base, -batch.count, link_to(batch, at.encode()))


@given(st.lists(BATCHES, min_size=1, max_size=4), st.integers(0, 50), st.integers(0, 9))
def test_a_link_is_resolved_to_what_the_main_has_cached(sent: list[Batch], base: int, leader_epoch: int) -> None:
    """Each batch gets an offset and a leader epoch at the main; the link brings back those very bytes."""
    objects, places = channel(*(ProduceBlock("t", 3, batch) for batch in sent))
    for batch, at in zip(sent, places, strict=True):
        placed = batch.placed(base, leader_epoch)
        found = resolve(link_record(placed, at), objects)
        assert found == WalRecord(9, 4, base, batch.count, batches.encode(placed))
        base = placed.end


@given(st.binary(max_size=60))
def test_a_block_is_refused_or_read_as_it_was_written(data: bytes) -> None:
    """Whatever the bytes are, nobody reads a block from them that encodes to others."""
    try:
        found = blocks.decode(data)
    except DamagedError:
        return
    assert found.encode() == data


@given(BATCHES, st.integers(0, 40), st.integers(0, 255))
def test_a_changed_byte_is_noticed(batch: Batch, place: int, byte: int) -> None:
    """The magic byte, the length or the checksum of the batch shows it; or only the name of the topic differs."""
    data = bytearray(ProduceBlock("t", 3, batch).encode())
    data[place % len(data)] = byte
    try:
        found = blocks.decode(bytes(data))
    except DamagedError:
        return
    assert found.batch == batch


def test_the_count_of_a_link_is_that_of_its_batch() -> None:
    """A link that stands for another number of records than its batch has is damaged."""
    block = ProduceBlock("t", 0, Batch(0, (b"a", b"b")))
    _, (at,) = channel(block)
    record = link_record(block.batch.placed(4, 0), at)
    link, _ = decode_link(record)
    with pytest.raises(DamagedError, match="stands for 1 records"):
        resolved(WalRecord(9, 4, 4, -1, record.payload), link, block)


def test_the_place_of_a_record_needs_no_list() -> None:
    """The key and the bytes follow from the offset alone (ZR-17)."""
    objects, places = channel(*(ProduceBlock("t", 0, Batch(0, (bytes([n]),))) for n in range(3)))
    for number, at in enumerate(places):
        begin, end = span_of(at)
        assert bytes([number]) in objects[key_of(at)][begin:end]


# Links that dangle ------------------------------------------------------------------------------------------------


def image(end: int = 0, node: int = 2, state: StreamState = StreamState.OPENED) -> Image:
    """Metadata with stream 9, which a node has opened, and which is committed up to ``end``."""
    found = Image()
    for record in (S3Stream(9, 4, 0, 0, state), Range(9, 4, 0, 0, end, node)):
        found.apply(record)
    return found


def linked() -> tuple[Mapping[str, bytes], dict[str, bytes]]:
    """A channel, and a WAL with a link into it."""
    block = ProduceBlock("t", 0, Batch(0, (b"a",)))
    objects, (at,) = channel(block)
    return objects, wal(link_record(block.batch.placed(0, 0), at))


def test_a_link_without_its_batch_dangles() -> None:
    """As long as a recovery would meet it. The oracle looks at bytes only."""
    bytes_of_channel, bytes_of_wal = linked()
    assert dangling({**bytes_of_channel, **bytes_of_wal}, image()) == []
    assert dangling(bytes_of_wal, image()) == ["the link at 0 of stream 9 in the WAL of node 2"]


def test_a_link_that_no_recovery_keeps_does_not_dangle() -> None:
    """It is committed, or its stream is closed, or open on another node; but a seal may still need it (RC-02)."""
    _, bytes_of_wal = linked()
    assert dangling(bytes_of_wal, image(end=1)) == []
    assert dangling(bytes_of_wal, image(node=3)) == []
    closed = image(state=StreamState.CLOSED)
    assert dangling(bytes_of_wal, closed) == []
    closed.apply(NodeWALUncommittedOffsets(2, (UncommittedOffsets(9, 0, 1),)))
    assert len(dangling(bytes_of_wal, closed)) == 1


def test_a_trimmed_link_does_not_dangle() -> None:
    """Nobody resolves it any more."""
    block = ProduceBlock("t", 0, Batch(0, (b"a",)))
    _, (at,) = channel(block)
    record = link_record(block.batch.placed(0, 0), at)
    assert dangling(wal(record, trim=10_000), image()) == []
    assert len(dangling(wal(record, trim=-1), image())) == 1


def test_a_late_object_of_an_old_process_does_not_dangle() -> None:
    """A recovery leaves it out (WL-08)."""
    _, bytes_of_wal = linked()
    data, _ = encode(0, 2, 4, -1, [WalRecord(9, 4, 0, 1, b"")])
    newer = {WalPlace(4, 0, end_of(0, len(data))).key(folder_of(2)): data}
    assert dangling({**bytes_of_wal, **newer}, image()) == []


# The cache of a reader --------------------------------------------------------------------------------------------


def put(cache: SnapshotCache, *spans: tuple[int, int], stream: int = 1) -> list[tuple[int, int]]:
    """Put records with these offsets. Returns the offsets of the evicted records."""
    gone = [each for base, end in spans for each in cache.put(WalRecord(stream, 0, base, end - base, b"x"))]
    return [(each.base, each.end) for each in gone]


def held(cache: SnapshotCache, begin: int, end: int) -> list[int]:
    """The bases of what the cache reads."""
    return [each.base for each in cache.read(1, begin, end)]


def test_a_gap_empties_the_stream() -> None:
    """What follows a gap does not stand beside what was before it; what is known already changes nothing."""
    cache = SnapshotCache(1 << 20)
    put(cache, (0, 2), (2, 5), (0, 2))
    assert held(cache, 0, 5) == [0, 2]
    put(cache, (7, 8))
    assert (held(cache, 0, 8), held(cache, 7, 8), held(cache, 0, 5)) == ([7], [7], [])


def test_a_range_is_read_only_up_to_its_end() -> None:
    """The beginning may be missing, since objects have it; the end may not."""
    cache = SnapshotCache(1 << 20)
    put(cache, (4, 6), (6, 9))
    assert held(cache, 0, 9) == [4, 6]
    assert held(cache, 5, 6) == [4]
    assert held(cache, 5, 10) == []


def test_the_oldest_records_are_evicted() -> None:
    """Each stream loses its beginning, so that no hole comes up."""
    cache = SnapshotCache(3 * 1_100)
    assert put(cache, (0, 1), (1, 2), (2, 3)) == []
    assert put(cache, (3, 4)) == [(0, 1)]
    assert held(cache, 0, 4) == [1, 2, 3]
