"""Recoveries: which records of a WAL are kept, in which order things happen, and what ends a recovery (RC, FO-06).

A test writes objects into the WAL of a process that has crashed, as an old process may have left them.
"""

from __future__ import annotations

import pytest

from impl import wire
from impl.broker import messages as m
from impl.broker.wal_format import WalPlace, WalRecord, encode, end_of, folder_of, place_of
from impl.errors import E
from impl.rules import without
from impl.store.interface import Put
from tests.impl.crash_world import (
    MINUTE,
    Flight,
    Process,
    World,
    append,
    contents,
    is_request,
    numbers,
    opened,
    payload,
    successor,
)

VERSIONS = pytest.mark.parametrize("v6", [False, True], ids=["legacy", "V6"])


def places(world: World, node: int) -> list[WalPlace]:
    """The objects of a node's WAL."""
    folder = folder_of(node)
    return sorted(place_of(key, folder) for key in world.store.objects if key.startswith(folder))


def write_wal(world: World, process: Process, *records: WalRecord) -> None:
    """Append an object to the WAL of a process."""
    node, epoch = process.identity.node, process.identity.epoch
    start = places(world, node)[-1].end
    data, _ = encode(start, node, epoch, -1, records)
    world.store.execute(Put(WalPlace(epoch, start, end_of(start, len(data))).key(folder_of(node)), data))


def record(stream: int, base: int, count: int = 1) -> WalRecord:
    """A record of an old epoch. Its payload has its base."""
    return WalRecord(stream, 0, base, count, payload(base))


def crashed(world: World, appends: int = 1) -> tuple[Process, int]:
    """A process that has crashed after some acknowledged appends to one stream, none of them committed."""
    (process,) = world.serving(1)
    stream = opened(process)
    for number in range(appends):
        assert append(process, stream, number).error is E.NONE
    process.crash()
    world.rest(100)
    return process, stream


def recovered(world: World, stream: int) -> list[int]:
    """The batches of a stream, as numbers, that the next process of node 1 reads."""
    new = successor(world, 1)
    assert new.ask(m.Open(stream, 1)).error is E.NONE
    return numbers(contents(new, stream))


def is_stuck(world: World) -> bool:
    """Whether the next process of node 1 is still not ready after minutes."""
    with pytest.raises(AssertionError, match="nothing has come"):
        successor(world, 1)
    return True


# Which records ----------------------------------------------------------------------------------------------------


@VERSIONS
def test_a_record_that_continues_is_kept(v6: bool) -> None:
    """RC-02. A record that continues the stream is kept, even if it was never acknowledged (WL-09)."""
    world = World(v6=v6)
    old, stream = crashed(world)
    write_wal(world, old, record(stream, 1, 2), record(stream, 3))
    assert recovered(world, stream) == [0, 1, 3]


@VERSIONS
def test_a_record_that_is_committed_is_dropped(v6: bool) -> None:
    """RC-02.base. The process has crashed before it trimmed the WAL. Without the rule the commit is refused, and no
    process of the node ever starts (G-48).
    """

    def prepared() -> tuple[World, int]:
        world = World(v6=v6)
        (process,) = world.serving(1)
        stream = opened(process)
        for number in range(2):
            assert append(process, stream, number).error is E.NONE
        kept = [(place, world.store.objects[place.key(folder_of(1))]) for place in places(world, 1)]
        assert append(process, stream, 2).error is E.NONE  # It fills the block.
        world.run(lambda: world.image.streams[stream].end == 3)
        process.crash()
        for place, data in kept:
            assert world.store.objects[place.key(folder_of(1))] == data
        return world, stream

    world, stream = prepared()
    assert recovered(world, stream) == [0, 1, 2]
    with without("RC-02.base"):
        world, _ = prepared()
        assert is_stuck(world)


def test_a_record_behind_a_gap_is_dropped() -> None:
    """RC-02.gap. Without the rule the stream has a hole, which no reader passes."""
    world = World()
    old, stream = crashed(world)
    write_wal(world, old, record(stream, 3), record(stream, 1))
    assert recovered(world, stream) == [0, 1]
    with without("RC-02.gap"):
        world = World()
        old, stream = crashed(world)
        write_wal(world, old, record(stream, 3))
        new = successor(world, 1)
        opening = new.ask(m.Open(stream, 1))
        assert opening.values["next"] == 4
        assert new.ask(m.Fetch(stream, 0)).error is not E.NONE


