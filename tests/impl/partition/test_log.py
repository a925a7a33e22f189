"""The log of a partition under successive leaders, which close it in order or crash anywhere."""

from __future__ import annotations

import random

import pytest

from impl.broker.partition.batches import Batch
from impl.broker.partition.log import PartitionLog
from impl.broker.partition.meta import MetaStream
from impl.broker.partition.meta_values import LeaderEpochCheckpoint, LogMeta, PartitionMeta, ProducerSnapshots
from impl.broker.partition.producers import ProducerRefusedError
from impl.broker.partition.segments import LOG, TIME
from impl.broker.wal_format import WalRecord
from impl.errors import E
from impl.rules import RefusedError
from impl.tasks import FailedError, Gate
from tests.impl.partition.streams_world import OpenStream, World


def batch(*values: str, producer: int = -1, sequence: int = -1, timestamp: int = 7) -> Batch:
    """A batch of a client."""
    epoch = -1 if producer < 0 else 0
    texts = tuple(value.encode() for value in values)
    return Batch(0, texts, timestamp=timestamp, producer=producer, producer_epoch=epoch, sequence=sequence)


async def _unless_refused(log: PartitionLog, new: Batch) -> int | None:
    """The offset of a batch; None if the log was closed before it had a data stream."""
    try:
        return await log.append(new)
    except RefusedError:
        return None


def read(world: World, log: PartitionLog) -> list[tuple[int, str]]:
    """All confirmed records: their offsets and values."""
    found = world.run(log.read(log.segments.start, log.confirmed))
    return [(each.base + place, value.decode()) for each in found for place, value in enumerate(each.values)]


def values(world: World) -> MetaStream:
    """The values in the meta stream."""
    found = MetaStream(OpenStream(world, 0))
    world.run(found.load())
    return found


def test_a_new_partition() -> None:
    """Rows 2 and 7: its values are written, and the leader epoch begins at offset 0. No data stream exists yet."""
    world = World()
    log = world.lead(4)
    assert (log.segments.start, log.segments.end, log.confirmed) == (0, 0, 0)
    assert list(world.disk) == [0]
    assert values(world).get(PartitionMeta) == PartitionMeta(0, 0, 0, clean=False)
    found = values(world).get(LeaderEpochCheckpoint)
    assert found is not None
    assert [(each.epoch, each.start) for each in found.entries] == [(4, 0)]


def test_batches_get_offsets_in_their_order() -> None:
    """Batches get offsets in their order, also if sent concurrently before the data stream exists."""
    world = World()
    log = world.lead(0)
    gates = [world.start(log.append(batch(*values))) for values in ("ab", "c", "de")]
    while world.writes:
        world.store()
    assert [gate.result() for gate in gates] == [0, 2, 3]
    assert read(world, log) == [(0, "a"), (1, "b"), (2, "c"), (3, "d"), (4, "e")]


def test_nothing_is_confirmed_before_the_log_names_the_stream() -> None:
    """A crash before the log names its stream would lose confirmed records: nobody would know their stream."""
    world = World()
    log = world.lead(0)
    world.start(log.append(batch("a")))
    ((stream, _, _),) = world.writes
    assert stream.number == 0
    world.store()
    found = values(world).get(LogMeta)
    assert found is not None
    assert found.streams[LOG] == 1


def test_only_what_is_durable_can_be_read() -> None:
    """The high watermark is the base of the first append under way."""
    world = World()
    log = world.lead(0)
    assert world.run(log.append(batch("a"))) == 0
    for value in "bc":
        world.start(log.append(batch(value)))
    assert log.segments.end == 3
    assert log.confirmed == 1
    world.store(1)
    assert log.confirmed == 2
    assert read(world, log) == [(0, "a"), (1, "b")]


@pytest.mark.parametrize("clean", [True, False])
def test_the_next_leader_has_the_same_log(clean: bool) -> None:
    """After a close the next leader reads no batch, and after a crash all of them. Both logs are equal."""
    world = World()
    log = world.lead(0)
    for value in "abc":
        world.run(log.append(batch(value)))
    if clean:
        world.run(log.close())
    after = world.successor()
    fetched: list[int] = []
    found = _counting(after, fetched).lead(1)
    assert fetched == ([] if clean else [1])
    assert read(after, found) == [(0, "a"), (1, "b"), (2, "c")]
    assert [(each.epoch, each.start) for each in found.epochs.entries] == [(0, 0), (1, 3)]
    assert world.disk[0].records
    assert after.run(found.append(batch("d"))) == 3
    assert read(after, found)[-1] == (3, "d")


def _counting(world: World, fetched: list[int]) -> World:
    """A world that records the data streams from which something is fetched."""
    opened = world.open

    async def noting(stream: int) -> OpenStream:
        number, found = stream, await opened(stream)
        fetch = found.fetch

        def noted(begin: int, end: int) -> Gate[list[WalRecord]]:
            if end > begin:
                fetched.append(number)
            return fetch(begin, end)

        found.fetch = noted  # type: ignore[method-assign]
        return found

    world.open = noting  # type: ignore[method-assign]
    return world


