"""Reads from object storage: a complete range or an error; and waits for metadata."""

from __future__ import annotations

from typing import Any

import pytest

from impl.broker.object_format import encode, object_key
from impl.broker.object_lookup import InvalidReadError
from impl.broker.reader import TAIL_BYTES, WAIT_MS, GapError
from impl.broker.wal_format import DamagedError
from impl.records import S3Object, S3StreamSetObject
from impl.rules import without
from impl.store.interface import Get, Unsure
from impl.tasks import Gate, TimedOutError
from tests.impl.object_world import Process, World


def two_nodes() -> World:
    """Streams 0 and 1: [0, 6) in a set of node 0, [6, 10) of stream 0 alone, the rest in a set of node 1."""
    world = World()
    for _ in range(2):
        world.create()
    world.upload(0, {0: [2, 1, 3], 1: [1] * 6})
    world.upload(0, {0: [4], 1: [5]}, alone=(0,))
    world.move(0, 1)
    world.upload(1, {0: [1, 1, 2]})
    return world


def gets(process: Process) -> list[Get]:
    """The Gets of a process."""
    return [each for each in process.sent if isinstance(each, Get)]


@pytest.mark.parametrize("begin", range(14))
@pytest.mark.parametrize("length", [1, 3, 14])
def test_a_range_is_read_as_it_was_written(begin: int, length: int) -> None:
    """A read returns whole batches that overlap the range, over all kinds of objects and owners."""
    world = two_nodes()
    end = min(begin + length, 14)
    process = Process(world)
    found = process.run(process.reader.read(0, begin, end))
    assert found == [each for each in world.records[0] if each.base < end and each.base + each.count > begin]


def test_all_streams_are_read() -> None:
    """From start to end."""
    two_nodes().check()


def test_an_empty_range_asks_nobody() -> None:
    """An empty range sends no request."""
    process = Process(two_nodes())
    assert process.run(process.reader.read(0, 3, 3)) == []
    assert not process.sent


def test_an_index_is_read_once() -> None:
    """An index is read once, with the object's end, in one Get. Each object's blocks need one more Get."""
    process = Process(two_nodes())
    process.run(process.reader.read(0, 0, 6))
    process.run(process.reader.read(1, 0, 6))
    assert len(gets(process)) == 3
    process.run(process.reader.read(1, 2, 4))
    assert len(gets(process)) == 4


def test_few_indexes_are_kept() -> None:
    """Only the last used indexes are kept. Any number of objects can be read."""
    world = two_nodes()
    process = Process(world, indexes=1)
    for _ in range(2):
        assert process.run(process.reader.read(0, 0, 14)) == world.records[0]
    assert len(gets(process)) == 12


def test_the_index_that_was_used_last_is_kept() -> None:
    """The index that was used last is kept, not the one that was read last."""
    process = Process(two_nodes(), indexes=2)
    for begin in (0, 6, 0, 10):
        process.run(process.reader.read(0, begin, begin + 1))
    before = len(gets(process))
    process.run(process.reader.read(0, 0, 1))
    assert len(gets(process)) == before + 1


def test_a_long_index_needs_a_second_get() -> None:
    """The object's end says where the index begins. Of several hundred kB only the needed part is read."""
    world = World()
    stream = world.create()
    count = TAIL_BYTES // 20
    world.upload(0, {stream: [1] * count})
    (data,) = world.store.objects.values()
    assert len(data) > 2 * TAIL_BYTES
    process = Process(world)
    assert process.run(process.reader.read(stream, 5, 7)) == world.records[stream][5:7]
    tail, index, blocks = gets(process)
    assert tail.begin == len(data) - TAIL_BYTES
    assert 0 < index.begin < tail.begin
    assert blocks.end is not None
    assert blocks.end - blocks.begin < 200


@pytest.mark.parametrize("size", [0, 1, 50])
def test_a_size_that_is_too_small_does_no_harm(size: int) -> None:
    """The metadata may say that an object is smaller than it is."""
    world = two_nodes()
    for each, stored in list(world.image.objects.items()):
        world.image.apply(S3Object(each, size, stored.state, stored.timestamp))
    world.check()


def test_ranges_that_the_metadata_does_not_name_are_read_from_the_index() -> None:
    """MD-03. There are more such objects than indexes are kept."""
    world = World()
    for _ in range(2):
        world.create()
    for _ in range(4):
        world.upload(0, {0: [1, 2], 1: [3]})
    for each, held in list(world.image.set_objects[0].items()):
        world.image.apply(S3StreamSetObject(0, each, held.order, held.data_time))
    process = Process(world, indexes=2)
    for stream in (0, 1):
        assert process.run(process.reader.read(stream, 0, 12)) == world.records[stream]


# Waiting ----------------------------------------------------------------------------------------------------------


def sealed() -> tuple[World, int, Process, Gate[Any]]:
    """Node 0 sealed [0, 4) of a stream, and has not uploaded it. Node 1 has uploaded [4, 6). A process reads both."""
    world = World()
    stream = world.create()
    world.close(stream, 4)
    world.open(stream, 1)
    world.upload(1, {stream: [2]})
    process = Process(world)
    return world, stream, process, process.start(process.reader.read(stream, 0, 6))


