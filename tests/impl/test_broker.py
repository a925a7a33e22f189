"""A broker: acknowledged records stay readable through hand-overs, crashes anywhere, and failovers."""

from __future__ import annotations

import pytest

from impl import wire
from impl.broker import messages as m
from impl.errors import E
from impl.items import OpenItem
from impl.records import StreamState
from tests.impl.broker_world import World

STYLES = pytest.mark.parametrize("fast_close", [False, True], ids=["legacy", "V6"])


def created(world: World, name: str) -> int:
    """A stream that a process has created and opened under epoch 1."""
    stream: int = world.value(name, m.Create())["stream"]
    assert world.value(name, m.Open(stream, 1)) == {"start": 0, "next": 0}
    return stream


def appended(world: World, name: str, stream: int, *payloads: bytes) -> list[int]:
    """The offsets of batches with two records each."""
    return [world.value(name, m.Append(stream, 2, payload))["offset"] for payload in payloads]


def payloads(world: World, name: str, stream: int, begin: int = 0) -> list[bytes]:
    """The payloads that a process reads of a stream."""
    return [payload for _, _, payload in world.value(name, m.Fetch(stream, begin))["batches"]]


@STYLES
def test_a_stream_is_handed_over(*, fast_close: bool) -> None:
    """The new owner continues at the old one's end, and reads every record once."""
    world = World(fast_close=fast_close)
    a, b = world.start(1, 11), world.start(2, 21)
    stream = created(world, a)
    assert appended(world, a, stream, b"one", b"two") == [0, 2]
    world.tell(a, m.Close(stream))
    assert world.value(b, m.Open(stream, 2)) == {"start": 0, "next": 4}
    assert appended(world, b, stream, b"three") == [4]
    assert payloads(world, b, stream) == [b"one", b"two", b"three"]
    assert world.ask(a, m.Append(stream, 1, b"late")).error is E.STREAM_ALREADY_CLOSED
    world.tell(b, m.Close(stream))
    assert world.value(a, m.Open(stream, 3)) == {"start": 0, "next": 6}
    assert payloads(world, a, stream) == [b"one", b"two", b"three"]


@STYLES
@pytest.mark.parametrize("inputs", range(0, 60, 3))
def test_a_crash_at_any_place_loses_nothing_acknowledged(inputs: int, *, fast_close: bool) -> None:
    """The next process of the node recovers, and the next owner of the stream reads it (RC)."""
    world = World(fast_close=fast_close)
    a, b = world.start(1, 11), world.start(2, 21)
    stream = created(world, a)
    sent = {world.tell(a, m.Append(stream, 1, b"%d" % number)): b"%d" % number for number in range(6)}
    world.tell(a, m.Close(stream))
    for _ in range(inputs):
        world.settle(1)
        world.advance(20)
    if a in world.brokers:
        world.crash(a)
    again = world.start(1, 12)
    world.advance(1_000)
    next_offset = world.value(b, m.Open(stream, 2))["next"]
    found = payloads(world, b, stream)
    acked = [payload for number, payload in sent.items() if number in world.done]
    assert found[: len(acked)] == acked
    assert len(found) == next_offset
    assert again in world.brokers


@STYLES
def test_another_node_stands_for_a_crashed_one(*, fast_close: bool) -> None:
    """FO: the node does not restart. Its streams are closed some time after it was fenced, and nothing is lost."""
    world = World(fast_close=fast_close)
    a, b = world.start(1, 11), world.start(2, 21)
    stream = created(world, a)
    appended(world, a, stream, b"one", b"two")
    world.crash(a)
    number = world.tell(b, m.Open(stream, 2))
    for _ in range(90):
        world.advance(1_000)
    assert world.done[number].values == {"start": 0, "next": 4}
    assert payloads(world, b, stream) == [b"one", b"two"]
    assert any(body == wire.GetOpeningStreams(1, 11, failover=True) for _, body in world.requests)


def test_an_old_process_acknowledges_nothing_more() -> None:
    """WL-05. A process halts when the reservation is no longer its own."""
    world = World()
    old = world.start(1, 11)
    stream = created(world, old)
    world.start(1, 12)
    number = world.tell(old, m.Append(stream, 1, b"late"))
    for _ in range(20):
        world.advance(1_000)
    assert world.done[number].error is E.REQUEST_TIMED_OUT
    assert old in world.halted


def test_an_epoch_is_not_opened_again() -> None:
    """CA-47; as built it is (AM-20)."""
    for as_built, error in ((frozenset[str](), E.STREAM_FENCED), (frozenset({"AM-20"}), E.NONE)):
        world = World(as_built=as_built)
        name = world.start(1, 11)
        stream = created(world, name)
        world.value(name, m.Close(stream))
        assert world.ask(name, m.Open(stream, 1)).error is error


