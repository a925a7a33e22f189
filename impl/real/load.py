"""The load of a run of processes: producers and consumers of a topic, and operators who move its partitions.

All are client nodes of the driver, and reach the brokers over TCP. They keep one history.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from impl.client.admin import Admin
from impl.client.consumer import WHOLE, Consumer
from impl.client.history import FINAL, History
from impl.client.node import ClientNode
from impl.client.producer import Producer
from impl.metadata.log import MetadataBatch
from impl.real.client_driver import ClientDriver, Places
from impl.real.clock import Clock
from impl.records import S3Stream, StreamState
from impl.sim.partitions.metadata import TOPIC, Metadata
from impl.sim.partitions.operators import Operators
from impl.sim.script import F, ScriptOperation
from impl.sim.tape import stream
from impl.tasks import Job

TIMEOUT_MS = 12_500
"""How long a client waits for an answer: longer than most processes are stopped."""
PATIENCE_MS = 20_000
"""How long a client repeats a request without success."""
MOVE_MS = (400, 2_000)
"""The shortest and the longest time from one request of an operator to the next."""
HASTE = 0.4
"""The share of the moves that a hasty operator follows with another."""
PAUSE_MS = 100
VALUES = 1_000_000
"""The number of values of each producer."""


class ClientGroup:
    """Client nodes with one history. ``places``: where they find the processes."""

    def __init__(self, clock: Clock, places: Places, brokers: int, history: History, name: str = "") -> None:
        self.history = history
        self.drivers: list[ClientDriver] = []
        self._clock, self._places, self._name = clock, places, name
        self._brokers = range(1, brokers + 1)

    def add(self, name: str) -> ClientDriver:
        """One more client node."""
        number = len(self.drivers) + 1
        node = ClientNode(
            *(f"{self._name}{name}", self.history, self._brokers, self._clock.now(), TIMEOUT_MS), number=number
        )
        driver = ClientDriver(node, self._clock, self._places)
        self.drivers.append(driver)
        return driver

    def check(self) -> None:
        """Raise the first error of a client that is no outcome."""
        for driver in self.drivers:
            if driver.error is not None:
                raise driver.error

    def close(self) -> None:
        """End all connections."""
        for driver in self.drivers:
            driver.close()


class RealLoad:
    """``partitions``: of the topic. ``batch``: the number of records of a send. ``metadata``: what operators know.

    ``acked``: the number of records that were acknowledged. ``busy``: the number of clients that have not ended.
    """

    def __init__(self, group: ClientGroup, metadata: Metadata, *, seed: int, partitions: int, batch: int) -> None:
        self.acked = self.busy = 0
        self._stopping = False
        self._group, self._metadata, self._seed = group, metadata, seed
        self._partitions, self._batch = partitions, batch
        self._ended = asyncio.Event()
        self._hastes = stream(seed, "hasty moves of processes")
        self._operator = group.add("operators")
        self._operators = Operators(self._operator.node, metadata)

    # Phases ---------------------------------------------------------------------------------------------------------

    def create_topic(self, brokers: int) -> None:
        """Ask the controller for the topic. Its partitions are spread over the brokers."""
        homes = [1 + number % brokers for number in range(self._partitions)]
        self._operator.node.start(Admin(self._operator.node, lambda _, key: key).create_topic("setup", TOPIC, homes))
        self._operator.begin()

    def begin(self) -> None:
        """Begin to produce to each partition, to read them, and to move them."""
        for partition in range(self._partitions):
            self._start(f"p{partition}", partial(self._produce, partition=partition))
        self._start("reader", self._consume)
        self._start_on(self._operator, self._operate(self._operator.node))

    def stop(self) -> None:
        """End each client when its operation under way has ended."""
        self._stopping = True

    async def wait(self, seconds: float) -> bool:
        """Wait until all clients have ended. Returns whether they have, within some seconds."""
        try:
            await asyncio.wait_for(self._ended.wait(), seconds)
        except TimeoutError:
            return False
        return True

    def read_all(self, group: ClientGroup) -> None:
        """Begin to read every partition from its start to its end, in one poll each."""
        self._ended.clear()
        self._group = group
        for partition in range(self._partitions):
            self._start(f"f{partition}", partial(self._read, partition=partition))

    def see(self, batches: Sequence[MetadataBatch]) -> None:
        """Let a hasty operator see new metadata, which the image of the metadata has already.

        When the owner before has just closed a partition that moves, he often moves it on, to a third broker. The two
        targets then hurry to open the same streams.
        """
        for record in (each for batch in batches for each in batch.records):
            if isinstance(record, S3Stream) and record.stream_state is StreamState.CLOSED and not self._stopping:
                partition = self._metadata.meta_streams().get(record.stream_id)
                if partition is None or self._metadata.image.partitions[TOPIC, partition].leader >= 0:
                    continue
                if self._hastes() < HASTE:
                    self._operators.begin(ScriptOperation(-1, 0, "move", partition))
                    self._operator.begin()

    # Clients --------------------------------------------------------------------------------------------------------

    def _start(self, name: str, job: Callable[[ClientNode], Job[None]]) -> None:
        driver = self._group.add(name)
        self._start_on(driver, job(driver.node))

    def _start_on(self, driver: ClientDriver, job: Job[None]) -> None:
        self.busy += 1
        driver.node.start(self._until_ended(job))
        driver.begin()

    async def _until_ended(self, job: Job[None]) -> None:
        await job
        self.busy -= 1
        if not self.busy:
            self._ended.set()

    async def _produce(self, node: ClientNode, partition: int) -> None:
        """Send batches, one after the other. Every second producer is idempotent, as in the simulator."""
        is_idempotent = partition % 2 == 0
        producer = Producer(
            *(node,),
            idempotent=is_idempotent,
            producer_id=node.number if is_idempotent else -1,
            delivery_ms=PATIENCE_MS,
        )
        value = node.number * VALUES
        while not self._stopping:
            value += 1
            offset = await producer.send("client", TOPIC, partition, partition, value, self._batch)
            if offset is None:
                await node.sleep(PAUSE_MS)
            else:
                self.acked += self._batch

    async def _consume(self, node: ClientNode) -> None:
        """Read the partitions in turn, each from where the last read of it ended, and now and then from its start."""
        consumer = Consumer(node, patience_ms=PATIENCE_MS)
        draw = stream(self._seed, "reads of processes")
        while not self._stopping:
            for partition in range(self._partitions):
                if self._stopping:
                    return
                begin = 0 if draw() < 0.02 else None
                page = await consumer.poll("client", TOPIC, partition, partition, begin=begin, most=2_000)
                if page is None or page.end == page.confirmed:
                    await node.sleep(PAUSE_MS)

    async def _operate(self, node: ClientNode) -> None:
        """Move partitions. Some moves are followed at once by a cancel, an election or another move."""
        for operation, ms in _operations(self._seed, self._partitions):
            if self._stopping:
                return
            self._operators.begin(operation)
            await node.sleep(ms)
        # The operations have no end.

    @property
    def accepted_moves(self) -> int:
        """The number of moves that the controller has accepted."""
        return self._operators.accepted["moves"]

    @property
    def asks(self) -> bool:
        """Whether a request of an operator has no answer."""
        return self._operators.busy > 0

    async def _read(self, node: ClientNode, partition: int) -> None:
        """Read a partition as a whole; try again until a read succeeds."""
        consumer = Consumer(node, patience_ms=PATIENCE_MS)
        while await consumer.poll("client", TOPIC, partition, partition, begin=0, most=WHOLE, phase=FINAL) is None:
            await node.sleep(PAUSE_MS)


def _operations(seed: int, partitions: int) -> Iterator[tuple[ScriptOperation, int]]:
    """The requests of operators without end, each with the time until the next one."""
    draw = stream(seed, "moves of processes")
    shortest, longest = MOVE_MS
    while True:
        key, hop, kind, value = int(draw() * partitions), 1 + int(draw() * 2), draw(), draw()
        ms = shortest + int(value * (longest - shortest))
        if kind < 0.1:
            yield ScriptOperation(-1, 0, "swap", key, hop=hop), ms
        elif kind < 0.6:
            yield ScriptOperation(-1, 0, "move", key, hop=hop), int(value**2 * 1_000)
            follower: F = "cancel" if kind < 0.3 else "elect" if kind < 0.35 else "move"
            yield ScriptOperation(-1, 0, follower, key, hop=hop), ms
        else:
            yield ScriptOperation(-1, 0, "move", key, hop=hop), ms
