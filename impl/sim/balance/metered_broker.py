"""A broker with meters: it passes inputs and outputs on unchanged, and counts what the broker reports of itself."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from impl.balancer.reporter import MetricsReporter
from impl.balancer.resources import TopicPartition
from impl.broker import messages as m
from impl.errors import E
from impl.sim.process import HostedNode
from impl.tasks import Place


class AskedCommand(msgspec.Struct, frozen=True):
    """A command of a client without an answer: its partition, the bytes that it appends, and when it came."""

    partition: TopicPartition
    appends: int | None
    begun: int


class MeteredBroker:
    """Wraps the broker of a process of ``node``."""

    def __init__(self, broker: HostedNode, node: int) -> None:
        self._broker = broker
        self._reporter = MetricsReporter(node)
        self._asked: dict[tuple[int, int], AskedCommand] = {}
        """By the number of the client and of its command."""

    def handle(self, event: m.Input, now: int) -> Sequence[m.Output]:
        """The outputs of the broker for an input."""
        if isinstance(event, m.Command) and isinstance(event.body, m.Produce | m.Consume):
            body = event.body
            appends = sum(map(len, body.values)) if isinstance(body, m.Produce) else None
            self._asked[event.to, event.id] = AskedCommand(TopicPartition(body.topic, body.partition), appends, now)
        outputs = self._broker.handle(event, now)
        for output in outputs:
            if isinstance(output, m.CommandAnswer):
                self._answered(output, now)
            elif isinstance(output, m.StepEvent):
                self._step(output, now)
        return outputs

    def _answered(self, answer: m.CommandAnswer, now: int) -> None:
        asked = self._asked.pop((answer.to, answer.id), None)
        if asked is None or answer.error is not E.NONE:
            return
        if asked.appends is not None:
            self._reporter.appended(asked.partition, asked.appends, now - asked.begun, now)
        else:
            read = sum(len(value) for _, values in answer.values["batches"] for value in values)
            self._reporter.read(asked.partition, read, now)

    def _step(self, step: m.StepEvent, now: int) -> None:
        if step.action in ("serve", "freeze"):
            partition = TopicPartition(step.values["topic"], step.values["partition"])
            if step.action == "serve":
                self._reporter.opened(partition, now)
            else:
                self._reporter.closed(partition)

    def report(self, now: int) -> list[bytes]:
        """The values of the records of a report."""
        waits = dict.fromkeys((True, False), 0)
        for asked in self._asked.values():
            is_append = asked.appends is not None
            waits[is_append] = max(waits[is_append], now - asked.begun)
        return self._reporter.report(now, waits[True], waits[False])

    def places(self) -> Sequence[Sequence[Place]]:
        """Where the tasks of the broker wait."""
        return self._broker.places()

    def crash(self) -> None:
        """End the broker."""
        self._broker.crash()
