"""Reads from the event log of a run which situations it has reached (``situation_names.py``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from impl.broker.messages import StepEvent
from impl.errors import E
from impl.sim.event_log import ExecutedRequest, StoreEffect
from impl.sim.processes import ProcessTable
from impl.sim.situation_names import CLUSTER
from impl.store.interface import Put
from impl.wire import (
    AlterReassignments,
    CloseStreams,
    CommitStreamSetObject,
    DeleteStreams,
    ElectLeader,
    GetOpeningStreams,
    OpenStreams,
    TrimStreams,
)

SERVED = ("no process serves it", "one process serves it", "several processes serve it")
"""By the number of processes that serve a stream, the last one for more."""

Reached = set[tuple[str, int]]
"""Situations, each with the stream, the partition or CLUSTER that it concerns."""


class SituationReader:
    """Reads the events of a run one by one, and collects the situations.

    ``of_streams``: situations with the ids of streams; ``of_partitions``: with the numbers of partitions or CLUSTER.
    """

    def __init__(self, processes: ProcessTable) -> None:
        self.of_streams: Reached = set()
        self.of_partitions: Reached = set()
        self._processes = processes
        self._epochs: dict[int, int] = {}
        """By stream: its epoch in the metadata."""
        self._owners: dict[int, list[int]] = {}
        """By stream: the nodes that have opened it, each time that the owner changed."""
        self._closing: dict[int, str] = {}
        """By stream: the process whose request to close it was not executed yet."""
        self._recovering: dict[int, set[str]] = {}
        """By node: the processes that have registered it and have not emptied its WAL since."""
        self._moves: dict[int, str] = {}
        """By partition: how far the close of its move is: before, during or after."""
        self._opening: dict[int, set[str]] = {}
        """By partition: the processes that open it."""
        self._executions: dict[type, Callable[[ExecutedRequest, bool], None]] = {
            OpenStreams: self._opened,
            CloseStreams: self._closed,
            CommitStreamSetObject: self._committed,
            TrimStreams: self._trimmed,
            DeleteStreams: self._deleted,
            GetOpeningStreams: self._registered,
            AlterReassignments: self._reassigned,
            ElectLeader: self._elected,
        }
        self._steps: dict[str, Callable[[str, dict[str, Any]], None]] = {
            "ack": self._acked,
            "hear": self._heard,
            "send_close": self._asked_to_close,
            "reset_wal": self._reset_wal,
            "end_recovery": self._ended_recovery,
            "freeze": self._froze,
            "end_close": self._ended_close,
            "begin_open": self._began_open,
            "serve": self._served,
        }

    # Processes ------------------------------------------------------------------------------------------------

    def started(self, epoch: int, before: list[tuple[int, bool]]) -> None:
        """A process has started. ``before``: the earlier processes of its node: the epoch of each, and if it lives."""
        if any(alive for _, alive in before):
            self._cluster("a successor beside its predecessor")
        if any(each >= epoch for each, _ in before):
            self._cluster("an equal or older node epoch")

    def ended(self, process: str) -> None:
        """A process has crashed or halted."""
        for stream in [stream for stream, each in self._closing.items() if each == process]:
            self._stream("a process ends during a close", stream)
            del self._closing[stream]
        for partition, opening in self._opening.items():
            if process in opening:
                opening.remove(process)
                self._partition("a process ends during an open", partition)
        self._reset_wal(process, {})

    def fenced(self, node: int) -> None:
        """The metadata have fenced the broker of a node."""
        if self._processes.is_paused(node):
            self._cluster("a paused process is fenced")

    def stored(self, process: str, effect: StoreEffect) -> None:
        """An operation has taken effect at the store."""
        if not self._processes.is_alive(process) and isinstance(effect.request.operation, Put):
            self._cluster("a put takes effect after the end of its process")

    # Steps ----------------------------------------------------------------------------------------------------

    def step(self, process: str, step: StepEvent) -> None:
        """A process has made a step."""
        found = self._steps.get(step.action)
        if found is not None:
            found(process, step.values)

    def _acked(self, process: str, values: dict[str, Any]) -> None:
        stream = values["stream"]
        if self._processes.is_superseded(process):
            self._stream("a superseded process acks", stream)
        if values["epoch"] < self._epochs.get(stream, 0):
            self._stream("a process acks under an old epoch", stream)
        if self._processes.is_fenced(process):
            self._stream("a fenced broker acks", stream)

    def _heard(self, process: str, values: dict[str, Any]) -> None:
        stream = values["stream"]
        if len(self._processes.serving.get(stream, ())) > 1:
            self._stream("two processes serve", stream)
        if self._closing.get(stream, process) != process:
            self._stream("an open overtakes a close", stream)

    def _asked_to_close(self, process: str, values: dict[str, Any]) -> None:
        self._closing[values["stream"]] = process

    def _reset_wal(self, process: str, _: dict[str, Any]) -> None:
        for recovering in self._recovering.values():
            recovering.discard(process)

    def _ended_recovery(self, _: str, values: dict[str, Any]) -> None:
        self._stream("a recovery ends", values["stream"])

    def _froze(self, process: str, values: dict[str, Any]) -> None:
        self._opening.get(values["partition"], set()).discard(process)  # An open that is not done ends here, too.
        if values["partition"] in self._moves:
            self._moves[values["partition"]] = "during"

    def _ended_close(self, _: str, values: dict[str, Any]) -> None:
        if self._moves.get(values["partition"]) == "during":
            self._moves[values["partition"]] = "after"

    def _began_open(self, process: str, values: dict[str, Any]) -> None:
        opening = self._opening.setdefault(values["partition"], set())
        opening.add(process)
        if len(opening) > 1:
            self._partition("two processes open", values["partition"])

    def _served(self, process: str, values: dict[str, Any]) -> None:
        self._opening.get(values["partition"], set()).discard(process)
        self._moves.pop(values["partition"], None)

    # Requests -------------------------------------------------------------------------------------------------

    def executed(self, executed: ExecutedRequest, *, refused: bool) -> None:
        """A controller has executed a request."""
        if executed.lost and not executed.stale:
            self._cluster("a request is lost in a failover")
        if executed.stale:
            self._cluster("a request at an old leader")
        if executed.unknown:
            self._cluster("an unknown outcome of a request")
        if executed.lost or executed.stale or executed.answers is None:
            return
        for stream, row, *_ in executed.post:
            if row is not None:
                self._epochs[stream] = row.epoch
        found = self._executions.get(type(executed.request.body))
        if found is not None:
            found(executed, refused)

    def _opened(self, executed: ExecutedRequest, refused: bool) -> None:
        for stream, row, newest, _ in executed.post:
            if refused:
                self._stream("an open is refused", stream)
            elif row is not None and newest is not None:
                owners = self._owners.setdefault(stream, [])
                if not owners or owners[-1] != newest.node:
                    if newest.node in owners:
                        self._stream("an owner comes back", stream)
                    owners.append(newest.node)

    def _closed(self, executed: ExecutedRequest, refused: bool) -> None:
        for stream, _, _, entry in executed.post:
            if self._closing.get(stream) == executed.sender:
                del self._closing[stream]
            if refused:
                self._stream("a close is refused", stream)
            elif entry is not None:
                self._stream("a fast close leaves an entry", stream)

    def _committed(self, executed: ExecutedRequest, refused: bool) -> None:
        if refused:
            for stream, *_ in executed.post:
                self._stream("a commit is refused", stream)

    def _trimmed(self, executed: ExecutedRequest, refused: bool) -> None:
        for stream, *_ in executed.post:
            if not refused and stream in self._closing:
                self._stream("a trim during a close", stream)

    def _deleted(self, executed: ExecutedRequest, refused: bool) -> None:
        for stream, *_ in executed.post:
            if not refused and self._processes.serving.get(stream):
                self._stream("a delete while it is served", stream)

    def _registered(self, executed: ExecutedRequest, refused: bool) -> None:
        body: Any = executed.request.body
        if refused:
            self._cluster("a registration is refused")
            return
        recovering = self._recovering.setdefault(body.node, set())
        if recovering - {executed.sender}:
            self._cluster("crossed recovery")
        recovering.add(executed.sender)
        if body.failover and self._processes.lives(body.node):
            self._cluster("a failover of a living process")

    def _reassigned(self, executed: ExecutedRequest, refused: bool) -> None:
        if refused:
            return
        body: Any = executed.request.body
        for partitions in body.topics.values():
            for partition, target in partitions.items():
                if target is not None:
                    self._moves[partition] = "before"
                elif partition in self._moves:
                    self._partition(f"a move is cancelled {self._moves.pop(partition)} its close", partition)

    def _elected(self, executed: ExecutedRequest, refused: bool) -> None:
        body: Any = executed.request.body
        if not refused and self._opening.get(body.partition):
            self._partition("an election during an open", body.partition)

    # Circumstances --------------------------------------------------------------------------------------------

    def circumstances(self, stream: int) -> str:
        """Who serves a stream now, whether a close waits, and what has become of its owner, who opened it last."""
        found = [SERVED[min(len(self._processes.serving.get(stream, ())), len(SERVED) - 1)]]
        if stream in self._closing:
            found.append("a close waits")
        if stream not in self._owners:
            return ", ".join((*found, "no node has opened it"))
        owner = self._owners[stream][-1]
        if not self._processes.lives(owner):
            found.append("no process of its owner lives")
        if self._processes.is_paused(owner):
            found.append("a process of its owner is paused")
        if self._processes.is_node_fenced(owner):
            found.append("its owner is fenced")
        if self._recovering.get(owner):
            found.append("its owner recovers")
        return ", ".join(found)

    # What was reached -----------------------------------------------------------------------------------------

    def _stream(self, name: str, stream: int) -> None:
        self.of_streams.add((name, stream))

    def _partition(self, name: str, partition: int) -> None:
        self.of_partitions.add((name, partition))

    def _cluster(self, name: str) -> None:
        self.of_partitions.add((name, CLUSTER))


def is_refused(executed: ExecutedRequest) -> bool:
    """Whether a controller has refused a request, or an item of it."""
    return any(each.error is not E.NONE for each in executed.answers or ())
