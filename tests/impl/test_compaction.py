"""Compaction of stream set objects (CP-01): each stream reads as before, and a faulty round does no harm."""

from __future__ import annotations

from typing import Any

import pytest

from impl import wire
from impl.broker import compaction
from impl.broker.compaction import CompactionPlan, make_plan
from impl.broker.object_copy import Source
from impl.broker.object_format import object_key
from impl.broker.object_index import DataBlock
from impl.records import S3StreamSetObject
from impl.rules import without
from impl.store.interface import Get, Put, Unsure
from tests.impl.compaction_world import (
    ALL,
    compact,
    filled,
    loses,
    nothing,
    objects,
    round_over_sets,
    sent,
    sets,
    settle,
)
from tests.impl.object_world import Process, World


def test_sets_become_one() -> None:
    """The merged set has the order and time of the oldest one (CS-04)."""
    world = World()
    world.ask(wire.PrepareObjects(5, 1))
    for _ in range(3):
        world.create()
    for _ in range(3):
        world.upload(0, {each: [1, 2] for each in range(3)})
        world.controller.advance(1_000)
    before = dict(world.image.set_objects[0])
    oldest = before[min(before)]
    process = Process(world)
    assert process.run(process.compactor.compact_sets())
    assert sum(isinstance(each, Get) for each in process.sent) == 2 * len(before), "an index and the data of each"
    (one,) = sets(world)
    held = world.image.set_objects[0][one]
    assert (held.order, held.data_time) == (oldest.order, oldest.data_time)
    assert not any(objects(world, each) for each in range(3))
    settle(world)
    assert len(world.store.objects) == 1


def test_a_process_that_was_replaced_ends() -> None:
    """A replaced process ends its round. Else it would try for ever, since the controller now listens to a worker."""
    world = filled()
    world.ask(wire.GetOpeningStreams(0, 1, failover=True))
    process = Process(world)
    assert not process.run(process.compactor.compact_sets())
    assert process.halted == ["a compaction failed: NODE_FENCED"]


def test_a_set_that_is_all_needed_is_left_alone() -> None:
    """A set whose data is all live is left alone, since a compaction would free nothing."""
    world = filled(uploads=1)
    (before,) = sets(world)
    assert not compact(world)
    assert sets(world) == [before]
    assert not compact(World())


def test_a_large_stream_gets_its_own_object() -> None:
    """The stream's object is as large as all its blocks in the inputs."""
    world = filled(uploads=0)
    for _ in range(3):
        world.upload(0, {0: [1] * 20, 1: [1]})
    assert compact(world, split=1_000)
    assert objects(world, 0) == [(0, 60)]
    assert objects(world, 1) == []
    settle(world)


def test_a_stream_with_a_gap_gets_an_object_for_each_run() -> None:
    """A stream whose gap is owned by another node gets one object for each run."""
    world = filled(1, 1)
    world.move(0, 1)
    world.upload(1, {0: [5]})
    world.move(0, 0)
    world.upload(0, {0: [2]})
    assert compact(world, split=ALL)
    assert objects(world, 0) == [(0, 3), (8, 10)]
    assert sets(world) == []
    settle(world)


def test_runs_of_a_stream_share_a_set() -> None:
    """Runs of a stream share a set, whose range in the metadata has the same gap."""
    world = filled(1, 1)
    world.move(0, 1)
    world.upload(1, {0: [5]})
    world.move(0, 0)
    world.upload(0, {0: [2]})
    assert compact(world)
    settle(world)


def test_old_data_is_split() -> None:
    """A set with data older than two hours becomes stream objects. Younger sets become one."""
    world = filled(2, 1)
    world.controller.advance(7_200_000)
    for _ in range(2):
        world.upload(0, {0: [1], 1: [1]})
    assert compact(world)
    assert objects(world, 0) == [(0, 3)]
    assert len(sets(world)) == 1
    settle(world)


def test_a_commit_has_few_stream_objects() -> None:
    """A commit has few stream objects. Streams beyond the limit stay in a set."""
    world = filled(3, 2)
    assert compact(world, split=ALL, stream_objects=2)
    assert [objects(world, each) for each in range(3)] == [[(0, 6)], [(0, 6)], []]
    settle(world)


def test_a_round_has_few_inputs() -> None:
    """A round takes the oldest sets as inputs, up to a limit."""
    world = filled(1, 5)
    newest = sets(world)[3:]
    assert compact(world, inputs=3)
    assert sets(world)[:2] == newest
    settle(world)


