"""The bytes between zones, with routing and without it: a steady load, measured for a minute and scaled to a day."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from impl.broker import wal
from impl.broker.object_format import object_key
from impl.broker.settings import Settings, ZoneSettings
from impl.client.consumer import Consumer
from impl.client.node import ClientNode
from impl.client.payload import payload
from impl.client.producer import Producer
from impl.controller.view import Profile
from impl.sim.brokers import broker_of
from impl.sim.options import Options
from impl.sim.partitions.load import PartitionLoad
from impl.sim.partitions.metadata import TOPIC
from impl.sim.run import Simulation
from impl.sim.zones import ZONES

PARTITIONS = 6
RECORDS = 500
"""The records of a batch: about 55 KB."""
PERIOD_MS = 300
"""The time between two batches of a partition."""
POLL_MS = 200
MEASURED_MS = 60_000
WARM_MS = 10_000
DAY_MS = 86_400_000
LOCAL = ZoneSettings(rack="", channel=wal.WalLimits(linger_ms=50))
"""The defaults, but for a shorter linger of the channel, so that a batch does not wait longer than its period."""


class ZoneDay(msgspec.Struct, frozen=True):
    """The bytes of a day. ``produced``: by producers. ``data``, ``metadata``: between zones.

    ``consumers``: how many read each partition, each from a zone of its own.
    """

    is_routed: bool
    consumers: int
    produced: int
    data: int
    metadata: int


def measure(*, is_routed: bool, consumers: int, rate: int) -> ZoneDay:
    """Measure a minute of a load, and scale it to a day with ``rate`` bytes a second from producers.

    The clients of a partition and its leader take turns in the zones. Data scale with the rate. Most metadata are
    polls, with a link for each batch. Polls are as frequent at any rate, and batches larger at a higher one, so their
    figure is an upper bound.
    """
    zones = ZONES if is_routed else 0
    profile = Profile(handshake="G1", routes=is_routed)
    options = Options(partitions=PARTITIONS, zones=zones, faults="none", operations_of=(), profile=profile)
    simulation = Simulation(0, broker_of(Settings(fast_close=True), zones, LOCAL), object_key, options)
    # Without routing nobody knows of zones, and yet everybody is in one.
    simulation.traffic.zones = ZONES
    try:
        simulation.start()
        clients = _Clients(simulation, consumers)
        clients.begin()
        simulation.queue.run(simulation.queue.now + WARM_MS)
        before, sent = simulation.traffic.counts(), clients.sent
        simulation.queue.run(simulation.queue.now + MEASURED_MS)
        after, sent = simulation.traffic.counts(), clients.sent - sent
    finally:
        simulation.fleet.close()
    if not sent:
        raise RuntimeError("the producers have sent nothing")
    produced = rate * DAY_MS // 1_000
    data, metadata = (
        (after[name] - before[name]) * produced // sent
        for name in ("bytes of data between zones", "bytes of metadata between zones")
    )
    return ZoneDay(is_routed, consumers, produced, data, metadata)


class _Clients:
    """A producer and some consumers for each partition. ``sent``: the bytes of all acknowledged records."""

    def __init__(self, simulation: Simulation, consumers: int) -> None:
        self.sent = 0
        self._consumers = consumers
        assert isinstance(simulation.load, PartitionLoad), "the options have partitions"
        self._load = simulation.load

    def begin(self) -> None:
        """Start all clients. Clients take turns in the zones, and so do the leaders of the partitions."""
        for partition in range(PARTITIONS):
            for consumer in range(self._consumers + 1):
                node = self._load.client_node(f"day{partition}.{consumer}")
                job = self._consume(node, partition) if consumer else self._produce(node, partition)
                node.start(job)
                self._load.wake(node)

    async def _produce(self, node: ClientNode, partition: int) -> None:
        producer = Producer(node, idempotent=True, producer_id=node.number)
        for number in self._numbers(partition):
            offset = await producer.send("day", TOPIC, partition, partition, number, RECORDS)
            if offset is not None:
                self.sent += sum(len(payload(number, place)) for place in range(RECORDS))
            await node.sleep(PERIOD_MS)

    def _numbers(self, partition: int) -> Iterator[int]:
        number = partition + 1
        while True:
            yield number
            number += PARTITIONS

    async def _consume(self, node: ClientNode, partition: int) -> None:
        consumer = Consumer(node)
        while True:
            await consumer.poll("day", TOPIC, partition, partition, most=2 * RECORDS)
            await node.sleep(POLL_MS)
