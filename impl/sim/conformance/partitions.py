"""Writes the log of one partition of a run, for the models `reassignment` and `cancellation`.

A model has one partition, so each partition has a log of its own, from its creation on. The lines are the changes that
the leading controller made to the registration and to the leases of the streams, and the steps of the newest process of
each node.
"""

from __future__ import annotations

from collections.abc import Mapping

from impl import wire
from impl.broker.messages import StepEvent
from impl.broker.partition.assignments import Key
from impl.broker.partition.host import meta_key
from impl.controller.streams import partition_of
from impl.metadata.image import Image
from impl.metadata.log import replay
from impl.sim.conformance.hosts import Hosts
from impl.sim.conformance.leases import Leases, Opened, was_taken
from impl.sim.conformance.lines import LineCollector
from impl.sim.conformance.registrations import Registrations
from impl.sim.conformance.stream_set import StreamSet
from impl.sim.event_log import AppendedBatch, Event, EventLog, ExecutedRequest
from impl.sim.neighbours import OUTSIDERS

NAMES = {each.name for each in OUTSIDERS}


def partition_logs(log: EventLog, *, elects: bool) -> dict[int, bytes]:
    """The logs of the partitions of a run by their numbers, one JSON object a line.

    ``elects``: whether targets ask for elections (G1), and not sources (G0).
    """
    # The metadata at the end of the run, without the batches that failovers have lost.
    end = Image()
    for event in log.events:
        if isinstance(event[3], AppendedBatch) and not event[3].lost:
            replay((event[3].batch,), end)
    heard = {
        (name, subject.values["stream"], subject.values["epoch"]): index
        for index, (_, name, _, subject) in enumerate(log.events)
        if isinstance(subject, StepEvent) and subject.action == "hear"
    }
    opened: dict[Key, set[int]] = {}
    for _, stream, _ in heard.keys() if end.partitions else ():
        opened.setdefault(partition_of(end.streams[stream]), set()).add(stream)
    found: dict[int, bytes] = {}
    for key in sorted(end.partitions):
        meta = end.kv.get(meta_key(*key))
        if meta is not None:
            streams = StreamSet(int.from_bytes(meta), opened.get(key, ()))
            found[key[1]] = _Writer(log.events, key, streams, heard, elects=elects).text()
    return found


class _Writer:
    """Goes through the events of a run once for one partition."""

    def __init__(
        self, events: list[Event], key: Key, streams: StreamSet, heard: Mapping[Opened, int], *, elects: bool
    ) -> None:
        self._events, self._key, self._image = events, key, Image()
        self._lines = LineCollector(events)
        nodes = {name: subject["node"] for _, name, kind, subject in events if kind == "start"}
        self._nodes = nodes
        self._hosts = Hosts(self._lines, key, streams, elects=elects, nodes=nodes)
        self._registrations = Registrations(self._lines, key, self._hosts)
        self._leases = Leases(self._lines, streams, self._hosts, heard)
        self._cause: tuple[int, str, ExecutedRequest] | None = None
        """The newest request, with its time and controller: the cause of batches that follow at once."""

    def text(self) -> bytes:
        """The log."""
        for index, event in enumerate(self._events):
            now, name, kind, subject = event
            if isinstance(subject, ExecutedRequest) and subject.sender in NAMES:
                # A stranger is refused. Without a rule it may not be; then its effects have no cause in the log.
                # What belongs to a neighbour concerns no model.
                self._cause = None
            elif isinstance(subject, ExecutedRequest):
                self._cause = now, name, subject
                if not subject.lost and not subject.stale and subject.answers is not None:
                    self._execute(index, subject)
            elif isinstance(subject, AppendedBatch):
                if not subject.lost:
                    self._write(index, now, name, subject)
            elif kind == "elected":
                self._cause = None
                if self._is_there():
                    self._registrations.elected(index)
            elif name in self._nodes:
                self._cause = None
                self._hosts.see(index, event, self._image)
        return self._lines.render()

    def _is_there(self) -> bool:
        return self._key in self._image.partitions

    def _execute(self, index: int, executed: ExecutedRequest) -> None:
        match executed.request.body:
            case wire.GetOpeningStreams(node, _, failover=False) if self._is_own(executed, node):
                self._hosts.register(index, executed.sender)
            case wire.RegisterNode(node) if self._is_own(executed, node):
                self._hosts.recover(index, executed.sender)
        if self._is_there():
            self._leases.execute(index, executed, self._image)

    def _is_own(self, executed: ExecutedRequest, node: int) -> bool:
        """Whether a process has registered itself."""
        return was_taken(executed) and self._nodes.get(executed.sender) == node

    def _write(self, index: int, now: int, name: str, written: AppendedBatch) -> None:
        was_there = self._is_there()
        replay((written.batch,), self._image)
        if was_there:
            # A batch at another time, or of another controller, has no request behind it.
            cause = self._cause[2] if self._cause is not None and self._cause[:2] == (now, name) else None
            self._registrations.write(index, written, cause, self._image)
        elif self._is_there():
            self._hosts.begin()
            self._registrations.begin(self._image)
