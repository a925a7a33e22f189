"""Client nodes in a world of real brokers with a real controller, over a network that loses requests and answers."""

from __future__ import annotations

import random
from typing import Any

from impl import wire
from impl.broker.messages import Command, CommandAnswer, Identity
from impl.client.history import History
from impl.client.messages import ConnectionLoss, ToBroker, Unreachable
from impl.client.node import ClientNode
from impl.tasks import Gate
from tests.impl.crash_world import Flight, Process, World

DELAY_MS = 3_000
"""The longest delay of a late message, in milliseconds. Clients stop waiting earlier."""
CLIENT = 1_000_000
"""The factor by which client numbers are multiplied, above all digits of a request's number."""


class ClientProcess(Process):
    """A process that runs a client node. It never crashes, and ignores the metadata since it is no broker."""

    def __init__(self, clients: Clients, node: ClientNode, place: int) -> None:
        self.world, self.identity, self.place = clients.world, Identity(-1, 0), place
        self.alive, self.paused, self.wake = True, False, None
        self._clients, self._node = clients, node

    def take(self, event: Any) -> None:
        """Let the node handle an input."""
        if isinstance(event, wire.LearnedBatches):
            return
        for output in self._node.handle(event, self.world.now):
            if isinstance(output, wire.Wake):
                self.wake = output.at
            elif isinstance(output, ToBroker):
                self._clients.send(self, output)
            else:
                self.world.flights.append(Flight(self, output, to_process=False))


class Clients:
    """A world with the brokers 1, 2 and 3, and client nodes. ``history``: what the clients have seen.

    ``losses``: the share of requests to brokers, and of their answers, that are lost or late. In half of the cases the
    client hears that the connection broke. ``world``: a world without processes; by default one with a store in memory.
    """

    def __init__(
        self, seed: int, losses: float, *, elects: bool = True, v6: bool = True, world: World | None = None
    ) -> None:
        self.world = World(v6=v6, elects=elects) if world is None else world
        self.brokers = dict(zip((1, 2, 3), self.world.serving(1, 2, 3), strict=True))
        self.history = History()
        self.losses = losses
        self.lost = 0
        """The numbers of lost and of late requests and answers."""
        self._draw = random.Random(seed)
        self._late: list[tuple[int, Flight]] = []
        """The late messages, each with the time of its arrival."""
        self._asked: set[tuple[int, int]] = set()
        """The unanswered requests to brokers: broker and number."""

    def client(self, name: str, timeout_ms: int = 1_000) -> ClientNode:
        """A new client node."""
        place = len(self.world.processes)
        node = ClientNode(name, self.history, (1, 2, 3), self.world.now, timeout_ms, number=place)
        self.world.processes.append(ClientProcess(self, node, place))
        return node

    def start(self, node: ClientNode, job: Any) -> Gate[Any]:
        """Start a task of a node, and let it run."""
        gate = node.start(job)
        self.world.processes[node.number].take(wire.WakeNotice())
        return gate

    def run(self, *gates: Gate[Any], ms: int = 300_000) -> None:
        """Run until these tasks have ended."""

        def ended() -> bool:
            self._pump()
            return all(gate.happened for gate in gates)

        self.world.run(ended, ms)

    def send(self, process: ClientProcess, output: ToBroker) -> None:
        """Carry a request to a broker."""
        broker, command = self.brokers[output.node], output.command
        if not broker.alive:
            self.world.flights.append(Flight(process, Unreachable(command.id), True))
            return
        # Test brokers keep their answers by number, so the number must be unique among all clients.
        number = command.to * CLIENT + command.id
        self._asked.add((output.node, number))
        self._carry(Flight(broker, Command(command.to, number, command.body), True), process, command.id)

    def _pump(self) -> None:
        """Deliver the brokers' answers and the late messages. Called after each step of the world."""
        for node, number in sorted(self._asked):
            done = self.brokers[node].done.pop(number, None)
            if done is not None:
                self._asked.remove((node, number))
                process = self.world.processes[done.to]
                answer = CommandAnswer(done.to, number % CLIENT, done.error, done.values)
                self._carry(Flight(process, answer, True), process, answer.id)
        now = self.world.now
        self.world.flights.extend(flight for at, flight in self._late if at <= now)
        self._late = [(at, flight) for at, flight in self._late if at > now]

    def _carry(self, flight: Flight, client: Process, number: int) -> None:
        """Deliver a request or its answer, or lose it: then the client hears a broken connection, or has to wait."""
        if self._draw.random() >= self.losses:
            self.world.flights.append(flight)
            return
        self.lost += 1
        if self._draw.random() < 0.5:
            self._late.append((self.world.now + int(self._draw.random() * DELAY_MS), flight))
        if self._draw.random() < 0.5:
            self.world.flights.append(Flight(client, ConnectionLoss(number), True))
