"""One run: a cluster, its clients and its faults, from one seed."""

from __future__ import annotations

import gc
import math
from collections import Counter
from collections.abc import Callable
from typing import Any

import msgspec

from impl.broker.messages import Command, CommandAnswer
from impl.client.history import History
from impl.metadata.log import MetadataBatch
from impl.rules import decided
from impl.sim import faults
from impl.sim.chaos import Chaos
from impl.sim.cluster import ControllerCluster
from impl.sim.decisions import DecisionLog
from impl.sim.event_log import EventLog
from impl.sim.fleet import Fleet
from impl.sim.links import CHANNEL_FOLDER, dangling
from impl.sim.load import Load, Parts
from impl.sim.neighbours import OUTSIDERS, Neighbours
from impl.sim.network import Network
from impl.sim.options import Options
from impl.sim.partitions.load import PartitionLoad
from impl.sim.process import Make, Process
from impl.sim.queue import Queue
from impl.sim.script import ScriptOperation
from impl.sim.store_faults import FaultyStore
from impl.sim.strangers import NOBODY, Stranger, Strangers
from impl.sim.stream_load import StreamLoad
from impl.sim.tape import Fault, Tape, stream
from impl.sim.zones import ZoneTraffic
from impl.store.interface import ObjectStore
from impl.tasks import Place
from impl.wire import Reply

BEGIN_MS = 100_000
"""The virtual time at which a run begins. The first processes are older than a minute, so that FO-01 takes them."""
FIRST_EPOCH = 10_000
GRACE_MS = 20_000
"""How long after the time of the last operation the faults end, if clients have not ended by then."""
PERIOD_MS = 500
"""The virtual time between two checks whether all clients have ended."""
COMMIT_MS = 30
"""The longest time that a commit of the quorum takes; each run has one time for all commits."""


class Run(msgspec.Struct, kw_only=True):
    """A run that has ended.

    ``missing``: "" if the run has healed, else the condition that did not hold in time. ``broken``: the error with
    which a node has ended the run, "" if none has. ``drawn``: the rates of the kinds of faults; ``happened``: how often
    each kind did. ``faults`` and ``script`` replay the run. ``begin``: the virtual time at which the script began.
    ``decided``: how often each rule refused a request or decided a branch. ``first_decided``: when it did first.
    """

    seed: int
    history: History
    log: EventLog
    script: tuple[ScriptOperation, ...]
    faults: list[Fault]
    drawn: dict[str, float]
    happened: dict[str, int]
    missing: str
    broken: str
    begin: int
    counts: dict[str, int]
    crashed: dict[Place, int]
    decided: dict[str, int]
    first_decided: dict[str, int]
    simulation: Any = None

    @property
    def healed(self) -> bool:
        """Whether all conditions of the heal phase held in time."""
        return not self.missing and not self.broken


class RunStoppedError(Exception):
    """``go_on`` has stopped the run."""


def always() -> bool:
    """The ``go_on`` of a run that nobody stops."""
    return True


def simulate(
    seed: int,
    make: Make,
    object_key: Callable[[int], str],
    options: Options = Options(),  # noqa: B008 - frozen
    go_on: Callable[[], bool] = always,
) -> Run:
    """Run a cluster of the brokers that ``make`` makes. ``object_key``: where the bytes of an object are.

    The run asks ``go_on`` every half a second of the virtual time. If the answer is no, it raises StoppedError.
    """
    # The decisions of this run are counted from nothing, and those of earlier runs are added after it.
    before = Counter(decided)
    decided.clear()
    # For speed, the garbage collector rests during a run.
    collects = gc.isenabled()
    gc.disable()
    try:
        simulation = Simulation(seed, make, object_key, options, go_on)
        try:
            return simulation.run()
        finally:
            simulation.fleet.close()
    finally:
        decided.update(before)
        if collects:
            gc.enable()


