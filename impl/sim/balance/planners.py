"""The balancers of the controllers, and the metrics topic between them and the brokers.

The topic stands for ``__auto_balancer_metrics``: it keeps the records in one order, and never loses one.
"""

from __future__ import annotations

from collections.abc import Sequence

from impl.balancer.node import BalancerNode, BalancerOutput
from impl.sim.cluster import ControllerCluster
from impl.sim.queue import Queue
from impl.wire import Reply, Wake

LINGER_MS, POLL_MS = 1_000, 1_000
"""How long a report waits for others before it is in the topic (AB-11), and the time between two polls (AB-12)."""


class MetricsTopic:
    """``values``: the values of all records, in order."""

    def __init__(self, queue: Queue) -> None:
        self.values: list[bytes] = []
        self._queue = queue

    def send(self, values: Sequence[bytes]) -> None:
        """Send a report, which arrives after the linger."""
        self._queue.at(self._queue.now + LINGER_MS, self.values.extend, values)


class Planner:
    """The balancer of one controller with its links: to the topic, the committed metadata, and its controller.

    ``controller``: the number of its controller, whom it asks without a network in between. ``metadata_ms``: the time
    from a commit until the balancer has it. ``strays``: the times of the rounds that it has begun although its
    controller did not lead. ``is_stopped``: whether it gets no input any more.
    """

    def __init__(
        self,
        controller: int,
        node: BalancerNode,
        queue: Queue,
        cluster: ControllerCluster,
        topic: MetricsTopic,
        *,
        metadata_ms: int,
    ) -> None:
        self.controller, self.node, self.name = controller, node, f"balancer of c{controller}"
        self.strays: list[int] = []
        self.is_stopped = False
        self._queue, self._cluster, self._topic, self._delay = queue, cluster, topic, metadata_ms
        self._position = len(topic.values)
        """It begins at the end of the topic (AB-12)."""
        self._seen = 0
        self._wake = -1
        self._route(node.wake(queue.now))
        self._poll()

    def learn(self) -> None:
        """Batches are committed. The balancer has them a moment later (AB-17)."""
        self._queue.at(self._queue.now + self._delay, self._learn)

    def _learn(self) -> None:
        batches = self._cluster.committed(self._seen)
        self.node.learn(self._seen, batches)
        self._seen += len(batches)

    def _poll(self) -> None:
        values = self._topic.values[self._position :]
        self._position += len(values)
        self.node.take(values)
        self._queue.at(self._queue.now + POLL_MS, self._poll)

    def replied(self, reply: Reply) -> None:
        """The controller answers."""
        self._route(self.node.replied(reply, self._queue.now))

    def _route(self, outputs: Sequence[BalancerOutput]) -> None:
        for output in outputs:
            if isinstance(output, Wake):
                self._wake = output.at
                self._queue.at(output.at, self._woken, output.at)
            else:
                self._queue.at(self._queue.now, self._cluster.arrive, self, self.controller, output)

    def _woken(self, at: int) -> None:
        if self._wake == at and not self.is_stopped:
            self._wake, begun = -1, len(self.node.rounds)
            self._route(self.node.wake(self._queue.now))
            # Seen from outside: the balancer itself looks at the same before it plans (BG-18).
            leads = self._cluster.controllers[self.controller].term is not None
            if len(self.node.rounds) > begun and not leads:
                self.strays.append(at)
