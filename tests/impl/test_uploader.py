"""Uploads: the objects, the order in which blocks are committed, and the trim of the WAL (PL-20 to PL-25)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from impl import wire
from impl.broker import log_cache
from impl.broker import messages as m
from impl.broker.log_cache import CacheBlock
from impl.broker.object_format import object_key
from impl.broker.object_writer import split
from impl.broker.wal_format import WalRecord, folder_of
from impl.errors import E
from impl.rules import without
from impl.store.interface import Put, Unsure
from tests.impl.crash_world import (
    MINUTE,
    SMALL,
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

LARGE = log_cache.CacheLimits()


def commits(world: World) -> list[wire.CommitStreamSetObject]:
    """The held commits, in the order of sending."""
    bodies = [flight.message.body for flight in world.held if is_request(flight, wire.CommitStreamSetObject)]
    return [body for body in bodies if isinstance(body, wire.CommitStreamSetObject)]


def holds_commits(flight: Flight) -> bool:
    """Hold each commit back."""
    return is_request(flight, wire.CommitStreamSetObject)


def objects(world: World) -> list[str]:
    """The keys of the uploaded objects in the store."""
    return [key for key in world.store.objects if key.startswith("object/")]


# Split ------------------------------------------------------------------------------------------------------------


@given(st.dictionaries(st.integers(0, 9), st.integers(0, 30), min_size=1), st.integers(1, 30))
def test_large_streams_have_an_object_of_their_own(sizes: dict[int, int], limit: int) -> None:
    """PL-21. A large stream, or a single one, has its own object. Streams ascend, each with all its records."""
    block = CacheBlock()
    for stream, size in sizes.items():
        block.put(WalRecord(stream, 0, 0, 1, b"x" * (size // 2)))
        block.put(WalRecord(stream, 0, 1, 1, b"x" * (size - size // 2)))
    parts = split(block, limit)
    assert {**parts.alone, **parts.together} == block.streams
    assert list(parts.alone) == sorted(parts.alone)
    assert list(parts.together) == sorted(parts.together)
    if len(sizes) == 1:
        assert list(parts.alone) == list(sizes)
    else:
        assert set(parts.alone) == {stream for stream, size in sizes.items() if size >= limit}
    assert parts.count == len(parts.alone) + bool(parts.together)


def test_the_shared_object_has_the_first_id() -> None:
    """PL-21. Its order is its id; the objects of single streams follow."""
    world = World(cache=LARGE, split_bytes=100)
    (process,) = world.serving(1)
    streams = [opened(process) for _ in range(4)]
    for stream in streams:
        size = 200 if stream in streams[1:3] else 8
        assert process.ask(m.Append(stream, 1, b"x" * size)).error is E.NONE
    world.holds = holds_commits
    process.send(m.Close(streams[0]))
    world.run(lambda: bool(world.held))
    (commit,) = (body.commit for body in commits(world))
    assert commit.order == commit.object
    assert [each.stream for each in commit.ranges] == [streams[0], streams[3]]
    assert [(each.object, each.stream) for each in commit.stream_objects] == [
        (commit.object + 1, streams[1]),
        (commit.object + 2, streams[2]),
    ]
    assert sorted(objects(world)) == sorted(object_key(commit.object + place) for place in range(3))


# When -------------------------------------------------------------------------------------------------------------


def test_a_block_is_uploaded_when_it_is_old() -> None:
    """PL-20. An old block is uploaded even if it is not full. Then nothing more is."""
    world = World(cache=LARGE)
    (process,) = world.serving(1)
    stream = opened(process)
    assert append(process, stream, 0).error is E.NONE
    world.rest(MINUTE - 1_000)
    assert not objects(world)
    world.rest(MINUTE + 2_000)
    assert len(objects(world)) == 1
    assert world.image.streams[stream].end == 1
    world.rest(3 * MINUTE)
    assert len(objects(world)) == 1


def test_forced_uploads_of_one_tick_share_an_object() -> None:
    """PL-24. 100 ms for several streams that close together."""
    world = World(cache=LARGE)
    (process,) = world.serving(1)
    streams = [opened(process) for _ in range(5)]
    for stream in streams:
        assert append(process, stream, stream).error is E.NONE
    closes = [process.send(m.Close(stream)) for stream in streams]
    world.run(lambda: all(each in process.done for each in closes))
    world.rest(1_000)
    assert len(objects(world)) == 1


def test_a_forced_upload_leaves_other_streams_alone() -> None:
    """PL-24. The active block is archived only if it has records of the stream."""
    world = World(cache=LARGE)
    (process,) = world.serving(1)
    empty, stream = opened(process), opened(process)
    assert append(process, stream, 0).error is E.NONE
    assert process.ask(m.Close(empty)).error is E.NONE
    world.rest(1_000)
    assert not objects(world)


def test_a_cache_of_committed_blocks_is_not_uploaded_early() -> None:
    """PL-20. Only what cannot be evicted counts: blocks keep their size, however full the cache is.

    60 appends fill 20 blocks; the cache is full once before an eviction is due, and that ends one block early (PL-01).
    """
    world = World(cache=log_cache.CacheLimits(block=SMALL.block, capacity=11 * (log_cache.OVERHEAD + 8)))
    (process,) = world.serving(1)
    stream = opened(process)
    for number in range(60):
        assert append(process, stream, number).error is E.NONE
        world.rest(1_000)
    assert len(objects(world)) == 21


# Order ------------------------------------------------------------------------------------------------------------


def _three_blocks(world: World) -> tuple[Process, int]:
    """A process with three full blocks of one stream, whose commits are held back."""
    (process,) = world.serving(1)
    stream = opened(process)
    world.holds = holds_commits
    for number in range(9):
        assert append(process, stream, number).error is E.NONE
    world.rest(5_000)
    return process, stream


def test_blocks_are_put_side_by_side_and_committed_in_order() -> None:
    """PL-22. Without the rule a commit overtakes the one before it; the controller refuses it (CS-29a)."""
    world = World()
    process, stream = _three_blocks(world)
    assert len(objects(world)) == 3
    assert len(commits(world)) == 1
    world.release()
    world.rest(1_000)
    assert world.image.streams[stream].end == 9
    assert numbers(contents(process, stream)) == list(range(9))
    with without("PL-22"):
        world = World()
        _three_blocks(world)
        assert len(commits(world)) == 3


def test_ids_are_prepared_in_the_order_of_blocks() -> None:
    """PL-22.prepare. An older block has smaller ids, even if its request is answered late."""

    def asked() -> int:
        world = World()
        (process,) = world.serving(1)
        stream = opened(process)
        world.holds = lambda flight: is_request(flight, wire.PrepareObjects)
        for number in range(9):
            assert append(process, stream, number).error is E.NONE
        world.rest(1_000)
        return len(world.held)

    assert asked() == 1
    with without("PL-22.prepare"):
        assert asked() == 3


def test_the_wal_is_trimmed_behind_a_commit() -> None:
    """PL-25. Before it, a crash loses what is acknowledged."""

    def survivors() -> list[int]:
        world = World()
        process, stream = _three_blocks(world)
        process.crash()
        world.held.clear()
        world.holds = lambda _: False
        new = successor(world, 1)
        assert new.ask(m.Open(stream, 1)).error is E.NONE
        return numbers(contents(new, stream))

    assert survivors() == list(range(9))
    with without("PL-25"):
        assert survivors() != list(range(9))


def test_a_commit_out_of_order_loses_records() -> None:
    """PL-22, PL-25. The WAL is trimmed behind the newer block, and the older one has no object when the process ends.

    Each block is of another stream here, so that the controller takes the newer one first.
    """

    def survivors() -> list[int]:
        world = World()
        (process,) = world.serving(1)
        first, second = opened(process), opened(process)
        world.holds = holds_commits
        for number in range(6):
            assert append(process, first if number < 3 else second, number).error is E.NONE
        world.rest(1_000)
        newer = [flight for flight in world.held if _commits_stream(flight, second)]
        world.held = [flight for flight in world.held if flight not in newer]
        world.holds = lambda _: False
        world.flights.extend(newer)
        world.rest(1_000)
        process.crash()
        world.held.clear()
        new = successor(world, 1)
        assert new.ask(m.Open(first, 1)).error is E.NONE
        return numbers(contents(new, first))

    assert survivors() == [0, 1, 2]
    with without("PL-22"):
        assert survivors() == []


def _commits_stream(flight: Flight, stream: int) -> bool:
    body = flight.message.body
    return isinstance(body, wire.CommitStreamSetObject) and body.commit.stream_objects[0].stream == stream


def test_the_wal_keeps_records_of_a_later_block() -> None:
    """PL-11, WL-02. An object of the WAL has its records by stream, not in the order of the appends: a block must not
    be trimmed up to an offset that a record of the next block lies below.
    """
    world = World()
    (process,) = world.serving(1)
    low, high = opened(process), opened(process)
    commands = [
        process.send(m.Append(stream, 1, payload(number)))
        for number, stream in enumerate((high, high, high, high, low))
    ]
    world.run(lambda: all(each in process.done for each in commands))
    world.rest(1_000)
    assert objects(world)
    process.crash()
    new = successor(world, 1)
    for stream, expected in ((low, [4]), (high, [0, 1, 2, 3])):
        assert new.ask(m.Open(stream, 1)).error is E.NONE
        assert numbers(contents(new, stream)) == expected


# Failures ---------------------------------------------------------------------------------------------------------


def test_a_put_without_an_outcome_ends_the_process() -> None:
    """PL-23. A put without an outcome ends the process. The next one uploads the records in the WAL."""
    world = World()
    (process,) = world.serving(1)
    stream = opened(process)

    def holds(flight: Flight) -> bool:
        message = flight.message
        if isinstance(message, m.StoreRequest) and isinstance(message.operation, Put):
            return message.operation.key.startswith("object/")
        return False

    for number in range(2):
        assert append(process, stream, number).error is E.NONE
    world.holds = holds
    assert append(process, stream, 2).error is E.NONE
    while process.alive:
        world.run(lambda: bool(world.held) or not process.alive)
        for flight in world.held:
            process.take(m.StoreAnswer(flight.message.id, Unsure("a timeout")))
        world.held.clear()
    world.holds = lambda _: False
    new = successor(world, 1)
    assert new.ask(m.Open(stream, 1)).error is E.NONE
    assert numbers(contents(new, stream)) == [0, 1, 2]


def test_a_commit_is_sent_again_until_it_is_answered() -> None:
    """EX-07, CS-03. If the answer is lost the commit is repeated, without an effect."""
    world = World()
    (process,) = world.serving(1)
    stream = opened(process)
    lost: list[Flight] = []

    def holds(flight: Flight) -> bool:
        if is_request(flight, wire.CommitStreamSetObject) and not lost:
            lost.append(flight)
            body = flight.message.body
            world.control(wire.Request(process.place, -1, body))
            return True
        return False

    world.holds = holds
    for number in range(6):
        assert append(process, stream, number).error is E.NONE
    assert lost
    world.rest(2 * MINUTE)
    assert world.image.streams[stream].end == 6
    assert numbers(contents(process, stream)) == list(range(6))


def test_a_process_without_its_wal_trims_nothing() -> None:
    """PL-25. A trim that fails does no harm."""
    world = World()
    process, stream = _three_blocks(world)
    before = [key for key in world.store.objects if key.startswith(folder_of(1))]
    process.paused = True
    world.store.execute(Put("reservation/1", b"another process"))
    world.resume(process)
    world.release()
    world.run(lambda: not process.alive or world.image.streams[stream].end == 9)
    world.rest(1_000)
    assert [key for key in before if key in world.store.objects] == before