def test_a_read_waits_for_metadata() -> None:
    """MD-02. The read goes on waiting at images that do not yet cover the range."""
    world, stream, process, gate = sealed()
    process.reader.image_changed()
    process.start(_nothing())
    assert not gate.happened
    world.upload(0, {stream: [3]}, at=0)
    process.reader.image_changed()
    process.start(_nothing())
    assert not gate.happened
    world.upload(0, {stream: [1]}, at=3)
    process.wake(1_000)
    assert not gate.happened, "the reader has not heard of the new image"
    process.reader.image_changed()
    process.start(_nothing())
    assert gate.result() == world.records[stream]
    assert [each.base for each in gate.result()] == [0, 3, 4]


def test_a_read_waits_two_minutes() -> None:
    """A read waits two minutes from its start, for any number of images (PL-13)."""
    _, _, process, gate = sealed()
    process.wake(WAIT_MS - 1)
    process.reader.image_changed()
    process.wake(0)
    assert not gate.happened
    process.wake(1)
    with pytest.raises(TimedOutError):
        gate.result()


def test_a_stream_that_is_deleted_ends_the_wait() -> None:
    """If the stream is deleted, the wait ends."""
    world, stream, process, gate = sealed()
    world.delete(stream)
    process.reader.image_changed()
    process.start(_nothing())
    with pytest.raises(InvalidReadError):
        gate.result()


def test_without_the_wait_a_hole_is_noticed() -> None:
    """Without both rules a reader gets less than it asked for, and its consumer skips acknowledged records."""
    with without("MD-02"):
        _, _, _, gate = sealed()
        with pytest.raises(GapError):
            gate.result()
        with without("PL-13.gap"):
            _, _, _, gate = sealed()
            assert gate.result() == []


@pytest.mark.parametrize("missing", [0, 1, 2])
def test_an_object_that_holds_less_than_the_metadata_says_is_noticed(missing: int) -> None:
    """An object's index decides what it holds. Here its begin, middle or end is missing."""
    world = two_nodes()
    key = object_key(next(iter(world.image.set_objects[0])))
    del world.records[0][missing]
    world.store.objects[key] = encode(world.records[0][:2])
    process = Process(world)
    with pytest.raises(GapError, match=r"\[0, 6\) of stream 0"):
        process.run(process.reader.read(0, 0, 6))
    record = two_nodes().records[0][missing]
    with pytest.raises(GapError):
        process.run(process.reader.read(0, record.base + record.count - 1, 6))
    with without("PL-13.gap"):
        assert len(process.run(process.reader.read(0, 0, 6))) == 2


def test_below_the_start_nothing_is_read() -> None:
    """MD-01. Records below the start are not read, even if they still exist."""
    world = two_nodes()
    world.move(0, 1)
    world.trim(0, 5)
    process = Process(world)
    with pytest.raises(InvalidReadError):
        process.run(process.reader.read(0, 4, 8))
    assert process.run(process.reader.read(0, 5, 8)) == world.records[0][2:4]


# Objects that are gone, damaged, or out of reach ------------------------------------------------------------------


def test_an_object_that_is_replaced_meanwhile_is_looked_up_again() -> None:
    """A compaction replaces the objects at any step of a read, and the old ones are deleted."""
    for at in range(6):
        world = two_nodes()
        process = Process(world)

        def compact(number: int, world: World = world, process: Process = process, at: int = at) -> None:
            if number == at:
                for node in (0, 1):
                    other = Process(world, node, split=1)
                    assert other.run(other.compactor.compact_sets())
                world.sweep()
                process.reader.image_changed()

        assert process.run(process.reader.read(0, 0, 14), before=compact) == world.records[0]
        assert process.outputs >= 6


def test_an_object_that_is_gone_before_the_metadata_says_so_is_waited_for() -> None:
    """If an object is gone, the read waits for newer metadata, since a broker's image may be late."""
    world = two_nodes()
    key = object_key(next(iter(world.image.set_objects[0])))
    data = world.store.objects.pop(key)
    process = Process(world)
    gate = process.start(process.reader.read(0, 0, 6))
    assert not gate.happened
    world.store.objects[key] = data
    process.reader.image_changed()
    process.start(_nothing())
    assert gate.result() == world.records[0][:3]
    del world.store.objects[key]
    gate = process.start(process.reader.read(0, 0, 6))
    process.wake(WAIT_MS)
    with pytest.raises(TimedOutError):
        gate.result()


def test_damage_is_an_error() -> None:
    """Damage anywhere in the range's objects is an error, and no wrong record is returned."""
    world = two_nodes()
    key = object_key(next(iter(world.image.set_objects[0])))
    data = world.store.objects[key]
    noticed = 0
    for place in range(len(data)):
        world.store.objects[key] = data[:place] + bytes([data[place] ^ 4]) + data[place + 1 :]
        process = Process(world)
        try:
            assert process.run(process.reader.read(0, 0, 14)) == world.records[0]
        except DamagedError:
            noticed += 1
    assert noticed > len(data) / 2


def test_a_store_that_does_not_answer_is_tried_again() -> None:
    """One request without an answer is repeated."""
    world = two_nodes()
    process = Process(world)
    lost = iter([True])
    gate = process.start(
        process.reader.read(0, 0, 14), answer=lambda _, found: Unsure("lost") if next(lost, False) else found
    )
    assert not gate.happened
    world.controller.advance(1_000)
    process.start(_nothing())
    assert gate.result() == world.records[0]


async def _nothing() -> None:
    """A task that does nothing, so that other tasks of its process run."""
