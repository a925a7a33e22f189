"""Real brokers and a real controller. The run chooses when their messages arrive.

No message is lost or duplicated, unless a broker itself repeats a request. The only disorder is that a message may be
held back, and may then arrive after newer ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from impl import wire
from impl.broker import messages as m
from impl.controller.node import Controller
from impl.controller.view import Profile
from impl.errors import E
from impl.metadata.image import Image
from tests.impl.crash_world import MINUTE, START, Flight, Process, World

TOPIC = "t"
OPERATOR = 1_000_000
"""The id of the operator's requests. One id is enough, because the operator sends one request at a time."""
KINDS: dict[str, type] = {
    "closes": wire.CloseStreams,
    "opens": wire.OpenStreams,
    "elections": wire.ElectLeader,
    "metadata": wire.LearnedBatches,
    "storage": m.StoreRequest,
}
"""The kinds of messages that can be held back, by name."""


class Cluster(World):
    """Brokers 1 to ``nodes`` and one controller. Partition 0 begins on broker 1, partition 1 on broker 2, and so on.

    ``handshake``: G0 or G1. ``v6``: fast close. ``threads``: the threads of a broker for opens, and those for closes.
    """

    def __init__(self, handshake: str, *, v6: bool, nodes: int, partitions: int, threads: int) -> None:
        super().__init__(v6=v6, elects=handshake == "G1", threads=threads)
        self.controller = Controller(Profile(v6=v6, handshake="G1" if handshake == "G1" else "G0"), now=START)
        self.nodes = tuple(range(1, nodes + 1))
        self.partitions = tuple(range(partitions))
        self.watchers: list[Callable[[], None]] = []
        """Called after each step."""
        self.holding: set[tuple[str, int]] = set()
        """The kinds of messages that are held back, each with the node that sends or receives them."""
        self.holds = self._is_held
        self._answer: wire.ItemAnswer | None = None
        self.brokers = dict(zip(self.nodes, self.serving(*self.nodes), strict=True))
        """The newest process of each node."""
        homes = tuple((self.nodes[number % nodes],) for number in self.partitions)
        assert self.operate(wire.CreateTopic(TOPIC, homes, elastic=True)).error is E.NONE
        # From now on a broker that fails is old enough to be replaced (FO-01).
        self.rest(MINUTE + 1)

    # Steps ------------------------------------------------------------------------------------------------------

    def deliver(self, count: int) -> None:
        """Deliver at most ``count`` messages. No time passes."""
        while count and self.flights:
            self._step()
            count -= 1

    def operate(self, body: wire.Body) -> wire.ItemAnswer:
        """Send a request of the operator to the controller, which answers at once."""
        self.control(wire.Request(0, OPERATOR, body))
        answer = self._answer
        assert answer is not None, "the controller commits at once, and answers"
        self._watch()
        return answer

    def hold(self, kind: str, node: int) -> None:
        """Hold back the messages of a kind that a node sends or receives."""
        self.holding.add((kind, node))

    def let_go(self, kind: str, node: int) -> None:
        """Stop holding back the messages of a kind; the held ones arrive next."""
        self.holding.discard((kind, node))
        self._send_on([flight for flight in self.held if self._name(flight) == (kind, node)])

    def let_one_go(self, place: int) -> None:
        """Deliver one held message now, before messages that were sent earlier. ``place``: its number, modulo.

        Metadata must arrive in order, so instead of chosen metadata the oldest held metadata of that process arrive.
        """
        if not self.held:
            return
        flight = self.held[place % len(self.held)]
        if isinstance(flight.message, wire.LearnedBatches):
            flight = next(
                each
                for each in self.held
                if each.process is flight.process and isinstance(each.message, wire.LearnedBatches)
            )
        self.held = [each for each in self.held if each is not flight]
        holds, self.holds = self.holds, lambda _: False
        self.flights.appendleft(flight)
        self._step()
        self.holds = holds

    def let_all_go(self) -> None:
        """Stop holding back messages; all held ones arrive next."""
        self.holding.clear()
        self._send_on(self.held)

    # Processes --------------------------------------------------------------------------------------------------

    def crash(self, node: int) -> None:
        """End the process of a node, if it is alive. The messages that it has sent still arrive."""
        if self.brokers[node].alive:
            self.brokers[node].crash()

    def restart(self, node: int) -> None:
        """Start the next process of a node, unless one is alive. It has a larger node epoch."""
        before = self.brokers[node]
        if not before.alive:
            self.brokers[node] = self.begin(node, epoch=max(self.now, before.identity.epoch + 1))

    @property
    def alive(self) -> list[int]:
        """The nodes with a living process."""
        return [node for node in self.nodes if self.brokers[node].alive]

    # ------------------------------------------------------------------------------------------------------------

    def _step(self) -> None:
        super()._step()
        self._watch()

    def _watch(self) -> None:
        for watcher in self.watchers:
            watcher()

    def _send(self, process: Process, message: Any) -> None:
        if isinstance(message, wire.Reply) and message.id == OPERATOR:
            (self._answer,) = message.answers
        else:
            super()._send(process, message)

    def _name(self, flight: Flight) -> tuple[str, int] | None:
        """The kind of a message, with its node; None if messages of this kind are never held back."""
        message = flight.message.body if isinstance(flight.message, wire.Request) else flight.message
        names = (name for name, kind in KINDS.items() if isinstance(message, kind))
        return next(((name, flight.process.identity.node) for name in names), None)

    def _is_held(self, flight: Flight) -> bool:
        return bool(self.holding) and self._name(flight) in self.holding

    def _send_on(self, flights: list[Flight]) -> None:
        gone = {id(each) for each in flights}
        self.held = [each for each in self.held if id(each) not in gone]
        self.flights.extendleft(reversed(flights))


def streams_of(image: Image, partition: int) -> list[int]:
    """The streams that are tagged with a partition."""
    wanted = {"topic": TOPIC, "partition": str(partition)}
    return [
        stream
        for stream, row in image.streams.items()
        if wanted.items() <= {tag.key: tag.value for tag in row.tags}.items()
    ]
