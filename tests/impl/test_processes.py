"""Processes that return, late messages, and the life of a process."""

from __future__ import annotations

import pytest

from impl import wire
from impl.broker import messages as m
from impl.errors import E
from impl.rules import without
from tests.impl.crash_world import (
    MINUTE,
    START,
    VERSIONS,
    Flight,
    World,
    append,
    contents,
    is_request,
    numbers,
    opened,
    payload,
    successor,
)

# Processes that come back -----------------------------------------------------------------------------------------


@VERSIONS
def test_a_replaced_process_acknowledges_nothing(v6: bool) -> None:
    """WL-05. It was paused, its successor has recovered, and an append of it ends with an unknown outcome."""
    world = World(v6=v6)
    old, other = world.serving(1, 2)
    stream = opened(old)
    assert append(old, stream, 0).error is E.NONE
    old.paused = True
    world.rest(100)
    new = successor(world, 1)
    assert new.ask(m.Open(stream, 1)).error is E.NONE
    assert append(new, stream, 1).values == {"offset": 1}
    world.resume(old)
    assert append(old, stream, 2).error is E.REQUEST_TIMED_OUT
    world.run(lambda: not old.alive)
    assert old.acks(stream) == [(0, 1)]
    assert append(new, stream, 3).values == {"offset": 2}
    assert new.ask(m.Close(stream)).error is E.NONE
    assert other.ask(m.Open(stream, 2)).error is E.NONE
    assert numbers(contents(other, stream)) == [0, 1, 3]


def test_without_the_reservation_a_replaced_process_acknowledges() -> None:
    """WL-05.verify. In the same story without the rule, two processes use the same offset."""
    world = World(v6=False)
    (old,) = world.serving(1)
    stream = opened(old)
    with without("WL-05.verify"):
        old.paused = True
        world.rest(100)
        new = successor(world, 1)
        assert new.ask(m.Open(stream, 1)).error is E.NONE
        assert append(new, stream, 1).values == {"offset": 0}
        world.resume(old)
        assert append(old, stream, 2).values == {"offset": 0}


@VERSIONS
def test_a_process_that_wakes_up_after_its_failover_halts(v6: bool) -> None:
    """FO-07. The other broker has the streams by then. Nothing is lost or doubled."""
    world = World(v6=v6)
    old, other = world.serving(1, 2)
    stream = opened(old)
    for number in range(5):
        assert append(old, stream, number).error is E.NONE
    world.rest(MINUTE)
    old.paused = True
    assert other.ask(m.Open(stream, 1)).error is E.NONE
    assert append(other, stream, 5).values == {"offset": 5}
    world.resume(old)
    late = old.send(m.Append(stream, 1, payload(6)))
    world.run(lambda: not old.alive)
    assert late not in old.done or old.done[late].error is not E.NONE
    assert numbers(contents(other, stream)) == list(range(6))


@VERSIONS
def test_a_forced_close_behind_the_barrier_does_not_stop_the_worker(v6: bool) -> None:
    """AM-11, CL-09. The old process has put a record that it never acknowledges, and closes by force, which ST-31 lets
    pass. The worker finds that record in the WAL; it has to end nevertheless, and to stand for the next failed process.
    """
    world = World(v6=v6)
    old, worker, third = world.serving(1, 2, 3)
    stream, another = opened(old), opened(third)
    for number in range(2):
        assert append(third, another, number).error is E.NONE
    assert append(old, stream, 0).error is E.NONE
    world.rest(MINUTE + 1_000)
    # The object of the second append is put, and the process hears of it when the worker has passed the barrier.
    world.holds = lambda flight: flight.process is old and isinstance(flight.message, m.StoreAnswer)
    unknown = old.send(m.Append(stream, 1, payload(1)))
    world.run(lambda: bool(world.held))
    old.paused = True
    world.holds = lambda flight: flight.process is worker and is_request(flight, wire.PrepareObjects)
    world.run(lambda: any(world.holds(flight) for flight in world.held))
    world.resume(old)
    world.run(lambda: not old.alive)
    assert old.done[unknown].error is E.REQUEST_TIMED_OUT
    world.release()
    assert worker.ask(m.Open(stream, 1)).error is E.NONE
    assert numbers(contents(worker, stream)) in ([0], [0, 1])
    third.crash()
    assert worker.ask(m.Open(another, 1)).error is E.NONE
    assert numbers(contents(worker, another)) == [0, 1]


