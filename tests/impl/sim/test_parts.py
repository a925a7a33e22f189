"""The parts of the simulator: the queue, the network, the object store, and the controllers."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from impl import wire
from impl.controller.view import Profile
from impl.items import CreateItem
from impl.metadata.log import MetadataBatch
from impl.sim.cluster import ControllerCluster
from impl.sim.event_log import EventLog, ExecutedRequest
from impl.sim.network import Network
from impl.sim.queue import Queue
from impl.sim.store_faults import FaultyStore
from impl.sim.tape import Fault, Tape
from impl.store.interface import Answer, Conflict, Get, List, ObjectData, Put, PutResult, Unsure

PUT = Put("a/1", b"data")


def test_events_come_in_the_order_of_time_and_of_their_making() -> None:
    """Events at the same time keep the order in which they were made. An event in the past happens now."""
    queue, seen = Queue(5), list[tuple[str, int]]()
    for time, name in ((9, "b"), (7, "a"), (9, "c"), (3, "now")):
        queue.at(time, lambda name: seen.append((name, queue.now)), name)
    queue.run(8)
    assert (seen, queue.now) == ([("now", 5), ("a", 7)], 8)
    queue.run(9)
    assert seen[2:] == [("b", 9), ("c", 9)]


# The network ------------------------------------------------------------------------------------------------------


def _network(*faults: Fault) -> tuple[Queue, Network, list[int]]:
    queue = Queue()
    tape = Tape(1, {}, faults)
    tape.arm()
    return queue, Network(queue, tape, 1), []


def _sent(kind: str | None, count: int = 3, value: float = 0.9) -> list[int]:
    """The order in which messages arrive. The first one has a fault."""
    faults = [] if kind is None else [Fault("network/1>controller", 0, kind, value, 0)]
    queue, network, seen = _network(*faults)
    for number in range(count):
        network.send(network.link(1, ">controller"), seen.append, number)
    queue.run(100_000)
    return seen


def test_a_link_keeps_the_order_of_its_messages() -> None:
    """Without faults delays differ, and no message overtakes another."""
    assert _sent(None, 50) == list(range(50))


@pytest.mark.parametrize(
    ("kind", "seen"),
    [("loss", [1, 2]), ("delay", [0, 1, 2]), ("reorder", [1, 2, 0]), ("duplicate", [0, 1, 2, 0])],
)
def test_messages_have_faults(kind: str, seen: list[int]) -> None:
    """A message is lost, delays those behind it, is overtaken, or arrives twice."""
    assert _sent(kind) == seen


def test_a_cut_is_one_way_and_ends() -> None:
    """On a cut link requests are lost and metadata wait. The other direction works."""
    queue, network, seen = _network()
    network.cut(1, ("controller",), ">", 500)
    network.send(network.link(1, ">controller"), seen.append, 1)
    network.send(network.link(1, "<controller"), seen.append, 2)
    network.send_surely(network.link(1, ">controller"), 0, seen.append, 3)
    queue.run(499)
    assert seen == [2]
    queue.run(500)
    assert seen == [2, 3]
    network.cut(1, ("controller",), ">", 5_000)
    network.mend()
    network.send(network.link(1, ">controller"), seen.append, 4)
    queue.run(1_000)
    assert seen == [2, 3, 4]


# The object store -------------------------------------------------------------------------------------------------


def _operate(kind: str, operation: Any = PUT, *, site: str = "store", wait: int = 6_000) -> tuple[list[Answer], bool]:
    """The answers to an operation with a fault, and whether it has taken effect by then."""
    queue = Queue()
    tape = Tape(1, {}, [Fault(f"{site}/1", 0, kind, 0.5, 0)])
    tape.arm()
    store = FaultyStore(queue, tape, 1)
    answers: list[Answer] = []
    store.send(1, operation, answers.append)
    queue.run(wait)
    assert len(answers) == 1
    there = "a/1" in store.memory.objects
    queue.run(60_000)
    assert len(answers) == 1
    assert tape.counts() == {kind: 1}
    assert ("a/1" in store.memory.objects) == (there or kind == "store_late")
    return answers, there


@pytest.mark.parametrize(
    ("kind", "certain", "there"),
    [
        ("store_slow", True, True),
        ("store_error", False, False),
        ("store_throttle", False, False),
        ("store_timeout_before", False, False),
        ("store_timeout_after", False, True),
        ("store_late", False, False),
    ],
)
def test_an_operation_takes_effect_or_not_and_the_answer_may_not_tell(kind: str, certain: bool, there: bool) -> None:
    """Errors have no effect. After a timeout the effect may be there, missing, or still to come."""
    (answer,), found = _operate(kind)
    assert (isinstance(answer, PutResult), isinstance(answer, Unsure), found) == (certain, not certain, there)


def test_a_race_lets_another_put_win() -> None:
    """A race lets another put of the same key arrive before a conditional put."""
    queue = Queue()
    tape = Tape(1, {}, [Fault("race/1", 0, "store_race", 0.5, 0)])
    tape.arm()
    store, answers = FaultyStore(queue, tape, 1), list[tuple[str, Answer]]()
    store.send(1, Put("a/1", b"1", new=True), lambda answer: answers.append(("first", answer)))
    store.send(2, Put("a/1", b"2", new=True), lambda answer: answers.append(("second", answer)))
    queue.run(5_000)
    assert [(name, type(answer)) for name, answer in answers] == [("second", PutResult), ("first", Conflict)]


def test_a_stall_holds_all_puts_of_a_node() -> None:
    """A node's stalled puts take effect together, in their order. Other nodes and operations do not wait."""
    queue = Queue()
    tape = Tape(1, {}, [Fault("stall/1", 0, "store_stall", 0.5, 0)])
    tape.arm()
    store, answers = FaultyStore(queue, tape, 1), list[tuple[int, str]]()
    effects: list[str] = []

    def put(node: int, key: str) -> None:
        store.send(node, Put(key, b"x"), lambda _: answers.append((node, key)), lambda _: effects.append(key))

    put(1, "a/1")
    queue.run(5_000)
    put(1, "a/2")
    put(2, "b/1")
    store.send(1, Get("a/1"), lambda answer: answers.append((1, type(answer).__name__)))
    queue.run(5_100)
    assert (effects, sorted(answers)) == (["b/1"], [(1, "Missing"), (2, "b/1")])
    queue.run(6_100)
    assert (effects, len(answers)) == (["b/1", "a/1", "a/2"], 4)
    put(1, "a/3")
    queue.run(6_200)
    assert effects[-1] == "a/3"


