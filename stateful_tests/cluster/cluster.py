"""A simulated cluster on moto's S3, whose caller decides what happens and when; oracles judge it after each step."""

from __future__ import annotations

import msgspec

from impl.broker.object_format import object_key
from impl.controller.view import Profile
from impl.oracles.judge import judge
from impl.oracles.storage import BucketContents
from impl.sim import faults
from impl.sim.brokers import RETENTION_MS, SMALL, broker_of
from impl.sim.check import bucket
from impl.sim.options import Options
from impl.sim.process import Process
from impl.sim.run import Simulation
from impl.sim.script import ScriptOperation
from impl.sim.tape import Fault
from stateful_tests.cluster.conformance import Conformance
from stateful_tests.cluster.moto_bucket import MotoBucket
from stateful_tests.cluster.shape import Shape
from stateful_tests.partition.broken import BrokenError

KEYS = 2
"""The number of streams, or of partitions."""


class Cluster:
    """A cluster that serves its streams or partitions. ``simulation``: its parts. Close it at the end.

    ``store``: a bucket for this cluster alone; what is in it is deleted first.
    """

    def __init__(self, shape: Shape, store: MotoBucket) -> None:
        self.shape, self.store = shape, store
        store.clear()
        v6, elects = shape.version == "V6", shape.generation == "G1"
        options = Options(
            brokers=shape.brokers,
            streams=KEYS,
            partitions=KEYS if shape.load == "partitions" else 0,
            faults="none",
            operations_of=(),
            more_moves=False,
            profile=Profile(v6=v6, handshake=shape.generation, object_retention_ms=RETENTION_MS),
        )
        settings = msgspec.structs.replace(SMALL, fast_close=v6, elects=elects)
        self.simulation = Simulation(shape.seed, broker_of(settings), object_key, options, store=self.store)
        self.conformance = Conformance(shape, self.simulation)
        self._judged = 0
        self._faults = 0
        self.simulation.start()

    # Steps ------------------------------------------------------------------------------------------------------

    def rest(self, ms: int) -> None:
        """Let time pass."""
        queue = self.simulation.queue
        queue.run(queue.now + ms)

    def give(self, operation: ScriptOperation) -> None:
        """Let a client, the director or an operator do an operation."""
        self.simulation.load.give(operation)

    def befall(self, node: int, kind: str, value: float) -> None:
        """Let a fault of ``faults.PROCESS`` happen to the newest process of a node, or to the links of the node."""
        self.simulation.chaos.befall(self.newest(node), self._fault(kind, value))

    def fail_over(self, kind: str, value: float) -> None:
        """Let a fault of ``faults.CONTROLLER`` happen."""
        self.simulation.cluster.befall(self._fault(kind, value))

    def plan(self, node: int, kind: str, value: float) -> None:
        """Let a fault happen to the next thing of a node that can have it."""
        site, kinds = site_of(kind, node)
        self.simulation.tape.plan(site, kinds, kind, value)

    def plan_message(self, node: int, link: str, kind: str, value: float) -> None:
        """Let a fault happen to the next message of a node on a link. ``link`` and ``kind``: a pair of MESSAGES."""
        assert (link, kind) in MESSAGES, f"{link} has no fault {kind}"
        self.simulation.network.link(node, link).site.plan(kind, value)

    def restart(self, node: int) -> None:
        """Start the next process of a node. A process that is paused goes on beside it when its pause ends."""
        newest = self.newest(node)
        if newest.alive:
            self.simulation.fleet.start(node)
        else:
            self.simulation.fleet.restart(newest)

    def mend(self) -> None:
        """All links work, pauses end, and dead nodes start again."""
        self.simulation.network.mend()
        for process in self.simulation.fleet.processes:
            self.simulation.fleet.resume(process)
        for node in self.nodes:
            self.simulation.fleet.restart(self.newest(node))

    def _fault(self, kind: str, value: float) -> Fault:
        self._faults += 1
        return Fault("machine", self._faults, kind, value, self.simulation.queue.now)

    # State ------------------------------------------------------------------------------------------------------

    @property
    def nodes(self) -> list[int]:
        """The nodes with brokers."""
        return sorted(self.simulation.fleet.current)

    def newest(self, node: int) -> Process:
        """The newest process of a node."""
        return self.simulation.fleet.current[node]

    @property
    def absent(self) -> list[int]:
        """The nodes whose newest process is dead or paused."""
        return [node for node in self.nodes if not self.newest(node).alive or self.newest(node).paused]

    # Oracles ----------------------------------------------------------------------------------------------------

    def check(self) -> None:
        """Judge the history, if it has changed, and let the models judge the log. Raises BrokenError."""
        ops = len(self.simulation.history.ops)
        if ops != self._judged:
            self._judged = ops
            self._judge(None)
        self.conformance.check()

    def finish(self) -> None:
        """End all faults, wait until everything works again, and judge the run with its bucket. Raises BrokenError."""
        missing = self.simulation.history.missing = self.simulation.heal()
        self._judge(None if missing else bucket(self.simulation, self.store.objects()))
        self.conformance.check()

    def _judge(self, stored: BucketContents | None) -> None:
        verdict = judge(self.simulation.history, stored)
        if verdict.error is not None:
            # No assertion: a history that cannot be judged is no violation.
            raise RuntimeError(f"the oracles cannot judge the history: {verdict.error}")
        for violation in verdict.violations:
            raise BrokenError(violation.oracle, violation.message)

    def close(self) -> None:
        """End all processes."""
        self.simulation.fleet.close()


def site_of(kind: str, node: int) -> tuple[str, tuple[str, ...]]:
    """The site of a node that decides about a kind of fault, and the kinds between which it decides."""
    for name, kinds in SITES.items():
        if kind in kinds:
            return f"{name}/{node}", tuple(kinds)
    raise ValueError(f"no site of a node has the fault {kind}; the kinds are {', '.join(PLANNED)}")


SITES = {
    "store": faults.STORE,
    "list": faults.LISTING,
    "race": faults.RACE,
    "stall": faults.STALL,
    "image": faults.IMAGE,
    "names": faults.UNNAMED,
    "epoch": faults.EPOCH,
}
"""By the first part of a site's name: the kinds between which it decides."""
MESSAGES = tuple(
    (link, kind)
    for link in (">controller", "<controller", ">client", "<client")
    for kind in faults.NETWORK
    # Clients talk by TCP, which shows no message twice.
    if kind != "duplicate" or link.endswith("controller")
)
"""The links of a node, and the faults of messages on them."""
PLANNED = tuple(kind for kinds in SITES.values() for kind in kinds)
