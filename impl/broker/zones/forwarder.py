"""How a proxy sends batches to mains: the batches of about the same time share requests (ZR-22 to ZR-24, ZR-27)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from impl.broker.messages import RouteBatches
from impl.broker.peers import Peers, SilentPeerError
from impl.broker.zones.channel import StoredBlock
from impl.errors import E
from impl.tasks import Gate, Tasks
from impl.zone import forwarding
from impl.zone.encodings import Forward

LINGER_MS = 1
"""How long a batch waits for others to the same main: not 100 µs, since the clock of a node counts milliseconds."""
TIMEOUT_MS = 30_000


class ItemResult(msgspec.Struct, frozen=True):
    """What the producer of a batch is told: an error, and the values of the answer."""

    error: E
    values: dict[str, Any] = msgspec.field(default_factory=dict)


class Forwarder:
    """The batches on their way from the proxy ``node`` to mains."""

    def __init__(self, tasks: Tasks, peers: Peers, node: int) -> None:
        self._tasks, self._peers, self._node = tasks, peers, node
        self._queues: dict[int, list[tuple[StoredBlock, Gate[ItemResult]]]] = {}
        """By main: the batches that wait for their request."""

    async def forward(self, main: int, stored: StoredBlock) -> ItemResult:
        """Send a batch to its main. Returns what its producer is told."""
        gate: Gate[ItemResult] = Gate(self._tasks)
        queue = self._queues.setdefault(main, [])
        queue.append((stored, gate))
        if len(queue) == 1:
            self._tasks.start(self._flush(main))
        return await gate.wait()

    async def _flush(self, main: int) -> None:
        await self._tasks.sleep(LINGER_MS)
        items = self._queues.pop(main)
        for epoch, _ in forwarding.requests([stored.epoch for stored, _ in items]):
            # One task a request, so that a slow answer holds up no later request.
            self._tasks.start(self._send(main, epoch, [each for each in items if each[0].epoch == epoch]))

    async def _send(self, main: int, epoch: int, items: Sequence[tuple[StoredBlock, Gate[ItemResult]]]) -> None:
        data = Forward(self._node, tuple(stored.offset for stored, _ in items)).encode()
        answers: list[tuple[str, dict[str, Any]]] = []
        error, lost = E.NONE, False
        try:
            result = await self._peers.ask(main, RouteBatches(epoch, data), TIMEOUT_MS)
            error, answers = result.error, result.values.get("answers", [])
        except SilentPeerError:
            lost = True
        told = forwarding.producer_errors(len(items), error.name, [name for name, _ in answers], lost=lost)
        for place, ((_, gate), name) in enumerate(zip(items, told, strict=True)):
            gate.open(ItemResult(E[name], answers[place][1] if place < len(answers) else {}))
