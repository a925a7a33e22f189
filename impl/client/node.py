"""A client node: its tasks send requests to brokers and to the controller, and wait for answers.

A node does not know the network. Its driver carries requests, and reports if the receiver is gone or if the connection
broke. A request has one result: the first answer or failure that comes in time. Later ones are ignored.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from impl import wire
from impl.broker.messages import Command, CommandAnswer, CommandBody
from impl.client.history import History
from impl.client.leaders import Leaders
from impl.client.messages import ConnectionLoss, Input, Output, Timeout, ToBroker, Unreachable
from impl.client.recorder import Recorder
from impl.tasks import Gate, Job, Place, T, Tasks, TimedOutError


class ClientNode:
    """``name``: the name of this node in the history. ``number``: its number in requests.

    ``brokers``: the nodes that it asks for leaders. ``client_id``: what it calls itself, which may name its zone.

    ``timeout_ms``: how long the node waits for an answer.
    """

    def __init__(
        self,
        name: str,
        history: History,
        brokers: Sequence[int],
        now: int = 0,
        timeout_ms: int = 30_000,
        *,
        number: int = 0,
        client_id: str = "",
    ) -> None:
        self.name, self.number, self.brokers, self.timeout_ms = name, number, tuple(brokers), timeout_ms
        self._client_id = client_id
        self.leaders = Leaders()
        self.tasks = Tasks(now)
        self.recorder = Recorder(name, history, self.tasks)
        self._requests = 0
        self._waiting: dict[int, Gate[Any]] = {}
        """The requests without a result, by id."""
        self._turn = 0
        self._wake = -1
        """The time of the ``Wake`` that the driver has; -1 if it has none."""

    # For drivers ------------------------------------------------------------------------------------------------

    def handle(self, event: Input, now: int) -> list[Output]:
        """Handle an input at the time ``now``, in milliseconds. Returns the outputs, in order."""
        if isinstance(event, wire.WakeNotice):
            self._wake = -1
        else:
            gate = self._waiting.pop(event.id, None)
            if gate is not None:
                gate.open(event)
        outputs: list[Output] = self.tasks.run(now)
        due = self.tasks.due
        # The driver has one ``Wake``, so another one is sent only if its time changes.
        if due is not None and due != self._wake:
            self._wake = due
            outputs.append(wire.Wake(due))
        return outputs

    def start(self, job: Job[T]) -> Gate[T]:
        """Start a task, which runs when the node handles its next input. The gate opens with its result."""
        return self.tasks.start(job)

    def places(self) -> list[list[Place]]:
        """Where each task waits, the innermost await last."""
        return self.tasks.places()

    def crash(self) -> None:
        """End all tasks at their awaits."""
        self.tasks.crash()

    # For tasks --------------------------------------------------------------------------------------------------

    @property
    def now(self) -> int:
        """The time of the last input, in milliseconds."""
        return self.tasks.now

    async def sleep(self, ms: int) -> None:
        """Wait for a number of milliseconds."""
        await self.tasks.sleep(ms)

    async def ask(
        self, node: int, body: CommandBody, ms: int | None = None
    ) -> CommandAnswer | Unreachable | ConnectionLoss | Timeout:
        """Send a command to the broker of a node. ``ms``: how long to wait; None for ``timeout_ms``."""
        number = self._next()
        self.tasks.outputs.append(ToBroker(node, Command(self.number, number, body, self._client_id)))
        result: CommandAnswer | Unreachable | ConnectionLoss | Timeout = await self._result(number, ms)
        return result

    async def request(self, body: wire.Body) -> wire.Reply | Unreachable | ConnectionLoss | Timeout:
        """Send a request to the controller that leads."""
        number = self._next()
        self.tasks.outputs.append(wire.Request(self.number, number, body))
        result: wire.Reply | Unreachable | ConnectionLoss | Timeout = await self._result(number)
        return result

    def next_broker(self) -> int:
        """The next broker to ask for leaders; the brokers take turns."""
        self._turn += 1
        return self.brokers[(self._turn - 1) % len(self.brokers)]

    async def _result(self, number: int, ms: int | None = None) -> Any:
        gate = self._waiting[number] = Gate[Any](self.tasks)
        try:
            return await gate.wait(self.timeout_ms if ms is None else ms)
        except TimedOutError:
            del self._waiting[number]
            return Timeout(number)

    def _next(self) -> int:
        self._requests += 1
        return self._requests
