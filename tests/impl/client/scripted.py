"""A client node whose requests a test answers by hand."""

from __future__ import annotations

from collections import deque
from typing import Any

from impl import wire
from impl.broker.messages import CommandAnswer, FindLeaders
from impl.client.history import History, Op
from impl.client.messages import ConnectionLoss, Input, ToBroker, Unreachable
from impl.client.node import ClientNode
from impl.errors import E
from impl.tasks import Gate

TOPIC = "t"


class Script:
    """A node that knows the brokers 1, 2 and 3. ``sent``: its requests that the test has not taken yet."""

    def __init__(self, *, timeout_ms: int = 1_000) -> None:
        self.history = History()
        self.node = ClientNode("c", self.history, (1, 2, 3), timeout_ms=timeout_ms, number=7)
        self.now = 0
        self.sent: deque[ToBroker | wire.Request] = deque()
        self._wake: int | None = None

    def start(self, job: Any) -> Gate[Any]:
        """Start a task, and run it until it waits."""
        gate = self.node.start(job)
        self.take(wire.WakeNotice())
        return gate

    def take(self, event: Input) -> None:
        """Let the node handle an input."""
        for output in self.node.handle(event, self.now):
            if isinstance(output, wire.Wake):
                self._wake = output.at
            else:
                self.sent.append(output)

    def pass_time(self) -> int:
        """Let time pass until the node sends a request or waits for nothing. Returns the time that has passed."""
        begun = self.now
        while not self.sent and self._wake is not None:
            self.now, self._wake = max(self.now, self._wake), None
            self.take(wire.WakeNotice())
        return self.now - begun

    def next(self) -> Any:
        """Take the next request that the node has sent."""
        assert self.sent, "the node has sent nothing"
        return self.sent.popleft()

    def answer(self, request: Any, error: E = E.NONE, **values: Any) -> None:
        """Answer a request as a broker or the controller."""
        if isinstance(request, ToBroker):
            self.take(CommandAnswer(request.command.to, request.command.id, error, values))
        else:
            self.take(wire.Reply(request.to, request.id, (wire.ItemAnswer(error, values),)))

    def lose(self, request: Any) -> None:
        """Break the connection of a request: its outcome is unknown."""
        self.take(ConnectionLoss(number(request)))

    def refuse(self, request: Any) -> None:
        """Refuse the connection of a request: it had no effect."""
        self.take(Unreachable(number(request)))

    def lead(self, leader: int, epoch: int, partition: int = 0) -> None:
        """Answer the node's question for the leader of a partition."""
        asked = self.next()
        assert asked.command.body == FindLeaders(TOPIC)
        self.answer(asked, leaders={partition: (leader, epoch)})

    @property
    def ends(self) -> list[Op]:
        """The ends of the operations in the history."""
        return [op for op in self.history.ops if op.kind != "invoke"]


def number(request: Any) -> int:
    """The id of a request."""
    found: int = request.command.id if isinstance(request, ToBroker) else request.id
    return found
