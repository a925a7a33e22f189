"""The network of a move: each message takes the same time, and none is lost."""

from __future__ import annotations

from impl.sim.move.conditions import Conditions
from impl.sim.network import Link, Network
from impl.sim.queue import Action, Queue
from impl.sim.tape import Tape


class SteadyNetwork(Network):
    """A network in which messages and metadata take the times that the conditions give."""

    def __init__(self, queue: Queue, tape: Tape, conditions: Conditions) -> None:
        super().__init__(queue, tape, 0)
        self._conditions = conditions

    def send(self, link: Link, action: Action, *arguments: object) -> None:  # noqa: ARG002 - as its base
        """A message arrives after its time."""
        self._queue.at(self._queue.now + self._conditions.message, action, *arguments)

    def send_surely(
        self,
        link: Link,  # noqa: ARG002 - as its base
        delay: int,  # noqa: ARG002 - as its base
        action: Action,
        *arguments: object,
    ) -> None:
        """Committed metadata arrive after their time. ``delay``, which a run with faults draws, does not count."""
        self._queue.at(self._queue.now + self._conditions.metadata, action, *arguments)
