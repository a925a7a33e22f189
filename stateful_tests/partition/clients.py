"""The clients of a cluster, and the history of their operations.

A partition has one plain producer, two idempotent producers, and one reader. An idempotent producer sends a batch
again, to any broker, until a broker confirms it. A plain producer never does: if the outcome of its batch is unknown,
another producer takes its place.

Times in the history are those of the cluster, increased where needed so that no two are equal.
"""

from __future__ import annotations

import msgspec

from impl.broker import messages as m
from impl.client.history import Ending, History
from impl.errors import E
from impl.oracles.judge import judge
from stateful_tests.partition.broken import BrokenError, claim
from stateful_tests.partition.cluster import TOPIC, Cluster
from tests.impl.crash_world import Process

UNKNOWN = frozenset({E.REQUEST_TIMED_OUT})
"""The answers after which it is unknown whether a batch was appended."""
WRONG = frozenset({E.OUT_OF_ORDER_SEQUENCE_NUMBER, E.INVALID_PRODUCER_EPOCH})
"""The answers that an idempotent producer must never get for the batch after its last confirmed one."""


class Batch(msgspec.Struct):
    """A batch of a producer. ``index``: the index of its operation in the history."""

    index: int
    value: int
    count: int
    sequence: int
    offset: int | None = None
    """Its offset; None until a broker confirms it."""


class Attempt(msgspec.Struct):
    """A command that was sent to a process and is not answered.

    ``batch``: the producer's batch, or None for a read. ``index``: the index of the operation in the history.
    """

    process: Process
    number: int
    batch: Batch | None
    index: int


class Client:
    """A producer or a reader of one partition."""

    def __init__(self, partition: int, kind: str) -> None:
        self.partition, self.kind = partition, kind
        self.number = 0
        """The number of clients that had this place before."""
        self.batch: Batch | None = None
        """The newest batch."""
        self.attempts: list[Attempt] = []

    @property
    def name(self) -> str:
        """The name of the process in the history."""
        return f"{self.kind} {self.partition}.{self.number}"

    @property
    def waits(self) -> bool:
        """Whether the newest batch has neither an offset nor a refusal."""
        return self.batch is not None and self.batch.offset is None


