"""The log of a partition under one leader: appends, reads, and the close."""

from __future__ import annotations

import pytest

from impl.broker.partition.meta_values import LeaderEpochCheckpoint, LogMeta, PartitionMeta
from impl.broker.partition.producers import ProducerRefusedError
from impl.broker.partition.segments import LOG, TIME
from impl.errors import E
from impl.rules import RefusedError
from impl.tasks import Gate
from tests.impl.partition.log_story import batch, read, unless_refused, values
from tests.impl.partition.streams_world import World


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


def test_acks_1_does_not_wait_for_the_wal() -> None:
    """The offset is known at once, and the batch is confirmed when it is durable."""
    world = World()
    log = world.lead(0)
    assert world.run(log.append(batch("a"))) == 0
    early, late = (world.start(log.append(batch(value), acks=acks)) for value, acks in (("b", 1), ("c", -1)))
    assert (early.happened, late.happened, log.confirmed) == (True, False, 1)
    world.store(2)
    assert (early.result(), late.result(), log.confirmed) == (1, 2, 3)


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
    gate = world.start(unless_refused(log, batch("a")))
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
