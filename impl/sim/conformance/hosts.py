"""The lines for the steps of brokers' processes on one partition.

Only the newest process of each node has lines, from its registration on (ND-01): the controller refuses older ones.
"""

from __future__ import annotations

from typing import Any

import msgspec

from impl import wire
from impl.broker.messages import StepEvent
from impl.broker.partition.assignments import Key
from impl.metadata.image import Image
from impl.sim.conformance.lines import LineCollector
from impl.sim.conformance.stream_set import StreamSet
from impl.sim.event_log import Event, ExecutedRequest

STEPS = {"begin_open": "OPEN", "serve": "SERVE", "freeze": "FREEZE", "flag": "FLAG", "end_close": "CLOSED"}
"""By step of a partition: the name of its line."""


class ElectionRequest(msgspec.Struct, frozen=True):
    """A request for an election.

    ``epoch``: the leader epoch when it was sent. ``ready``: whether its sender had just closed the partition, or serves
    it.
    """

    epoch: int
    ready: bool


class Hosts:
    """The states of the newest process of each node in regard to one partition. Processes are known by their names.

    ``registered``: by node, the process that has registered last. ``recovering``: the processes that still recover.
    ``opened``: the leader epoch under which a process opens the partition, or has it open.
    """

    def __init__(
        self, lines: LineCollector, key: Key, streams: StreamSet, *, elects: bool, nodes: dict[str, int]
    ) -> None:
        self.registered: dict[int, str] = {}
        self.recovering: set[str] = set()
        self.recovered: set[str] = set()
        """The processes that have recovered the WAL of the process before them."""
        self.opened: dict[str, int] = {}
        self.sent: set[tuple[str, int, int]] = set()
        """The closes of handles: the process, the stream and the epoch."""
        self.held: set[tuple[str, int, int]] = set()
        """The handles that processes have, or had: the process, the stream and the epoch."""
        self._streams = streams
        self._lines, self._key, self._elects, self._nodes = lines, key, elects, nodes
        self.failed_over: set[int] = set()
        """The nodes for which a worker has registered last."""
        self._has_begun = False
        self._served: set[str] = set()
        """The processes that have had the log open since they began to open it."""
        self._frozen: set[str] = set()
        self._flagged: set[str] = set()
        self._ready: set[str] = set()
        """The processes that would ask for an election now."""
        self._overtaken: set[str] = set()
        """The processes that have lost a stream since they began to open the partition: another node, or a late
        repetition, has opened it again. They may ask for an election that is needless by now.
        """
        self._asked: dict[tuple[str, int], ElectionRequest] = {}

    def node_of(self, name: str) -> int:
        """The node of a process."""
        return self._nodes[name]

    def begin(self) -> None:
        """Note that the partition exists from now on."""
        self._has_begun = True

    def is_newest(self, name: str) -> bool:
        """Whether a process is the newest one of its node that has registered."""
        return self.registered.get(self._nodes[name]) == name

    def may_come_back(self, name: str) -> bool:
        """Whether a process lives and has recovered, and no worker has registered for its node since (FO-07)."""
        return self.is_newest(name) and name not in self.recovering and self._nodes[name] not in self.failed_over

    # Processes ------------------------------------------------------------------------------------------------------

    def register(self, index: int, name: str) -> None:
        """The controller has taken the registration of a process for its own node."""
        node = self._nodes[name]
        if self.is_newest(name) and node not in self.failed_over:
            return  # A repeated registration.
        self.failed_over.discard(node)
        before = self.registered.get(node)
        if before is not None:
            self._forget(before)
        self.registered[node] = name
        self.recovering.add(name)
        self._add(index, "PROCESS_STARTED", name)

    def recover(self, index: int, name: str) -> None:
        """A process has recovered the WAL of the process before it."""
        if self.is_newest(name) and name in self.recovering:
            self.recovering.discard(name)
            self.recovered.add(name)
            self._add(index, "PROCESS_READY", name)

    def waits(self, name: str, epoch: int) -> bool:
        """Whether a process opens the partition under an epoch, or has it open."""
        return self.is_newest(name) and self.opened.get(name) == epoch and name not in self._frozen

    def grant(self, name: str, stream: int, epoch: int) -> None:
        """Note that a process was granted a stream, and hears of it."""
        self.held.add((name, stream, epoch))

    def overtake(self, node: int, *, late: bool) -> None:
        """Note that a node has opened a stream. ``late``: although no process waits for that open."""
        for each, name in self.registered.items():
            if late or each != node:
                self._overtaken.add(name)

    def see(self, index: int, event: Event, image: Image) -> None:
        """Take in an event of a process."""
        _, name, kind, subject = event
        if not self.is_newest(name):
            return
        match subject:
            case StepEvent("send_close", values) if values["stream"] in self._streams.all:
                self._send_close(index, name, values)
            # A shutdown names no stream: it freezes every partition of the process.
            case StepEvent("fail" | "shut_down", values) if (
                values.get("stream", self._streams.meta) in self._streams.all
            ):
                if name in self.opened and name not in self._frozen:
                    self._freeze(index, name)
            case StepEvent(action, values) if (values.get("topic"), values.get("partition")) == self._key:
                self._step(index, name, action, values)
            case wire.Request(_, number, wire.ElectLeader(topic, partition)) if (topic, partition) == self._key:
                epoch = image.partitions[self._key].leader_epoch
                self._asked[name, number] = ElectionRequest(epoch, name in self._ready)
                if not self._elects:
                    self._ready.discard(name)
            case dict() if kind in ("crash", "halt"):
                self._add(index, "PROCESS_ENDED", name)
                self._forget(name)
                del self.registered[self._nodes[name]]

    def _forget(self, name: str) -> None:
        self.opened.pop(name, None)
        for each in (self.recovering, self._frozen, self._flagged, self._ready, self._overtaken):
            each.discard(name)

    # Steps of a partition -------------------------------------------------------------------------------------------

    def _step(self, index: int, name: str, action: str, values: dict[str, Any]) -> None:
        match action:
            case "begin_open":
                self.opened[name] = values["leader_epoch"]
                self._served.discard(name)
                self._overtaken.discard(name)
            case "serve":
                self._served.add(name)
                if self._elects:
                    self._ready.add(name)
            case "freeze":
                if name not in self._frozen:
                    self._freeze(index, name)
                return
            case "flag":
                self._flagged.add(name)
            case "end_close":
                self.opened.pop(name, None)
                self._frozen.discard(name)
                self._flagged.discard(name)
                if not self._elects and name in self._served:
                    self._ready.add(name)
        fields = {"leaderEpoch": values["leader_epoch"]} if "leader_epoch" in values else {}
        self._add(index, STEPS[action], name, **fields)

    def _freeze(self, index: int, name: str) -> None:
        self._frozen.add(name)
        if self._elects:
            self._ready.discard(name)
        self._add(index, "FREEZE", name)

    def _send_close(self, index: int, name: str, values: dict[str, Any]) -> None:
        stream, epoch = values["stream"], values["epoch"]
        self.sent.add((name, stream, epoch))
        if (name, stream, epoch) not in self.held:
            return  # The models do not have this handle.
        suffix = "" if name in self._flagged else ":unflagged"
        for each in self._streams.like(stream):
            who = {"node": self._nodes[name]}
            self._lines.add(index, f"stream.closing{suffix}", who, stream=each, streamEpoch=epoch)

    def _add(self, index: int, kind: str, name: str, **fields: int) -> None:
        if self._has_begun:
            self._lines.add(index, kind, {"node": self._nodes[name]}, **fields)

    # Elections ------------------------------------------------------------------------------------------------------

    def reason(self, cause: ExecutedRequest, epoch: int, replica: int) -> str:
        """The suffix that tells why a process has asked for an election; "" if an operator has.

        ``cause``: the request. ``epoch``: the leader epoch before the election. ``replica``: the broker to elect.
        """
        if cause.sender not in self._nodes:
            return ""
        asked = self._asked.get((cause.sender, cause.request.id))
        is_late = asked is None or asked.epoch != epoch or not self.is_newest(cause.sender)
        # In G1 the target has to serve still. In G0 nobody may have opened what the source had closed.
        is_late |= cause.sender not in self._ready if self._elects else cause.sender in self._overtaken
        if asked is None or is_late or (self.node_of(cause.sender) == replica) != self._elects:
            return ":late"
        return ":source" if asked.ready else ":idle"
