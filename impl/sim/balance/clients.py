"""The clients of a run: a producer and some consumers for each partition, who keep their rates."""

from __future__ import annotations

from collections.abc import Sequence

from impl.client.consumer import Consumer
from impl.client.node import ClientNode
from impl.client.producer import Producer
from impl.sim.balance.workload import END_MS, PARTITIONS, PartitionLoadPlan, counts, values_of
from impl.sim.partitions.load import PartitionLoad
from impl.sim.partitions.metadata import TOPIC

PERIOD_MS = 2_500
"""The time between two sends of a producer, and between two polls of a consumer: half a tick of the meters."""
MOST = 1_000_000
"""More records than any poll finds."""


class SteadyClients:
    """``begin``: the time at which all clients begin. ``left``: the number of clients that have not ended.

    A producer whose send is late sends the next ones at once, until it has caught up: no load is lost by a move.
    """

    def __init__(self, load: PartitionLoad, plans: Sequence[PartitionLoadPlan], begin: int) -> None:
        self.left = 0
        self._load, self._begin = load, begin
        for plan in plans:
            producer = load.client_node(f"producer{plan.partition}")
            producer.start(self._produce(producer, plan))
            self._start(producer)
            for number in range(plan.readers):
                consumer = load.client_node(f"consumer{plan.partition}.{number}")
                consumer.start(self._consume(consumer, plan, number))
                self._start(consumer)

    def _start(self, node: ClientNode) -> None:
        self.left += 1
        self._load.wake(node)

    async def _produce(self, node: ClientNode, plan: PartitionLoadPlan) -> None:
        producer = Producer(node, idempotent=True, producer_id=node.number)
        # Producers begin one after the other within a period.
        due, owed = self._begin + plan.partition * PERIOD_MS // PARTITIONS, 0.0
        for value in values_of(plan.partition):
            if due >= self._begin + END_MS:
                break
            if due > node.now:
                await node.sleep(due - node.now)
            count, owed = counts(owed + plan.rate(due - self._begin) * PERIOD_MS / 1_000, value)
            await producer.send("send", TOPIC, plan.partition, plan.partition, value, count)
            due += PERIOD_MS
        self.left -= 1

    async def _consume(self, node: ClientNode, plan: PartitionLoadPlan, number: int) -> None:
        consumer = Consumer(node)
        due = self._begin + (plan.partition * 97 + number * 389) % PERIOD_MS
        while due < self._begin + END_MS:
            if due > node.now:
                await node.sleep(due - node.now)
            await consumer.poll("poll", TOPIC, plan.partition, plan.partition, most=MOST)
            due += PERIOD_MS
        self.left -= 1


class FinalReader:
    """Reads each partition from its start to its end. ``left``: the number of partitions that were not read yet.

    ``failed``: the partitions that could not be read.
    """

    def __init__(self, load: PartitionLoad, partitions: int) -> None:
        self.left = partitions
        self.failed: list[int] = []
        node = load.client_node("reader")
        node.start(self._read(Consumer(node), partitions))
        load.wake(node)

    async def _read(self, consumer: Consumer, partitions: int) -> None:
        for partition in range(partitions):
            page = await consumer.poll("read", TOPIC, partition, partition, begin=0, most=MOST, phase="final")
            if page is None:
                self.failed.append(partition)
            self.left -= 1
