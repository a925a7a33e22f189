"""What a run has covered: events, pairs of events of one stream, situations, and kinds of images.

All of it is read from the event log after the run, so a run with coverage is the same run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import msgspec

from impl.broker.messages import StepEvent
from impl.records import BrokerRegistration
from impl.sim.event_log import AppendedBatch, ExecutedRequest
from impl.sim.image_kinds import ImageKinds
from impl.sim.processes import ProcessTable
from impl.sim.run import Run
from impl.sim.situation_names import CLUSTER
from impl.sim.situations import SituationReader, is_refused

REQUESTS = (
    "GetOpeningStreams", "RegisterNode", "SetBroker", "CreateStreams", "OpenStreams", "CloseStreams", "TrimStreams",
    "DeleteStreams", "PrepareObjects", "CommitStreamSetObject", "CommitStreamObject",
)  # fmt: skip
STEPS = ("hear", "ack", "send_close", "fail", "end_recovery", "reset_wal", "shut_down")
OF_PARTITIONS = (
    "PutIfAbsent", "DrainBroker", "CreateTopic", "AlterReassignments", "AlterPartition", "RenewEpoch", "ElectLeader",
    "freeze", "begin_open", "serve", "flag", "end_close",
)  # fmt: skip
OF_PROCESSES = ("start", "pause", "resume", "crash", "halt", "elected", "failover")
EVENTS = (*REQUESTS, *STEPS, *OF_PARTITIONS, *OF_PROCESSES)
"""The events that are counted: requests that a controller executes, steps of processes, and what befalls processes."""


def events(*, partitions: bool) -> tuple[str, ...]:
    """The events that a run can have. ``partitions``: whether it has partitions."""
    return tuple(name for name in EVENTS if partitions or name not in OF_PARTITIONS)


Moment = tuple[str, str, str]
"""A situation of a stream or partition, with the last two events of that stream or partition, the later one first.

"" stands for an event that is not there. A situation is reached in few ways by most runs, and in other ways by few.

