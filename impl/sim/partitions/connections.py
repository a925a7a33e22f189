"""The links of a client node: to the processes of brokers, and to the controllers.

A client keeps its connection to a process of a node until the process ends, refuses a command, or leaves one
unanswered. So it may go on with a process that is paused and has a successor.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from impl.broker.messages import CommandAnswer, CommandBody
from impl.client.messages import ConnectionLoss, Input, Output, ToBroker, Unreachable
from impl.client.node import ClientNode
from impl.sim.cluster import ControllerCluster
from impl.sim.fleet import Fleet
from impl.sim.network import Network
from impl.sim.process import Process
from impl.sim.queue import Queue
from impl.sim.zones import ZoneTraffic
from impl.wire import Reply, Request, Wake, WakeNotice


class Connections:
    """The links of one client node. ``name``: the name of the node in the event log."""

    def __init__(
        self,
        node: ClientNode,
        queue: Queue,
        network: Network,
        fleet: Fleet,
        cluster: ControllerCluster,
        traffic: ZoneTraffic,
    ) -> None:
        self.node, self.name = node, node.name
        self._queue, self._network, self._fleet, self._cluster = queue, network, fleet, cluster
        self._traffic = traffic
        self._home = cluster.home
        """The controller that the client takes for the leader."""
        self._known: dict[int, Process] = {}
        """By node: the process that the client is connected with."""
        self._asked: dict[int, tuple[Process, CommandBody]] = {}
        """By the number of a command without an answer: the process that got it, and its body."""
        self._wake = -1

    def deliver(self, event: Input) -> None:
        """Give an input to the node, and carry its outputs."""
        self._route(self.node.handle(event, self._queue.now))

    def _route(self, outputs: Sequence[Output]) -> None:
        for output in outputs:
            match output:
                case ToBroker(node, command):
                    process = self._connect(node)
                    self._asked[command.id] = process, command.body
                    self._traffic.client(self.node.number, node, command.body, command.body)
                    refused = self._refusal(command.id, process)
                    self._fleet.command(process, command, refused)
                case Request():
                    # Links go by node. The negative number of the client is a node of its own, which is no broker.
                    link = self._network.link(-self.node.number, ">controller")
                    self._network.send(link, self._cluster.arrive, self, self._home, output)
                case Wake(at):
                    self._wake = at
                    self._queue.at(at, self._woken, at)

    def _connect(self, node: int) -> Process:
        process = self._known.get(node)
        # A process that has left a command unanswered may be paused: connect to the newest one of the node.
        if process is None or any(asked is process for asked, _ in self._asked.values()):
            process = self._known[node] = self._fleet.current[node]
        return process

    def _refusal(self, number: int, process: Process) -> Callable[[], None]:
        def refused() -> None:
            self._close(process)
            if self._asked.pop(number, None) is not None:
                self.deliver(Unreachable(number))

        return refused

    def _close(self, process: Process) -> None:
        if self._known.get(process.node) is process:
            del self._known[process.node]

    def _woken(self, at: int) -> None:
        if self._wake == at:
            self.deliver(WakeNotice())

    def done(self, done: CommandAnswer) -> None:
        """The answer of a broker arrives."""
        asked = self._asked.pop(done.id, None)
        if asked is not None:
            self._traffic.client(self.node.number, asked[0].node, asked[1], done.values)
        self.deliver(done)

    def replied(self, reply: Reply) -> None:
        """A controller sends an answer."""
        self._network.send(self._network.link(-self.node.number, "<controller"), self._reply, reply)

    def _reply(self, reply: Reply) -> None:
        self._home = self._cluster.home
        self.deliver(reply)

    def reset(self, process: Process) -> None:
        """A process has ended, and its connections break."""
        self._close(process)
        for number in [number for number, (asked, _) in self._asked.items() if asked is process]:
            del self._asked[number]
            self._queue.at(self._queue.now + 1, self.deliver, ConnectionLoss(number))