class Simulation:
    """All parts of a run. ``load``: its clients and their operations. ``store``: as for ``FaultyStore``.

    ``run`` makes the whole run. A caller that decides itself what happens, and when, calls ``start``, moves the clock
    of the ``queue``, and calls ``heal``.
    """

    def __init__(
        self,
        seed: int,
        make: Make,
        object_key: Callable[[int], str],
        options: Options,
        go_on: Callable[[], bool] = always,
        store: ObjectStore | None = None,
    ) -> None:
        self.seed, self.options, self.go_on = seed, options, go_on
        self.queue = Queue(BEGIN_MS)
        self.log = DecisionLog()
        self.history = History()
        self.begin = 0
        self.faults_end = 0
        self.dangling: list[str] = []
        """The links that dangled when a process ended, in words."""
        elsewhere = (*(faults.PARTITION if options.partitions else ()), *(() if options.zones else faults.ZONED))
        drawn = seed if options.fork is None else options.fork.seed
        self.rates = faults.without_kinds(faults.swarm(drawn, options.faults), *options.without, *elsewhere)
        self.tape = Tape(drawn, self.rates, options.recorded, math.inf if options.fork is None else options.fork.at)
        self.network = Network(self.queue, self.tape, seed)
        self.store = FaultyStore(self.queue, self.tape, seed, store)
        self.store.deleted = self._deleted
        self.traffic = ZoneTraffic(options.zones)
        self.fleet = Fleet(
            *(self.queue, self.tape, seed, self.log, self.store, self.network, make),
            done=self._done,
            started=self._started,
            ended=self._ended,
            traffic=self.traffic,
        )
        self.cluster = ControllerCluster(
            *(self.queue, self.tape, seed, self.log, self.store),
            profile=options.profile,
            controllers=options.controllers,
            delay=1 + int(stream(seed, "commits")() ** 2 * COMMIT_MS),
            object_key=object_key,
            reply=self._reply,
            learn=self._learn,
        )
        self.fleet.cluster = self.cluster
        self.chaos = Chaos(self.queue, self.tape, self.fleet, self.cluster, self.network)
        self.strangers = Strangers(self.queue, self.tape, self.cluster, self._tell)
        self.neighbours = Neighbours(self.queue, self.tape, self.cluster)
        parts = Parts(
            *(seed, options, self.queue, self.tape, self.network, self.fleet, self.cluster, self.history, self.traffic),
            advance=self._advance,
        )
        self.load: Load = PartitionLoad(parts) if options.partitions else StreamLoad(parts)

    def run(self) -> Run:
        """Set the cluster up, run the script under faults, and heal.

        An error of a node ends the run: it is a fault of the node, or of the simulator.
        """
        broken = ""
        try:
            self.history.missing = self._phases()
        except RunStoppedError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever it is, it is the finding
            broken = ", ".join([f"{type(error).__name__}: {error}", *getattr(error, "__notes__", ())])
        return Run(
            seed=self.seed,
            history=self.history,
            log=self.log,
            script=tuple(self.load.script),
            faults=self.tape.faults,
            drawn=self.rates,
            happened=self.tape.counts(),
            missing=self.history.missing or "",
            broken=broken,
            begin=self.begin,
            counts=self._counts(),
            crashed=dict(sorted(self.fleet.crashed.items())),
            decided=dict(sorted(decided.items())),
            first_decided=self.log.first_decided,
            simulation=self,
        )

    def _counts(self) -> dict[str, int]:
        kinds = Counter(each.f for each in self.load.script)
        return {
            "steps": self.fleet.steps + self.cluster.steps,
            "operations": len(self.load.script),
            **{f"operations {name}": kinds[name] for name in sorted(kinds)},
            **self.load.counts(),
            **self.traffic.counts(),
            "processes": len(self.fleet.processes),
            "elections": self.cluster.elections,
            "lost batches": self.cluster.lost_batches,
            "store operations": self.store.operations,
            "virtual ms": self.queue.now - BEGIN_MS,
            "healing ms": self.queue.now - self.faults_end if self.faults_end else 0,
        }

    def _phases(self) -> str:
        """Run all phases. Returns the condition that fails at the end; "" if all hold."""
        self.start()
        self.chaos.begin()
        self.strangers.begin()
        self.neighbours.begin()
        last = self.begin + max((each.at for each in self.load.script), default=0) + GRACE_MS
        while self.queue.now < last and not self.load.has_ended():
            self._advance(min(last, self.queue.now + PERIOD_MS))
        return self.heal()

    def start(self) -> None:
        """Start the brokers, make what exists before the script, and begin with the script. No fault happens yet."""
        for node in range(1, self.options.brokers + 1):
            self.fleet.start(node, FIRST_EPOCH + node)
        self.load.set_up()
        # The tape is armed only now: no fault disturbs the set-up.
        self.begin = self.queue.now
        self.load.begin()
        self.tape.arm()

    def heal(self) -> str:
        """End all faults, and run the heal phase. Returns the condition that fails at the end; "" if all hold."""
        self.chaos.end()
        self.faults_end = self.queue.now
        return self.load.heal()

    def _advance(self, until: int) -> None:
        """Run all events up to a time, unless the run is not to go on."""
        if not self.go_on():
            raise RunStoppedError
        self.queue.run(until)

    # What parts tell the load -------------------------------------------------------------------------------------

    def _learn(self, batches: tuple[MetadataBatch, ...]) -> None:
        self.load.learn(batches)
        self.fleet.learn(batches)

    def _done(self, process: Process, done: CommandAnswer) -> None:
        if done.to != NOBODY:
            self.load.done(process, done)
        else:
            self.strangers.answered(process.name, done)

    def _tell(self, node: int, command: Command) -> None:
        """Hand the command of a stranger to the newest process of a node, if the node has one."""
        process = self.fleet.current.get(node)
        if process is not None:
            self.fleet.command(process, command, lambda: None)

    def _reply(self, sender: Any, reply: Reply) -> None:
        if isinstance(sender, Stranger):
            self.strangers.replied(reply)
        elif not isinstance(sender, OUTSIDERS):
            self.load.reply(sender, reply)

    def _deleted(self, keys: tuple[str, ...]) -> None:
        """Objects are deleted. A channel may have been trimmed."""
        if any(key.startswith(CHANNEL_FOLDER) for key in keys):
            self._look(f"when {keys[0]} was deleted")

    def _look(self, when: str) -> None:
        """Look for links that dangle: a recovery could begin now (I-1)."""
        if isinstance(self.load, PartitionLoad) and self.options.zones:
            image = self.load.metadata.image
            self.dangling += (f"{when}, {each}" for each in dangling(self.store.memory.objects, image))

    def _started(self, process: Process) -> None:
        self.load.started(process)

    def _ended(self, process: Process, noticed: bool) -> None:
        self._look(f"when {process.name} ended")
        self.load.ended(process, noticed=noticed)