def test_the_flag_is_false_before_an_append_is_confirmed() -> None:
    """SP-09: the flag is true while nobody appends, and false before the next leader's first append is confirmed."""
    world = World()
    log = world.lead(0)
    world.run(log.append(batch("a")))
    assert _flag(world) is False
    world.run(log.close())
    assert _flag(world) is True
    after = world.successor()
    after.lead(1)
    assert _flag(after) is False


def _flag(world: World) -> bool:
    found = values(world).get(PartitionMeta)
    assert found is not None
    return found.clean


def test_a_log_that_was_closed_takes_nothing() -> None:
    """SP-08: an append that began before the close is confirmed, and a later one is refused."""
    world = World()
    log = world.lead(0)
    world.run(log.append(batch("a")))
    before = world.start(log.append(batch("b")))
    closing = world.start(log.close())
    with pytest.raises(RefusedError) as refused:
        world.run(log.append(batch("c")))
    assert refused.value.error is E.NOT_LEADER_OR_FOLLOWER
    assert not closing.happened
    while world.writes:
        world.store()
    assert before.result() == 1
    closing.result()
    after = world.successor()
    assert read(after, after.lead(1)) == [(0, "a"), (1, "b")]


def test_a_close_waits_for_appends() -> None:
    """The flag is written after all data, in whatever order the streams become durable."""
    world = World()
    log = world.lead(0)
    world.run(log.append(batch("a", timestamp=-1)))
    world.start(log.append(batch("b", timestamp=-1)))
    world.start(log.close())
    for _ in range(10):
        world.store_meta()
    assert not log.is_clean
    while world.writes:
        world.store()
    assert log.is_clean
    found = values(world).get(PartitionMeta)
    assert found is not None
    assert found.recover == 2


def test_a_close_waits_for_a_stream_that_is_made() -> None:
    """A close waits for a stream being made, which would stay open. The append that needed it is refused."""
    world = World()
    log = world.lead(0)
    world.opens = Gate(world.tasks)
    gate = world.start(_unless_refused(log, batch("a")))
    world.store()
    closing = world.start(log.close())
    for _ in range(10):
        world.store()
    assert not closing.happened
    world.opens.open(None)
    world.tasks.run(0)
    while world.writes:
        world.store()
    closing.result()
    assert gate.result() is None
    assert sorted(log.opened) == [LOG, TIME]


def test_a_log_that_is_closed_makes_no_stream() -> None:
    """SP-08: an append during a close is refused at once. A stream made for it would stay open."""
    world = World()
    log = world.lead(0)
    closing = world.start(log.close())
    with pytest.raises(RefusedError) as refused:
        world.run(log.append(batch("a")))
    assert refused.value.error is E.NOT_LEADER_OR_FOLLOWER
    while world.writes:
        world.store()
    closing.result()
    assert list(world.disk) == [0]


def test_the_flag_is_false_before_the_log_serves() -> None:
    """The flag is false before the log serves, also if the leader epoch is the old one and needs no write."""
    world = World()
    log = world.lead(0)
    world.run(log.append(batch("a")))
    world.run(log.close())
    after = world.successor()
    opening = after.start(after.opening(0))
    assert not opening.happened
    after.store()
    assert not opening.result().is_clean


def test_segments_are_kept_by_a_close() -> None:
    """A close keeps segments and their time indexes, whose entries are in a stream of their own."""
    world = World()
    log = world.lead(0, roll_bytes=100)
    for number in range(4):
        world.run(log.append(batch("a" * 60, timestamp=number)))
    world.run(log.close())
    bases = [each.base for each in log.segments.segments]
    assert len(bases) > 1
    after = world.successor()
    found = after.lead(1, roll_bytes=100)
    assert [each.base for each in found.segments.segments][: len(bases)] == bases
    assert found.segments.segments == log.segments.segments
    assert [each.last_time_entry.offset for each in found.segments.segments] == bases


def test_segments_are_kept_by_a_crash() -> None:
    """A crash keeps segments: a roll is stored at once. A segment's newest time may be older than earlier ones."""
    world = World()
    log = world.lead(0, roll_bytes=100)
    for timestamp in (9, 1, 5):
        world.run(log.append(batch("a" * 60, timestamp=timestamp)))
    world.store()
    after = world.successor()
    found = after.lead(1, roll_bytes=100)
    assert [each.base for each in found.segments.segments] == [0, 1, 2]
    entries = [(each.last_time_entry.timestamp, each.last_time_entry.offset) for each in found.segments.segments]
    assert entries == [(9, 0), (1, 1), (-1, -1)]


def test_an_interrupted_close_does_not_hide_damage() -> None:
    """Row 5. The producer snapshot is newer than the recovery point at which the scan begins."""
    world = World()
    log = world.lead(0)
    for value in "ab":
        world.run(log.append(batch(value)))
    closing = world.start(log.close())
    while values(world).get(ProducerSnapshots) is None:
        world.store(1)
    assert not closing.happened
    world.disk[1].records[1] = type(world.disk[1].records[1])(1, 0, 1, 1, b"x")
    after = world.successor()
    assert read(after, after.lead(1)) == [(0, "a")]


