"""Brokers that crash after any of their inputs, and failures of the storage."""

from __future__ import annotations

import pytest

from impl.broker import log_cache
from impl.broker import messages as m
from impl.broker.wal_format import folder_of
from impl.errors import E
from impl.rules import without
from impl.store.interface import Put, Unsure
from tests.impl.crash_world import (
    SMALL,
    VERSIONS,
    Flight,
    Process,
    World,
    append,
    contents,
    numbers,
    opened,
    payload,
    successor,
)

APPENDS = 8
STREAMS = 2


# Crashes ----------------------------------------------------------------------------------------------------------


class Story:
    """Two brokers. The first creates two streams, appends to both, trims one and closes the other; it may crash."""

    def __init__(self, *, v6: bool, crashes_at: int | None = None, sends_last: bool = True) -> None:
        self.world = World(v6=v6)
        (self.other,) = self.world.serving(2)
        self.owner = self.world.begin(1)
        self.owner.crashes_at, self.owner.sends_last = crashes_at, sends_last
        self.streams: list[int] = []
        self.sent: dict[int, tuple[int, int]] = {}
        """By command, the stream and the number of an append."""
        self._live()

    def _live(self) -> None:
        owner = self.owner
        created = [owner.send(m.Create()) for _ in range(STREAMS)]
        if not self._wait(created):
            return
        self.streams = [int(owner.done[each].values["stream"]) for each in created]
        if not self._wait([owner.send(m.Open(stream, 1)) for stream in self.streams]):
            return
        for begin in range(0, APPENDS, 4):
            commands = []
            for number in range(begin, begin + 4):
                stream = self.streams[number % STREAMS]
                commands.append(owner.send(m.Append(stream, 2, payload(number))))
                self.sent[commands[-1]] = stream, number
            if not self._wait(commands):
                return
        if self._wait([owner.send(m.Trim(self.streams[0], 2))]):
            self._wait([owner.send(m.Close(self.streams[1]))])

    def _wait(self, commands: list[int]) -> bool:
        """Run until the commands are answered, or the owner is gone. Returns whether the owner lives."""
        owner = self.owner
        self.world.run(lambda: not owner.alive or all(each in owner.done for each in commands))
        return owner.alive

    def acked(self, stream: int) -> dict[int, int]:
        """The offset of each acknowledged batch of a stream, by its number."""
        found = {}
        for command, (where, number) in self.sent.items():
            done = self.owner.done.get(command)
            if where == stream and done is not None and done.error is E.NONE:
                found[number] = int(done.values["offset"])
        return found

    def check(self, reader: Process) -> None:
        """The next owner has every acknowledged batch once at its offset, in order, and can append."""
        for stream in self.streams:
            done = reader.ask(m.Open(stream, 9))
            assert done.error is E.NONE
            begin = int(done.values["start"])
            batches = contents(reader, stream, begin)
            found = numbers(batches)
            assert found == sorted(set(found))
            where = {int(data): base for base, _, data in batches}
            for number, offset in self.acked(stream).items():
                if offset >= begin:
                    assert where.get(number) == offset, f"batch {number} of stream {stream} is lost"
            assert append(reader, stream, 99, count=3).values == {"offset": done.values["next"]}
            assert numbers(contents(reader, stream, begin)) == [*found, 99]

    def restart(self) -> Process:
        """Start the next process of the owner's node."""
        self.world.rest(100)
        return successor(self.world, 1)


def _inputs(v6: bool) -> int:
    """The number of the owner's inputs in a story without a crash."""
    return Story(v6=v6).owner.inputs


@VERSIONS
def test_the_story_ends_without_a_crash(v6: bool) -> None:
    """All appends are acknowledged, so the tests below have many places to crash at."""
    story = Story(v6=v6)
    assert sum(len(story.acked(stream)) for stream in story.streams) == APPENDS
    assert story.owner.inputs > 50


@VERSIONS
@pytest.mark.parametrize("sends_last", [True, False], ids=["sent", "unsent"])
def test_nothing_is_lost_in_a_crash_and_a_restart(v6: bool, sends_last: bool) -> None:
    """FO-08. The owner crashes after each of its inputs, and its next process recovers."""
    for place in range(1, _inputs(v6) + 1):
        story = Story(v6=v6, crashes_at=place, sends_last=sends_last)
        story.check(story.restart())


