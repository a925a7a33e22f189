"""The clients of a run: each produces to partitions and reads them, one operation of its script after the other."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from impl.client.consumer import USUAL, WHOLE, Consumer
from impl.client.history import FINAL
from impl.client.node import ClientNode
from impl.client.producer import Producer
from impl.sim.partitions.metadata import TOPIC
from impl.sim.script import ScriptOperation

PATIENCE_MS = 40_000
"""How long a client repeats a request without success: longer than most moves and failovers take."""
TIMEOUT_MS = 15_000
"""How long a client waits for an answer. Longer than most pauses, so that paused processes may still answer."""


IN_FLIGHT, BURSTS, APART = 3, 3, 10_000
"""How many batches a client of a zone sends at once, in one of how many appends, and how far apart their values are.

They go to one partition over one connection, so that a main could take them in another order (I-9).
"""

UNANSWERED = 1
"""The place in a burst of the batch whose producer wants no answer, in some runs."""


class PartitionClient:
    """A client with its operations. ``ended``: whether it has done all of them; ``failed``: how many did not succeed.

    Every second client is an idempotent producer, and repeats sends of unknown outcome. The others do not repeat them,
    since the log might have the records twice. ``bursts``: whether these others send several batches at once now and
    then. ``unanswered``: whether they want no answer to the second batch of a burst.
    """

    def __init__(
        self,
        node: ClientNode,
        operations: Sequence[ScriptOperation],
        begin: int,
        phase: str | None = None,
        *,
        bursts: bool = False,
        unanswered: bool = False,
    ) -> None:
        self.ended = False
        self.failed = self.acks = 0
        self._node, self._begin, self._phase = node, begin, phase
        self._left = deque(operations)
        is_idempotent = node.number % 2 == 0
        # A producer has one batch of a partition in flight, so a burst needs one for each of its batches.
        self._producers = [
            Producer(
                node,
                idempotent=is_idempotent,
                producer_id=node.number if is_idempotent else -1,
                delivery_ms=PATIENCE_MS,
                acks=0 if unanswered and place == UNANSWERED else -1,
            )
            for place in range(IN_FLIGHT if bursts and not is_idempotent else 1)
        ]
        self._consumer = Consumer(node, patience_ms=PATIENCE_MS)
        self._ends: dict[int, int] = {}
        """By partition: the highest end of its log that the client has seen."""
        node.start(self._run())

    def give(self, operation: ScriptOperation) -> None:
        """Take one more operation, behind all others. The node begins with it when it gets its next input."""
        self._left.append(operation)
        if self.ended:
            self.ended = False
            self._node.start(self._run())

    async def _run(self) -> None:
        while self._left:
            operation = self._left.popleft()
            wait = self._begin + operation.at - self._node.now
            if wait > 0:
                await self._node.sleep(wait)
            self.failed += not await self._do(operation)
        self.ended = True

    async def _do(self, operation: ScriptOperation) -> bool:
        """Whether an operation has succeeded."""
        if operation.f == "append":
            sends = len(self._producers) if operation.value % BURSTS == 0 else 1
            ends = [self._node.start(self._send(operation, place)) for place in range(1, sends)]
            has_ended = [await self._send(operation, 0), *[await each.wait() for each in ends]]
            return all(has_ended)
        begin = int(operation.part * self._ends.get(operation.key, 0))
        # An oracle takes the end of a final poll for the end of the partition.
        most = WHOLE if self._phase == FINAL else USUAL
        page = await self._consumer.poll(
            *("client", TOPIC, operation.key, operation.key), begin=begin, most=most, phase=self._phase
        )
        if page is not None:
            self._see(operation.key, page.confirmed)
        return page is not None

    async def _send(self, operation: ScriptOperation, place: int) -> bool:
        """Send a batch of an append, and say whether it was acknowledged. ``place``: its place in the burst."""
        process = f"client{place}" if place else "client"
        offset = await self._producers[place].send(
            *(process, TOPIC, operation.key, operation.key, operation.value + place * APART, operation.count),
            phase=self._phase,
        )
        if offset is None:
            return not self._producers[place].answered
        self.acks += 1
        self._see(operation.key, offset + operation.count)
        return True

    def _see(self, partition: int, end: int) -> None:
        self._ends[partition] = max(end, self._ends.get(partition, 0))
