"""The meta stream against a plain list of its records: its values, and crashes of a compaction."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from impl.broker.partition.meta_stream import LatestValue, compaction, decode, encode, replay
from impl.broker.wal_format import DamagedError

KEYS = st.sampled_from(["PARTITION", "LOG", "PRODUCER_SNAPSHOTS"]) | st.text(max_size=3)
WRITES = st.lists(st.tuples(KEYS, st.binary(max_size=3)), max_size=12)
STARTS = st.integers(0, 2**40)


def stream_of(writes: list[tuple[str, bytes]], start: int) -> list[tuple[int, bytes]]:
    """The offsets and bytes of successive records."""
    return [(start + place, encode(*write)) for place, write in enumerate(writes)]


def values(records: list[tuple[int, bytes]]) -> dict[str, bytes]:
    """The values of a stream, without offsets."""
    return {key: latest.value for key, latest in replay(records).items()}


def test_a_record_has_its_bytes() -> None:
    """The form of reassignment.md 3: magic byte, length of the key, key, value."""
    data = bytes.fromhex("00 00000004") + "Lög".encode() + b'{"s":0}'
    assert encode("Lög", b'{"s":0}') == data
    assert decode(data) == ("Lög", b'{"s":0}')


@given(KEYS, st.binary(max_size=20))
def test_what_is_written_is_read(key: str, value: bytes) -> None:
    """A record is read back with any key, also an empty one, and any value."""
    assert decode(encode(key, value)) == (key, value)


@given(st.binary(max_size=12) | st.binary(max_size=6).map(lambda rest: b"\0\0\0\0" + rest))
def test_other_bytes_are_refused(data: bytes) -> None:
    """Bytes are either refused, or they are the encoding of the decoded record."""
    try:
        key, value = decode(data)
    except DamagedError:
        return
    assert encode(key, value) == data


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (b"", "too few"),
        (b"\0\0\0\0", "too few"),
        (b"\1\0\0\0\1k", "its magic byte is 1"),
        (b"\0\0\0\0\2k", "said to have 2 bytes of 1"),
        (b"\0\xff\xff\xff\xff", "said to have -1 bytes"),
        (b"\0\0\0\0\1\xff", "no UTF-8"),
    ],
)
def test_a_damaged_record_is_refused(wrong: bytes, message: str) -> None:
    """The message has the reason, and a replay does not skip the record."""
    with pytest.raises(DamagedError, match=message):
        decode(wrong)
    with pytest.raises(DamagedError, match=message):
        replay([(0, encode("LOG", b"")), (1, wrong)])


@given(WRITES, STARTS, st.randoms(use_true_random=False))
def test_the_last_record_of_a_key_counts(writes: list[tuple[str, bytes]], start: int, draw: random.Random) -> None:
    """The record with the highest offset counts for each key, in whatever order the records are read."""
    records = stream_of(writes, start)
    wanted: dict[str, LatestValue] = {}
    for place, (key, value) in enumerate(writes):
        wanted[key] = LatestValue(value, start + place)

    assert replay(records) == wanted
    draw.shuffle(records)
    assert replay(records) == wanted


@given(WRITES, STARTS)
def test_no_crash_of_a_compaction_loses_a_value(writes: list[tuple[str, bytes]], start: int) -> None:
    """RA-18. The values are the same after each append and after the trim. At the end each key has one record."""
    records = stream_of(writes, start)
    said = values(records)
    plan = compaction(replay(records), start)
    if plan is None:
        assert len(records) == len(said)
        return
    assert plan == compaction(replay(records), start)

    for data in plan.records:
        records.append((start + len(records), data))
        assert values(records) == said
    kept = [(offset, data) for offset, data in records if offset >= plan.trim]
    assert values(kept) == said
    assert len(kept) == len(said)
    assert compaction(replay(kept), plan.trim) is None


@given(WRITES, STARTS)
def test_a_compaction_trims_all_that_it_can(writes: list[tuple[str, bytes]], start: int) -> None:
    """A trim at the next offset would lose a value, and so would one before all appends are durable."""
    records = stream_of(writes, start)
    said = values(records)
    plan = compaction(replay(records), start)
    if plan is None:
        return
    whole = records + [(start + len(records) + place, data) for place, data in enumerate(plan.records)]
    assert values([each for each in whole if each[0] > plan.trim]) != said
    assert values([each for each in whole[:-1] if each[0] >= plan.trim]) != said


def test_a_compaction_keeps_the_order_of_the_last_values() -> None:
    """Last values keep their order, so PARTITION's clean flag stays behind all else: rows 3, 5 and 6 of a close."""
    writes = [("PARTITION", b"1"), ("LOG", b"2"), ("PRODUCER_SNAPSHOTS", b"3"), ("LOG", b"4"), ("PARTITION", b"5")]
    plan = compaction(replay(stream_of(writes, 7)), 7)
    assert plan is not None
    assert [decode(data)[0] for data in plan.records] == ["PRODUCER_SNAPSHOTS", "LOG", "PARTITION"]
    assert [decode(data)[1] for data in plan.records] == [b"3", b"4", b"5"]
    assert plan.trim == 12


def test_an_empty_meta_stream_says_nothing() -> None:
    """An empty meta stream has no values and needs no compaction, wherever it starts."""
    assert replay([]) == {}
    assert compaction({}, 5) is None
