"""Producers against brokers that a test plays by hand."""

from __future__ import annotations

from typing import Any

import pytest

from impl.broker.messages import FindLeaders, Produce
from impl.client.payload import payload
from impl.client.producer import Producer
from impl.errors import E
from impl.tasks import Gate
from tests.impl.client.scripted import TOPIC, Script


class Sends(Script):
    """A node with one producer."""

    def __init__(self, *, idempotent: bool = True, **settings: Any) -> None:
        super().__init__()
        chosen = {"producer_id": 5, **settings} if idempotent else settings
        self.producer = Producer(self.node, idempotent=idempotent, **chosen)

    def send(self, value: int, count: int = 1, *, partition: int = 0, process: str = "p") -> Gate[Any]:
        """Begin a send."""
        return self.start(self.producer.send(process, TOPIC, partition, 10 + partition, value, count))


def numbers(request: Any) -> tuple[int, int, int]:
    """The producer id, epoch and sequence number of a batch."""
    body: Produce = request.command.body
    return body.producer, body.producer_epoch, body.sequence


def test_a_send_is_acknowledged() -> None:
    """The history has the send's begin, end and offset. A second send goes straight to the leader."""
    script = Sends()
    gate = script.send(8, 2)
    script.lead(2, 0)
    asked = script.next()
    assert (asked.node, asked.command.to) == (2, 7)
    assert asked.command.body == Produce(TOPIC, 0, (payload(8, 0), payload(8, 1)), 5, 0, 0, 0)
    script.answer(asked, offset=3)
    assert gate.result() == 3
    begin, end = script.history.ops
    assert (begin.process, begin.f, begin.key, begin.value, begin.count) == ("c.p.0", "send", 10, 8, 2)
    assert (end.kind, end.offset, end.broker) == ("ok", 3, "2")
    script.send(9)
    assert numbers(script.next()) == (5, 0, 2)


def test_a_send_without_an_answer_is_unknown() -> None:
    """ZR-30. The broker answers before it has appended, so the history cannot say that the log has the records."""
    script = Sends(idempotent=False, acks=0)
    gate = script.send(8)
    script.lead(2, 0)
    asked = script.next()
    assert asked.command.body.acks == 0
    script.answer(asked, offset=-1)
    assert gate.result() is None
    assert script.history.ops[-1].kind == "info"
    with pytest.raises(ValueError, match="acks 0 if it is not idempotent"):
        Sends(acks=0)


def test_a_refusal_names_the_leader() -> None:
    """If a refusal names the leader, the batch goes there at once."""
    script = Sends()
    script.send(8)
    script.lead(1, 0)
    script.answer(script.next(), E.NOT_LEADER_OR_FOLLOWER, leader=3, leader_epoch=2)
    asked = script.next()
    assert (asked.node, script.now) == (3, 0)
    script.answer(asked, offset=0)
    assert script.ends[0].kind == "ok"


def test_a_refusal_that_is_behind() -> None:
    """An outdated hint is ignored, and after a delay the client asks another broker."""
    script = Sends()
    script.send(8)
    script.lead(2, 5)
    script.answer(script.next(), E.NOT_LEADER_OR_FOLLOWER, leader=1, leader_epoch=4)
    assert script.pass_time() == 150
    asked = script.next()
    assert asked.command.body == FindLeaders(TOPIC)
    assert asked.node == 2
    script.answer(asked, leaders={0: (1, 4)})
    script.lead(2, 5)
    assert script.next().node == 2


def test_brokers_are_asked_in_turn() -> None:
    """Brokers that are gone, know no topic, or know no leader are asked in turn. Then the client waits."""
    script = Sends()
    script.send(8)
    first, second, third = script.next, script.next, script.next
    script.refuse(first())
    script.answer(second(), E.UNKNOWN_TOPIC_OR_PARTITION)
    script.answer(third(), leaders={0: (-1, 1)})
    assert not script.sent
    assert script.pass_time() == 150
    script.lead(2, 2)
    assert isinstance(script.next().command.body, Produce)


