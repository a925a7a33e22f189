"""Consumers against brokers that a test plays by hand."""

from __future__ import annotations

from typing import Any

from impl.broker.messages import Consume
from impl.client.consumer import Consumer, PollResult
from impl.client.history import FINAL
from impl.client.payload import payload
from impl.errors import E
from impl.tasks import Gate
from tests.impl.client.scripted import TOPIC, Script


class Polls(Script):
    """A node with one consumer that knows broker 1 as the leader."""

    def __init__(self, **settings: Any) -> None:
        super().__init__()
        self.consumer = Consumer(self.node, **settings)
        self.node.leaders.learn((TOPIC, 0), 1, 0)

    def poll(self, **settings: Any) -> Gate[PollResult | None]:
        """Begin a poll."""
        return self.start(self.consumer.poll("r", TOPIC, 0, 4, **settings))


def batch(base: int, value: int, count: int) -> tuple[int, tuple[bytes, ...]]:
    """A batch with the records of one send."""
    return base, tuple(payload(value, place) for place in range(count))


def test_polls_follow_each_other() -> None:
    """Each poll begins where the previous one ended, and the history has the records it read."""
    script = Polls()
    gate = script.poll()
    asked = script.next()
    assert asked.command.body == Consume(TOPIC, 0, 0, 1_000)
    script.answer(asked, batches=[batch(0, 8, 2), batch(2, 9, 1)], confirmed=3)
    assert gate.result() == PollResult(((0, 2, 8), (2, 1, 9)), 3, 3)
    begin, end = script.history.ops
    assert (begin.f, begin.key, begin.offset) == ("poll", 4, 0)
    assert (end.kind, end.value, end.offset, end.broker) == ("ok", [(0, 2, 8), (2, 1, 9)], 3, "1")
    script.poll(phase=FINAL)
    assert script.next().command.body.begin == 3
    assert script.history.ops[-1].phase == FINAL


def test_a_poll_that_is_cut() -> None:
    """A shortened poll has the end of its range as its offset in the history."""
    script = Polls()
    script.poll(begin=1, most=2)
    asked = script.next()
    assert asked.command.body == Consume(TOPIC, 0, 1, 2)
    script.answer(asked, batches=[batch(0, 8, 2), batch(2, 9, 3)], confirmed=9)
    assert script.ends[0].offset == 5
    assert script.consumer.positions == {(TOPIC, 0): 5}
    script.poll(most=2)
    script.answer(script.next(), batches=[], confirmed=9)
    assert script.ends[1].offset == 7


def test_a_poll_beyond_the_watermark_is_recorded_so() -> None:
    """The offset in the history stays the high watermark, so that the oracles object."""
    script = Polls()
    script.poll()
    script.answer(script.next(), batches=[batch(0, 8, 2)], confirmed=1)
    assert (script.ends[0].value, script.ends[0].offset) == ([(0, 2, 8)], 1)


def test_an_offset_out_of_range_ends_the_poll() -> None:
    """The poll fails, and the position stays."""
    script = Polls()
    gate = script.poll(begin=50)
    script.answer(script.next(), E.OFFSET_OUT_OF_RANGE_BOUNDS)
    assert gate.result() is None
    assert (script.ends[0].kind, script.ends[0].error) == ("fail", "OFFSET_OUT_OF_RANGE_BOUNDS")
    assert script.consumer.positions == {}


def test_a_poll_is_repeated() -> None:
    """A read has no effect, so a poll is repeated even if an attempt's outcome is unknown, until it fails."""
    script = Polls(patience_ms=300)
    gate = script.poll()
    script.lose(script.next())
    script.pass_time()
    script.lead(1, 0)
    script.answer(script.next(), E.REQUEST_TIMED_OUT)
    script.pass_time()
    script.lead(1, 0)
    script.refuse(script.next())
    assert gate.result() is None
    assert script.ends[0].kind == "fail"
