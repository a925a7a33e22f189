"""The models judge the log of a simulated cluster while it grows.

The models of the stream layer judge the log of all streams; the models of moves judge the log of each partition.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

import msgspec

from holdfast.check.conform.answer.candidates import candidates
from holdfast.check.conform.answer.verdict import call
from holdfast.check.conform.judge.frame import Frame
from holdfast.check.conform.judge.growing_log import GrowingLog, ImpossibleEventError
from holdfast.check.conform.mappings.mapping import Mapping
from impl.bridge.log_models import OF_PARTITIONS, OF_STREAMS
from impl.sim.conformance.log import conform_log
from impl.sim.conformance.partitions import partition_logs
from impl.sim.event_log import EventLog
from impl.sim.run import Simulation
from stateful_tests.cluster.shape import Shape
from stateful_tests.partition.broken import BrokenError
from tests.conform import partition_logs as moves
from tests.conform import simulated_logs as streams


class Conformance:
    """The models of a cluster. ``logs``: the part of the log that each has judged, by model and partition.

    The log of all streams has the partition -1.
    """

    def __init__(self, shape: Shape, simulation: Simulation) -> None:
        self._shape, self._simulation = shape, simulation
        self.logs: dict[tuple[str, int], GrowingLog] = {}

    @property
    def judged(self) -> int:
        """The number of events that models have judged."""
        return sum(log.judged for log in self.logs.values())

    def check(self) -> None:
        """Judge what has happened since the last check. Raises BrokenError if a model does not allow it."""
        settled = self._settled()
        lines = _lines(conform_log(settled))
        for name in OF_STREAMS[self._shape.version]:
            self._judge(name, -1, lines)
        if self._shape.load == "partitions":
            logs = partition_logs(settled, elects=self._shape.generation == "G1")
            for partition, text in logs.items():
                for name in OF_PARTITIONS:
                    self._judge(name, partition, _lines(text))

    def _settled(self) -> EventLog:
        """The events up to the first one that a failover may still undo: its effects are not known."""
        events = self._simulation.log.events
        pending = self._simulation.cluster.pending
        length = len(events)
        if pending is not None:
            length = next(place for place in range(len(events) - 1, -1, -1) if events[place][3] is pending)
        found = EventLog()
        found.events = events[:length]
        return found

    def _judge(self, name: str, partition: int, lines: Sequence[dict[str, object]]) -> None:
        log = self.logs.get((name, partition))
        if log is None:
            log = self.logs[name, partition] = self._made(name, partition)
        try:
            log.judge(lines)
        except ImpossibleEventError as error:
            raise BrokenError(f"conform {name}", "\n".join(_reasons(error))) from None

    def _made(self, name: str, partition: int) -> GrowingLog:
        generation = None if partition < 0 else self._shape.generation
        mapping, frame = _model(name, generation)
        where = "streams" if partition < 0 else f"partition {partition}"
        return GrowingLog(frame, mapping, mapping.hidden, name=where)


@cache
def _model(name: str, generation: moves.Generation | None) -> tuple[Mapping, Frame]:
    """A model of the stream layer, or with a generation of moves, and its mapping."""
    mapping, system = streams.model(name) if generation is None else moves.model(name, generation)
    return mapping, Frame.of(system, mapping.about.literals)


def _lines(text: bytes) -> list[dict[str, object]]:
    return [msgspec.json.decode(line) for line in text.splitlines()]


def _reasons(error: ImpossibleEventError) -> Iterator[str]:
    """What is impossible, and why each state of the model refuses it."""
    at = error.facts.event.at
    yield f"{at.file}:{at.line}: {call(error.facts)} is impossible"
    if error.world is not None:
        yield from (each.text for each in candidates(error.world, error.facts)[:3])
