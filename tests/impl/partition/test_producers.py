"""Idempotent producers against a plain list of all batches that were appended."""

from __future__ import annotations

from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st

from impl.broker.partition import producers as module
from impl.broker.partition.batches import SEQUENCES, Batch
from impl.broker.partition.producers import ProducerRefusedError, Producers, decode, reload
from impl.broker.wal_format import DamagedError
from impl.errors import E

TRIES = st.lists(
    st.tuples(
        st.integers(0, 1),  # the producer
        st.sampled_from([0, 0, 0, 0, 1, -1]),  # its epoch, relative to its present one
        st.sampled_from([0, 0, 0, 0, 1, -1, -2, -4, -6, -9]),  # the sequence number, relative to the next one
        st.integers(1, 3),  # the number of records
    ),
    max_size=30,
)
"""Attempts of clients, one after the other."""

Answer = E | int | None


def batch(log: list[Batch], producer: int, epoch: int, sequence: int, count: int = 1) -> Batch:
    """A batch at the end of a log; of no producer if ``producer`` is -1."""
    base = log[-1].end if log else 0
    if producer < 0:
        return Batch(base, (b"",) * count)
    return Batch(base, (b"",) * count, producer=producer, producer_epoch=epoch, sequence=sequence)


def of(log: list[Batch], producer: int) -> list[Batch]:
    """The batches of a producer."""
    return [each for each in log if each.producer == producer]


def expected(log: list[Batch], tried: Batch) -> Answer:
    """The answer, computed from the whole log."""
    own = of(log, tried.producer)
    epoch = own[-1].producer_epoch if own else -1
    if tried.producer_epoch < epoch:
        return E.INVALID_PRODUCER_EPOCH
    own = [each for each in own if each.producer_epoch == tried.producer_epoch]
    for each in own[-5:]:
        if (each.sequence, each.count) == (tried.sequence, tried.count):
            return each.base
    following = (own[-1].sequence + own[-1].count) % 2**31 if own else 0
    return None if tried.sequence == following else E.OUT_OF_ORDER_SEQUENCE_NUMBER


def answer(producers: Producers, tried: Batch) -> Answer:
    """The answer that is asked for."""
    try:
        return producers.check(tried)
    except ProducerRefusedError as error:
        return error.error


def attempts(log: list[Batch], tries: list[tuple[int, int, int, int]]) -> list[Batch]:
    """Batches that clients could send next, made from attempts and the present log."""
    found = []
    for producer, newer, shift, count in tries:
        own = of(log, producer)
        epoch = max(0, (own[-1].producer_epoch if own else 0) + newer)
        following = own[-1].sequence + own[-1].count if own and not newer else 0
        found.append(batch(log, producer, epoch, max(0, following + shift), count))
    return found


def play(tries: list[tuple[int, int, int, int]]) -> tuple[list[Batch], Producers]:
    """The log after these attempts, and the state. Compares each answer with the expected one."""
    log: list[Batch] = []
    producers = Producers()
    for one in tries:
        (tried,) = attempts(log, [one])
        wanted = expected(log, tried)
        assert answer(producers, tried) == wanted
        if wanted is None:
            log.append(tried)
            producers.append(tried)
    return log, producers


def replayed(log: list[Batch], start: int = 0) -> Producers:
    """The state after replaying a log."""
    producers = Producers(start)
    for each in log:
        producers.append(each)
    return producers


@given(TRIES)
def test_each_batch_is_appended_once_and_in_order(tries: list[tuple[int, int, int, int]]) -> None:
    """Repetitions get the first copy's offset. Gaps, older numbers and older epochs are refused."""
    log, producers = play(tries)
    assert replayed(log) == producers
    for number in (0, 1):
        own = of(log, number)
        assert [each.producer_epoch for each in own] == sorted(each.producer_epoch for each in own)
        for epoch in {each.producer_epoch for each in own}:
            under = [each for each in own if each.producer_epoch == epoch]
            sent = [each.sequence + place for each in under for place in range(each.count)]
            assert sent == list(range(len(sent)))


@given(TRIES, TRIES, st.data())
def test_a_reload_restores_the_state(
    tries: list[tuple[int, int, int, int]], later: list[tuple[int, int, int, int]], draw: st.DataObject
) -> None:
    """From any snapshot, after truncations at both ends, the state is that of the remaining log."""
    whole, _ = play(tries)
    ends = [0, *(each.end for each in whole)]
    snapshots = {}
    for end in draw.draw(st.sets(st.sampled_from(ends))):
        snapshots[end] = replayed([each for each in whole if each.end <= end]).snapshot()
    start, end = sorted(draw.draw(st.tuples(st.sampled_from(ends), st.sampled_from(ends))))
    log = [each for each in whole if start <= each.base and each.end <= end]

    found = reload(snapshots, start, end)
    assert found.end == max((each for each in snapshots if start <= each <= end), default=start)
    for each in log:
        if each.base >= found.end:
            found.append(each)

    lost = not any(start <= each <= end for each in snapshots)
    kept = log if lost else [each for each in whole if each.end <= end]
    assert found == replayed(kept, start if lost else 0)
    assert [answer(found, each) for each in attempts(kept, later)] == [
        expected(kept, each) for each in attempts(kept, later)
    ]


def test_a_batch_that_the_start_cuts_is_counted() -> None:
    """The start of a log may be inside a batch, which recovery reads first and counts."""
    found = reload({}, 4, 6)
    found.append(Batch(3, (b"", b""), producer=7, producer_epoch=0, sequence=2))
    assert found.end == 5
    assert found.check(Batch(5, (b"", b""), producer=7, producer_epoch=0, sequence=2)) == 3


