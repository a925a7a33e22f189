"""Batches and controllers: the limits of a batch, brokers that die, and controllers that are deposed."""

from __future__ import annotations

from typing import Any

from holdfast.lang import Scope
from models.balancer_execution import BalancerExecution, Controller, Limit, Pace, Topic
from models.parts.nodes import Node
from models.parts.partitions import Partition

FIRST, SECOND = (Controller.element(number) for number in range(2))
LEFT, RIGHT, THIRD = (Node.element(number) for number in range(3))
A, B, C = (Partition.element(number) for number in range(3))


TOPIC = {"topic": (0, 0, 0), "home": (0, 0, 0), "concurrency": 3, "sources": 3}
"""The limits of a batch in which only the share of the one topic decides. All partitions are on the left."""

APART = {"topic": (0, 1, 2), "home": (0, 0, 1), "concurrency": 3, "sources": 3}
"""Three topics of one partition each, two on the left and one on the right. No limit of a batch decides."""


def planned(given: dict[str, Any], *moves: tuple[Partition, Node]) -> BalancerExecution:
    """The first controller leads, and plans these moves."""
    scope = Scope({Controller: 2, Node: 3, Partition: 3, Topic: 3, Limit: 3}, given=given)
    state = BalancerExecution.at(scope).start(c=FIRST)
    for p, n in moves:
        state = state.take("plan", c=FIRST, p=p, n=n)
    return state


def filled(state: BalancerExecution, *partitions: Partition) -> BalancerExecution:
    """The first controller has these moves in its batch."""
    for p in partitions:
        state = state.take("fill", c=FIRST, p=p)
    return state


def test_a_batch_takes_half_of_a_topic() -> None:
    """BG-14. Two of a topic's three partitions fit: half of three, rounded up. One of two fits."""
    odd = filled(planned(TOPIC, (A, RIGHT), (B, RIGHT), (C, THIRD)), A, B)
    assert odd.refusal("fill", c=FIRST, p=C) == ("BG-14", None)
    even = filled(planned(TOPIC | {"topic": (0, 0, 1)}, (A, RIGHT), (B, RIGHT), (C, THIRD)), A)
    assert even.refusal("fill", c=FIRST, p=B) == ("BG-14", None)
    assert even.take("fill", c=FIRST, p=C).batch[FIRST, C]


def test_a_broker_has_few_moves_in_a_batch() -> None:
    """BG-15. A broker counts as source and as destination: left gives two away, so it receives none."""
    state = filled(planned(APART | {"concurrency": 2}, (A, RIGHT), (B, THIRD), (C, LEFT)), A, B)
    assert state.refusal("fill", c=FIRST, p=C) == ("BG-15", None)


def test_a_destination_has_few_sources() -> None:
    """BG-15. The third broker receives from the left one, so the right one has to wait."""
    state = filled(planned(APART | {"sources": 1}, (A, THIRD), (C, THIRD)), A)
    assert state.refusal("fill", c=FIRST, p=C) == ("BG-15.sources", None)


def test_a_dead_destination_is_skipped() -> None:
    """BG-17. The broker dies between the plan and the batch; the other move is executed."""
    state = filled(planned(APART, (A, RIGHT), (B, THIRD)), A, B).take("fence", n=RIGHT).take("submit", c=FIRST)
    assert [state.assigned[p] for p in (A, B)] == [LEFT, THIRD]


def test_a_deposed_controller_moves_nothing() -> None:
    """BG-18, AB-55. Its batch is refused, and it plans nothing. The new leader plans from the placement as it is."""
    state = filled(planned(APART, (A, RIGHT), (B, THIRD)), A).take("submit", c=FIRST)
    state = filled(state, B).take("pass_interval", c=FIRST).take("elect", c=SECOND)
    assert state.refusal("submit", c=FIRST) == ("AB-55", None)
    state = state.take("end_round", c=FIRST)
    assert state.refusal("plan", c=FIRST, p=B, n=THIRD) == ("BG-18", None)
    assert state.take("plan", c=SECOND, p=A, n=LEFT).target[SECOND, A] == LEFT


def test_batches_keep_their_times() -> None:
    """BG-16. 5 s lie between two batches, and after 60 s there is none."""
    state = filled(planned(APART, (A, RIGHT), (B, THIRD)), A).take("submit", c=FIRST)
    state = filled(state, B)
    assert state.refusal("submit", c=FIRST) == ("BG-16.spacing", None)
    state = state.take("pass_interval", c=FIRST)
    assert state.take("submit", c=FIRST).assigned[B] == THIRD
    assert state.take("pass_minute", c=FIRST).refusal("submit", c=FIRST) == ("BG-16", None)


def test_time_passes_only_after_a_batch() -> None:
    """AB-52. The 60 s count from the first batch."""
    state = filled(planned(APART, (A, RIGHT)), A).take("pass_minute", c=FIRST)
    assert state.pace[FIRST] == Pace.NONE
    assert state.take("submit", c=FIRST).assigned[A] == RIGHT


def test_a_destination_opens_after_the_source_has_closed() -> None:
    """INV-01, AB-16. In between nobody serves the partition."""
    state = filled(planned(APART, (A, RIGHT)), A).take("submit", c=FIRST)
    assert state.refusal("open", n=RIGHT, p=A) == ("ST-14", None)
    state = state.take("close", n=LEFT, p=A)
    assert not any(state.serves[n, A] for n in (LEFT, RIGHT, THIRD))
    assert state.take("open", n=RIGHT, p=A).serves[RIGHT, A]
