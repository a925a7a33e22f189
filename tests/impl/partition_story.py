"""Partitions whose objects lie in S3: they move, a move is cancelled, and an owner crashes, while producers send.

Brokers, the controller and client nodes run in the world of ``client_world``, with its virtual clock. An adapter of
``impl.store`` executes the store operations of the brokers.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from typing import Any

import msgspec

from impl.broker.partition.batches import decode
from impl.broker.wal_format import DamagedError
from impl.client.admin import Admin
from impl.client.consumer import Consumer
from impl.client.contents import SendRecords, runs
from impl.client.history import FINAL, Op
from impl.client.producer import Producer
from impl.controller.failover import KEY, Failover
from impl.controller.node import Controller
from impl.oracles.judge import Verdict, judge
from impl.oracles.storage import BucketContents
from impl.records import KV, PARTITION_TAG, TOPIC_TAG, Partition, PartitionChange
from impl.sim.storage import contents
from impl.store.interface import ObjectStore
from tests.impl.client.client_world import DELAY_MS, Clients
from tests.impl.crash_world import START, World
from tests.impl.s3_world import REST_MS, RETENTION_MS, SMALL, CountingStore

TOPIC = "t"
HOMES = (1, 2, 3)
"""The first owners of the partitions."""
LINGERS_MS = (0, 10, 30)
"""For each producer, the time that a send waits for others in order to share a batch."""
SENDERS = 4
"""The number of sending processes of each producer. Each sends values to the partitions in turn."""
PAUSE_MS = 20
"""The pause of a sender between two sends, and of the operator between two looks."""
DELIVERY_MS = 300_000
"""The time for which a send is repeated. A failover begins when the failed process is a minute old (FO-01)."""
LONGEST_MS = 3_600_000
"""The limit of the story's time in the world."""


class PartitionSend(msgspec.Struct, frozen=True):
    """A send to a partition. ``value`` is unique. ``count``: the number of its records."""

    partition: int
    value: int
    count: int