The first decision of each rule is a moment, too: DECISION, the rule, and no event. So is each point where a rule that
is switched off would have decided something: LACK, the rule, and the last two events of the run, the earlier one first.
"""

Circumstances = tuple[str, str]
"""A situation of a stream, and the circumstances in which a run first reached it for this stream."""

DECISION = "a rule decides"
LACK = "a missing rule"


class RunCoverage(msgspec.Struct, frozen=True):
    """What one run has covered.

    ``events``: how often each event happened, and ``refused``: how often a controller refused the request. ``pairs``:
    how often one event followed another one of the same stream or partition. ``situations``: each with its key: the
    number of a stream or partition as clients know it, or -1. ``images``: the signatures of the kinds of images.

    ``first_pairs``, ``circumstances`` and ``moments``: the virtual time at which the run first reached each of them.
    """

    events: dict[str, int]
    refused: dict[str, int]
    pairs: dict[tuple[str, str], int]
    situations: frozenset[tuple[str, int]]
    images: frozenset[int]
    first_pairs: dict[tuple[str, str], int]
    circumstances: dict[Circumstances, int]
    moments: dict[Moment, int]


def coverage_of(run: Run) -> RunCoverage:
    """The coverage of a run that has ended."""
    return _Reader().read(run)


NOTHING = "", ""
"""The last two events of a stream or partition to which nothing has happened."""


def _named(events: Iterable[str]) -> str:
    """The names of events, with commas between them. An event that is not there has no name."""
    return ", ".join(filter(None, events))


class _Reader:
    def __init__(self) -> None:
        self._events: Counter[str] = Counter()
        self._refused: Counter[str] = Counter()
        self._pairs: Counter[tuple[str, str]] = Counter()
        self._last: dict[tuple[str, int], tuple[str, str]] = {}
        """By stream or partition: its last event, and the one before; "" if there is none."""
        self._now = 0
        """The virtual time of the event that is read."""
        self._latest = "", ""
        """The last two steps of processes or requests to controllers, the earlier one first."""
        self._first_pairs: dict[tuple[str, str], int] = {}
        self._circumstances: dict[Circumstances, int] = {}
        self._moments: dict[Moment, int] = {}
        self._marked: set[tuple[str, int]] = set()
        """The situations whose moments are kept. A situation of a stream has another name than one of a partition."""
        self._processes = ProcessTable()
        self._situations = SituationReader(self._processes)
        self._kinds = ImageKinds()

    def read(self, run: Run) -> RunCoverage:
        for self._now, source, kind, subject in run.log.events:
            match kind:
                case "step":
                    self._step(source, subject)
                case "execute":
                    self._execute(subject)
                case "batch":
                    self._batch(subject)
                case "effect":
                    self._situations.stored(source, subject)
                case "start" | "pause" | "resume" | "crash" | "halt":
                    self._befall(source, kind, subject)
                case "elected" | "failover":
                    self._events[kind] += 1
                case "missing":
                    self._moments.setdefault((LACK, subject["rule"], _named(self._latest)), self._now)
            self._mark()
        self._moments.update({(DECISION, label, ""): at for label, at in run.first_decided.items()})
        keys = run.simulation.load.keys()
        of_streams = {(name, keys[stream]) for name, stream in self._situations.of_streams if stream in keys}
        return RunCoverage(
            events=dict(self._events),
            refused=dict(self._refused),
            pairs=dict(self._pairs),
            situations=frozenset(of_streams | self._situations.of_partitions),
            images=frozenset(self._kinds.signatures),
            first_pairs=self._first_pairs,
            circumstances=self._circumstances,
            moments=self._moments,
        )

    def _step(self, process: str, step: StepEvent) -> None:
        name, values = step.action, step.values
        self._events[name] += 1
        self._latest = self._latest[1], name
        stream = values.get("stream")
        if stream is not None:
            self._follow(("stream", stream), name)
            if name == "hear":
                self._processes.serve(process, stream)
            elif name in ("send_close", "fail"):
                self._processes.give_up(process, stream)
        elif "partition" in values:
            self._follow(("partition", values["partition"]), name)
        self._situations.step(process, step)

    def _execute(self, executed: ExecutedRequest) -> None:
        refused = is_refused(executed)
        self._situations.executed(executed, refused=refused)
        if executed.lost or executed.stale or executed.answers is None:
            return
        name = type(executed.request.body).__name__
        if name == "Heartbeat":
            return  # Most requests are heartbeats, and say nothing.
        (self._refused if refused else self._events)[name] += 1
        self._latest = self._latest[1], name
        for stream, *_ in executed.post:
            self._follow(("stream", stream), name)

    def _batch(self, written: AppendedBatch) -> None:
        if written.lost:
            return
        for record in written.batch.records:
            if type(record) is BrokerRegistration:
                self._processes.set_state(record.broker_id, record.state)
                if record.state == "fenced":
                    self._situations.fenced(record.broker_id)
        self._kinds.add(written.batch)

    def _befall(self, process: str, kind: str, subject: dict[str, Any]) -> None:
        self._events[kind] += 1
        served: list[int] = []
        if kind == "start":
            before = self._processes.start(process, subject["node"], subject["epoch"])
            self._situations.started(subject["epoch"], before)
        elif kind in ("crash", "halt"):
            served = self._processes.end(process)
            self._situations.ended(process)
        else:
            served = self._processes.served(process)
            (self._processes.pause if kind == "pause" else self._processes.resume)(process)
        for stream in served:
            self._follow(("stream", stream), kind)

    def _mark(self) -> None:
        """Keep the circumstances and the moments of the situations that this event has reached."""
        situations = self._situations
        if len(situations.of_streams) + len(situations.of_partitions) == len(self._marked):
            return
        for kind, reached in (("stream", situations.of_streams), ("partition", situations.of_partitions)):
            for name, key in sorted(reached - self._marked):
                if key != CLUSTER:
                    self._moments.setdefault((name, *self._last.get((kind, key), NOTHING)), self._now)
        for name, stream in sorted(situations.of_streams - self._marked):
            self._circumstances.setdefault((name, situations.circumstances(stream)), self._now)
        self._marked = situations.of_streams | situations.of_partitions

    def _follow(self, subject: tuple[str, int], name: str) -> None:
        """An event of a stream or partition follows the one before it."""
        before, _ = self._last.get(subject, NOTHING)
        if before:
            self._pairs[before, name] += 1
            self._first_pairs.setdefault((before, name), self._now)
        self._last[subject] = name, before