def test_an_epoch_of_what_is_gone_is_gone() -> None:
    """If the log is cut before the start of the last leader's epoch, the epoch is removed."""
    world = World()
    for leader in range(2):
        log = world.lead(leader)
        world.run(log.append(batch("ab"[leader])))
        last, world = world, world.successor()
    last.disk[1].records[0] = type(last.disk[1].records[0])(1, 0, 0, 1, b"x")
    found = world.lead(2)
    assert read(world, found) == []
    assert [(each.epoch, each.start) for each in found.epochs.entries] == [(2, 0)]


def test_a_copy_gets_the_offset_of_the_first() -> None:
    """A copy of a batch gets the first one's offset, also from the next leader, once the first one is durable."""
    world = World()
    log = world.lead(0)
    world.run(log.append(batch("a", producer=9, sequence=0)))
    first = world.start(log.append(batch("b", producer=9, sequence=1)))
    copy = world.start(log.append(batch("b", producer=9, sequence=1)))
    assert not copy.happened
    world.store()
    assert (first.result(), copy.result()) == (1, 1)
    after = world.successor()
    found = after.lead(1)
    assert after.run(found.append(batch("b", producer=9, sequence=1))) == 1
    with pytest.raises(ProducerRefusedError):
        after.run(found.append(batch("d", producer=9, sequence=3)))
    assert read(after, found) == [(0, "a"), (1, "b")]


def test_the_log_ends_at_a_corrupt_batch() -> None:
    """Row 5. Records after the corrupt batch are gone, also after another crash, and new batches replace them."""
    world = World()
    log = world.lead(0)
    for value in "abc":
        world.run(log.append(batch(value)))
    world.disk[1].records[1] = type(world.disk[1].records[1])(1, 0, 1, 1, b"x")
    after = world.successor()
    found = after.lead(1)
    assert read(after, found) == [(0, "a")]
    assert after.run(found.append(batch("d"))) == 1
    last = after.successor()
    again = last.lead(2)
    assert read(last, again) == [(0, "a"), (1, "d")]
    assert [(each.epoch, each.start) for each in again.epochs.entries] == [(0, 0), (1, 1), (2, 2)]


def test_a_stream_that_does_not_open() -> None:
    """Row 3. If a stream does not open, the next attempt uses those already open."""
    world = World()
    log = world.lead(0)
    world.run(log.append(batch("a")))
    world.run(log.close())
    assert len(world.disk) == 3
    after = world.successor()
    after.refuses = lambda number: number == 2
    with pytest.raises(FailedError, match="stream 2 cannot be opened"):
        after.lead(1)
    ((number, stream),) = after.opened.items()
    after.refuses = lambda number: False
    assert read(after, after.lead(1)) == [(0, "a")]
    assert after.opened[number] is stream


def test_few_snapshots_are_kept() -> None:
    """After any number of closes two snapshots remain: the newest, and the one where a scan would begin."""
    world = World()
    for leader in range(6):
        log = world.lead(leader)
        world.run(log.append(batch("a", producer=1, sequence=leader)))
        world.run(log.close())
        world = world.successor()
    found = values(world).get(ProducerSnapshots)
    assert found is not None
    assert sorted(found.snapshots) == [5, 6]
    assert len(world.disk[0].records) <= 4


@pytest.mark.parametrize("seed", range(60))
def test_leaders_come_and_go(seed: int) -> None:
    """Confirmed records keep their offsets over closes and over crashes that lose the last writes."""
    draw = random.Random(seed)
    world = World()
    confirmed: dict[int, str] = {}
    sequences = {1: 0, 2: 0}
    for leader in range(8):
        log = world.lead(leader)
        assert read(world, log)[: len(confirmed)] == sorted(confirmed.items())
        # Writes that were durable but not answered stay for good, too.
        confirmed = dict(read(world, log))
        for producer in sequences:
            known = log.producers._producers.get(producer)
            sequences[producer] = 0 if known is None else known.next
        gates = []
        for number in range(draw.randrange(8)):
            producer = draw.choice((-1, 1, 2))
            names = [f"{leader}.{number}.{place}" for place in range(draw.randint(1, 3))]
            sequence = -1 if producer < 0 else sequences[producer]
            new = batch(*names, producer=producer, sequence=sequence, timestamp=draw.randrange(100))
            if producer > 0:
                sequences[producer] += new.count
            gates.append((new, world.start(_unless_refused(log, new))))
            if draw.random() < 0.6:
                world.store(draw.randrange(4))
        if draw.random() < 0.5:
            closing = world.start(log.close())
            for _ in range(draw.randrange(12)):
                world.store(draw.randint(1, 3))
            assert closing.happened or world.writes
        for new, gate in gates:
            if gate.happened and gate.result() is not None:
                confirmed |= {gate.result() + place: value.decode() for place, value in enumerate(new.values)}
        world = world.successor()