def test_an_epoch_that_the_process_before_has_closed_is_not_opened_again() -> None:
    """CA-47. A process of the same node epoch (ND-01) would lose the stream to a late copy of that earlier close."""
    world = World()
    name = world.start(1, 11)
    stream = created(world, name)
    appended(world, name, stream, b"one")
    world.value(name, m.Close(stream))
    world.crash(name)
    name = world.start(1, 11)
    world.advance(1_000)
    assert world.ask(name, m.Open(stream, 1)).error is E.STREAM_FENCED
    assert world.value(name, m.Open(stream, 2)) == {"start": 0, "next": 2}


def test_refusals_are_definite() -> None:
    """CL-02, CL-05. A refused operation has no effect, and the handle goes on."""
    world = World()
    name = world.start(1, 11)
    stream = created(world, name)
    appended(world, name, stream, b"one")
    assert world.ask(name, m.Append(stream, 0, b"")).error is E.INVALID_REQUEST
    assert world.ask(name, m.Fetch(stream, 1, 0)).error is E.INVALID_REQUEST
    assert world.ask(name, m.Fetch(stream, 0, 9)).error is E.OFFSET_OUT_OF_RANGE_BOUNDS
    world.value(name, m.Trim(stream, 2))
    assert world.ask(name, m.Fetch(stream, 1)).error is E.OFFSET_OUT_OF_RANGE_BOUNDS
    assert world.ask(name, m.Append(7, 1, b"")).error is E.STREAM_ALREADY_CLOSED
    assert appended(world, name, stream, b"two") == [2]


def test_a_newer_order_ends_the_wait_of_an_open() -> None:
    """The stream is open elsewhere. When it is no longer wanted, the attempt to open it ends."""
    world = World()
    a, b = world.start(1, 11), world.start(2, 21)
    stream = created(world, a)
    number = world.tell(b, m.Open(stream, 2))
    world.advance(3_000)
    assert number not in world.done
    world.tell(b, m.Close(stream))
    for _ in range(12):
        world.advance(1_000)
    assert world.done[number].error is E.STREAM_NOT_CLOSED
    assert appended(world, a, stream, b"mine") == [0]


def test_a_late_repetition_of_an_open_does_not_block_the_next_one() -> None:
    """ST-24: a late copy opens the closed stream for nobody. The next open is refused until the process closes it."""
    world = World()
    name = world.start(1, 11)
    stream = created(world, name)
    world.value(name, m.Close(stream))
    world.arrive(name, wire.OpenStreams(1, 11, (OpenItem(stream, 1),)))
    assert world.controller.image.streams[stream].state is StreamState.OPENED
    assert world.ask(name, m.Open(stream, 2), wait=20_000).error is E.NONE
    assert appended(world, name, stream, b"mine") == [0]


def test_a_late_shutdown_of_the_process_before_is_undone() -> None:
    """The controller cannot know who sent a late shutdown. The new process's next heartbeat undoes it."""
    world = World()
    name = world.start(1, 11)
    world.arrive(name, wire.SetBroker(1, "shutting_down"))
    assert world.controller.image.brokers[1] == "shutting_down"
    for _ in range(5):
        world.advance(1_000)
    assert world.controller.image.brokers[1] == "active"


def test_a_stopped_broker_leaves_nothing_behind() -> None:
    """CL-11, PL-26. A stopped broker has closed its streams and uploaded everything; a recovery finds no record."""
    world = World()
    name = world.start(1, 11)
    stream = created(world, name)
    appended(world, name, stream, b"one")
    world._inputs.append((name, m.Stop()))
    for _ in range(5):
        world.advance(1_000)
    assert world.halted[name] == "shut down"
    row = world.controller.image.streams[stream]
    assert (row.state, row.end) == (StreamState.CLOSED, 2)


def test_a_stream_is_destroyed() -> None:
    """CL-10."""
    world = World()
    name = world.start(1, 11)
    stream = created(world, name)
    appended(world, name, stream, b"one")
    world.value(name, m.Destroy(stream))
    assert stream not in world.controller.image.streams
    assert world.ask(name, m.Append(stream, 1, b"")).error is E.STREAM_ALREADY_CLOSED


def test_a_lost_request_is_repeated() -> None:
    """EX-07. A request is repeated after 60 s. After a temporary error it is repeated with growing delays."""
    world = World()
    name = world.start(1, 11)
    lost: list[wire.Body] = []

    def drops(_: str, output: m.Output) -> bool:
        if isinstance(output, wire.Request) and isinstance(output.body, wire.CreateStreams) and not lost:
            lost.append(output.body)
            return True
        return False

    world.drops = drops
    number = world.tell(name, m.Create())
    world.settle()
    world.advance(59_000)
    assert number not in world.done
    world.advance(2_000)
    assert world.done[number].values == {"stream": 0}


def test_a_hole_in_the_metadata_is_a_fault() -> None:
    """A hole in the metadata is an error, since a reader would skip the missing batches."""
    world = World()
    name = world.start(1, 11)
    world.brokers[name].handle(wire.LearnedBatches(0, ()), world.now)
    with pytest.raises(ValueError, match="batches from 99 on"):
        world.brokers[name].handle(wire.LearnedBatches(99, ()), world.now)