def test_an_effect_is_told_though_nobody_is_answered() -> None:
    """``taken`` is called when an operation takes effect, even if its sender has given up."""
    queue = Queue()
    tape = Tape(1, {}, [Fault("store/1", 0, "store_late", 0.5, 0)])
    tape.arm()
    store, calls = FaultyStore(queue, tape, 1), list[tuple[str, Answer]]()
    store.send(
        1, PUT, lambda answer: calls.append(("answered", answer)), lambda answer: calls.append(("taken", answer))
    )
    queue.run(60_000)
    assert [(name, type(answer)) for name, answer in calls] == [("answered", Unsure), ("taken", PutResult)]


def test_a_list_may_be_old_when_it_comes() -> None:
    """A list does not have objects that were put after it was made."""
    queue = Queue()
    tape = Tape(1, {}, [Fault("list/1", 0, "store_old_list", 0.5, 0)])
    tape.arm()
    store, answers = FaultyStore(queue, tape, 1), list[Answer]()
    store.send(1, List("a/"), answers.append)
    queue.run(100)
    store.send(1, PUT, lambda _: None)
    queue.run(200)
    assert answers == []
    queue.run(5_000)
    assert answers[0].entries == ()


def test_throttling_lasts() -> None:
    """While the store throttles, every operation is refused."""
    queue = Queue()
    tape = Tape(1, {}, [Fault("store/1", 0, "store_throttle", 0.5, 0)])
    tape.arm()
    store, answers = FaultyStore(queue, tape, 1), list[Answer]()
    store.send(1, PUT, answers.append)
    queue.run(1_000)
    store.send(2, PUT, answers.append)
    queue.run(10_000)
    store.send(2, PUT, answers.append)
    queue.run(11_000)
    store.send(2, Get("a/1"), answers.append)
    queue.run(12_000)
    assert [type(each) for each in answers] == [Unsure, Unsure, PutResult, ObjectData]