@pytest.mark.parametrize("base", [3, 5])
def test_the_log_has_no_gap(base: int) -> None:
    """A batch that is left out or counted twice would change the state."""
    found = Producers(4)
    with pytest.raises(ValueError, match="does not follow a log that ends at 4"):
        found.append(Batch(base, (b"",)))


def test_five_batches_are_remembered() -> None:
    """A repetition of the sixth last batch is refused as an older number."""
    log = [Batch(offset, (b"",), producer=1, producer_epoch=0, sequence=offset) for offset in range(6)]
    found = replayed(log)
    assert [answer(found, each) for each in log] == [E.OUT_OF_ORDER_SEQUENCE_NUMBER, 1, 2, 3, 4, 5]


def test_sequence_numbers_begin_again() -> None:
    """After the largest int32 sequence numbers begin again at 0, also inside a batch."""
    found = replayed([Batch(0, (b"",) * 3, producer=1, producer_epoch=0, sequence=SEQUENCES - 2)])
    assert answer(found, Batch(3, (b"",), producer=1, producer_epoch=0, sequence=1)) is None
    found = replayed([Batch(0, (b"",) * 2, producer=1, producer_epoch=0, sequence=SEQUENCES - 2)])
    assert answer(found, Batch(2, (b"",), producer=1, producer_epoch=0, sequence=0)) is None


def test_a_refusal_says_what_is_wrong() -> None:
    """A refusal has the producer and both numbers."""
    found = replayed([Batch(0, (b"",), producer=9, producer_epoch=2, sequence=0)])
    with pytest.raises(ProducerRefusedError, match=r"OUT_OF_ORDER_SEQUENCE_NUMBER: producer 9 .* number 3, and 1 is"):
        found.check(Batch(1, (b"",), producer=9, producer_epoch=2, sequence=3))
    with pytest.raises(ProducerRefusedError, match=r"INVALID_PRODUCER_EPOCH: producer 9 has epoch 2, .* has 1"):
        found.check(Batch(1, (b"",), producer=9, producer_epoch=1, sequence=1))


EXAMPLE = [
    Batch(0, (b"",) * 2, producer=258, producer_epoch=1, sequence=0),
    Batch(2, (b"",), producer=3, producer_epoch=0, sequence=0),
    Batch(3, (b"",), producer=258, producer_epoch=1, sequence=2),
]


def test_a_snapshot_has_its_bytes() -> None:
    """A snapshot has the producers sorted by id, so equal states have equal bytes."""
    rest = bytes.fromhex(
        "0000000000000004"
        "0000000000000003 00000000 01  00000000 00000001 0000000000000002"
        "0000000000000102 00000001 02  00000000 00000002 0000000000000000  00000002 00000001 0000000000000003"
    )
    assert replayed(EXAMPLE).snapshot() == b"\1" + crc32(rest).to_bytes(4, "big") + rest


@given(TRIES)
def test_a_snapshot_is_read(tries: list[tuple[int, int, int, int]]) -> None:
    """A snapshot is read back, and its bytes depend on the state alone."""
    log, producers = play(tries)
    data = producers.snapshot()
    assert decode(data, producers.end) == producers
    assert replayed(log).snapshot() == data


def test_every_changed_byte_of_a_snapshot_is_recognised() -> None:
    """A changed, missing or extra byte is detected."""
    data = replayed(EXAMPLE).snapshot()
    for place in range(len(data)):
        changed = data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]
        for wrong in (changed, data[:place], data[place + 1 :]):
            with pytest.raises(DamagedError):
                decode(wrong, 4)
    with pytest.raises(DamagedError):
        decode(data + b"\0", 4)


@pytest.mark.parametrize("rest", ["0000000000000004" + "00" * 13, "0000000000000004" + "00" * 12 + "01", "00" * 8])
def test_wrong_fields_of_a_snapshot_are_damage(rest: str) -> None:
    """A producer without a batch, a cut-off batch and another offset's snapshot are damage despite the checksum."""
    data = bytes.fromhex(rest)
    with pytest.raises(DamagedError, match=r"cut off|that of offset 0"):
        decode(b"\1" + crc32(data).to_bytes(4, "big") + data, 4)


RUN = [(0, 0, 0, 1)] * 6 + [(0, 0, -5, 1), (0, 1, 0, 1), (0, -1, 0, 1), (0, 0, 1, 1)]
"""Six batches, a repetition of the fifth last one, a new epoch, the old one, and a gap."""


def test_known_wrong_variants_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three faults: four remembered batches, unchecked sequence numbers, and a reload from any snapshot."""
    play(RUN)
    with monkeypatch.context() as patch:
        patch.setattr(module, "REMEMBERED", 4)
        with pytest.raises(AssertionError):
            play(RUN)
    with monkeypatch.context() as patch:
        patch.setattr(module, "_require_next", lambda batch, wanted: None)
        with pytest.raises(AssertionError):
            play(RUN)
    snapshots = {4: replayed(EXAMPLE).snapshot()}
    with monkeypatch.context() as patch:
        patch.setattr(module, "usable_snapshots", lambda snapshots, start, end: snapshots)
        assert reload(snapshots, 0, 2).check(EXAMPLE[2]) == 3, "a batch that is gone is acknowledged"
    assert reload(snapshots, 0, 2) == Producers()