class PartitionStory:
    """Idempotent producers send ``records`` records to three partitions. The operator moves partition 0 meanwhile.

    It goes from broker 1 to 2 and to 3. A move to 1 is cancelled. Broker 3 crashes, is fenced, and another broker
    recovers its WAL and takes over. Broker 3 starts again and gets the partition back. In the end a consumer reads
    everything.

    ``losses``: the share of requests to brokers, and of their answers, that are lost or late. ``moves``: how many moves
    have ended at their target. ``sent``: by sender, what it has sent. ``read``: by partition, what the final reads
    returned.
    """

    def __init__(self, store: ObjectStore, *, v6: bool, elects: bool, records: int, losses: float = 0.01) -> None:
        self.store = CountingStore(store)
        self.world = World(v6=v6, elects=elects, **SMALL)
        self.world.store = self.store
        profile = msgspec.structs.replace(self.world.controller.profile, object_retention_ms=RETENTION_MS)
        self.world.controller = Controller(profile, now=START)
        self.clients = Clients(0, losses, world=self.world)
        self.records = records
        self.moves = 0
        self.cancelled = ""
        """The result of the cancel."""
        self.interrupted = 0
        """The number of sends to partition 0 that were under way when its owner crashed."""
        self.sent: dict[str, list[PartitionSend]] = {}
        self.read: dict[int, list[SendRecords]] = {}
        self._busy: dict[str, int] = {}
        """By sender, the partition of its send without an outcome."""
        self._total = self._acked = self._values = 0
        self._operator, self._reader = self.clients.client("operator"), self.clients.client("reader")
        self._admin = Admin(self._operator, lambda _, partition: partition)
        self._consumer = Consumer(self._reader)

    def run(self) -> None:
        """Run the story to the end of the final reads."""
        clients = self.clients
        created = clients.start(self._operator, self._admin.create_topic("admin", TOPIC, HOMES))
        clients.run(created)
        assert created.result() == "ok"
        tasks = [clients.start(self._operator, self._operate()), clients.start(self._reader, self._follow())]
        for number, linger_ms in enumerate(LINGERS_MS):
            producer = Producer(
                clients.client(f"producer {number}"),
                idempotent=True,
                producer_id=number,
                linger_ms=linger_ms,
                most_records=100,
                delivery_ms=DELIVERY_MS,
            )
            tasks += [
                clients.start(producer.node, self._send(producer, f"sender {number}.{place}", place))
                for place in range(SENDERS)
            ]
        clients.run(*tasks, ms=LONGEST_MS)
        clients.losses = 0
        # Late messages arrive, and brokers upload and compact.
        clients.run(clients.start(self._reader, self._reader.sleep(2 * DELAY_MS + REST_MS)))
        clients.run(*(clients.start(self._reader, self._read_all(partition)) for partition in range(len(HOMES))))
        clients.history.missing = ""

    # Clients ------------------------------------------------------------------------------------------------------

    async def _send(self, producer: Producer, sender: str, partition: int) -> None:
        """Send values until all senders together have sent all records."""
        mine = self.sent[sender] = []
        while self._total < self.records:
            self._values += 1
            partition = (partition + 1) % len(HOMES)
            sent = PartitionSend(partition, self._values, min(1 + self._values % 9, self.records - self._total))
            mine.append(sent)
            self._total += sent.count
            self._busy[sender] = partition
            await producer.send(sender, TOPIC, partition, partition, sent.value, sent.count)
            del self._busy[sender]
            self._acked += sent.count
            await producer.node.sleep(PAUSE_MS)

    async def _follow(self) -> None:
        """Read all partitions while producers write them."""
        while self._acked < self.records:
            for partition in range(len(HOMES)):
                await self._consumer.poll(f"follower {partition}", TOPIC, partition, partition, most=100)
            await self._reader.sleep(PAUSE_MS)

    async def _read_all(self, partition: int) -> None:
        """Read a partition from its start to its end."""
        found = self.read[partition] = []
        begin, confirmed = 0, 1
        while begin < confirmed:
            page = await self._consumer.poll(
                f"final {partition}", TOPIC, partition, partition, begin, most=200, phase=FINAL
            )
            assert page is not None, f"partition {partition} cannot be read"
            found += page.runs
            begin, confirmed = page.end, page.confirmed

    # The operator -------------------------------------------------------------------------------------------------

    async def _operate(self) -> None:
        """Run the operator's steps, each after some more records are acknowledged."""
        await self._until_acked(1)
        await self._move(2)
        await self._until_acked(2)
        await self._move(3)
        await self._until_acked(3)
        await self._cancel_move_to(1)
        await self._until_acked(4)
        await self._crash(3)
        await self._restart(3)
        await self._until_acked(6)
        await self._move(3)

    async def _until_acked(self, eighths: int) -> None:
        """Wait until N eighths of the records are acknowledged."""
        while self._acked * 8 < self.records * eighths:
            await self._operator.sleep(PAUSE_MS)

    async def _move(self, target: int) -> None:
        """Move partition 0, and wait until its new owner has acknowledged a send."""
        begin = len(self.clients.history.ops)
        assert await self._admin.reassign("move", {(TOPIC, 0): target}) == {(TOPIC, 0): "ok"}
        await self._until_led_by(target)
        while not any(is_ack(op, 0) and op.broker == str(target) for op in self.clients.history.ops[begin:]):
            await self._operator.sleep(PAUSE_MS)
        self.moves += 1

    async def _cancel_move_to(self, target: int) -> None:
        """Begin a move, and cancel it before its end."""
        owner = self._leader()
        assert await self._admin.reassign("move", {(TOPIC, 0): target}) == {(TOPIC, 0): "ok"}
        self.cancelled = (await self._admin.cancel("cancel", [(TOPIC, 0)]))[TOPIC, 0]
        await self._until_led_by(owner)

    async def _until_led_by(self, node: int) -> None:
        while self._leader() != node or await self._admin.list_reassignments({TOPIC: (0,)}):
            await self._operator.sleep(PAUSE_MS)

    async def _crash(self, node: int) -> None:
        """Crash the owner of partition 0, and wait for the recovery of its WAL."""
        while self._leader() != node or 0 not in self._busy.values():
            await self._operator.sleep(1)
        self.interrupted = list(self._busy.values()).count(0)
        self.clients.brokers[node].crash()
        while self.world.image.brokers[node] != "fenced" or self.world.image.opened_on.get(node):
            await self._operator.sleep(PAUSE_MS)

    async def _restart(self, node: int) -> None:
        """Start the next process of a node."""
        self.clients.brokers[node] = self.world.begin(node)
        while self.world.image.brokers[node] != "active":
            await self._operator.sleep(PAUSE_MS)

    def _leader(self) -> int:
        return self.world.image.partitions[TOPIC, 0].leader

    # What the story leaves ----------------------------------------------------------------------------------------

    def leaders(self) -> list[int]:
        """The brokers that have led partition 0 by the metadata, without repetitions."""
        rows = (
            record.leader
            for batch in self.world.batches
            for record in batch.records
            if isinstance(record, Partition | PartitionChange) and (record.topic, record.partition) == (TOPIC, 0)
        )
        return [leader for leader, _ in groupby(each for each in rows if each is not None and each >= 0)]

    def failovers(self) -> set[tuple[int, int]]:
        """The processes for which a failover has begun: node and epoch."""
        return {
            (context.node, context.epoch)
            for batch in self.world.batches
            for record in batch.records
            if isinstance(record, KV)
            for pair in record.key_values
            if pair.key == KEY
            for context in msgspec.json.decode(pair.value, type=list[Failover])
        }

    def verdict(self, objects: Mapping[str, bytes]) -> Verdict:
        """The oracles' verdict. ``objects``: the bucket by key."""
        image = self.world.image
        found = contents(dict(objects), image)
        keys: dict[int, int] = {}
        for stream, row in image.streams.items():
            tags = {tag.key: tag.value for tag in row.tags}
            if tags.get(TOPIC_TAG) == TOPIC:
                keys[stream] = int(tags[PARTITION_TAG])
        batches: dict[int, set[tuple[int, int, int]]] = {key: set() for key in keys.values()}
        for record in (*found.objects, *found.wal):
            if record.stream in keys:
                batches[keys[record.stream]].update(_sends(record.payload))
        stored = {key: frozenset(each) for key, each in batches.items()}
        return judge(self.clients.history, BucketContents(stored, found.orphans, found.missing))


def is_ack(op: Op, partition: int) -> bool:
    """Whether an operation is an acknowledged send to a partition."""
    return op.kind == "ok" and op.f == "send" and op.key == partition


def _sends(data: bytes) -> list[tuple[int, int, Any]]:
    """The sends in a record of a stream: base, end, value; None for records of streams other than LOG."""
    try:
        batch = decode(data)
    except DamagedError:
        return []
    return [(base, base + count, value) for base, count, value in runs([(batch.base, batch.values)], batch.base)]
