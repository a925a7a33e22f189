"""Batches: the round trip, the detection of every damage, and a scan that ends at the first corrupt batch."""

from __future__ import annotations

from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st

from impl.broker.partition import batches as module
from impl.broker.partition.batches import SEQUENCES, Batch, Scan, decode, encode, scan
from impl.broker.wal_format import DamagedError

RECORDS = st.lists(st.binary(max_size=5), min_size=1, max_size=4).map(tuple)
OFFSETS = st.integers(0, 2**63 - 1)
INT32 = st.integers(0, 2**31 - 1)
BATCHES = st.builds(Batch, OFFSETS, RECORDS, INT32, OFFSETS, OFFSETS, INT32, INT32) | st.builds(Batch, OFFSETS, RECORDS)
SMALL = Batch(5, (b"ab", b""), 3, 1_000, 7, 1, 258)


def log_of(start: int, sizes: list[int], epochs: list[int]) -> list[Batch]:
    """Successive batches from an offset on."""
    found: list[Batch] = []
    for size, epoch in zip(sizes, sorted(epochs), strict=False):
        found.append(Batch(found[-1].end if found else start, (b"x",) * size, epoch))
    return found


LOGS = st.builds(
    log_of, st.integers(0, 50), st.lists(st.integers(1, 3), max_size=6), st.lists(st.integers(0, 3), max_size=6)
)


def test_a_batch_has_its_bytes() -> None:
    """A batch has the fields of the module's table, in their order."""
    rest = bytes.fromhex(
        "0000000000000005 00000003 0000000000000007 00000001 00000102 00000000000003e8 00000002 00000002 6162 00000000"
    )
    data = b"hfB1" + crc32(rest).to_bytes(4, "big") + rest
    assert encode(SMALL) == data
    assert decode(data) == SMALL


@given(BATCHES)
def test_what_is_written_is_read(batch: Batch) -> None:
    """A batch is read back unchanged, also without a producer."""
    assert decode(encode(batch)) == batch


def test_every_changed_byte_is_recognised() -> None:
    """A changed, missing or extra byte is detected."""
    data = encode(SMALL)
    for place in range(len(data)):
        for bit in range(8):
            with pytest.raises(DamagedError):
                decode(data[:place] + bytes([data[place] ^ 1 << bit]) + data[place + 1 :])
        for wrong in (data[:place], data[place + 1 :]):
            with pytest.raises(DamagedError):
                decode(wrong)
    for wrong in (data + b"\0", b"\0" + data):
        with pytest.raises(DamagedError):
            decode(wrong)


@given(BATCHES, st.data())
def test_damage_of_any_kind_is_recognised(batch: Batch, draw: st.DataObject) -> None:
    """Changes of up to four neighbouring bytes of any batch are detected."""
    data = encode(batch)
    place = draw.draw(st.integers(0, len(data) - 4))
    other = draw.draw(st.binary(min_size=4, max_size=4).filter(lambda each: each != data[place : place + 4]))
    with pytest.raises(DamagedError):
        decode(data[:place] + other + data[place + 4 :])


def sealed(rest: str) -> bytes:
    """A batch with field values that no writer of ours uses, and a correct checksum."""
    data = bytes.fromhex(rest)
    return b"hfB1" + crc32(data).to_bytes(4, "big") + data


@pytest.mark.parametrize(
    ("base", "producer", "count", "values", "message"),
    [
        (5, "ff" * 16, 0, "", "at least one record"),
        (5, "ff" * 16, 2, "00000000", "has 1 records, and its fields say 2"),
        (5, "ff" * 16, 1, "00000001", "is cut off"),
        (5, "ff" * 16, 1, "0000", "is cut off"),
        (-1, "ff" * 16, 1, "00000000", "base offset -1"),
        (5, "00" * 12 + "ff" * 4, 1, "00000000", r"\(0, 0, -1\)"),
    ],
)
def test_wrong_fields_are_damage(base: int, producer: str, count: int, values: str, message: str) -> None:
    """Wrong fields are damage even if the checksum is right."""
    place = base.to_bytes(8, "big", signed=True).hex()
    with pytest.raises(DamagedError, match=message):
        decode(sealed(place + "00000000" + producer + "00" * 8 + f"{count:08x}" + values))


@pytest.mark.parametrize(
    ("producer", "epoch", "sequence"), [(-1, 0, 0), (0, -1, 0), (0, 0, -1), (-2, -2, -2), (0, 0, SEQUENCES)]
)
def test_a_producer_has_an_epoch_and_a_sequence_number(producer: int, epoch: int, sequence: int) -> None:
    """A producer has id, epoch and sequence number, or none of them."""
    with pytest.raises(ValueError, match="producer id, producer epoch"):
        Batch(0, (b"",), producer=producer, producer_epoch=epoch, sequence=sequence)


@given(BATCHES, OFFSETS, INT32)
def test_a_leader_gives_a_batch_its_place(batch: Batch, base: int, epoch: int) -> None:
    """A leader gives a batch its offset and epoch. Records and producer are unchanged."""
    placed = batch.placed(base, epoch)
    assert (placed.base, placed.leader_epoch, placed.end) == (base, epoch, base + len(batch.values))
    assert placed.placed(batch.base, batch.leader_epoch) == batch


@given(LOGS, st.data())
def test_a_scan_ends_at_the_first_corrupt_batch(log: list[Batch], draw: st.DataObject) -> None:
    """A scan ends at the first corrupt batch, whatever follows. The start of the read may be inside the first batch."""
    start = draw.draw(st.integers(log[0].base, log[0].end - 1)) if log else 3
    payloads = [encode(batch) for batch in log]
    assert scan(start, payloads) == Scan(tuple(log), log[-1].end if log else start)

    if log:
        bad = draw.draw(st.integers(0, len(log) - 1))
        place = draw.draw(st.integers(0, len(payloads[bad]) - 1))
        payloads[bad] = payloads[bad][:place] + bytes([payloads[bad][place] ^ 4]) + payloads[bad][place + 1 :]
        found = scan(start, payloads)
        assert found.batches == tuple(log[:bad])
        assert found.end == (log[bad].base if bad else start)
        assert found.damage is not None


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (Batch(13, (b"",), 4), "begins at offset 13, and the log has come to 12"),
        (Batch(11, (b"", b""), 4), "begins at offset 11, and the log has come to 12"),
        (Batch(12, (b"",), 3), "leader epoch 3, and the one before has 4"),
    ],
)
def test_a_sound_batch_in_the_wrong_place_ends_a_scan(wrong: Batch, reason: str) -> None:
    """A gap, an overlap or an older leader epoch ends a scan: the bytes belong to another log or time."""
    found = scan(10, [encode(Batch(10, (b"", b""), 4)), encode(wrong), encode(Batch(12, (b"",), 4))])
    assert (len(found.batches), found.end) == (1, 12)
    assert reason in str(found.damage)


def test_a_scan_does_not_begin_elsewhere() -> None:
    """The first batch has to hold the offset from which the log is read."""
    for base in (7, 11):
        found = scan(10, [encode(Batch(base, (b"", b"", b"")))])
        assert (found.batches, found.end) == ((), 10)
    assert scan(10, [encode(Batch(8, (b"", b"", b"")))]).end == 11


def test_a_checksum_of_the_values_alone_would_not_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a checksum of the values alone, a changed sequence number would be accepted."""
    fields = module._FIELDS.size
    monkeypatch.setattr(module, "crc32", lambda data: crc32(bytes(data)[fields:]))
    data = bytearray(encode(SMALL))
    data[8 + 27] ^= 1
    assert decode(bytes(data)).sequence == 259