@VERSIONS
@pytest.mark.parametrize("sends_last", [True, False], ids=["sent", "unsent"])
def test_nothing_is_lost_in_a_crash_and_a_failover(v6: bool, sends_last: bool) -> None:
    """FO-06. The owner crashes after each of its inputs, and the other broker stands for it."""
    for place in range(1, _inputs(v6) + 1):
        story = Story(v6=v6, crashes_at=place, sends_last=sends_last)
        story.check(story.other)


@pytest.mark.slow
@VERSIONS
def test_nothing_is_lost_in_two_crashes(v6: bool) -> None:
    """The recovery crashes too, after each of its inputs; a third process recovers what both have left."""
    for first in range(30, _inputs(v6), 9):
        for second in range(1, 40):
            story = Story(v6=v6, crashes_at=first)
            story.world.rest(100)
            between = story.world.begin(1)
            between.crashes_at = second
            story.world.rest(5_000)
            between.crash()
            story.check(story.restart())


@pytest.mark.parametrize(
    ("label", "v6"),
    [("RC-05", False), ("FO-06.barrier", False), ("FO-06.barrier", True), ("RC-02.base", True)],
)
def test_crashes_find_a_missing_rule(label: str, v6: bool) -> None:
    """Without the rule some crash loses a record, or the next process cannot start."""
    with without(label):
        for place in range(1, _inputs(v6) + 1):
            for sends_last in (True, False):
                try:
                    story = Story(v6=v6, crashes_at=place, sends_last=sends_last)
                    story.check(story.restart())
                except AssertionError:
                    return
    pytest.fail(f"no crash shows that {label} is missing")


# Failures of the storage ------------------------------------------------------------------------------------------


def _lose_an_append(world: World, process: Process, stream: int, *, arrives: bool) -> int:
    """Let each put of an append's object end with an unknown outcome, until the process halts."""

    def holds(flight: Flight) -> bool:
        message = flight.message
        if isinstance(message, m.StoreRequest) and isinstance(message.operation, Put):
            return message.operation.key.startswith(folder_of(1))
        return False

    world.holds = holds
    command = process.send(m.Append(stream, 1, payload(1)))
    while process.alive:
        world.run(lambda: bool(world.held) or not process.alive)
        for flight in world.held:
            if arrives:
                world.store.execute(flight.message.operation)
            process.take(m.StoreAnswer(flight.message.id, Unsure("a timeout")))
        world.held.clear()
    world.holds = lambda _: False
    return command


@VERSIONS
@pytest.mark.parametrize("arrives", [True, False], ids=["effect", "no effect"])
def test_an_append_of_unknown_outcome_ends_the_process(v6: bool, arrives: bool) -> None:
    """CL-04, PL-04. The client hears that the outcome is unknown; the process halts; the next one recovers."""
    world = World(v6=v6)
    (old,) = world.serving(1)
    stream = opened(old)
    assert append(old, stream, 0).error is E.NONE
    command = _lose_an_append(world, old, stream, arrives=arrives)
    assert old.done[command].error is E.REQUEST_TIMED_OUT
    assert [step.values for step in old.steps if step.action == "fail"] == [{"stream": stream, "epoch": 0}]
    world.rest(100)
    new = successor(world, 1)
    assert new.ask(m.Open(stream, 1)).error is E.NONE
    assert numbers(contents(new, stream)) in ([0], [0, 1])
    assert append(new, stream, 2).error is E.NONE


@pytest.mark.parametrize("as_built", [frozenset[str](), frozenset({"AM-01"})], ids=["reference", "AM-01"])
def test_a_failed_append_is_not_sealed(as_built: frozenset[str]) -> None:
    """AM-01. As built, the entry ends above the records in the WAL, so it never drains."""
    world = World(as_built=as_built)
    (old,) = world.serving(1)
    stream = opened(old)
    assert append(old, stream, 0).error is E.NONE
    _lose_an_append(world, old, stream, arrives=False)
    world.rest(100)
    successor(world, 1)
    world.rest(1_000)
    assert (world.image.active_entry(1, stream) is not None) == bool(as_built)


def test_a_full_cache_makes_appends_wait() -> None:
    """PL-01. Appends beyond the capacity wait, and are taken in their order when there is room."""
    tiny = log_cache.CacheLimits(block=SMALL.block, capacity=4 * (log_cache.OVERHEAD + 8))
    world = World(cache=tiny)
    (process,) = world.serving(1)
    stream = opened(process)
    commands = [process.send(m.Append(stream, 1, payload(number))) for number in range(30)]
    world.run(lambda: all(each in process.done for each in commands))
    assert [process.done[each].values["offset"] for each in commands] == list(range(30))
    assert numbers(contents(process, stream)) == list(range(30))
