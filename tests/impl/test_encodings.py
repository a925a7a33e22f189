"""``impl.zone.encodings`` and ``impl.balancer.metrics_record``: bytes are read as what they were written from."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from impl.balancer.metrics_record import MetricsRecord
from impl.byte_format import EncodingError
from impl.zone.encodings import (
    TIMESTAMP_TYPES,
    ChannelOffset,
    Forward,
    LinkRecord,
    NodeEpochRecord,
    RouteEpochRecord,
    WalOffset,
)


def signed(bits: int) -> st.SearchStrategy[int]:
    """All signed integers of this number of bits."""
    return st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


short, integer, long = signed(16), signed(32), signed(64)
wal_offsets = st.builds(WalOffset, long, long, integer)
channel_offsets = st.builds(ChannelOffset, short, short, integer, integer, wal_offsets)
encoded = channel_offsets.map(ChannelOffset.encode)
metrics = st.dictionaries(st.integers(0, 255), st.floats(allow_nan=False), max_size=4)
records: st.SearchStrategy[Any] = st.one_of(
    wal_offsets,
    channel_offsets,
    st.builds(LinkRecord, long, st.sampled_from(list(TIMESTAMP_TYPES)), long, integer, st.none() | encoded),
    st.builds(Forward, integer, st.lists(encoded | st.binary(max_size=40), max_size=3).map(tuple)),
    st.builds(RouteEpochRecord, long, long, long, long),
    st.builds(NodeEpochRecord, long),
    st.builds(MetricsRecord, long, integer, st.text(), st.text(), integer, metrics),
    st.builds(MetricsRecord, long, integer, st.text(), st.none(), st.none(), metrics),
)


@given(records)
def test_what_was_written_is_read(record: Any) -> None:
    """Each record comes back from its bytes."""
    assert type(record).decode(record.encode()) == record


@given(records, st.data())
def test_cut_bytes_are_not_read_as_the_record(record: Any, data: st.DataObject) -> None:
    """The front of the bytes is no record, or another one: a request with fewer offsets, a link without one."""
    whole = record.encode()
    cut = whole[: data.draw(st.integers(0, len(whole) - 1))]
    try:
        found = type(record).decode(cut)
    except EncodingError:
        return
    assert isinstance(record, Forward | LinkRecord)
    assert found != record


@pytest.mark.parametrize("kind", [WalOffset, ChannelOffset, LinkRecord, Forward, RouteEpochRecord, NodeEpochRecord])
@given(data=st.binary(max_size=80))
def test_other_bytes_are_refused_or_written_back(kind: Any, data: bytes) -> None:
    """Whatever is read from any bytes is a record that has an encoding; nothing but EncodingError is raised."""
    try:
        found = kind.decode(data)
    except EncodingError:
        return
    assert kind.decode(found.encode()) == found


@given(st.binary(max_size=60))
def test_other_bytes_are_no_metrics(data: bytes) -> None:
    """The same holds for metrics."""
    try:
        found = MetricsRecord.decode(b"\1\0" + data)
    except EncodingError:
        return
    assert found.encode() == b"\1\0" + data
