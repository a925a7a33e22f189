"""Compaction of stream objects (CP-02): only by the owner, and each stream reads as before."""

from __future__ import annotations

from impl import wire
from impl.broker.stream_compaction import PER_COMMIT
from impl.controller.objects import DEEP_DELETE
from impl.records import ObjectState
from impl.rules import without
from tests.impl.compaction_world import (
    ALL,
    alone,
    compact,
    filled,
    loses,
    merge,
    objects,
    round_over_stream,
    sent,
    settle,
)
from tests.impl.object_world import Process, World


def test_neighbours_become_one() -> None:
    """Neighbouring objects of a stream become one. Another stream keeps its objects."""
    world = alone()
    assert merge(world, 0)
    assert objects(world, 0) == [(0, 8)]
    assert len(objects(world, 1)) == 4
    assert not merge(world, 0)
    settle(world)


def test_neighbours_are_neighbours_by_offset() -> None:
    """Objects are neighbours by offset, not by id: a compaction of sets gives new ids to old offsets."""
    world = filled(1, 1)
    world.upload(0, {0: [2]})
    world.upload(0, {0: [2]}, alone=(0,))
    world.upload(0, {0: [2]}, alone=(0,))
    assert compact(world, split=ALL)
    assert merge(world, 0)
    assert objects(world, 0) == [(0, 9)]
    settle(world)


def test_dead_objects_take_what_they_link_with_them() -> None:
    """DEEP_DELETE (OB-03) is for dead objects. The inputs of a merge are only replaced."""
    world = alone()
    before = sorted(world.image.stream_objects[0])
    world.trim(0, 2)
    assert merge(world, 0)
    marked = [world.image.objects[each] for each in before]
    assert {stored.state for stored in marked} == {ObjectState.MARK_DESTROYED}
    assert [bool(stored.attributes & DEEP_DELETE) for stored in marked] == [True, False, False, False]


def test_dead_objects_go_first() -> None:
    """Dead objects are deleted first. An object that the trim cuts is live, and is merged whole."""
    world = alone()
    world.trim(0, 3)
    assert merge(world, 0)
    assert objects(world, 0) == [(2, 8)]
    settle(world)
    world.trim(0, 8)
    assert merge(world, 0)
    assert objects(world, 0) == []
    settle(world)


def test_a_commit_names_few_dead_objects() -> None:
    """A commit has at most a thousand dead objects."""
    world = World()
    stream = world.create()
    for _ in range(PER_COMMIT + 1):
        world.upload(0, {stream: [1]}, alone=(stream,))
    world.trim(stream, PER_COMMIT + 1)
    commits = [each for each in sent(world, round_over_stream) if isinstance(each, wire.CommitStreamObject)]
    assert [len(each.commit.sources) for each in commits] == [PER_COMMIT, 1]
    assert objects(world, stream) == []


def test_groups_have_no_gap() -> None:
    """The data in a gap is in a set. Without CP-02.contiguous a merged object would hide it."""

    def gapped() -> World:
        world = alone(1)
        world.upload(0, {0: [3], 1: [1]})
        for _ in range(2):
            world.upload(0, {0: [2]}, alone=(0,))
        return world

    world = gapped()
    assert merge(world, 0)
    assert objects(world, 0) == [(0, 2), (5, 9)]
    settle(world)
    world = gapped()
    with without("CP-02.contiguous"):
        assert merge(world, 0)
    loses(world)


def test_groups_have_a_largest_size() -> None:
    """A merged object has at most the limit of size. Larger ones are left alone."""
    world = alone()
    size = next(iter(world.image.objects.values())).size
    assert merge(world, 0, merged=2 * max(stored.size for stored in world.image.objects.values()))
    assert objects(world, 0) == [(0, 4), (4, 8)]
    assert not merge(world, 0, merged=size)
    settle(world)


def test_only_the_owner_compacts_a_stream() -> None:
    """Only the owner compacts, under its epoch. Others send nothing (CP-02.owner), and would be refused (CO-03)."""
    for node, epoch in ((1, 0), (0, 1), (0, -2)):
        world = alone()
        world.trim(0, 3)
        before = objects(world, 0)
        process = Process(world, node)
        assert not process.run(process.compactor.compact_stream(0, epoch))
        assert not process.sent
        with without("CP-02.owner"):
            process = Process(world, node)
            assert not process.run(process.compactor.compact_stream(0, epoch))
        assert process.sent
        assert objects(world, 0) == before
        settle(world)


def test_an_owner_without_a_look_at_the_start_loses_all() -> None:
    """CP-02.live."""
    world = alone()
    with without("CP-02.live"):
        assert merge(world, 0)
    loses(world)


def test_a_stream_that_is_missing_has_nothing_to_compact() -> None:
    """A stream that was deleted or never existed has nothing to compact."""
    world = alone()
    world.delete(0)
    process = Process(world)
    assert not process.run(process.compactor.compact_stream(0, 0))
