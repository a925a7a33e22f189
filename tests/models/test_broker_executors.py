"""Executors of brokers: what a swap of partitions needs, and how it stops without RA-12."""

from __future__ import annotations

from holdfast.lang import Scope
from models.broker_executors import BrokerExecutors
from models.parts.nodes import Node
from models.parts.partitions import Partition
from models.parts.threads import Thread

PAIRS = Scope({Node: 2, Partition: 4, Thread: 2}, given={"for_opens": (1, 0)})
"""Two brokers, each with one thread for opens and one for closes."""
LEFT, RIGHT = Node.element(0), Node.element(1)
A, B, C, D = (Partition.element(number) for number in range(4))
FOR_OPENS, FOR_CLOSES = (Thread.element(number) for number in range(2))


def moved(state: BrokerExecutors, partition: Partition, target: Node) -> BrokerExecutors:
    """The owner closes the partition, and the target opens it."""
    place = {"n": state.owner[partition], "t": FOR_CLOSES, "p": partition}
    state = state.take("begin_close", **place).take("end_close", **place)
    return state.take("end_open", n=target, t=FOR_OPENS, p=partition)


def opening(state: BrokerExecutors, target: Node, thread: Thread, partition: Partition) -> BrokerExecutors:
    """The target has begun to open the partition."""
    return state.take("begin_open", n=target, t=thread, p=partition)


def swapping(*removed: str) -> BrokerExecutors:
    """A and B are on the right, and C and D on the left; all of them are assigned to the other broker."""
    state = BrokerExecutors.at(PAIRS, removed=removed).start(n=LEFT)
    for each in (A, B):
        state = moved(opening(state.take("reassign", p=each, n=RIGHT), RIGHT, FOR_OPENS, each), each, RIGHT)
    for each, broker in ((A, LEFT), (B, LEFT), (C, RIGHT), (D, RIGHT)):
        state = state.take("reassign", p=each, n=broker)
    return state


def steps(state: BrokerExecutors) -> list[str]:
    """The names of the brokers' steps that are possible."""
    names = ("begin_open", "begin_close", "end_close", "end_open")
    places = [(n, t, p) for n in (LEFT, RIGHT) for t in (FOR_OPENS, FOR_CLOSES) for p in (A, B, C, D)]
    return [name for name in names for n, t, p in places if state.refusal(name, n=n, t=t, p=p) is None]


def test_waiting_opens_leave_the_closes_alone() -> None:
    """RA-12. Both threads for opens wait for the other broker, and the whole swap completes all the same."""
    state = opening(opening(swapping(), LEFT, FOR_OPENS, A), RIGHT, FOR_OPENS, C)
    assert state.refusal("begin_open", n=LEFT, t=FOR_CLOSES, p=B) == ("RA-12", None)
    state = moved(moved(state, A, LEFT), C, RIGHT)
    state = moved(opening(state, LEFT, FOR_OPENS, B), B, LEFT)
    state = moved(opening(state, RIGHT, FOR_OPENS, D), D, RIGHT)
    assert not any(state.moves(each) for each in (A, B, C, D))


def test_waiting_opens_in_one_pool_stop_both_brokers() -> None:
    """LP-06. If opens may take every thread, two brokers that swap two partitions each take no step any more."""
    state = opening(opening(swapping("RA-12"), LEFT, FOR_OPENS, A), LEFT, FOR_CLOSES, B)
    state = opening(opening(state, RIGHT, FOR_OPENS, C), RIGHT, FOR_CLOSES, D)
    assert steps(state) == []
    assert all(state.moves(each) for each in (A, B, C, D))


def test_an_open_waits_for_the_close() -> None:
    """ST-14. The controller grants the open only when the owner has closed the partition."""
    state = opening(swapping(), LEFT, FOR_OPENS, A)
    assert state.refusal("end_open", n=LEFT, t=FOR_OPENS, p=A) == ("ST-14", None)


def test_a_partition_that_moves_keeps_its_target() -> None:
    """An assignment during a move changes nothing in this model."""
    assert swapping().take("reassign", p=A, n=RIGHT).target[A] == LEFT
