"""The objects of a bucket: the round trip, reads of parts, and the detection of changes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from impl.broker.object_format import decode_block, encode, object_key, pack
from impl.broker.object_index import FOOTER_BYTES, DataBlock, Index, decode_index, index_position
from impl.broker.wal_format import DamagedError, WalRecord

RECORDS = st.lists(
    st.builds(
        WalRecord,
        st.integers(-(2**63), 2**63 - 1) | st.integers(0, 3),
        st.integers(-(2**63), 2**63 - 1),
        st.integers(0, 12) | st.integers(-(2**62), 2**62),
        st.integers(0, 4),
        st.binary(max_size=9),
    ),
    max_size=12,
)
LIMITS = st.integers(1, 200)
FEW = [
    WalRecord(2, 5, 7, 1, b"two"),
    WalRecord(1, 4, 0, 3, b"one"),
    WalRecord(2, 5, 6, 1, b""),
    WalRecord(1, 4, 8, 2, b"three"),
]


def in_order(records: list[WalRecord]) -> list[WalRecord]:
    """Records in the order of an object: equal ones in the order of their appends."""
    return sorted(records, key=lambda each: (each.stream, each.base))


def blocks_of(data: bytes) -> Iterator[tuple[DataBlock, bytes]]:
    """The blocks of an object."""
    for blocks in decode_index(data, len(data)).streams.values():
        for block in blocks:
            yield block, data[block.position : block.position + block.size]


def decode(data: bytes) -> list[WalRecord]:
    """All records of an object."""
    return [record for block, part in blocks_of(data) for record in decode_block(block, part)]


@given(RECORDS, LIMITS)
def test_an_object_has_its_records_by_stream_and_base(records: list[WalRecord], limit: int) -> None:
    """For any block size an object has its records by stream and base."""
    assert decode(encode(records, limit)) == in_order(records)


@given(RECORDS, LIMITS)
def test_a_block_has_one_run_of_one_stream(records: list[WalRecord], limit: int) -> None:
    """A block has one run of one stream, and at most the limit unless it has a single record."""
    for block, data in blocks_of(encode(records, limit)):
        found = list(decode_block(block, data))
        assert {record.stream for record in found} == {block.stream}
        assert [each.base for each in found] == [block.start, *(each.base + each.count for each in found[:-1])]
        assert found[-1].base + found[-1].count == block.end
        assert len(data) <= limit or len(found) == 1


@given(RECORDS, LIMITS, st.integers(0, 14), st.integers(0, 14))
def test_the_blocks_of_a_range_have_all_its_records(records: list[WalRecord], limit: int, begin: int, end: int) -> None:
    """A range needs only its own blocks, whose bytes are adjacent."""
    data = encode(records, limit)
    index = decode_index(data, len(data))
    for stream in index.streams:
        blocks = index.overlapping(stream, begin, end)
        assert all(block.start < end and block.end > begin for block in blocks)
        found = [
            each
            for block in blocks
            for each in decode_block(block, data[block.position : block.position + block.size])
            if each.base < end and each.base + each.count > begin
        ]
        wanted = [each for each in in_order(records) if each.stream == stream]
        assert found == [each for each in wanted if each.base < end and each.base + each.count > begin]


@given(RECORDS, LIMITS, st.integers(0, 400))
def test_the_end_of_an_object_is_enough_for_its_index(records: list[WalRecord], limit: int, length: int) -> None:
    """The end of an object has its index, or at least says where the index begins."""
    data = encode(records, limit)
    tail = data[-max(length, FOOTER_BYTES) :]
    position = index_position(tail, len(data))
    if len(data) - len(tail) > position:
        with pytest.raises(ValueError, match="the index begins"):
            decode_index(tail, len(data))
        tail = data[position:]
    assert decode_index(tail, len(data)).streams == decode_index(data, len(data)).streams


@given(st.lists(RECORDS, max_size=3), LIMITS)
def test_the_blocks_of_objects_make_one_object(parts: list[list[WalRecord]], limit: int) -> None:
    """A compaction copies blocks unread, and they make one object."""
    blocks = [block for records in parts for block in blocks_of(encode(records, limit))]
    key = lambda each: (each.stream, each.base, each.count, each.payload, each.epoch)  # noqa: E731
    assert sorted(decode(pack(blocks)), key=key) == sorted((each for part in parts for each in part), key=key)


def test_every_changed_byte_is_noticed() -> None:
    """A changed, missing or extra byte is detected."""
    data = encode(FEW, 40)
    for place in range(len(data)):
        changed = data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]
        for wrong in (changed, data[:place], data[place + 1 :]):
            with pytest.raises(DamagedError):
                decode(wrong)
    for wrong in (data + b"\0", b"\0" + data):
        with pytest.raises(DamagedError):
            decode_index(wrong, len(wrong))


@given(RECORDS.filter(bool), LIMITS, st.data())
def test_damage_of_any_kind_is_noticed(records: list[WalRecord], limit: int, draw: st.DataObject) -> None:
    """Changes of up to four neighbouring bytes of any object are detected."""
    data = encode(records, limit)
    place = draw.draw(st.integers(0, len(data) - 4))
    other = draw.draw(st.binary(min_size=4, max_size=4).filter(lambda each: each != data[place : place + 4]))
    with pytest.raises(DamagedError):
        decode(data[:place] + other + data[place + 4 :])


def test_another_block_in_its_place_is_noticed() -> None:
    """A block is checked against its index entry, so that a swapped block is detected."""
    (block, data), (other, _), *_ = blocks_of(encode([WalRecord(1, 4, 0, 3, b"one"), WalRecord(1, 4, 5, 3, b"two")]))
    assert block.size == other.size
    with pytest.raises(DamagedError, match="offset 5 is damaged"):
        list(decode_block(other, data))


@pytest.mark.parametrize("wrong", [{"start": 1}, {"count": 2}, {"count": 4}])
def test_an_index_of_other_offsets_is_noticed(wrong: dict[str, int]) -> None:
    """Wrong offsets in an index are detected even if all checksums are right."""
    ((block, data),) = blocks_of(encode([WalRecord(1, 4, 0, 3, b"one")]))
    fields = {"start": block.start, "count": block.count} | wrong
    other = DataBlock(block.stream, fields["start"], fields["count"], 0, block.size, block.crc)
    with pytest.raises(DamagedError):
        list(decode_block(other, data))


def test_another_version_is_refused() -> None:
    """The magic decides on another version, whose footer may have another form."""
    data = encode(FEW)
    with pytest.raises(DamagedError, match=r"of another version: its magic is b'hfO2'"):
        decode(data[:-1] + b"2")


def test_a_record_that_goes_back_is_refused() -> None:
    """A batch has no negative number of offsets (CL-02)."""
    with pytest.raises(ValueError, match="has -1 offsets"):
        encode([WalRecord(1, 4, 3, -1, b"")])


def test_spans_are_runs_without_a_gap() -> None:
    """Spans are runs without a gap, over any number of blocks."""
    data = encode([WalRecord(1, 4, base, 1, b"") for base in (0, 1, 2, 5, 6)], 1)
    index = decode_index(data, len(data))
    assert index.spans(1) == [(0, 3), (5, 7)]
    assert index.spans(2) == []
    assert Index([], 0).spans(1) == []


def test_each_object_has_a_key_of_its_own() -> None:
    """Each object has its own key, for ids of any length."""
    assert len({object_key(each) for each in range(200)}) == 200