def test_a_worker_stands_for_one_process_after_the_other() -> None:
    """FO-02, FO-04. The same as above, without the forced close."""
    world = World()
    old, worker, third = world.serving(1, 2, 3)
    stream, another = opened(old), opened(third)
    assert append(old, stream, 0).error is E.NONE
    assert append(third, another, 0).error is E.NONE
    world.rest(MINUTE)
    old.crash()
    assert worker.ask(m.Open(stream, 1)).error is E.NONE
    third.crash()
    assert worker.ask(m.Open(another, 1)).error is E.NONE
    assert numbers(contents(worker, another)) == numbers(contents(worker, stream)) == [0]


def test_an_older_process_does_not_start() -> None:
    """WL-10. The older process leaves the newer one's reservation alone. Without the rule it takes it."""

    def starts() -> bool:
        world = World()
        (new,) = world.serving(1)
        reservation = world.store.objects["reservation/1"]
        old = world.begin(1, epoch=START - 1)
        world.run(lambda: not old.alive)
        assert world.image.nodes[1].epoch == new.identity.epoch
        return world.store.objects["reservation/1"] != reservation

    assert not starts()
    with without("WL-10"):
        assert starts()


# Messages that come late ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["AM-20", "CA-47"])
def test_a_late_close_ends_the_lease_of_a_reopened_epoch(way: str) -> None:
    """AM-20. The offset of an acknowledged record is used a second time."""

    def scenario(as_built: frozenset[str] = frozenset()) -> int:
        world = World(as_built=as_built)
        first, second = world.serving(1, 2)
        stream = opened(first)
        late: list[Flight] = []

        def holds(flight: Flight) -> bool:
            if is_request(flight, wire.CloseStreams):
                late.append(flight)
            return False

        world.holds = holds
        assert first.ask(m.Close(stream)).error is E.NONE
        assert first.ask(m.Open(stream, 0)).error is E.NONE
        assert append(first, stream, 0).values == {"offset": 0}
        world.flights.append(late[0])  # This is a repetition: the request has arrived before.
        world.rest(100)
        assert second.ask(m.Open(stream, 1)).error is E.NONE
        return int(append(second, stream, 1).values["offset"])

    if way == "AM-20":
        assert scenario(frozenset({"AM-20"})) == 0
    else:
        with without("CA-47"):
            assert scenario() == 0


@VERSIONS
@pytest.mark.parametrize("closes", [True, False], ids=["after its close", "after its refusal"])
def test_a_late_open_leaves_no_stream_without_an_owner(v6: bool, closes: bool) -> None:
    """EX-07, ST-24. An open arrives when its sender has closed the stream, or waits for it no more. The sender has no
    handle, and has to close the stream again: nobody else may (FO-09).
    """
    world = World(v6=v6)
    first, second = world.serving(1, 2)
    stream = opened(second)
    late: list[Flight] = []

    def holds(flight: Flight) -> bool:
        if flight.process is first and is_request(flight, wire.OpenStreams):
            late.append(flight)
        return False

    world.holds = holds
    waiting = first.send(m.Open(stream, 1))
    world.rest(100)
    if closes:
        assert second.ask(m.Close(stream)).error is E.NONE
        world.run(lambda: waiting in first.done)
    assert first.ask(m.Close(stream)).error is E.NONE
    if not closes:
        assert second.ask(m.Close(stream)).error is E.NONE
    world.flights.append(late[0])
    world.rest(100)
    assert second.ask(m.Open(stream, 2)).error is E.NONE


