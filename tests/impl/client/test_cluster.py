"""Clients of real brokers while partitions move and answers are lost. Oracles judge the clients' history."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from impl import wire
from impl.client.admin import Admin
from impl.client.consumer import Consumer
from impl.client.history import FINAL
from impl.client.node import ClientNode
from impl.client.producer import Producer
from impl.oracles.judge import Verdict, judge
from tests.impl.client.client_world import DELAY_MS, Clients

TOPIC = "t"
GENERATIONS = [(True, True), (True, False), (False, False)]
"""V6 and legacy with G1, and legacy with G0."""


class Careless(Producer):
    """A producer that repeats attempts with unknown outcome, with or without sequence numbers."""

    def repeats_unknown(self) -> bool:
        """Always True."""
        return True


def run(
    clients: Clients,
    producers: list[Producer],
    *,
    moves: tuple[int, ...],
    sends: int = 25,
    disturb: Callable[[], None] = lambda: None,
) -> Verdict:
    """Send while partition 0 moves, then read all partitions to their ends and judge the history.

    ``disturb`` is called while the producers send.
    """
    operator, reader = clients.client("operator"), clients.client("reader")
    admin, consumer = Admin(operator, lambda _, partition: partition), Consumer(reader)
    created = clients.start(operator, admin.create_topic("admin", TOPIC, (1, 2)))
    clients.run(created)
    assert created.result() == "ok"
    tasks = [
        clients.start(producer.node, work(producer, 1_000 * place, sends)) for place, producer in enumerate(producers)
    ]
    tasks += [clients.start(operator, move(admin, operator, moves)), clients.start(reader, read(consumer, reader, 20))]
    clients.run(clients.start(operator, operator.sleep(500)))
    disturb()
    clients.run(*tasks)
    clients.losses = 0
    # Late messages arrive, so that no request is under way any more.
    clients.run(clients.start(reader, reader.sleep(2 * DELAY_MS)))
    clients.run(*(clients.start(reader, read_all(consumer, f"final-{partition}", partition)) for partition in (0, 1)))
    clients.history.missing = ""
    return judge(clients.history)


async def work(producer: Producer, first: int, sends: int) -> None:
    """Send values to both partitions in turn."""
    for value in range(first, first + sends):
        await producer.send("sender", TOPIC, value % 3 // 2, value % 3 // 2, value, 1 + value % 4)
        await producer.node.sleep(value % 5 * 20)


async def move(admin: Admin, node: ClientNode, moves: tuple[int, ...]) -> None:
    """Move partition 0 several times, each time after the previous move has ended."""
    for target in moves:
        await node.sleep(400)
        await admin.reassign("mover", {(TOPIC, 0): target})
        while await admin.list_reassignments({TOPIC: (0,)}):
            await node.sleep(50)


async def read(consumer: Consumer, node: ClientNode, polls: int) -> None:
    """Read partition 0 while producers write it."""
    for _ in range(polls):
        await consumer.poll("reader", TOPIC, 0, 0, most=3)
        await node.sleep(100)


async def read_all(consumer: Consumer, process: str, partition: int) -> None:
    """Read a partition from its start to its end."""
    begin = 0
    while True:
        page = await consumer.poll(process, TOPIC, partition, partition, begin, most=7, phase=FINAL)
        assert page is not None
        begin = page.end
        if begin == page.confirmed:
            return


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("elects", "v6"), GENERATIONS)
def test_every_record_is_there_once(seed: int, elects: bool, v6: bool) -> None:
    """Idempotent producers repeat lost sends, while a partition moves twice. Every record is there once."""
    clients = Clients(seed, 0.15, elects=elects, v6=v6)
    producers = [
        Producer(clients.client("a"), idempotent=True, producer_id=1),
        Producer(clients.client("b"), idempotent=True, producer_id=2, linger_ms=10),
    ]
    verdict = run(clients, producers, moves=(2, 3))
    assert verdict.error is None
    assert verdict.violations == ()
    assert clients.lost > 10
    assert verdict.looked["acknowledged"] == 50
    assert clients.world.image.partitions[TOPIC, 0].leader == 3


def test_another_broker_takes_over() -> None:
    """The leader crashes and its requests are lost. The next leader knows the producer's batches."""
    clients = Clients(1, 0.1)

    def crash() -> None:
        clients.brokers[1].crash()
        clients.world.control(wire.Request(0, 1_000_000, wire.SetBroker(1, "fenced")))

    producer = Producer(clients.client("a"), idempotent=True, producer_id=1, delivery_ms=120_000)
    verdict = run(clients, [producer], moves=(), disturb=crash)
    assert verdict.error is None
    assert verdict.violations == ()
    assert verdict.looked["acknowledged"] == 25
    assert clients.world.image.partitions[TOPIC, 0].leader != 1


@pytest.mark.parametrize("seed", range(4))
def test_sends_without_numbers_are_not_repeated(seed: int) -> None:
    """A producer without sequence numbers does not repeat unknown outcomes, and no record is there twice."""
    clients = Clients(seed, 0.15)
    verdict = run(clients, [Producer(clients.client("a"), idempotent=False)], moves=(2, 3))
    assert verdict.error is None
    assert verdict.violations == ()
    assert any(op.kind == "info" and op.f == "send" for op in clients.history.ops)


def test_repetitions_without_numbers_are_found() -> None:
    """If such a producer repeats them, records are there twice, and an oracle says so."""
    clients = Clients(0, 0.15)
    verdict = run(clients, [Careless(clients.client("a"), idempotent=False)], moves=(2, 3))
    assert verdict.error is None
    assert "exactly once" in {violation.oracle for violation in verdict.violations}


def test_an_operator_changes_its_mind() -> None:
    """A move is cancelled before its end. A cancel without a move fails, and so does an unneeded election."""
    clients = Clients(0, 0)
    node = clients.client("operator")
    admin = Admin(node, lambda _, partition: partition)

    async def change() -> None:
        await admin.create_topic("admin", TOPIC, (1,))
        await admin.reassign("admin", {(TOPIC, 0): 2})
        listed = await admin.list_reassignments()
        assert listed is not None
        assert listed[f"{TOPIC}-0"]["removing"] == {1}
        await admin.cancel("admin", [(TOPIC, 0)])
        await admin.cancel("admin", [(TOPIC, 0)])
        while await admin.elect("admin", TOPIC, 0) != "fail":
            await node.sleep(100)
        await admin.reassign("admin", {("other", 0): 2})

    clients.run(clients.start(node, change()))
    clients.history.missing = ""
    ends = [(op.f, op.kind, op.error) for op in clients.history.ops if op.kind != "invoke" and op.f != "elect"]
    assert ends == [
        ("create", "ok", None),
        ("move", "ok", None),
        ("cancel", "ok", None),
        ("cancel", "fail", "NO_REASSIGNMENT_IN_PROGRESS"),
        ("move", "fail", "UNKNOWN_TOPIC_OR_PARTITION"),
    ]
    assert clients.world.image.partitions[TOPIC, 0].leader == 1
    verdict = judge(clients.history)
    assert verdict.error is None
    assert verdict.violations == ()