# The controllers --------------------------------------------------------------------------------------------------


class Asker(NamedTuple):
    """A process that sends requests to controllers."""

    name: str


class _Controllers:
    """A cluster of controllers, with one process that sends requests."""

    def __init__(self, *faults: Fault) -> None:
        self.queue, self.log = Queue(), EventLog()
        tape = Tape(1, {}, faults)
        tape.arm()
        self.replies: list[wire.Reply] = []
        self.learned: list[MetadataBatch] = []
        self.cluster = ControllerCluster(
            *(self.queue, tape, 1, self.log, FaultyStore(self.queue, tape, 1)),
            profile=Profile(),
            controllers=3,
            delay=10,
            object_key=str,
            reply=lambda _, reply: self.replies.append(reply),
            learn=self.learned.extend,
        )
        self.process = Asker("b1.0")

    def ask(self, number: int, body: wire.Body, home: int = 0) -> None:
        self.cluster.arrive(self.process, home, wire.Request(0, number, body))

    def executed(self) -> list[ExecutedRequest]:
        return [event[3] for event in self.log.events if isinstance(event[3], ExecutedRequest)]


def test_an_answer_waits_for_its_commit() -> None:
    """EX-01: the batch is committed after the quorum's delay, and published to all processes."""
    world = _Controllers()
    world.ask(7, wire.GetOpeningStreams(1, 5))
    world.queue.run(9)
    assert (world.replies, world.learned) == ([], [])
    world.queue.run(10)
    assert [(reply.to, reply.id) for reply in world.replies] == [(0, 7)]
    assert len(world.learned) == 1


def test_a_repeated_request_is_answered_twice() -> None:
    """EX-07: two deliveries of one request are two events, with an answer each."""
    world = _Controllers()
    world.ask(7, wire.GetOpeningStreams(1, 5))
    world.ask(7, wire.GetOpeningStreams(1, 5))
    world.queue.run(10)
    assert [reply.id for reply in world.replies] == [7, 7]


def test_a_lost_tail_never_happened() -> None:
    """An event whose batch is lost is left out of the log, and an answer that waited behind it is lost (EX-02)."""
    world = _Controllers(Fault("controller", 0, "lost_tail", 0.0, 0))
    world.ask(1, wire.GetOpeningStreams(1, 5))
    world.queue.run(100)
    world.cluster.tick()
    world.ask(2, wire.CreateStreams(1, 5, (CreateItem(),)))
    assert world.cluster.quorum.leader is None
    assert world.cluster.lost_batches == 1
    world.queue.run(20_000)
    assert [each.lost for each in world.executed()] == [False, True]
    assert world.cluster.quorum.leader is not None
    assert world.replies[1].answers[0].error.name == "NOT_CONTROLLER"
    leader = world.cluster.leader
    assert leader is not None
    assert (leader.image.streams, leader.image.nodes[1].epoch) == ({}, 5)
    lines = world.log.render().decode()
    assert "GetOpeningStreams" in lines
    assert "CreateStreams" not in lines


def test_a_failover_without_loss_keeps_the_event_and_loses_the_answer() -> None:
    """Events that the quorum has committed stay after a failover, though nobody was answered."""
    world = _Controllers(Fault("controller", 0, "failover", 0.3, 0))
    world.ask(1, wire.GetOpeningStreams(1, 5))
    world.cluster.tick()
    world.queue.run(20_000)
    (executed,) = world.executed()
    assert (executed.lost, executed.unknown, world.cluster.lost_batches) == (False, True, 0)
    assert '"error":["?"]' in world.log.render().decode()
    leader = world.cluster.leader
    assert leader is not None
    assert leader.image.nodes[1].epoch == 5


def test_an_old_leader_writes_into_the_void() -> None:
    """An outdated controller executes requests, which leave no trace."""
    world = _Controllers(Fault("controller", 0, "failover", 0.999, 0))
    world.cluster.tick()
    world.ask(1, wire.GetOpeningStreams(1, 5))
    assert world.cluster.controllers[0].term == 1
    world.queue.run(20_000)
    assert [each.lost for each in world.executed()] == [True]
    leader = world.cluster.leader
    assert leader is not None
    assert leader.image.nodes == {}