def test_what_is_trimmed_or_deleted_is_dropped() -> None:
    """Trimmed and deleted data is dropped. A batch that the trim cuts is kept whole."""
    world = filled()
    world.trim(0, 4)
    world.delete(1)
    assert compact(world)
    settle(world)
    (data,) = world.store.objects.values()
    assert b"0/3" in data
    assert b"0/1" not in data
    assert b"1/0" not in data


def test_a_set_that_nobody_needs_disappears() -> None:
    """A set without live data is deleted, and no object replaces it."""
    world = filled(2, 1)
    world.trim(0, 3)
    world.delete(1)
    assert compact(world)
    assert sets(world) == []
    settle(world)
    assert not world.store.objects


def test_without_a_look_at_the_start_all_is_lost() -> None:
    """CP-01.live."""
    world = filled()
    with without("CP-01.live"):
        assert compact(world)
    loses(world)


def test_a_faulty_plan_is_not_committed(monkeypatch: pytest.MonkeyPatch) -> None:
    """CP-01.sanity. The outputs are compared with the blocks that must survive."""

    def forgetful(sources: list[Source], split: int, most: int) -> CompactionPlan:
        return make_plan(sources[1:], split, most)

    monkeypatch.setattr(compaction, "make_plan", forgetful)
    world = filled()
    assert not compact(world)
    settle(world)
    with without("CP-01.sanity"):
        assert compact(world)
    loses(world)


@pytest.mark.parametrize("split", [ALL, 1 << 20])
def test_a_put_of_unknown_outcome_ends_the_round(split: int) -> None:
    """CP-03.put. If no attempt reaches the store, the round ends, and the prepared objects expire."""

    def attempt(world: World) -> Any:
        process = Process(world, split=split)
        store = world.store.execute

        def execute(operation: Any) -> Any:
            return Unsure("out of reach") if isinstance(operation, Put) else store(operation)

        world.store.execute = execute
        gate = process.start(process.compactor.compact_sets())
        while not gate.happened:
            world.controller.advance(1_000)
            process.start(nothing())
        world.store.execute = store
        return gate.result()

    world = filled()
    assert not attempt(world)
    settle(world)
    with without("CP-03.put"):
        assert attempt(world)
    loses(world)


def test_an_input_that_is_gone_ends_the_round() -> None:
    """An input is missing, since another round has replaced it and the image is late. The round ends."""
    world = filled()
    before = dict(world.image.set_objects[0])
    assert compact(world)
    world.sweep()
    after = sets(world)
    for each, held in before.items():
        world.image.apply(S3StreamSetObject(0, each, held.order, held.data_time, held.ranges))
    assert not compact(world)
    assert set(after) <= set(sets(world))


def test_damage_is_not_copied() -> None:
    """CP-03. Damaged data is not copied, since the new object's checksum would then confirm it."""
    world = filled()
    key = object_key(sets(world)[0])
    data = world.store.objects[key]
    world.store.objects[key] = data.replace(b"1/0", b"1/9")
    assert not compact(world)
    world.store.objects[key] = data
    settle(world)


def test_an_old_process_compactsnothing() -> None:
    """The controller refuses it (CK-01), and nothing happens."""
    world = filled()
    before = sets(world)
    world.ask(wire.GetOpeningStreams(0, 2))
    assert not compact(world)
    assert sets(world) == before
    settle(world)


def test_two_rounds_at_once_replace_the_inputs_once() -> None:
    """One of two rounds is refused (OB-03). Whichever it is, no data is doubled."""
    steps = len(sent(filled(), round_over_sets))
    for at in range(steps):
        world = filled()
        process = Process(world, split=ALL)

        def other(number: int, world: World = world, at: int = at) -> None:
            if number == at:
                assert compact(world)

        won = process.run(process.compactor.compact_sets(), before=other)
        assert won == (at == 0 and len(sets(world)) == 0)
        settle(world)


def test_a_plan_has_every_block_once() -> None:
    """A plan has every block once, in the order of streams and offsets."""
    sources = [
        Source(each, DataBlock(stream, start, 2, 0, 10, 0)) for each, stream, start in ((1, 5, 2), (2, 5, 0), (2, 4, 7))
    ]
    plan = make_plan(sources, 20, 9)
    assert plan == CompactionPlan([[sources[1], sources[0]]], [sources[2]])
