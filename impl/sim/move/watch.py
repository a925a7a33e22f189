"""Watches a move: notes the time of each step from the inputs and outputs of the brokers, and from the commits."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from impl import wire
from impl.broker import messages as m
from impl.metadata.log import MetadataBatch
from impl.records import PartitionChange
from impl.sim.move.history import META, SOURCE, TARGET
from impl.sim.process import HostedNode
from impl.tasks import Place


class Moments(msgspec.Struct):
    """The times of a move in virtual milliseconds; None for a step that has not happened yet.

    ``asked``: the operator sends the request. ``record``: the record of the move is committed (step 1). ``seen``: the
    source has it (step 2). ``flushed``: the last record of the meta stream at the source is durable (step 3).
    ``closed``: the last close is answered (step 4). ``elected``: the election is committed (step 5). ``opened``: the
    target has the log (step 6). ``learned``: the target knows that it leads. ``led``: whether the source has had the
    log.
    """

    asked: int | None = None
    record: int | None = None
    seen: int | None = None
    flushed: int | None = None
    closed: int | None = None
    elected: int | None = None
    opened: int | None = None
    learned: int | None = None
    led: bool = False

    @property
    def serves(self) -> int | None:
        """When the target has the log and knows that it leads: it accepts appends."""
        return None if self.opened is None or self.learned is None else max(self.opened, self.learned)

    def committed(self, batches: Sequence[MetadataBatch], now: int) -> None:
        """Note the commits of the move and of the election."""
        for change in _changes(batches):
            if change.replicas == (TARGET,):
                self.record = now
            if change.leader == TARGET:
                self.elected = now


class Watch:
    """Wraps the broker of a node: passes inputs and outputs on unchanged, and notes the times of a move."""

    def __init__(self, broker: HostedNode, node: int, moments: Moments) -> None:
        self._broker, self._node, self._moments = broker, node, moments
        self._closes: set[int] = set()
        """The numbers of the requests to close a stream."""

    def handle(self, event: m.Input, now: int) -> Sequence[m.Output]:
        """The outputs of the broker for an input."""
        moments = self._moments
        if isinstance(event, wire.LearnedBatches):
            for change in _changes(event.batches):
                if self._node == SOURCE and change.replicas == (TARGET,):
                    moments.seen = now
                if self._node == TARGET and change.leader == TARGET:
                    moments.learned = now
        elif isinstance(event, wire.Reply) and event.id in self._closes:
            moments.closed = now
        outputs = self._broker.handle(event, now)
        for output in outputs:
            if isinstance(output, wire.Request) and isinstance(output.body, wire.CloseStreams):
                self._closes.add(output.id)
            elif isinstance(output, m.StepEvent):
                self._step(output, now)
        return outputs

    def _step(self, step: m.StepEvent, now: int) -> None:
        if step.action == "serve" and self._node == SOURCE:
            self._moments.led = True
        elif step.action == "serve":
            self._moments.opened = now
        elif step.action == "ack" and self._node == SOURCE:
            self._acked(step.values["stream"], now)

    def _acked(self, stream: int, now: int) -> None:
        # Later acks overwrite the time, so the last one before the close is left.
        if stream == META and self._moments.seen is not None:
            self._moments.flushed = now

    def places(self) -> Sequence[Sequence[Place]]:
        """Where the tasks of the broker wait."""
        return self._broker.places()

    def crash(self) -> None:
        """End the broker."""
        self._broker.crash()


def _changes(batches: Sequence[MetadataBatch]) -> list[PartitionChange]:
    return [record for batch in batches for record in batch.records if isinstance(record, PartitionChange)]
