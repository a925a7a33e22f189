"""A producer: it sends batches to leaders, and has at most one batch of a partition under way.

Only an idempotent producer repeats an attempt of unknown outcome. Without sequence numbers, the log could hold the
records twice.
"""

from __future__ import annotations

from collections import deque

import msgspec

from impl.broker.messages import Produce
from impl.broker.partition.batches import ABSENT
from impl.client.leaders import Key
from impl.client.node import ClientNode
from impl.client.payload import payload
from impl.client.routing import RequestOutcome, ask_until
from impl.client.sequences import Sequences
from impl.errors import E
from impl.tasks import Gate

REFUSED = frozenset({E.OUT_OF_ORDER_SEQUENCE_NUMBER, E.INVALID_PRODUCER_EPOCH, E.INVALID_REQUEST})
"""The refusals that a repetition would get again."""


class PendingSend(msgspec.Struct, frozen=True):
    """A send that waits. ``outcome``: opens with its outcome, and with the offset of its first record or None."""

    value: int
    count: int
    begun: int
    outcome: Gate[tuple[RequestOutcome, int | None]]


class Producer:
    """``idempotent``: whether batches have sequence numbers. Then ``producer_id`` is the id of the producer.

    ``retry_ms``: the time between attempts. ``delivery_ms``: how long attempts are repeated after a send began.
    ``linger_ms``: how long a send waits for other sends of the same partition. They are joined in one batch of up to
    ``most_records`` records. With 0 each send is a batch of its own. ``acks``: with 0 the broker answers at once, and
    the outcome of each send is unknown (ZR-30).
    """

    def __init__(
        self,
        node: ClientNode,
        *,
        idempotent: bool,
        producer_id: int = ABSENT,
        retry_ms: int = 150,
        delivery_ms: int = 60_000,
        linger_ms: int = 0,
        most_records: int = 1_000,
        acks: int = -1,
    ) -> None:
        if idempotent != (producer_id != ABSENT):
            raise ValueError("an idempotent producer needs a producer_id, and no other producer has one")
        if acks not in (-1, 0) or (idempotent and acks == 0):
            raise ValueError(f"a producer wants acks -1, or acks 0 if it is not idempotent, and not {acks}")
        self.node, self._idempotent, self._producer_id, self._acks = node, idempotent, producer_id, acks
        self._retry_ms, self._delivery_ms = retry_ms, delivery_ms
        self._linger_ms, self._most_records = linger_ms, most_records
        self._sequences = Sequences()
        self._lines: dict[Key, deque[PendingSend]] = {}
        """The sends of each partition that wait for their batch. A partition without a task has no entry."""

    async def send(
        self, process: str, topic: str, partition: int, key: int, value: int, count: int, phase: str | None = None
    ) -> int | None:
        """Send ``count`` records with a value, which is unique and not negative. ``key``: the partition in the history.

        Returns the offset of the first record; None if the send failed, or if its outcome is unknown.
        """
        if value < 0 or count < 1:
            raise ValueError(f"a send has a value from 0 on and a record at least, not value {value}, {count} records")
        index = self.node.recorder.begin(process, "send", key, value, count=count, phase=phase)
        send = PendingSend(value, count, self.node.now, Gate(self.node.tasks))
        self._enqueue((topic, partition), send)
        outcome, offset = await send.outcome.wait()
        if outcome.kind == "ok":
            self.node.recorder.end(index, "ok", offset=offset, broker=str(outcome.node))
        else:
            self.node.recorder.end(index, outcome.kind, error=outcome.error)
        return offset

    @property
    def answered(self) -> bool:
        """Whether the broker says what became of a send."""
        return self._acks != 0

    def repeats_unknown(self) -> bool:
        """Whether an attempt of unknown outcome is repeated."""
        return self._idempotent

    def _enqueue(self, key: Key, send: PendingSend) -> None:
        if key in self._lines:
            self._lines[key].append(send)
        else:
            self._lines[key] = deque([send])
            self.node.start(self._drain(key))

    async def _drain(self, key: Key) -> None:
        """Deliver the sends of a partition, batch by batch, until none is left."""
        line = self._lines[key]
        while line:
            if self._linger_ms:
                await self.node.sleep(self._linger_ms)
            sends = self._take(line)
            outcome = await self._deliver(key, sends)
            offset: int | None = outcome.values["offset"] if outcome.kind == "ok" else None
            for send in sends:
                send.outcome.open((outcome, offset))
                offset = None if offset is None else offset + send.count
        # No await lies between the last look at the line and here, so no send has joined it: the next starts a task.
        del self._lines[key]

    def _take(self, line: deque[PendingSend]) -> list[PendingSend]:
        """Take the sends of the next batch off the line."""
        sends = [line.popleft()]
        records = sends[0].count
        while self._linger_ms and line and records + line[0].count <= self._most_records:
            records += line[0].count
            sends.append(line.popleft())
        return sends

    async def _deliver(self, key: Key, sends: list[PendingSend]) -> RequestOutcome:
        """Deliver a batch. Its sequence number and its bytes are the same in every attempt."""
        values = tuple(payload(send.value, place) for send in sends for place in range(send.count))
        epoch, sequence = self._sequences.epoch, self._sequences.next(key)
        body = Produce(*key, values, timestamp=self.node.now, acks=self._acks)
        if self._idempotent:
            body = msgspec.structs.replace(body, producer=self._producer_id, producer_epoch=epoch, sequence=sequence)
        outcome = await ask_until(
            self.node,
            body,
            until=sends[0].begun + self._delivery_ms,
            retry_ms=self._retry_ms,
            repeats_unknown=self.repeats_unknown(),
            final=REFUSED,
        )
        if outcome.kind == "ok" and self._acks == 0:
            return msgspec.structs.replace(outcome, kind="info", error="no answer was asked for")
        if outcome.kind == "ok":
            self._sequences.advance(key, epoch, len(values))
        elif outcome.kind == "info" or outcome.error in {error.name for error in REFUSED}:
            # The log may hold the batch or not, so no number of this epoch is known to be the next one.
            self._sequences.restart(epoch)
        return outcome