def test_the_fast_close_does_not_wait_for_uploads() -> None:
    """CL-08. The new owner has the stream while the objects of the old one are still on their way."""
    world = World()
    first, second = world.serving(1, 2)
    stream = opened(first)
    assert append(first, stream, 0).error is E.NONE
    world.holds = lambda flight: is_request(flight, wire.CommitStreamSetObject)
    assert first.ask(m.Close(stream)).error is E.NONE
    assert second.ask(m.Open(stream, 1)).values == {"start": 0, "next": 1}
    assert world.image.active_entry(1, stream) is not None
    assert append(second, stream, 1).values == {"offset": 1}
    reading = second.send(m.Fetch(stream, 0))
    world.rest(1_000)
    assert reading not in second.done, "the reader waits for the objects (MD-02)"
    world.release()
    world.run(lambda: reading in second.done)
    assert numbers(second.done[reading].values["batches"]) == [0, 1]
    assert world.image.active_entry(1, stream) is None


# The life of a process --------------------------------------------------------------------------------------------


def test_a_process_recovers_before_it_serves() -> None:
    """FO-08. An open waits until then; an append finds no stream."""
    world = World()
    (old,) = world.serving(1)
    stream = opened(old)
    old.crash()
    world.rest(100)
    world.holds = lambda flight: is_request(flight, wire.GetOpeningStreams)
    new = world.begin(1)
    opening, appending = new.send(m.Open(stream, 1)), new.send(m.Append(stream, 1, b""))
    world.rest(1_000)
    assert opening not in new.done
    assert new.done[appending].error is E.STREAM_ALREADY_CLOSED
    world.release()
    world.run(lambda: opening in new.done)
    assert new.done[opening].error is E.NONE


@VERSIONS
def test_a_stopping_process_that_was_replaced_halts(v6: bool) -> None:
    """Its closes are refused with NODE_EPOCH_EXPIRED."""
    world = World(v6=v6)
    (old,) = world.serving(1)
    opened(old)
    old.paused = True
    world.rest(100)
    successor(world, 1)
    world.resume(old)
    old.take(m.Stop())
    world.run(lambda: not old.alive, ms=2 * MINUTE)


def test_one_lost_heartbeat_fences_nobody() -> None:
    """The next one comes well within the session of 9 s (ND-31)."""
    world = World()
    first, _ = world.serving(1, 2)
    lost: list[Flight] = []

    def holds(flight: Flight) -> bool:
        if flight.process is first and is_request(flight, wire.Heartbeat) and not lost:
            lost.append(flight)
            return True
        return False

    world.holds = holds
    states = set()
    for _ in range(30):
        world.rest(1_000)
        states.add(world.image.brokers[1])
    assert lost
    assert states == {"active"}


def test_a_fenced_broker_comes_back() -> None:
    """After a pause longer than the session no worker has taken the WAL, so the broker serves on."""
    world = World()
    first, _ = world.serving(1, 2)
    stream = opened(first)
    first.paused = True
    world.run(lambda: world.image.brokers[1] == "fenced", ms=MINUTE)
    world.resume(first)
    world.run(lambda: world.image.brokers[1] == "active", ms=MINUTE)
    assert append(first, stream, 0).error is E.NONE


def test_a_fenced_broker_whose_wal_is_taken_does_not_come_back() -> None:
    """FO-07.back. The worker is between the reservation and the barrier; the broker can acknowledge nothing."""
    world = World()
    first, second = world.serving(1, 2)
    opened(first)
    world.rest(MINUTE)
    first.paused = True
    world.holds = lambda flight: flight.process is second and is_request(flight, wire.GetOpeningStreams)
    world.run(lambda: any(world.holds(flight) for flight in world.held))
    world.resume(first)
    world.rest(10_000)
    assert world.image.brokers[1] != "active"
