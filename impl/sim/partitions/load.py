"""Partitions in a run: producers and consumers with a script, and operators who move partitions meanwhile."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from impl.broker.messages import CommandAnswer
from impl.broker.wal_format import WalRecord
from impl.client.admin import Admin
from impl.client.node import ClientNode
from impl.metadata.log import MetadataBatch
from impl.sim.load import Parts
from impl.sim.partitions import script
from impl.sim.partitions.clients import TIMEOUT_MS, PartitionClient
from impl.sim.partitions.connections import Connections
from impl.sim.partitions.heal import PartitionHealing
from impl.sim.partitions.metadata import TOPIC, Metadata
from impl.sim.partitions.operators import Operators
from impl.sim.process import Process
from impl.sim.script import ScriptOperation
from impl.sim.storage import sends_of
from impl.sim.zones import client_id, takes_shortcuts
from impl.wire import Reply, WakeNotice


class PartitionLoad:
    """Clients and operators of partitions. ``connections``: by number of the client node; 1 is the operators'."""

    def __init__(self, parts: Parts) -> None:
        self.metadata = Metadata()
        self.connections: dict[int, Connections] = {}
        self._parts = parts
        options = parts.options
        made = script.make(
            parts.seed,
            clients=options.clients,
            partitions=options.partitions,
            operations=options.operations,
            span_ms=options.span_ms,
        )
        self.script: Sequence[ScriptOperation] = made if options.operations_of is None else options.operations_of
        self._clients: list[PartitionClient] = []
        self._in_script: dict[int, tuple[PartitionClient, Connections]] = {}
        """By number in the script: each client and its links."""
        self._operator = self._connect("operators")
        self._operators = Operators(self._operator.node, self.metadata)
        self._later = 0
        """The number of operations of operators that have not begun."""

    # Phases -------------------------------------------------------------------------------------------------------

    def set_up(self) -> None:
        """Create the topic, and spread its partitions over the brokers."""
        options = self._parts.options
        nodes = range(1, options.brokers + 1)
        self._parts.wait(lambda: len(self.metadata.active()) == options.brokers)
        homes = [nodes[number % len(nodes)] for number in range(options.partitions)]
        operator = self._operator
        operator.node.start(Admin(operator.node, lambda _, key: key).create_topic("setup", TOPIC, homes))
        operator.deliver(WakeNotice())
        self._parts.wait(lambda: all(map(self.metadata.is_settled, range(options.partitions))))

    def begin(self) -> None:
        """Begin with the script: operations of clients one after the other, those of operators at their times."""
        begin = self._parts.queue.now
        by_client: dict[int, list[ScriptOperation]] = {}
        for operation in self.script:
            if operation.client == script.OPERATOR:
                self._later += 1
                self._parts.queue.at(begin + operation.at, self._begin_later, operation)
            else:
                by_client.setdefault(operation.client, []).append(operation)
        self._in_script = {number: self._client(by_client[number], begin, None) for number in sorted(by_client)}

    def give(self, operation: ScriptOperation) -> None:
        """Let a client do one more operation, or an operator begin a request."""
        if operation.client == script.OPERATOR:
            self._ask(operation)
        elif operation.client in self._in_script:
            client, connections = self._in_script[operation.client]
            client.give(operation)
            connections.deliver(WakeNotice())
        else:
            self._in_script[operation.client] = self._client([operation], self._parts.queue.now, None)

    def has_ended(self) -> bool:
        """Whether all clients and operators of the script have done their operations."""
        done = all(client.ended for client, _ in self._in_script.values())
        return not self._later and not self._operators.busy and done

    def heal(self) -> str:
        """Run the heal phase. Returns the condition that fails, "" if none does."""
        clients = [client for client, _ in self._in_script.values()]
        return PartitionHealing(self._parts, self.metadata, self._operators, clients, self._spawn, self._ask).run()

    def counts(self) -> dict[str, int]:
        """Acknowledged appends, changes of leaders, and accepted requests of operators."""
        accepted = self._operators.accepted
        return {
            "acks": sum(each.acks for each in self._clients),
            "handovers": self.metadata.handovers,
            **{name: accepted[name] for name in ("moves", "cancels", "elections asked for")},
        }

    # Clients ------------------------------------------------------------------------------------------------------

    def _begin_later(self, operation: ScriptOperation) -> None:
        self._later -= 1
        self._ask(operation)

    def _ask(self, operation: ScriptOperation) -> None:
        self._operators.begin(operation)
        self.connections[1].deliver(WakeNotice())

    def _spawn(self, operations: Sequence[ScriptOperation], phase: str) -> PartitionClient:
        return self._client(operations, self._parts.queue.now, phase)[0]

    def _client(
        self, operations: Sequence[ScriptOperation], begin: int, phase: str | None
    ) -> tuple[PartitionClient, Connections]:
        connections = self._connect(f"c{len(self.connections)}")
        bursts = self._parts.options.zones > 0 and phase is None
        unanswered = bursts and takes_shortcuts(self._parts.seed)
        client = PartitionClient(connections.node, operations, begin, phase, bursts=bursts, unanswered=unanswered)
        self._clients.append(client)
        connections.deliver(WakeNotice())
        return client, connections

    def client_node(self, name: str) -> ClientNode:
        """A client node without operations."""
        return self._connect(name).node

    def wake(self, node: ClientNode) -> None:
        """Let a node begin with the tasks that were started in it."""
        self.connections[node.number].deliver(WakeNotice())

    def _connect(self, name: str) -> Connections:
        parts, number = self._parts, len(self.connections) + 1
        brokers = range(1, parts.options.brokers + 1)
        said = client_id(number, parts.options.zones)
        node = ClientNode(name, parts.history, brokers, parts.queue.now, TIMEOUT_MS, number=number, client_id=said)
        connections = Connections(node, parts.queue, parts.network, parts.fleet, parts.cluster, parts.traffic)
        self.connections[number] = connections
        return connections

    # What other parts tell the load ---------------------------------------------------------------------------------

    def keys(self) -> dict[int, int]:
        """The streams of each partition that the metadata have."""
        partitions = range(self._parts.options.partitions)
        return {stream: number for number in partitions for stream in self.metadata.streams(number)}

    def sends(self, record: WalRecord) -> list[tuple[int, int, int]]:
        """The sends in a batch. A record of the meta stream or of an index holds none."""
        return sends_of(record)

    def learn(self, batches: tuple[MetadataBatch, ...]) -> None:
        """Operators read the metadata."""
        self.metadata.learn(batches)

    def done(self, process: Process, done: CommandAnswer) -> None:  # noqa: ARG002 - the shape of a Load
        """An answer goes to its client."""
        self.connections[done.to].done(done)

    def reply(self, sender: Any, reply: Reply) -> None:
        """Brokers and client nodes ask controllers."""
        if isinstance(sender, Connections):
            sender.replied(reply)
        else:
            self._parts.fleet.reply(sender, reply)

    def started(self, process: Process) -> None:
        """Nothing to do: the metadata say what a new process serves."""

    def ended(self, process: Process, *, noticed: bool) -> None:
        """The clients of the process notice its end, or do not."""
        if noticed:
            for each in self.connections.values():
                each.reset(process)
