"""Clients of streams, and the director that hands streams over between brokers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from impl.broker.messages import CommandAnswer
from impl.broker.wal_format import WalRecord
from impl.metadata.log import MetadataBatch
from impl.sim import script
from impl.sim.catalog import Catalog
from impl.sim.clients import StreamClient
from impl.sim.director import Director
from impl.sim.heal import StreamHealing
from impl.sim.load import Parts
from impl.sim.process import Process
from impl.sim.script import ScriptOperation
from impl.wire import Reply


class StreamLoad:
    """The clients do the operations of the script one after the other; moves happen at their times."""

    def __init__(self, parts: Parts) -> None:
        self.catalog = Catalog()
        self.clients: dict[int, StreamClient] = {}
        """By number, from 1 on. Number 0 is the director."""
        self._parts = parts
        options = parts.options
        self.director = Director(
            *(parts.queue, parts.tape, parts.fleet, self.catalog, parts.history), options.profile.as_built
        )
        made = script.make(
            parts.seed,
            clients=options.clients,
            streams=options.streams,
            operations=options.operations,
            span_ms=options.span_ms,
        )
        self.script: Sequence[ScriptOperation] = made if options.operations_of is None else options.operations_of
        self._in_script: dict[int, StreamClient] = {}
        """By number in the script."""

    def set_up(self) -> None:
        """Create the streams that exist before the script."""
        options = self._parts.options
        keys = range(options.streams)
        self._parts.wait(lambda: len(self.director.active()) == options.brokers)
        self._spawn([ScriptOperation(0, 0, "create", key) for key in keys], "setup")
        self._parts.wait(lambda: all(self.director.is_open(key) for key in keys))

    def begin(self) -> None:
        """Begin with the script: operations of clients one after the other, moves at their times."""
        begin = self._parts.queue.now
        by_client: dict[int, list[ScriptOperation]] = {}
        for operation in self.script:
            if operation.f == "move":
                self._parts.queue.at(begin + operation.at, self.director.move, operation.key, operation.hop)
            else:
                by_client.setdefault(operation.client, []).append(operation)
        self._in_script = {number: self._client(by_client[number], begin) for number in sorted(by_client)}

    def give(self, operation: ScriptOperation) -> None:
        """Let a client do one more operation, or the director begin a move."""
        if operation.f == "move":
            self.director.move(operation.key, operation.hop)
        elif operation.client in self._in_script:
            self._in_script[operation.client].give(operation)
        else:
            self._in_script[operation.client] = self._client([operation], self._parts.queue.now)

    def has_ended(self) -> bool:
        """Whether all clients of the script have done their operations."""
        return all(each.ended for each in self._in_script.values())

    def heal(self) -> str:
        """Run the heal phase. Returns the condition that fails, "" if none does."""
        parts = self._parts
        clients = list(self._in_script.values())
        return StreamHealing(
            *(parts.queue, parts.cluster, self.director, self.catalog, clients, self._spawn, parts.advance),
            more_moves=parts.options.more_moves,
        ).run()

    def counts(self) -> dict[str, int]:
        """The numbers of acknowledged appends and of hand-overs, by name."""
        return {
            "acks": sum(entry.acks for _, entry in sorted(self.catalog.entries.items())),
            "handovers": self.director.handovers,
        }

    def keys(self) -> dict[int, int]:
        """The keys of the streams that were created."""
        return {entry.stream: key for key, entry in self.catalog.entries.items() if entry.stream >= 0}

    def sends(self, record: WalRecord) -> list[tuple[int, int, int]]:
        """Each record holds one send."""
        return [(record.base, record.count, int(record.payload))]

    def learn(self, batches: tuple[MetadataBatch, ...]) -> None:
        """The director reads the states of brokers."""
        self.director.learn(batches)

    def done(self, process: Process, done: CommandAnswer) -> None:
        """An answer goes to the client, or to the director."""
        if done.to:
            self.clients[done.to].receive(done)
        else:
            self.director.answered(process, done)

    def reply(self, sender: Any, reply: Reply) -> None:
        """Hand the answer of a controller to the broker that has asked; clients of streams ask no controller."""
        self._parts.fleet.reply(sender, reply)

    def started(self, process: Process) -> None:
        """The director gives the process the streams of its node."""
        self.director.started(process)

    def ended(self, process: Process, *, noticed: bool) -> None:
        """The clients of the process notice its end, or do not."""
        if noticed:
            for client in self.clients.values():
                client.reset(process)

    def _spawn(self, operations: list[ScriptOperation], phase: str) -> StreamClient:
        return self._client(operations, self._parts.queue.now, phase)

    def _client(self, operations: list[ScriptOperation], begin: int, phase: str | None = None) -> StreamClient:
        parts, number = self._parts, len(self.clients) + 1
        client = self.clients[number] = StreamClient(
            *(number, operations, parts.queue, parts.fleet, self.catalog, self.director, parts.history),
            begin=begin,
            phase=phase,
        )
        client.begin()
        return client
