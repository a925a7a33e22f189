"""A conversation of a command with a cluster that runs in the foreground."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Self, TypeVar

from impl.client.admin import Admin
from impl.client.consumer import Consumer
from impl.client.contents import SendRecords
from impl.client.history import Ending, History
from impl.client.node import ClientNode
from impl.client.producer import Producer
from impl.metadata.image import Image
from impl.metadata.log import MetadataBatch, replay
from impl.real.acks import AckedSend, AckFile, ReadCheck, check
from impl.real.client_driver import ClientDriver
from impl.real.clock import new_clock
from impl.real.metadata_follower import MetadataFollower
from impl.real.problems import ClusterError
from impl.real.state_file import StatePlaces, read_state

ANSWER_S = 30.0
"""How long the cluster may take to answer a question."""
PATIENCE_MS, TIMEOUT_MS = 60_000, 10_000
T = TypeVar("T")


class ClusterSession:
    """``folder``: the folder with the addresses of the cluster. Use it as a context. Raises ClusterError."""

    def __init__(self, folder: Path) -> None:
        self._places = StatePlaces(folder)
        nodes = [int(each) for each in read_state(folder).brokers]
        self._clock = new_clock()
        self._history = History()
        # The number tells the sends and the producer ids of two commands apart.
        self._number = self._clock.now()
        node = ClientNode("command", self._history, nodes, self._clock.now(), TIMEOUT_MS, number=self._number)
        self._driver = ClientDriver(node, self._clock, self._places)
        self._node = node
        self._image = Image()

    async def __aenter__(self) -> Self:
        self._follower = MetadataFollower("command", self._places.controller_port, self._learn)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._follower.close()
        self._driver.close()

    async def image(self) -> Image:
        """The committed metadata. Raises TimeoutError if the controller does not answer."""
        if not await self._follower.wait(lambda: bool(self._image.brokers), ANSWER_S):
            raise TimeoutError
        return self._image

    async def ask(self, job: Callable[[Admin], Awaitable[Ending]]) -> tuple[Ending, str]:
        """Let an operator ask the controller. Returns the ending, and the error of a refusal."""
        admin = Admin(self._node, lambda _, partition: partition, patience_ms=PATIENCE_MS // 2)
        ending = await self._run(job(admin))
        return ending, next((op.error for op in self._history.ops if op.error is not None), "")

    async def produce(
        self,
        topic: str,
        partition: int,
        records: int,
        batch: int,
        rate: float | None,
        acks: AckFile,
        tell: Callable[[str], None],
    ) -> tuple[int, int]:
        """Send records. Returns how many were acknowledged, and how many were not."""
        await self._check(topic, partition)
        producer = Producer(self._node, idempotent=True, producer_id=self._number, delivery_ms=PATIENCE_MS)

        async def send_all() -> tuple[int, int]:
            acked = failed = 0
            begun = self._node.now
            for number in range(-(-records // batch)):
                count = min(batch, records - number * batch)
                if rate is not None:
                    wait = begun + int(number * batch * 1_000 / rate) - self._node.now
                    await self._node.sleep(max(0, wait))
                value = self._number * 1_000_000 + number
                offset = await producer.send("produce", topic, partition, partition, value, count)
                if offset is None:
                    failed += count
                else:
                    acked += count
                    acks.add(AckedSend(partition, value, count, offset))
                tell(f"{acked:,} of {records:,} records acknowledged")
            return acked, failed

        return await self._run(send_all())

    async def consume(self, topic: str, acked: list[AckedSend]) -> ReadCheck:
        """Read all partitions of a topic, and compare."""
        await self._check(topic, 0)
        numbers = [number for name, number in sorted(self._image.partitions) if name == topic]
        consumer = Consumer(self._node, patience_ms=PATIENCE_MS)

        async def read_all() -> list[tuple[int, SendRecords]]:
            found: list[tuple[int, SendRecords]] = []
            for partition in numbers:
                place, end = 0, 1
                while place < end:
                    page = await consumer.poll("consume", topic, partition, partition, begin=place, most=10_000)
                    if page is None:
                        raise ClusterError(f"{topic}-{partition}: nobody serves it; see `holdfast cluster status`")
                    # Batches are whole, so a page may begin with one that the page before has ended with.
                    found += [(partition, each) for each in page.runs if each[0] >= place]
                    place, end = max(page.end, place), page.confirmed
            return found

        return check(acked, await self._run(read_all()))

    # ----------------------------------------------------------------------------------------------------------------

    async def _check(self, topic: str, partition: int) -> None:
        image = await self.image()
        if not await self._follower.wait(lambda: (topic, partition) in image.partitions, 1.0):
            raise ClusterError(
                f"{topic}-{partition}: there is no such partition; see `holdfast cluster topics`, or --create {topic}"
            )

    async def _run(self, job: Awaitable[T]) -> T:
        """Run a task of the client node, and wait for its end."""
        done: asyncio.Future[T] = asyncio.get_running_loop().create_future()

        async def until_done() -> None:
            try:
                result = await job
            except ClusterError as error:
                done.set_exception(error)
            else:
                done.set_result(result)

        self._node.start(until_done())
        self._driver.begin()
        while not done.done():
            await asyncio.wait({done}, timeout=1.0)
            if self._driver.error is not None:
                raise self._driver.error
        return done.result()

    def _learn(self, batches: tuple[MetadataBatch, ...]) -> None:
        replay(batches, self._image)