@VERSIONS
def test_a_record_of_another_stream_is_dropped(v6: bool) -> None:
    """RC-02.opening. Records of a closed stream are still in the WAL, and are dropped (G-47)."""

    def prepared() -> tuple[World, int]:
        world = World(v6=v6)
        first, second = world.serving(1, 2)
        stream = opened(first)
        assert append(first, stream, 0).error is E.NONE
        assert first.ask(m.Close(stream)).error is E.NONE
        world.rest(1_000)
        assert second.ask(m.Open(stream, 1)).error is E.NONE
        first.crash()
        write_wal(world, first, record(stream, 1))
        return world, stream

    world, stream = prepared()
    new = successor(world, 1)
    assert append(world.processes[1], stream, 5).values == {"offset": 1}
    assert numbers(contents(world.processes[1], stream)) == [0, 5]
    assert new.alive
    with without("RC-02.opening"):
        world, stream = prepared()
        assert is_stuck(world)


def test_a_sealed_stream_is_recovered_up_to_its_end() -> None:
    """ND-03.end. A record after the end was never acknowledged. The controller refuses its commit (CS-22)."""

    def prepared() -> tuple[World, int]:
        world = World()
        first, _ = world.serving(1, 2)
        stream = opened(first)
        assert append(first, stream, 0).error is E.NONE
        world.holds = lambda flight: is_request(flight, wire.CommitStreamSetObject)
        assert first.ask(m.Close(stream)).error is E.NONE
        first.crash()
        world.held.clear()
        world.holds = lambda _: False
        write_wal(world, first, record(stream, 1))
        return world, stream

    world, stream = prepared()
    assert recovered(world, stream) == [0]
    assert world.image.active_entry(1, stream) is None
    with without("ND-03.end"):
        world, _ = prepared()
        assert is_stuck(world)


def test_a_batch_that_a_trim_has_cut_is_kept() -> None:
    """AM-08. As built the batch and all records after it are dropped: acknowledged records are lost."""

    def survivors(as_built: frozenset[str] = frozenset()) -> list[int]:
        world = World(as_built=as_built)
        (process,) = world.serving(1)
        stream = opened(process)
        assert append(process, stream, 0, count=4).error is E.NONE
        assert append(process, stream, 1).error is E.NONE
        assert process.ask(m.Trim(stream, 2)).error is E.NONE
        process.crash()
        world.rest(100)
        new = successor(world, 1)
        assert new.ask(m.Open(stream, 1)).values["start"] == 2
        return numbers(contents(new, stream, 2))

    assert survivors() == [0, 1]
    assert survivors(frozenset({"AM-08"})) == []


@VERSIONS
def test_many_blocks_are_recovered(v6: bool) -> None:
    """RC-04. Blocks of several streams, with trim markers between them, are recovered."""
    world = World(v6=v6)
    (process,) = world.serving(1)
    streams = [opened(process) for _ in range(3)]
    for number in range(30):
        assert append(process, streams[number % 3], number, count=1 + number % 2).error is E.NONE
    process.crash()
    world.rest(100)
    new = successor(world, 1)
    for place, stream in enumerate(streams):
        assert new.ask(m.Open(stream, 1)).error is E.NONE
        assert numbers(contents(new, stream)) == list(range(place, 30, 3))


# Order ------------------------------------------------------------------------------------------------------------


@VERSIONS
def test_streams_are_closed_when_their_data_is_committed(v6: bool) -> None:
    """RC-05. Without the rule another broker opens the stream at an end below acknowledged data (G-49)."""

    def next_offset() -> int:
        world = World(v6=v6)
        (other,) = world.serving(2)
        _, stream = crashed(world, 2)
        world.holds = lambda flight: is_request(flight, wire.CommitStreamSetObject)
        world.begin(1)
        opening = other.send(m.Open(stream, 1))
        world.rest(1_000)
        world.release()
        world.run(lambda: opening in other.done)
        return int(other.done[opening].values["next"])

    assert next_offset() == 2
    with without("RC-05"):
        assert next_offset() == 0


