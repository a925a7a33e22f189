"""The values of the meta stream: their exact bytes, and the bytes that are refused."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from impl.broker.partition.meta_values import (
    ABSENT,
    NEW_PARTITION,
    EpochEntry,
    LeaderEpochCheckpoint,
    LogMeta,
    PartitionMeta,
    ProducerSnapshots,
    SegmentMeta,
    SegmentSlice,
    TimeEntry,
)
from impl.broker.wal_format import DamagedError

OFFSETS = st.integers(0, 9) | st.integers(0, 2**63 - 1)
ENDS = st.just(ABSENT) | OFFSETS
SLICES = st.builds(SegmentSlice, ENDS, ENDS)
SEGMENTS = st.builds(
    SegmentMeta,
    *(OFFSETS, OFFSETS, OFFSETS, st.just(""), OFFSETS, SLICES, SLICES, SLICES, ENDS),
    st.builds(TimeEntry, ENDS, ENDS),
)
VALUES = st.one_of(
    st.builds(PartitionMeta, OFFSETS, OFFSETS, OFFSETS, st.booleans()),
    st.builds(
        LogMeta,
        st.dictionaries(st.sampled_from(["log", "tim", "txn"]), ENDS),
        st.lists(SEGMENTS, max_size=3).map(tuple),
    ),
    st.builds(ProducerSnapshots, st.dictionaries(OFFSETS, st.binary(max_size=9), max_size=3)),
    st.builds(
        LeaderEpochCheckpoint,
        st.lists(st.builds(EpochEntry, st.integers(0, 2**31 - 1), OFFSETS), max_size=4).map(tuple),
    ),
)
SEGMENT = SegmentMeta(
    5, 10, 20, "", 99, SegmentSlice(3, -1), SegmentSlice(0, 2), SegmentSlice(-1, -1), 12, TimeEntry(15, 6)
)
EXAMPLES: list[tuple[Any, bytes]] = [
    (PartitionMeta(4, 0, 9, clean=True), b'{"s":4,"c":0,"r":9,"cs":true}'),
    (
        LogMeta({"tim": 8, "log": 7, "txn": -1}, (SEGMENT,)),
        (
            b'{"streamMap":{"log":7,"tim":8,"txn":-1},"segmentMetas":[{"bo":5,"ct":10,"lmt":20,"s":"","lsz":99,'
            b'"ls":{"s":3,"e":-1},"ts":{"s":0,"e":2},"txs":{"s":-1,"e":-1},"fbt":12,"tle":{"t":15,"o":6}}]}'
        ),
    ),
    (
        ProducerSnapshots({258: b"ab", 1: b""}),
        bytes.fromhex("18 0000000000000001 00000000 0000000000000102 00000002") + b"ab",
    ),
    (
        LeaderEpochCheckpoint((EpochEntry(1, 0), EpochEntry(258, 9))),
        bytes.fromhex("00000000 00000002 00000001 0000000000000000 00000102 0000000000000009"),
    ),
]
examples = pytest.mark.parametrize(("value", "data"), EXAMPLES, ids=[each.KEY for each, _ in EXAMPLES])


@examples
def test_a_value_has_its_bytes(value: Any, data: bytes) -> None:
    """The forms of reassignment.md 3, with AutoMQ's keys."""
    assert value.encode() == data
    assert type(value).decode(data) == value


def test_a_new_partition_has_values_too() -> None:
    """Recovery writes them if the meta stream has none (step 6, row 2): no offsets, not clean, no epoch."""
    assert NEW_PARTITION.encode() == b'{"s":0,"c":0,"r":0,"cs":false}'
    assert LeaderEpochCheckpoint().encode() == bytes(8)


@given(VALUES)
def test_what_is_written_is_read(value: Any) -> None:
    """Every value, with offsets up to the largest one."""
    assert type(value).decode(value.encode()) == value


@examples
def test_bytes_that_are_missing_or_too_much_are_refused(value: Any, data: bytes) -> None:
    """Missing or extra bytes are refused. A cut between two snapshots is not detected: it is a valid shorter list."""
    whole = {1, 13} if isinstance(value, ProducerSnapshots) else set()
    for place in range(len(data)):
        if place not in whole:
            with pytest.raises(DamagedError):
                type(value).decode(data[:place])
    with pytest.raises(DamagedError):
        type(value).decode(data + b"0")


@examples
def test_a_changed_byte_is_refused_or_makes_another_value(value: Any, data: bytes) -> None:
    """No other error is raised. An accepted value can be written and read back."""
    for place in range(len(data)):
        for bit in range(8):
            changed = data[:place] + bytes([data[place] ^ 1 << bit]) + data[place + 1 :]
            try:
                found = type(value).decode(changed)
            except DamagedError:
                continue
            assert found != value
            assert type(value).decode(found.encode()) == found


@pytest.mark.parametrize(
    "wrong",
    [
        b'{"s":4,"c":0,"r":9,"cs":true,"x":1}',
        b'{"s":4,"c":0,"r":9}',
        b'{"s":-1,"c":0,"r":9,"cs":true}',
        b'{"s":9223372036854775808,"c":0,"r":9,"cs":true}',
        b'{"s":true,"c":0,"r":9,"cs":true}',
        b'{"s":4,"c":0,"r":9,"cs":1}',
        b'{"s":4,"c":0,"r":9,"cs":"\xff"}',
        b"[4,0,9,true]",
    ],
)
def test_a_partition_value_has_four_keys(wrong: bytes) -> None:
    """PARTITION has exactly four keys, each with an offset or a flag."""
    with pytest.raises(DamagedError, match="no PartitionMeta"):
        PartitionMeta.decode(wrong)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'{"streamMap"', b'{"x":1,"streamMap"'),
        (b'"bo":5', b'"bo":5,"x":1'),
        (b'"bo":5,', b""),
        (b'"bo":5', b'"bo":-1'),
        (b'{"s":3', b'{"s":3,"x":1'),
        (b'{"s":3', b'{"s":-2'),
        (b'"t":15', b'"t":null'),
        (b'"t":15', b'"t":15,"x":1'),
        (b'"log":7', b'"log":-2'),
    ],
)
def test_an_unknown_key_or_a_wrong_number_is_refused(old: bytes, new: bytes) -> None:
    """Unknown keys and wrong numbers are refused at each level of LOG."""
    data = EXAMPLES[1][1]
    assert data.count(old) == 1
    with pytest.raises(DamagedError, match="no LogMeta"):
        LogMeta.decode(data.replace(old, new))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("", "begin with"),
        ("17", "begin with"),
        ("18 0000000000000001 ffffffff", "length -1"),
        ("18 ffffffffffffffff 00000000", "offset -1"),
        ("18 0000000000000001 00000000 0000000000000001 00000000", "offset 1"),
        ("18 0000000000000001 7fffffff", "length 2147483647"),
    ],
)
def test_wrong_snapshots_are_refused(wrong: str, message: str) -> None:
    """Another kind of value, a negative length or offset, two snapshots of one offset, a cut."""
    with pytest.raises(DamagedError, match=message):
        ProducerSnapshots.decode(bytes.fromhex(wrong))


@pytest.mark.parametrize("wrong", ["00000001 00000000", "00000000 ffffffff", "00000000 00000001", "00000000"])
def test_a_wrong_checkpoint_is_refused(wrong: str) -> None:
    """Another version, a negative count, a count without its entries, no count."""
    with pytest.raises(DamagedError, match="checkpoint"):
        LeaderEpochCheckpoint.decode(bytes.fromhex(wrong))
