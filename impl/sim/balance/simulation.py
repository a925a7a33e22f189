"""A run: three loaded brokers, a fourth one that joins, clients that keep their rates, and balancers that move.

Brokers, controllers, clients and balancers are those of ``impl``. There are no faults. The transfers of a broker share
its bandwidth, so that a move takes what its upload, its opens and its commits take.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Literal

import msgspec

from impl.balancer.node import BalancerNode, BalancingRound
from impl.balancer.reporter import INTERVAL_MS
from impl.broker.messages import CommandAnswer, Identity
from impl.broker.node import Broker
from impl.broker.object_format import object_key
from impl.client.history import History
from impl.controller.nodes import is_locked
from impl.controller.view import Profile
from impl.metadata.log import MetadataBatch
from impl.rules import without
from impl.sim.balance.clients import FinalReader, SteadyClients
from impl.sim.balance.metered_broker import MeteredBroker
from impl.sim.balance.moves import MoveLog, PartitionMove
from impl.sim.balance.planners import MetricsTopic, Planner
from impl.sim.balance.scaled_settings import scaled_configuration, scaled_settings
from impl.sim.balance.workload import (
    EMPTY,
    END_MS,
    FAILOVER_MS,
    JOIN_MS,
    LOADED,
    PARTITIONS,
    SCALE,
    PartitionLoadPlan,
    workload,
)
from impl.sim.cluster import ControllerCluster, Sender
from impl.sim.event_log import EventLog
from impl.sim.fleet import Fleet
from impl.sim.load import Parts
from impl.sim.move.conditions import Conditions
from impl.sim.move.simulation import EventSink
from impl.sim.move.steady_network import SteadyNetwork
from impl.sim.move.steady_store import SteadyStore
from impl.sim.options import Options
from impl.sim.partitions.load import PartitionLoad
from impl.sim.process import Process
from impl.sim.queue import Queue
from impl.sim.tape import Fault, Tape
from impl.sim.zones import ZoneTraffic
from impl.wire import Reply

BEGIN_MS, FIRST_EPOCH = 100_000, 10_000
CONTROLLERS = 3
REST_MS = 60_000
"""The longest time after the load in which all clients and moves end."""
READ_MS = 600_000
"""The longest time in which all partitions are read."""
LEAST_BANDWIDTH = 10**9
"""With less, the brokers fall behind with their writes, and no move ends."""
FAILOVER_VALUE = 0.5
"""How bad the failover is: it takes one to two seconds until another controller leads, and no batch is lost."""


class BalanceQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """``balancer``: how plans are made. ``without``: rules that are switched off. ``conditions``: unscaled."""

    seed: int = 0
    balancer: Literal["parity", "safe"] = "parity"
    without: tuple[str, ...] = ()
    conditions: Conditions = Conditions(bandwidth=10**10)


class BalanceRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run that has ended. ``begin``: the virtual time at which the load began.

    ``rounds``: by controller. ``strays``: by controller, the times of its rounds while it did not lead.
    ``missing``: what has not come to its end, "" if all has. ``joined``: when the empty broker was active; None if it
    never was.
    """

    question: BalanceQuestion
    plans: tuple[PartitionLoadPlan, ...]
    history: History
    begin: int
    joined: int | None
    moves: tuple[PartitionMove, ...]
    rounds: dict[int, tuple[BalancingRound, ...]]
    strays: dict[int, tuple[int, ...]]
    missing: str