class Clients:
    """All clients. ``check`` is called after each step of the cluster: it records answers and asks the oracles."""

    def __init__(self, cluster: Cluster) -> None:
        self.history = History()
        self.producers = [
            Client(number, kind) for number in cluster.partitions for kind in ("plain", "first", "second")
        ]
        self.readers = [Client(number, "reader") for number in cluster.partitions]
        self._cluster = cluster
        self._values = 0
        self._at = 0
        self._judged = 0

    # Commands ---------------------------------------------------------------------------------------------------

    def send(self, client: Client, node: int, count: int = 1) -> None:
        """Send a new batch, or the newest one again if its producer is idempotent and still waits for a broker."""
        if client.waits and client.kind == "plain":
            return
        if not client.waits:
            before, self._values = client.batch, self._values + 1
            sequence = 0 if before is None else before.sequence + before.count
            key, value = client.partition, self._values
            index = self.history.invoke(client.name, "send", key, value, self._time(), count=count)
            client.batch = Batch(index, value, count, sequence)
        self._produce(client, node)

    def repeat(self, client: Client, node: int) -> None:
        """Send the newest batch of an idempotent producer again, even if it is confirmed."""
        if client.batch is not None and client.kind != "plain":
            self._produce(client, node)

    def read(self, client: Client, node: int, begin: int, phase: str | None = None) -> None:
        """Read a partition from an offset on, unless the reader still waits or the broker is dead."""
        process = self._cluster.brokers[node]
        if client.attempts or not process.alive:
            return
        key = client.partition
        index = self.history.invoke(client.name, "poll", key, None, self._time(), offset=begin, phase=phase)
        number = process.send(m.Consume(TOPIC, client.partition, begin))
        client.attempts.append(Attempt(process, number, None, index))

    def end(self, partition: int) -> int:
        """The offset after the last confirmed batch of a partition."""
        batches = (each.batch for each in self.producers if each.partition == partition)
        ends = (each.offset + each.count for each in batches if each is not None and each.offset is not None)
        return max(ends, default=0)

    def _produce(self, client: Client, node: int) -> None:
        batch, process = client.batch, self._cluster.brokers[node]
        assert batch is not None, "a producer has a batch"
        values = tuple(f"{batch.value} {place}".encode() for place in range(batch.count))
        numbers: dict[str, int] = {}
        if client.kind != "plain":
            producer = 2 * client.partition + (client.kind == "second")
            numbers = {"producer": producer, "producer_epoch": 0, "sequence": batch.sequence}
        if process.alive:
            number = process.send(m.Produce(TOPIC, client.partition, values, **numbers))
            client.attempts.append(Attempt(process, number, batch, batch.index))
        elif client.kind == "plain":
            self._fail(client, batch, E.NOT_LEADER_OR_FOLLOWER)

    # Answers ----------------------------------------------------------------------------------------------------

    def check(self) -> None:
        """Record the answers that have arrived, and judge the history if it has changed. Raises BrokenError."""
        for client in (*self.producers, *self.readers):
            for attempt in tuple(client.attempts):
                done = attempt.process.done.get(attempt.number)
                if done is None and attempt.process.alive:
                    continue
                client.attempts.remove(attempt)
                if attempt.batch is None:
                    self._end_read(attempt, done)
                else:
                    self._end_send(client, attempt, attempt.batch, done)
        if len(self.history.ops) != self._judged:
            self._judged = len(self.history.ops)
            self.judge()

    def judge(self) -> None:
        """Judge the history with all oracles. Raises BrokenError for a violation."""
        verdict = judge(self.history)
        assert verdict.error is None, verdict.error
        for violation in verdict.violations:
            raise BrokenError(violation.oracle, violation.message)

    def _end_send(self, client: Client, attempt: Attempt, batch: Batch, done: m.CommandAnswer | None) -> None:
        """Record the end of an attempt. ``done``: the answer, or None if the process has ended without one.

        Raises BrokenError if the answer contradicts earlier ones (exactly once).
        """
        if done is not None and done.error is E.NONE:
            offset, known = int(done.values["offset"]), batch.offset
            text = f"batch {batch.value} of {client.name} is confirmed at offset {offset}, and was at {known}"
            claim(known is None or known == offset, "exactly once", text)
            if known is None:
                batch.offset = offset
                broker = str(attempt.process.identity.node)
                self.history.complete(batch.index, "ok", self._time(), offset=offset, broker=broker)
            return
        error = None if done is None else done.error
        if client.kind == "plain":
            self._fail(client, batch, error)
        # An old or confirmed batch may be refused, and so may any batch at a broker that was replaced.
        elif batch is client.batch and batch.offset is None and error in WRONG and self._leads(attempt.process, client):
            raise BrokenError("exactly once", f"{client.name} sends its next batch, {batch.value}, and gets {error}")

    def _leads(self, process: Process, client: Client) -> bool:
        """Whether a process leads a partition according to the controller's metadata.

        A process that was replaced may still believe that it leads; its answers are no evidence of an error.
        """
        node, image = process.identity.node, self._cluster.image
        newest = image.nodes[node]
        leads = image.partitions[TOPIC, client.partition].leader == node
        return leads and newest.epoch == process.identity.epoch and not newest.failover

    def _fail(self, client: Client, batch: Batch, error: E | None) -> None:
        """The batch of a plain producer was refused, or its outcome is unknown: then another producer follows."""
        unknown = error is None or error in UNKNOWN
        self._complete(batch.index, "info" if unknown else "fail", error)
        client.batch = None
        client.number += unknown

    def _end_read(self, attempt: Attempt, done: m.CommandAnswer | None) -> None:
        if done is None or done.error is not E.NONE:
            # A read has no effect, so if its process is gone, it counts as failed and not as unknown.
            self._complete(attempt.index, "fail", None if done is None else done.error)
            return
        batches = [_decode(base, values) for base, values in done.values["batches"]]
        self.history.complete(attempt.index, "ok", self._time(), value=batches, offset=done.values["confirmed"])

    def _complete(self, index: int, kind: Ending, error: E | None) -> None:
        self.history.complete(index, kind, self._time(), error="gone" if error is None else error.name)

    def _time(self) -> int:
        self._at = max(self._at + 1, self._cluster.now)
        return self._at

    @property
    def waiting(self) -> list[str]:
        """The names of the clients with commands that are neither answered nor lost with their process."""
        return [each.name for each in (*self.producers, *self.readers) if each.attempts]

    # The end ----------------------------------------------------------------------------------------------------

    def confirms(self, partition: int, node: int) -> bool:
        """Let the waiting producers of a partition send their batches to a broker. Returns whether it confirms all."""
        mine = [each for each in self.producers if each.partition == partition and each.waits]
        for client in mine:
            self._produce(client, node)
        self._cluster.rest(1_000)
        return not any(each.waits for each in mine)

    def reads(self, partition: int, node: int, phase: str | None) -> bool:
        """Read a whole partition from a broker. Returns whether the broker answers."""
        begun, reader = len(self.history.ops), self.readers[partition]
        self.read(reader, node, 0, phase)
        self._cluster.rest(1_000)
        return any(op.kind == "ok" and op.process == reader.name for op in self.history.ops[begun:])


def _decode(base: int, values: tuple[bytes, ...]) -> tuple[int, int, int]:
    """A batch in the form of the history (base offset, count, value), from the records that a broker has read."""
    value = int(values[0].split()[0])
    expected = tuple(f"{value} {place}".encode() for place in range(len(values)))
    claim(values == expected, "log", f"the batch at offset {base} is {values}")
    return base, len(values), value


def final(clients: Clients) -> None:
    """Judge a history that is complete, including the final reads. Raises BrokenError."""
    clients.history.missing = ""
    clients.judge()
