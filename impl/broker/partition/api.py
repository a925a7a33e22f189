"""The commands of clients for the partitions of a process: appends, reads, and look-ups of leaders."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from impl.broker.handle import outcome
from impl.broker.messages import Command, CommandAnswer, Consume, FindLeaders, OfPartition, Produce
from impl.broker.partition.batches import Batch
from impl.broker.partition.host import Host
from impl.errors import E
from impl.metadata.image import Image
from impl.records import Partition
from impl.rules import RefusedError, require
from impl.tasks import FailedError, Tasks


class Routing(Protocol):
    """Zone routing, as far as clients see it."""

    def shown_leader(self, command: Command, row: Partition) -> int:
        """The leader of a partition that a client is told."""

    async def produce(self, command: Command, topic: str, partition: int, batch: Batch) -> dict[str, Any]:
        """Append a batch here, or at its main. Returns the values of the answer."""

    def follows(self, command: Command, topic: str, partition: int) -> bool:
        """Whether this process serves reads of the partition for its main."""

    async def consume(self, topic: str, partition: int, begin: int, most: int) -> dict[str, Any]:
        """Read a partition of another zone. Returns the values of the answer."""


class Api:
    """``image``: the metadata of the process. ``zones``: its part in zone routing, if the cluster has it."""

    def __init__(self, tasks: Tasks, host: Host, image: Callable[[], Image], zones: Routing | None = None) -> None:
        self._tasks, self._host, self._image, self._zones = tasks, host, image, zones

    async def run(self, command: Command, body: OfPartition) -> None:
        """Execute a command of a client, and emit the answer."""
        try:
            values = await self._do(command, body)
        except RefusedError as refused:
            hint = self._leader(command, body) if refused.error is E.NOT_LEADER_OR_FOLLOWER else {}
            done = CommandAnswer(command.to, command.id, refused.error, hint)
        except FailedError as error:
            done = CommandAnswer(command.to, command.id, outcome(error))
        else:
            done = CommandAnswer(command.to, command.id, E.NONE, values)
        self._tasks.outputs.append(done)

    async def _do(self, command: Command, body: OfPartition) -> dict[str, object]:
        match body:
            case Produce(topic, partition):
                numbers = {"producer": body.producer, "producer_epoch": body.producer_epoch, "sequence": body.sequence}
                batch = Batch(0, body.values, timestamp=body.timestamp, **numbers)
                if body.acks == 0:
                    self._tasks.start(self._append_unanswered(command, topic, partition, batch))
                    return {"offset": -1}
                return await self._append(command, topic, partition, batch)
            case Consume(topic, partition, begin, most):
                if self._zones is not None and self._zones.follows(command, topic, partition):
                    return await self._zones.consume(topic, partition, begin, most)
                log = self._host.log((topic, partition))
                confirmed = log.confirmed
                found = await log.read(begin, begin + most)
                return {"batches": [(each.base, each.values) for each in found], "confirmed": confirmed}
            case FindLeaders(topic):
                rows = [row for (name, _), row in sorted(self._image().partitions.items()) if name == topic]
                require(bool(rows), "RA-01.topic", E.UNKNOWN_TOPIC_OR_PARTITION)
                return {"leaders": {row.partition: (self._shown(command, row), row.leader_epoch) for row in rows}}

    async def _append(self, command: Command, topic: str, partition: int, batch: Batch) -> dict[str, Any]:
        if self._zones is not None:
            return await self._zones.produce(command, topic, partition, batch)
        return {"offset": await self._host.log((topic, partition)).append(batch)}

    async def _append_unanswered(self, command: Command, topic: str, partition: int, batch: Batch) -> None:
        """ZR-30. The append waits as any other does, and nobody learns of an error."""
        try:
            await self._append(command, topic, partition, batch)
        except (RefusedError, FailedError):
            return

    def _leader(self, command: Command, body: OfPartition) -> dict[str, object]:
        """The leader of a partition and its leader epoch, as far as this process knows them."""
        row = None if isinstance(body, FindLeaders) else self._image().partitions.get((body.topic, body.partition))
        return {} if row is None else {"leader": self._shown(command, row), "leader_epoch": row.leader_epoch}

    def _shown(self, command: Command, row: Partition) -> int:
        """The leader of a partition that a client is told."""
        return row.leader if self._zones is None else self._zones.shown_leader(command, row)