class BalanceSimulation:
    """All parts of a run."""

    def __init__(self, question: BalanceQuestion) -> None:
        self.question = question
        self.queue = queue = Queue(BEGIN_MS)
        self.history = History()
        self.plans = workload(question.seed)
        self.moves = MoveLog()
        self.topic = MetricsTopic(queue)
        self.planners: list[Planner] = []
        self.joined: int | None = None
        scaled = msgspec.structs.replace(question.conditions, bandwidth=question.conditions.bandwidth // SCALE)
        self._conditions = scaled
        tape, log = Tape(0, {}), EventLog()
        log.events = EventSink()
        network = SteadyNetwork(queue, tape, scaled)
        self.store = SteadyStore(queue, tape, scaled, has_stand_ins=False)
        self.fleet = Fleet(
            *(queue, tape, 0, log, self.store, network, _make),
            done=self._done,
            started=self._started,
            ended=_ended,
            traffic=ZoneTraffic(0),
        )
        profile = Profile(handshake="G1", balancer=question.balancer)
        self.cluster = ControllerCluster(
            *(queue, tape, 0, log, self.store),
            profile=profile,
            controllers=CONTROLLERS,
            delay=scaled.commit,
            object_key=object_key,
            reply=self._reply,
            learn=self._learn,
        )
        self.fleet.cluster = self.cluster
        options = Options(brokers=len(LOADED), partitions=PARTITIONS, faults="none", operations_of=(), profile=profile)
        self.load = PartitionLoad(
            Parts(
                *(0, options, queue, tape, network, self.fleet, self.cluster, self.history, ZoneTraffic(0)),
                advance=queue.run,
            )
        )

    def run(self) -> BalanceRun:
        """Set the cluster up, run the load, and read all partitions."""
        queue = self.queue
        for node in LOADED:
            self.fleet.start(node, FIRST_EPOCH + node)
        self.load.set_up()
        self.store.limit()
        begin = queue.now
        for number in range(CONTROLLERS):
            self._add_planner(number)
        clients = SteadyClients(self.load, self.plans, begin)
        queue.at(begin + JOIN_MS, self._join)
        queue.at(begin + FAILOVER_MS, self.cluster.befall, Fault("controller", 0, "failover", FAILOVER_VALUE, 0))
        queue.run(begin + END_MS)
        for planner in self.planners:
            planner.is_stopped = True
        missing = "" if self._until(lambda: not clients.left) else f"{clients.left} clients have not ended"
        self._until(lambda: all(each.end is not None for each in self.moves.moves))
        self.store.unlimit()
        reader = FinalReader(self.load, PARTITIONS)
        if not self._until(lambda: not reader.left, READ_MS) or reader.failed:
            missing = missing or "partitions cannot be read"
        self.history.missing = missing
        return BalanceRun(
            question=self.question,
            plans=self.plans,
            history=self.history,
            begin=begin,
            joined=self.joined,
            moves=tuple(self.moves.moves),
            rounds={each.controller: tuple(each.node.rounds) for each in self.planners},
            strays={each.controller: tuple(each.strays) for each in self.planners},
            missing=missing,
        )

    def _join(self) -> None:
        self.fleet.start(EMPTY, FIRST_EPOCH + EMPTY)

    def _add_planner(self, number: int) -> None:
        controller, configuration = self.cluster.controllers[number], scaled_configuration(self.question.balancer)
        node = BalancerNode(lambda: configuration, lambda: controller.term is not None, is_locked, self.queue.now)
        links = self.queue, self.cluster, self.topic
        planner = Planner(number, node, *links, metadata_ms=self._conditions.metadata)
        planner.learn()
        self.planners.append(planner)

    def _until(self, holds: Callable[[], bool], ms: int = REST_MS) -> bool:
        """Run events until ``holds`` is true; False if that takes more than ``ms``."""
        bound = self.queue.now + ms
        while not holds():
            if self.queue.now >= bound:
                return False
            self.queue.run(self.queue.now + 100)
        return True

    # What the parts tell ------------------------------------------------------------------------------------------

    def _learn(self, batches: tuple[MetadataBatch, ...]) -> None:
        self.moves.committed(batches, self.queue.now)
        self.load.learn(batches)
        if self.joined is None and EMPTY in self.load.metadata.active():
            self.joined = self.queue.now
        self.fleet.learn(batches)
        for planner in self.planners:
            planner.learn()

    def _reply(self, sender: Sender, reply: Reply) -> None:
        if isinstance(sender, Planner):
            sender.replied(reply)
        else:
            self.load.reply(sender, reply)

    def _done(self, process: Process, done: CommandAnswer) -> None:
        self.load.done(process, done)

    def _started(self, process: Process) -> None:
        self.queue.at(self.queue.now + INTERVAL_MS, self._report, process)

    def _report(self, process: Process) -> None:
        """A process reports its metrics, as long as it lives."""
        if process.alive:
            assert isinstance(process.broker, MeteredBroker), "all brokers have meters"
            self.topic.send(process.broker.report(self.queue.now))
            self.queue.at(self.queue.now + INTERVAL_MS, self._report, process)


def run_balance(question: BalanceQuestion) -> BalanceRun:
    """Make a run. The garbage collector rests meanwhile, as in every run of the simulator."""
    collects = gc.isenabled()
    gc.disable()
    simulation = BalanceSimulation(question)
    try:
        with without(*question.without):
            return simulation.run()
    finally:
        simulation.fleet.close()
        if collects:
            gc.enable()


def _make(identity: Identity, now: int) -> MeteredBroker:
    return MeteredBroker(Broker(identity, scaled_settings(), now), identity.node)


def _ended(process: Process, _: bool) -> None:
    raise RuntimeError(f"the process {process.name} has ended, although no fault has happened")
