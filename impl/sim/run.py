"""One run: a cluster, its clients and its faults, from one seed."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from impl.broker.messages import Done
from impl.client.history import History
from impl.metadata.log import Batch
from impl.rules import decided
from impl.sim import faults, script
from impl.sim.catalog import Catalog
from impl.sim.chaos import Chaos
from impl.sim.clients import Client
from impl.sim.cluster import Cluster
from impl.sim.director import Director
from impl.sim.event_log import EventLog
from impl.sim.fleet import Fleet
from impl.sim.heal import Heal
from impl.sim.network import Network
from impl.sim.options import Options
from impl.sim.process import Make, Process
from impl.sim.queue import Queue
from impl.sim.script import Operation
from impl.sim.store_faults import FaultyStore
from impl.sim.tape import Fault, Tape, stream
from impl.tasks import Place

BEGIN_MS = 100_000
"""The virtual time at which a run begins. The first processes are older than a minute, so that FO-01 takes them."""
FIRST_EPOCH = 10_000
GRACE_MS = 20_000
"""How long after the time of the last operation the faults end, if clients have not ended by then."""
SETUP_MS = 60_000
PERIOD_MS = 500
"""How often it is asked whether the clients have ended."""
COMMIT_MS = 30
"""The longest time that a commit of the quorum takes; each run has one time for all commits."""


class Run(msgspec.Struct, kw_only=True):
    """What has happened in a run.

    ``missing``: "" if the run has healed, else the condition that did not hold in time. ``broken``: the error with
    which a node has ended the run, "" if none has. ``drawn``: the rates of the kinds of faults; ``happened``: how often
    each kind did. ``faults`` and ``script`` replay the run. ``decided``: how often each rule refused a request or
    decided a branch. ``begin``: the virtual time at which the script began.
    """

    seed: int
    history: History
    log: EventLog
    script: tuple[Operation, ...]
    faults: list[Fault]
    drawn: dict[str, float]
    happened: dict[str, int]
    missing: str
    broken: str
    begin: int
    counts: dict[str, int]
    crashed: dict[Place, int]
    decided: dict[str, int]
    world: Any = None

    @property
    def healed(self) -> bool:
        """Whether all conditions of the heal phase held in time."""
        return not self.missing and not self.broken


class StoppedError(Exception):
    """The run was not to go on."""


def always() -> bool:
    """Whether a run is to go on that nobody stops."""
    return True


def simulate(
    seed: int,
    make: Make,
    object_key: Callable[[int], str],
    options: Options = Options(),  # noqa: B008 - frozen
    go_on: Callable[[], bool] = always,
) -> Run:
    """Run a cluster of the brokers that ``make`` makes. ``object_key``: where the bytes of an object are.

    ``go_on`` is asked every half a second of the virtual time; if it says no, the run ends with StoppedError.
    """
    before = Counter(decided)
    collects = gc.isenabled()
    gc.disable()
    try:
        world = World(seed, make, object_key, options, go_on)
        try:
            return world.run(before)
        finally:
            world.fleet.close()
    finally:
        if collects:
            gc.enable()


class World:
    """All parts of a run."""

    def __init__(
        self, seed: int, make: Make, object_key: Callable[[int], str], options: Options, go_on: Callable[[], bool]
    ) -> None:
        self.seed, self.options, self.go_on = seed, options, go_on
        self.queue = Queue(BEGIN_MS)
        self.log = EventLog()
        self.history = History()
        self.catalog = Catalog()
        self.rates = faults.without_kinds(faults.swarm(seed, options.faults), *options.without)
        self.tape = Tape(seed, self.rates, options.recorded)
        self.network = Network(self.queue, self.tape, seed)
        self.store = FaultyStore(self.queue, self.tape, seed)
        self.clients: dict[int, Client] = {}
        """By number. The director answers to 0."""
        self.begin = 0
        self.faults_end = 0
        self.fleet = Fleet(
            *(self.queue, self.tape, seed, self.log, self.store, self.network, make),
            done=self._done,
            started=self._started,
            ended=self._ended,
        )
        self.director = Director(
            self.queue, self.tape, self.fleet, self.catalog, self.history, options.profile.as_built
        )
        self.cluster = Cluster(
            *(self.queue, self.tape, seed, self.log, self.store),
            profile=options.profile,
            controllers=options.controllers,
            delay=1 + int(stream(seed, "commits")() ** 2 * COMMIT_MS),
            object_key=object_key,
            reply=self.fleet.reply,
            learn=self._learn,
        )
        self.fleet.cluster = self.cluster
        self.chaos = Chaos(self.queue, self.tape, self.fleet, self.cluster, self.network)
        made = script.make(
            seed,
            clients=options.clients,
            streams=options.streams,
            operations=options.operations,
            span_ms=options.span_ms,
        )
        self.script: Sequence[Operation] = made if options.operations_of is None else options.operations_of

    def run(self, before: Counter[str]) -> Run:
        """Set the cluster up, run the script under faults, and heal.

        An error of a node ends the run: it is a fault of the node, or of the simulator.
        """
        broken = ""
        try:
            self.history.missing = self._phases()
        except StoppedError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever it is, it is the finding
            broken = ", ".join([f"{type(error).__name__}: {error}", *getattr(error, "__notes__", ())])
        return Run(
            seed=self.seed,
            history=self.history,
            log=self.log,
            script=tuple(self.script),
            faults=self.tape.faults,
            drawn=self.rates,
            happened=self.tape.counts(),
            missing=self.history.missing or "",
            broken=broken,
            begin=self.begin,
            counts=self._counts(),
            crashed=dict(sorted(self.fleet.crashed.items())),
            decided=dict(sorted((decided - before).items())),
            world=self,
        )

    def _counts(self) -> dict[str, int]:
        kinds = Counter(each.f for each in self.script)
        return {
            "steps": self.fleet.steps + self.cluster.steps,
            "operations": len(self.script),
            **{f"operations {name}": kinds[name] for name in sorted(kinds)},
            "acks": sum(entry.acks for _, entry in sorted(self.catalog.entries.items())),
            "handovers": self.director.handovers,
            "processes": len(self.fleet.processes),
            "elections": self.cluster.elections,
            "lost batches": self.cluster.lost_batches,
            "store operations": self.store.operations,
            "virtual ms": self.queue.now - BEGIN_MS,
            "healing ms": self.queue.now - self.faults_end if self.faults_end else 0,
        }

    # Phases -----------------------------------------------------------------------------------------------------

    def _phases(self) -> str:
        """All phases; returns what does not hold at the end."""
        self._set_up()
        clients = self._begin_script()
        self.tape.arm()
        self.chaos.begin()
        last = self.begin + max((each.at for each in self.script), default=0) + GRACE_MS
        while self.queue.now < last and not all(each.ended for each in clients):
            self._advance(min(last, self.queue.now + PERIOD_MS))
        self.chaos.end()
        self.faults_end = self.queue.now
        heal = Heal(self.queue, self.cluster, self.director, self.catalog, clients, self._spawn, self._advance)
        heal.run()
        return heal.missing

    def _advance(self, until: int) -> None:
        """Run all events up to a time, unless the run is not to go on."""
        if not self.go_on():
            raise StoppedError
        self.queue.run(until)

    def _set_up(self) -> None:
        """Start the brokers, and create the streams that exist before the script. No fault happens meanwhile."""
        for node in range(1, self.options.brokers + 1):
            self.fleet.start(node, FIRST_EPOCH + node)
        bound = self.queue.now + SETUP_MS
        keys = range(self.options.streams)
        self._wait(lambda: len(self.director.active()) == self.options.brokers, bound)
        self._spawn([Operation(0, 0, "create", key) for key in keys], "setup")
        self._wait(lambda: all(self.director.is_open(key) for key in keys), bound)

    def _wait(self, holds: Callable[[], bool], bound: int) -> None:
        while not holds():
            if self.queue.now >= bound:
                raise RuntimeError("the cluster does not start, although no fault has happened")
            self._advance(self.queue.now + 50)

    def _begin_script(self) -> list[Client]:
        """Begin with the script: operations of clients one after the other, moves at their times."""
        self.begin = self.queue.now
        by_client: dict[int, list[Operation]] = {}
        for operation in self.script:
            if operation.f == "move":
                self.queue.at(self.begin + operation.at, self.director.move, operation.key, operation.hop)
            else:
                by_client.setdefault(operation.client, []).append(operation)
        return [self._client(by_client[number], self.begin) for number in sorted(by_client)]

    def _spawn(self, operations: list[Operation], phase: str) -> Client:
        return self._client(operations, self.queue.now, phase)

    def _client(self, operations: list[Operation], begin: int, phase: str | None = None) -> Client:
        number = len(self.clients) + 1
        client = self.clients[number] = Client(
            *(number, operations, self.queue, self.fleet, self.catalog, self.director, self.history),
            begin=begin,
            phase=phase,
        )
        client.begin()
        return client

    # What parts tell each other -----------------------------------------------------------------------------------

    def _learn(self, batches: tuple[Batch, ...]) -> None:
        self.director.learn(batches)
        self.fleet.learn(batches)

    def _done(self, process: Process, done: Done) -> None:
        if done.to:
            self.clients[done.to].receive(done)
        else:
            self.director.answered(process, done)

    def _started(self, process: Process) -> None:
        self.director.started(process)

    def _ended(self, process: Process, noticed: bool) -> None:
        if noticed:
            for client in self.clients.values():
                client.reset(process)