@pytest.mark.parametrize("how", ["unreachable", "refused"])
def test_an_attempt_without_effect_is_repeated(how: str) -> None:
    """An attempt without effect is repeated until the delivery time is over. Then the sequence number is free again."""
    script = Sends(delivery_ms=300)
    gate = script.send(8)
    script.lead(1, 0)
    for attempt in range(3):
        asked = script.next()
        assert numbers(asked) == (5, 0, 0)
        if how == "refused":
            script.answer(asked, E.NOT_LEADER_OR_FOLLOWER, leader=1, leader_epoch=0)
        else:
            script.refuse(asked)
        if attempt < 2:
            assert script.pass_time() == 150
            script.lead(1, 0)
    assert gate.result() is None
    assert script.ends[0].kind == "fail"
    script.send(9)
    script.lead(1, 0)
    assert numbers(script.next()) == (5, 0, 0)


@pytest.mark.parametrize("how", ["lost", "timeout", "error"])
def test_an_unknown_outcome_is_repeated_with_the_same_numbers(how: str) -> None:
    """An idempotent producer repeats an unknown outcome with the same sequence number."""
    script = Sends()
    script.send(8)
    script.lead(1, 0)
    first = script.next()
    unknown(script, first, how)
    script.pass_time()
    script.lead(1, 0)
    second = script.next()
    assert second.command.body == first.command.body
    script.answer(second, offset=4)
    assert script.ends[0].offset == 4


def unknown(script: Script, request: Any, how: str) -> None:
    """Leave the outcome of a request unknown."""
    if how == "lost":
        script.lose(request)
    elif how == "error":
        script.answer(request, E.REQUEST_TIMED_OUT)


@pytest.mark.parametrize("how", ["lost", "timeout", "error"])
def test_an_unknown_outcome_is_not_repeated_without_numbers(how: str) -> None:
    """Without sequence numbers the send ends with ``info``, and its process continues under a new name."""
    script = Sends(idempotent=False)
    gate = script.send(8)
    script.lead(1, 0)
    unknown(script, script.next(), how)
    script.pass_time()
    assert gate.result() is None
    assert script.ends[0].kind == "info"
    script.send(9)
    assert script.history.ops[-1].process == "c.p.1"


def test_an_unknown_attempt_outlives_its_refusals() -> None:
    """After an unknown attempt a refused one still ends with ``info``, and the next batch has a new epoch."""
    script = Sends(delivery_ms=300)
    script.send(8)
    script.lead(1, 0)
    script.lose(script.next())
    for _ in range(2):
        assert script.pass_time() == 150
        script.lead(1, 0)
        script.answer(script.next(), E.NOT_LEADER_OR_FOLLOWER)
    assert (script.ends[0].kind, script.ends[0].error) == ("info", "NOT_LEADER_OR_FOLLOWER")
    script.send(9)
    script.lead(1, 0)
    assert numbers(script.next()) == (5, 1, 0)


@pytest.mark.parametrize("error", [E.OUT_OF_ORDER_SEQUENCE_NUMBER, E.INVALID_PRODUCER_EPOCH])
@pytest.mark.parametrize("lost", [True, False])
def test_a_refusal_of_the_numbers_ends_the_send(error: E, lost: bool) -> None:
    """If the sequence number is refused, the send ends, and the producer begins a new epoch."""
    script = Sends()
    script.send(8)
    script.lead(1, 0)
    if lost:
        script.lose(script.next())
        script.pass_time()
        script.lead(1, 0)
    script.answer(script.next(), error)
    assert (script.ends[0].kind, script.ends[0].error) == ("info" if lost else "fail", error.name)
    script.send(9)
    script.lead(1, 0)
    assert numbers(script.next()) == (5, 1, 0)


