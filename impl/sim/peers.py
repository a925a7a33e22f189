"""The connections between brokers: requests of proxies to mains, and their answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from impl.broker.messages import (
    GetPartitionSnapshot,
    PeerAnswer,
    PeerCall,
    PeerLoss,
    PeerRequest,
    PeerResult,
    RouteBatches,
)
from impl.sim.event_log import EventLog, SentSnapshots
from impl.sim.network import PEER, Network
from impl.sim.process import Process
from impl.sim.queue import Queue
from impl.sim.zones import ZoneTraffic


class PeerConnections:
    """The requests between processes that are under way. A request goes to the newest process of its node.

    ``processes``: all processes, in the order of their start. ``current``: the newest one of each node. ``deliver``:
    gives a process an input. ``traffic`` counts the bytes. ``log`` gets the answers.
    """

    def __init__(
        self,
        queue: Queue,
        network: Network,
        processes: list[Process],
        current: dict[int, Process],
        deliver: Callable[[Process, Any], None],
        traffic: ZoneTraffic,
        log: EventLog,
    ) -> None:
        self._log = log
        self._queue, self._network, self._processes, self._current = queue, network, processes, current
        self._deliver, self._traffic = deliver, traffic
        self._asked: dict[tuple[int, int], Process] = {}
        """By process and number of a request without an answer: the process that was asked."""
        self._snapshots: dict[tuple[int, int], GetPartitionSnapshot] = {}
        """By process and number: the requests for snapshots, until they are answered."""
        self._epochs: dict[tuple[int, int], int] = {}
        """By process and number of a request with routed batches, until it is answered: the route epoch."""

    def request(self, process: Process, request: PeerRequest) -> None:
        """A process asks another node."""
        target = self._current.get(request.node)
        if target is None:
            self._queue.at(self._queue.now + 1, self._deliver, process, PeerLoss(request.id))
            return
        sender = self._processes.index(process)
        self._asked[sender, request.id] = target
        if isinstance(request.body, RouteBatches):
            self._epochs[sender, request.id] = request.body.route_epoch
        else:
            self._snapshots[sender, request.id] = request.body
        self._traffic.peers(process.node, request.node, request.body)
        link = self._network.link(process.node, f"{PEER}{request.node}")
        self._network.send(link, self._arrive, target, PeerCall(sender, request.id, request.body))

    def _arrive(self, target: Process, call: PeerCall) -> None:
        if target.alive:
            self._deliver(target, call)
        else:
            self._queue.at(self._queue.now + 1, self._lose, call.sender, call.id)

    def answer(self, process: Process, answer: PeerAnswer) -> None:
        """A process answers."""
        sender = self._processes[answer.sender]
        epoch = self._epochs.pop((answer.sender, answer.id), None)
        if epoch is not None:
            errors = [name for name, _ in answer.values.get("answers", ())]
            routed = {"node": process.node, "epoch": epoch, "errors": errors}
            self._log.events.append((self._queue.now, process.name, "routed", routed))
        asked = self._snapshots.pop((answer.sender, answer.id), None)
        if asked is not None:
            sent = SentSnapshots(sender.name, answer.id, process.node, commit=asked.commit, **answer.values)
            self._log.events.append((self._queue.now, process.name, "snapshots", sent))
        self._traffic.peers(process.node, sender.node, answer.values)
        link = self._network.link(process.node, f"{PEER}{sender.node}")
        self._network.send(link, self._answered, answer)

    def _answered(self, answer: PeerAnswer) -> None:
        if self._asked.pop((answer.sender, answer.id), None) is not None:
            self._deliver(self._processes[answer.sender], PeerResult(answer.id, answer.error, answer.values))

    def ended(self, process: Process, *, noticed: bool) -> None:
        """A process has ended. Those who wait for its answer notice it at once, or wait until their time is over."""
        for (sender, number), asked in list(self._asked.items()):
            if asked is process:
                del self._asked[sender, number]
                if noticed:
                    self._queue.at(self._queue.now + 1, self._deliver, self._processes[sender], PeerLoss(number))

    def _lose(self, sender: int, number: int) -> None:
        if self._asked.pop((sender, number), None) is not None:
            self._deliver(self._processes[sender], PeerLoss(number))
