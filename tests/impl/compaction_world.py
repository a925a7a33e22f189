"""Streams with objects to compact, rounds of compaction, and the checks after a round."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from impl.broker.object_format import object_key
from impl.records import ObjectState
from impl.tasks import Job
from tests.impl.object_world import LostError, Process, World

ALL = 1
"""A split size for which every stream gets stream objects."""


def filled(streams: int = 3, uploads: int = 3) -> World:
    """Streams of node 0, with two batches each in each of N sets."""
    world = World()
    for _ in range(streams):
        world.create()
    for _ in range(uploads):
        world.upload(0, {each: [1, 2] for each in range(streams)})
    return world


def compact(world: World, node: int = 0, **limits: int) -> bool:
    """Run a round over the sets of a node."""
    process = Process(world, node, **limits)
    return process.run(process.compactor.compact_sets())


def merge(world: World, stream: int, **limits: int) -> bool:
    """Run a round over the stream objects of a stream, by its owner."""
    process = Process(world, world.owner(stream), **limits)
    return process.run(process.compactor.compact_stream(stream, world.image.streams[stream].epoch))


def sets(world: World, node: int = 0) -> list[int]:
    """The sets of a node."""
    return sorted(world.image.set_objects.get(node, {}))


def objects(world: World, stream: int) -> list[tuple[int, int]]:
    """The spans of the stream objects of a stream."""
    return sorted((each.start, each.end) for each in world.image.stream_objects.get(stream, {}).values())


def settle(world: World) -> None:
    """Check that every stream reads as before, also after unused objects are deleted.

    No object of the store is forgotten, and the metadata knows the size of each used object.
    """
    world.check()
    world.sweep()
    world.check()
    known = {object_key(each): stored for each, stored in world.image.objects.items()}
    assert set(world.store.objects) <= set(known)
    for key, stored in known.items():
        if stored.state is ObjectState.COMMITTED:
            assert stored.size == len(world.store.objects[key])


def alone(uploads: int = 4) -> World:
    """A stream of node 0 with stream objects of two offsets each, and another stream."""
    world = World()
    for _ in range(2):
        world.create()
    for _ in range(uploads):
        world.upload(0, {0: [2], 1: [1]}, alone=(0, 1))
    return world


def round_over_sets(process: Process) -> Job[bool]:
    """One round over the sets of the node."""
    return process.compactor.compact_sets()


def round_over_stream(process: Process) -> Job[bool]:
    """One round over the objects of stream 0, which the node opened first."""
    return process.compactor.compact_stream(0, 0)


def sent(world: World, job: Callable[[Process], Job[bool]], **limits: int) -> list[Any]:
    """The outputs of a compaction."""
    process = Process(world, **limits)
    assert process.run(job(process))
    return process.sent


def loses(world: World) -> None:
    """Whether some stream cannot be read any more, or reads differently."""
    with pytest.raises(LostError):
        settle(world)


async def nothing() -> None:
    """A task that does nothing, so that other tasks of its process run."""
