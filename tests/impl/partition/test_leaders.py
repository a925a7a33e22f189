"""The log of a partition under successive leaders, which close it in order or crash anywhere."""

from __future__ import annotations

import random

import pytest

from impl.broker.partition.meta_values import ProducerSnapshots
from impl.broker.wal_format import WalRecord
from impl.tasks import FailedError, Gate
from tests.impl.partition.log_story import batch, read, unless_refused, values
from tests.impl.partition.streams_world import OpenStream, World


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

        found.fetch = noted
        return found

    world.open = noting
    return world


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
            gates.append((new, world.start(unless_refused(log, new))))
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