def test_a_new_epoch_holds_for_all_partitions() -> None:
    """A batch under way keeps its numbers. The next batch of each partition has the new epoch."""
    script = Sends(delivery_ms=0)
    script.send(1, partition=0, process="a")
    script.lead(1, 0, partition=0)
    lost = script.next()
    script.send(2, partition=1, process="b")
    script.lead(1, 0, partition=1)
    other = script.next()
    script.lose(lost)
    assert script.ends[0].kind == "info"
    assert numbers(other) == (5, 0, 0)
    script.answer(other, offset=0)
    script.send(3, partition=1, process="b")
    assert numbers(script.next()) == (5, 1, 0)


def test_a_late_answer_does_not_count() -> None:
    """An answer to an abandoned attempt, and a second answer to an attempt, are ignored."""
    script = Sends()
    gate = script.send(8)
    script.lead(1, 0)
    first = script.next()
    assert script.pass_time() == 1_150
    script.lead(1, 0)
    second = script.next()
    script.answer(first, E.INVALID_PRODUCER_EPOCH)
    assert not gate.happened
    script.answer(second, offset=6)
    script.answer(second, offset=7)
    assert gate.result() == 6
    assert len(script.ends) == 1


def test_one_batch_of_a_partition_is_under_way() -> None:
    """A partition has one batch under way, and other sends wait. Other partitions are independent."""
    script = Sends()
    script.send(1, process="a")
    script.lead(1, 0)
    first = script.next()
    script.send(2, process="b")
    assert not script.sent
    script.send(3, partition=1, process="d")
    script.lead(1, 0, partition=1)
    assert script.next().command.body.partition == 1
    script.answer(first, offset=0)
    second = script.next()
    assert second.command.body.values == (payload(2, 0),)
    assert numbers(second) == (5, 0, 1)


def test_sends_that_wait_are_joined() -> None:
    """Waiting sends are joined in batches up to the limit of records. A larger single send has its own batch."""
    script = Sends(linger_ms=5, most_records=4)
    gates = [script.send(value, count, process=str(value)) for value, count in ((1, 2), (2, 2), (3, 6), (4, 1))]
    assert script.pass_time() == 5
    script.lead(1, 0)
    asked = script.next()
    assert asked.command.body.values == tuple(payload(value, place) for value in (1, 2) for place in (0, 1))
    script.answer(asked, offset=10)
    assert [gate.happened for gate in gates] == [True, True, False, False]
    script.pass_time()
    asked = script.next()
    assert (len(asked.command.body.values), numbers(asked)) == (6, (5, 0, 4))
    script.answer(asked, offset=14)
    script.pass_time()
    script.answer(script.next(), offset=20)
    assert [gate.result() for gate in gates] == [10, 12, 14, 20]


def test_an_unknown_batch_is_unknown_for_all_its_sends() -> None:
    """If a batch's outcome is unknown, each of its sends ends with ``info``."""
    script = Sends(linger_ms=5, delivery_ms=0)
    for value in (1, 2):
        script.send(value, process=str(value))
    script.pass_time()
    script.lead(1, 0)
    script.lose(script.next())
    assert [op.kind for op in script.ends] == ["info", "info"]


@pytest.mark.parametrize(("idempotent", "producer_id"), [(True, -1), (False, 5)])
def test_numbers_need_a_producer_id(idempotent: bool, producer_id: int) -> None:
    """A producer has both a producer id and sequence numbers, or neither."""
    with pytest.raises(ValueError, match="producer_id"):
        Producer(Script().node, idempotent=idempotent, producer_id=producer_id)


def test_a_crash_ends_all_tasks() -> None:
    """After a crash the send has no end in the history. A waiting node names its awaits."""
    script = Sends()
    script.send(8)
    assert any(file == "client/routing.py" for awaits in script.node.places() for file, _, _ in awaits)
    script.node.crash()
    assert script.node.places() == []
    script.lead(1, 0)
    assert not script.sent
    assert script.ends == []