def test_the_wal_is_emptied_when_everything_is_committed() -> None:
    """RC-05.reset. While a commit is on its way, the WAL has all records."""
    world = World()
    old, stream = crashed(world, 2)
    before = places(world, 1)
    world.holds = lambda flight: is_request(flight, wire.CommitStreamSetObject)
    new = world.begin(1)
    world.rest(1_000)
    assert set(places(world, 1)) >= set(before)
    new.crash()
    world.held.clear()
    world.holds = lambda _: False
    assert recovered(world, stream) == [0, 1]
    world.rest(1_000)
    assert not [place for place in places(world, 1) if place.epoch == old.identity.epoch]


@VERSIONS
def test_the_barrier_comes_before_the_replay(v6: bool) -> None:
    """FO-06.barrier, G-33. Without the rule the old process commits the same data as the recovery."""
    world = World(v6=v6)
    (old,) = world.serving(1)
    stream = opened(old)
    world.holds = lambda flight: is_request(flight, wire.CommitStreamSetObject)
    for number in range(3):
        assert append(old, stream, number).error is E.NONE
    world.rest(100)
    late = list(world.held)
    assert late
    world.held.clear()
    new = world.begin(1)
    world.run(lambda: any(flight.process is new for flight in world.held))
    mine, world.held = world.held, []
    world.holds = lambda _: False
    world.flights.extend(late)  # The old process's commit arrives after the barrier.
    world.run(lambda: not old.alive)
    world.flights.extend(mine)
    world.run(lambda: not world.image.opened_on.get(1))
    opening = new.ask(m.Open(stream, 1))
    assert opening.values["next"] == 3
    assert numbers(contents(new, stream)) == [0, 1, 2]


# Ends -------------------------------------------------------------------------------------------------------------


@VERSIONS
def test_a_close_whose_answer_was_lost_counts_as_done(v6: bool) -> None:
    """RC-06, G-50. When the close is repeated another broker has the stream. Without the rule the start fails."""

    def starts() -> bool:
        world = World(v6=v6)
        (other,) = world.serving(2)
        _, stream = crashed(world)
        new = world.begin(1)
        numbers_of_closes: list[int] = []

        def holds(flight: Flight) -> bool:
            if flight.process is not new:
                return False
            if is_request(flight, wire.CloseStreams):
                numbers_of_closes.append(flight.message.id)
            answer = flight.message
            return isinstance(answer, wire.Reply) and answer.id in numbers_of_closes[:1]

        world.holds = holds
        assert other.ask(m.Open(stream, 1)).error is E.NONE
        world.rest(3 * MINUTE)
        assert len(numbers_of_closes) == 2
        assert append(other, stream, 7).values == {"offset": 1}
        return new.alive

    assert starts()
    with without("RC-06"):
        assert not starts()


def test_a_worker_tries_again() -> None:
    """FO-04. Its requests to the controller were lost for minutes; the failover ends nevertheless."""
    world = World()
    old, worker = world.serving(1, 2)
    stream = opened(old)
    assert append(old, stream, 0).error is E.NONE
    world.rest(MINUTE)
    old.crash()
    world.holds = lambda flight: flight.process is worker and is_request(flight, wire.GetOpeningStreams)
    world.run(lambda: bool(world.held))
    world.rest(2 * MINUTE)
    world.held.clear()
    world.holds = lambda _: False
    assert worker.ask(m.Open(stream, 1)).error is E.NONE
    assert numbers(contents(worker, stream)) == [0]


@VERSIONS
def test_a_worker_gives_way_to_the_next_process_of_the_node(v6: bool) -> None:
    """FO-07. During the worker's replay the node returns with a larger epoch. Nothing is lost or doubled."""
    world = World(v6=v6)
    old, worker = world.serving(1, 2)
    stream = opened(old)
    for number in range(2):
        assert append(old, stream, number).error is E.NONE
    world.rest(MINUTE)
    old.crash()
    assert append(worker, opened(worker), 0).error is E.NONE
    world.holds = lambda flight: flight.process is worker and is_request(flight, wire.CommitStreamSetObject)
    world.run(lambda: bool(world.held))
    new = successor(world, 1)
    assert new.ask(m.Open(stream, 1)).error is E.NONE
    assert append(new, stream, 2).values == {"offset": 2}
    world.release()
    world.rest(MINUTE)
    assert worker.alive
    assert new.alive
    assert numbers(contents(new, stream)) == [0, 1, 2]
