"""The objects of a WAL: the round trip, and the detection of changes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from impl.broker.wal_format import (
    ALIGNMENT,
    HEADER_BYTES,
    DamagedError,
    WalHeader,
    WalPlace,
    WalRecord,
    decode,
    decode_header,
    encode,
    end_of,
    folder_of,
    place_of,
)

NUMBERS = st.integers(-(2**63), 2**63 - 1)
RECORDS = st.lists(st.builds(WalRecord, st.integers(0, 3), NUMBERS, st.integers(0, 9), NUMBERS, st.binary(max_size=9)))
STARTS = st.integers(0, 99).map(lambda slot: slot * ALIGNMENT)
FEW = [WalRecord(2, 5, 7, 1, b"two"), WalRecord(1, 4, 0, 3, b"one"), WalRecord(2, 5, 6, 1, b"")]


@given(STARTS, RECORDS)
def test_an_object_has_its_records_by_stream_and_base(start: int, records: list[WalRecord]) -> None:
    """Each record is at its assigned offset. Equal ones are in the order of their appends."""
    data, offsets = encode(start, 3, 9, 44, records)
    found = list(decode(data))
    assert [record for _, record in found] == sorted(records, key=lambda each: (each.stream, each.base))
    assert sorted(offsets) == [offset for offset, _ in found]
    assert dict(found) == dict(zip(offsets, records, strict=True))
    length = sum(record.size for record in records)
    assert decode_header(data) == WalHeader(start, length, 3, 9, 44)
    assert len(data) == HEADER_BYTES + length
    assert all(start <= offset < end_of(start, len(data)) for offset in offsets)


def test_every_changed_byte_is_noticed() -> None:
    """A changed, missing or extra byte is detected."""
    data, _ = encode(0, 3, 9, 44, FEW)
    for place in range(len(data)):
        changed = data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]
        for wrong in (changed, data[:place]):
            with pytest.raises(DamagedError):
                list(decode(wrong))
    with pytest.raises(DamagedError, match="its header says"):
        list(decode(data + b"\0"))


def test_ends_are_aligned() -> None:
    """An object that exactly fills its slot ends at the slot's end."""
    assert end_of(0, 1) == ALIGNMENT
    assert end_of(ALIGNMENT, ALIGNMENT) == 2 * ALIGNMENT
    assert end_of(ALIGNMENT, ALIGNMENT + 1) == 3 * ALIGNMENT


@given(st.lists(st.builds(WalPlace, st.integers(0, 10**13), STARTS, STARTS)))
def test_keys_are_ordered_as_places_are(places: list[WalPlace]) -> None:
    """WL-03. Keys sort by epoch, then by start, and a key gives back its place."""
    folder = folder_of(3)
    keys = [place.key(folder) for place in sorted(places)]
    assert keys == sorted(keys)
    assert [place_of(key, folder) for key in keys] == sorted(places)


@pytest.mark.parametrize("key", ["wal/3/x", "wal/3/", "wal/4/" + "0" * 20 + "/" + "0" * 20 + "-" + "0" * 20])
def test_another_key_is_refused(key: str) -> None:
    """Another node's key is not taken for an object of the WAL."""
    with pytest.raises(DamagedError, match="not the key of a WAL object"):
        place_of(key, "wal/3/")
