"""Real brokers and a real controller, whose messages arrive in the steps that a run chooses.

Nothing is lost and nothing comes twice, unless a broker itself repeats a request. A message may be held back, and a
held message may arrive after younger ones: that is all the disorder there is.
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
"""The number of the requests of the operator, who asks one thing at a time."""
KINDS: dict[str, type] = {
    "closes": wire.CloseStreams,
    "opens": wire.OpenStreams,
    "elections": wire.ElectLeader,
    "metadata": wire.Learned,
    "storage": m.StoreRequest,
}
"""The kinds of messages that can be held back, by name."""


class Cluster(World):
    """Brokers 1 to ``nodes`` and one controller. Partition 0 begins on broker 1, partition 1 on broker 2, and so on.

    ``handshake``: G0 or G1. ``v6``: fast close. ``threads``: of the opens of a broker, and of its closes.
    """

    def __init__(self, handshake: str, *, v6: bool, nodes: int, partitions: int, threads: int) -> None:
        super().__init__(v6=v6, elects=handshake == "G1", threads=threads)
        self.controller = Controller(Profile(v6=v6, handshake="G1" if handshake == "G1" else "G0"), now=START)
        self.nodes = tuple(range(1, nodes + 1))
        self.partitions = tuple(range(partitions))
        self.watchers: list[Callable[[], None]] = []
        """Called after each step."""
        self.holding: set[tuple[str, int]] = set()
        """The kinds of messages that do not arrive for now, each with the node that sends or gets them."""
        self.holds = self._is_held
        self._answer: wire.Answer | None = None
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

    def operate(self, body: wire.Body) -> wire.Answer:
        """The operator asks the controller, and is answered at once."""
        self.control(wire.Request(0, OPERATOR, body))
        answer = self._answer
        assert answer is not None, "the controller commits at once, and answers"
        self._watch()
        return answer

    def hold(self, kind: str, node: int) -> None:
        """Hold the messages of a kind back, to or from a node."""
        self.holding.add((kind, node))

    def let_go(self, kind: str, node: int) -> None:
        """Hold the messages of a kind back no more; those that were held arrive next."""
        self.holding.discard((kind, node))
        self._send_on([flight for flight in self.held if self._name(flight) == (kind, node)])

    def let_one_go(self, place: int) -> None:
        """One message that is held arrives now, before those that were sent earlier. Metadata arrive in their order."""
        if not self.held:
            return
        flight = self.held[place % len(self.held)]
        if isinstance(flight.message, wire.Learned):
            flight = next(
                each for each in self.held if each.process is flight.process and isinstance(each.message, wire.Learned)
            )
        self.held = [each for each in self.held if each is not flight]
        holds, self.holds = self.holds, lambda _: False
        self.flights.appendleft(flight)
        self._step()
        self.holds = holds

    def let_all_go(self) -> None:
        """Hold nothing back any more."""
        self.holding.clear()
        self._send_on(self.held)

    # Processes --------------------------------------------------------------------------------------------------

    def crash(self, node: int) -> None:
        """The process of a node is gone. What it has sent is still on its way."""
        if self.brokers[node].alive:
            self.brokers[node].crash()

    def restart(self, node: int) -> None:
        """The next process of a node starts, unless one is alive."""
        before = self.brokers[node]
        if not before.alive:
            self.brokers[node] = self.begin(node, epoch=max(self.now, before.identity.epoch + 1))

    @property
    def alive(self) -> list[int]:
        """The nodes with a process."""
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
        """The kind of a message with its node; None if its kind is never held back."""
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
    """The streams of a partition: those that are tagged with it."""
    wanted = {"topic": TOPIC, "partition": str(partition)}
    return [
        stream
        for stream, row in image.streams.items()
        if wanted.items() <= {tag.key: tag.value for tag in row.tags}.items()
    ]
