"""Compaction with crashes and races in any order: each stream always reads as before."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test

from impl.broker import compaction
from impl.records import ObjectState
from impl.rules import without
from impl.tasks import Job
from tests.impl.compaction_world import (
    ALL,
    alone,
    compact,
    merge,
    round_over_sets,
    round_over_stream,
    sent,
    settle,
)
from tests.impl.object_world import NODES, CrashedError, LostError, Process, World


def _mixed() -> World:
    """Sets and stream objects, with some dead ones."""
    world = alone(3)
    world.create()
    for _ in range(2):
        world.upload(0, {0: [1] * 3, 2: [2, 2]})
    world.trim(0, 3)
    return world


CASES = [(round_over_sets, 1 << 20), (round_over_sets, ALL), (round_over_sets, 0), (round_over_stream, ALL)]


@pytest.mark.parametrize(("job", "split"), CASES)
@pytest.mark.parametrize("takes_effect", [False, True])
def test_a_crash_at_any_step_does_no_harm(job: Callable[[Process], Job[bool]], split: int, takes_effect: bool) -> None:
    """After a crash at any step all streams read as before, and the node's next process finishes the work."""
    limits = {"split": split} | ({"split_age_ms": 0} if split == 0 else {})
    steps = len(sent(_mixed(), job, **limits))
    assert steps > 4
    for at in range(steps):
        world = _mixed()
        process = Process(world, **limits)
        with pytest.raises(CrashedError):
            process.start(job(process), crash_at=at, takes_effect=takes_effect)
        settle(world)
        process = Process(world, **limits)
        process.run(job(process))
        settle(world)
        world.controller.advance(2 * compaction.TTL_MS)
        world.controller.execute(world.controller.object_clock.check)
        states = {stored.state for stored in world.image.objects.values()}
        assert ObjectState.PREPARED not in states


@pytest.mark.parametrize(("job", "split"), CASES)
@pytest.mark.parametrize("event", ["trim", "trim all", "delete", "move", "upload"])
def test_a_compaction_races_with_everything_else(job: Callable[[Process], Job[bool]], split: int, event: str) -> None:
    """At any step of a compaction other operations may happen."""
    limits = {"split": split} | ({"split_age_ms": 0} if split == 0 else {})
    for at in range(len(sent(_mixed(), job, **limits))):
        world = _mixed()
        process = Process(world, **limits)

        def race(number: int, world: World = world, at: int = at) -> None:
            if number == at:
                _happen(world, event)

        process.run(job(process), before=race)
        settle(world)


def _happen(world: World, event: str) -> None:
    match event:
        case "trim":
            world.trim(0, 7)
        case "trim all":
            world.trim(0, world.image.streams[0].end + 5)
        case "delete":
            world.delete(0)
        case "move":
            world.move(0, 1)
            world.upload(1, {0: [4]})
        case _:
            world.upload(0, {0: [1, 2], 1: [2]}, alone=(1,))


PLACES = st.integers(0, 30)
COUNTS = st.lists(st.integers(1, 4), min_size=1, max_size=4)


class CompactionMachine(RuleBasedStateMachine):
    """The streams of two nodes, with all operations on them."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World()
        self.create(0)

    def _stream(self, place: int) -> int:
        return sorted(self.world.records)[place % len(self.world.records)]

    @rule(node=st.sampled_from(NODES))
    def create(self, node: int) -> None:
        """A new stream."""
        if len(self.world.records) < 4:
            self.world.create(node)

    @rule(node=st.sampled_from(NODES), counts=st.lists(COUNTS, min_size=1, max_size=3), own=st.integers(0, 7))
    def upload(self, node: int, counts: list[list[int]], own: int) -> None:
        """Upload some streams of a node, some of them as objects of their own."""
        batches = dict(zip(self.world.owned(node), counts, strict=False))
        if batches:
            chosen = tuple(each for place, each in enumerate(batches) if own >> place & 1)
            self.world.upload(node, batches, alone=chosen)

    @precondition(lambda self: self.world.records)
    @rule(place=PLACES, kinds=st.lists(st.booleans(), min_size=2, max_size=5))
    def alternate(self, place: int, kinds: list[bool]) -> None:
        """Upload a stream several times, each time as an object of its own or in a set."""
        stream = self._stream(place)
        for own in kinds:
            self.world.upload(self.world.owner(stream), {stream: [2, 1]}, alone=(stream,) if own else ())

    @precondition(lambda self: self.world.records)
    @rule(place=PLACES, node=st.sampled_from(NODES))
    def move(self, place: int, node: int) -> None:
        """Give a stream to another owner."""
        self.world.move(self._stream(place), node)

    @precondition(lambda self: self.world.records)
    @rule(place=PLACES, by=st.integers(0, 12))
    def trim(self, place: int, by: int) -> None:
        """Trim a stream, perhaps beyond its end."""
        stream = self._stream(place)
        self.world.trim(stream, self.world.image.streams[stream].start + by)

    @precondition(lambda self: len(self.world.records) > 1)
    @rule(place=PLACES)
    def delete(self, place: int) -> None:
        """A stream is deleted."""
        self.world.delete(self._stream(place))

    @rule(node=st.sampled_from(NODES), split=st.sampled_from([ALL, 200, 1 << 20]), old=st.booleans())
    def compact_sets(self, node: int, split: int, old: bool) -> None:
        """Compact the sets of a node, as if all of them were old or not."""
        limits = {"split": split} | ({"split_age_ms": 0} if old else {})
        compact(self.world, node, **limits)
        self.world.check()

    @precondition(lambda self: self.world.records)
    @rule(place=PLACES, most=st.sampled_from([300, 1 << 20]))
    def compact_stream(self, place: int, most: int) -> None:
        """A round over the objects of a stream."""
        merge(self.world, self._stream(place), merged=most)
        self.world.check()

    @rule(node=st.sampled_from(NODES), at=PLACES, event=st.sampled_from(["trim", "delete", "move", "stop", "lost"]))
    def compact_amid(self, node: int, at: int, event: str) -> None:
        """Compact, while another operation happens or the process crashes."""
        process = Process(self.world, node, split=200)
        job = process.compactor.compact_sets()
        if event in ("stop", "lost"):
            try:
                process.start(job, crash_at=at, takes_effect=event == "lost")
            except CrashedError:
                self.world.check()
            return

        def happen(number: int) -> None:
            if number == at and len(self.world.records) > 1:
                getattr(self, event)(at, **{"trim": {"by": 3}, "move": {"node": node}}.get(event, {}))

        process.start(job, before=happen)
        self.world.check()

    @rule()
    def sweep(self) -> None:
        """Delete all marked objects."""
        self.world.sweep()
        self.world.check()

    def teardown(self) -> None:
        """Check that all streams read as before."""
        self.world.check()


CompactionMachine.TestCase.settings = settings(max_examples=40, stateful_step_count=25)
TestCompaction = CompactionMachine.TestCase


@pytest.mark.slow
def test_many_orders() -> None:
    """Of more steps."""
    run_state_machine_as_test(CompactionMachine, settings=settings(max_examples=300, stateful_step_count=50))


@pytest.mark.parametrize("label", ["CP-01.live", "CP-02.live", "CP-02.contiguous"])
def test_the_machine_finds_a_missing_rule(label: str) -> None:
    """For any seed the machine finds the missing rule within its examples."""
    wide = settings(max_examples=500, stateful_step_count=30, phases=[Phase.generate])
    with without(label), pytest.raises(LostError):
        run_state_machine_as_test(CompactionMachine, settings=wide)
