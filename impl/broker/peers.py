"""Requests to other brokers. Nothing is repeated: whoever asks decides what the lack of an answer means."""

from __future__ import annotations

from impl.broker.messages import PeerBody, PeerLoss, PeerRequest, PeerResult
from impl.tasks import FailedError, Gate, Tasks, TimedOutError


class SilentPeerError(FailedError):
    """Another broker has not answered. Whether the request had an effect is unknown."""


class Peers:
    """The requests of a process to other brokers that are under way."""

    def __init__(self, tasks: Tasks) -> None:
        self._tasks = tasks
        self._numbers = 0
        self._waiting: dict[int, Gate[PeerResult]] = {}

    async def ask(self, node: int, body: PeerBody, ms: int) -> PeerResult:
        """Send a request to the broker of a node, and wait ``ms`` milliseconds. Raises SilentPeerError."""
        self._numbers += 1
        number = self._numbers
        gate = self._waiting[number] = Gate[PeerResult](self._tasks)
        self._tasks.outputs.append(PeerRequest(node, number, body))
        try:
            return await gate.wait(ms)
        except TimedOutError:
            del self._waiting[number]
            raise SilentPeerError(f"node {node} has not answered") from None

    def take(self, event: PeerResult | PeerLoss) -> None:
        """An answer comes, or a connection breaks. What comes too late is ignored."""
        gate = self._waiting.pop(event.id, None)
        if gate is None:
            return
        if isinstance(event, PeerLoss):
            gate.fail(SilentPeerError("the connection broke"))
        else:
            gate.open(event)
