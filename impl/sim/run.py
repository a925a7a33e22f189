"""One run: a cluster, its clients and its faults, from one seed."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from impl.broker.messages import Done
from impl.client.history import History
from impl.controller.view import Profile
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
COMMIT_MS = 30
"""The longest time that a commit of the quorum takes; each run has one time for all commits."""


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """What a run is made of, besides its seed.

    ``operations``: how many the clients do. ``faults``: as for ``faults.swarm``. ``recorded``: the faults to replay,
    instead of drawing them; ``operations_of``: the script to replay. ``without``: kinds of faults that are left out.
    """

    brokers: int = 3
    controllers: int = 3
    streams: int = 4
    clients: int = 4
    operations: int = 300
    span_ms: int = script.SPAN_MS
    faults: str | tuple[str, ...] = "all"
    without: tuple[str, ...] = ()
    profile: Profile = Profile()
    recorded: tuple[Fault, ...] | None = None
    operations_of: tuple[Operation, ...] | None = None


class Run(msgspec.Struct, kw_only=True):
    """What has happened in a run.

    ``missing``: "" if the run has healed, else the condition that did not hold in time. ``drawn``: the rates of the
    kinds of faults; ``happened``: how often each kind did. ``faults`` and ``script`` replay the run. ``decided``: how
    often each rule refused a request or decided a branch.
    """

    seed: int
    history: History
    log: EventLog
    script: tuple[Operation, ...]
    faults: list[Fault]
    drawn: dict[str, float]
    happened: dict[str, int]
    missing: str
    counts: dict[str, int]
    crashed: dict[Place, int]
    decided: dict[str, int]
    world: Any = None

    @property
    def healed(self) -> bool:
        """Whether all conditions of the heal phase held in time."""
        return not self.missing


def simulate(seed: int, make: Make, object_key: Callable[[int], str], options: Options = Options()) -> Run:  # noqa: B008 - frozen
    """Run a cluster of the brokers that ``make`` makes. ``object_key``: where the bytes of an object are.

    An error of a node ends the run with that error: it is a fault of the node, or of the simulator.
    """
    before = Counter(decided)
    collects = gc.isenabled()
    gc.disable()
    try:
        world = World(seed, make, object_key, options)
        try:
            return world.run(before)
        finally:
            world.fleet.close()
    finally:
        if collects:
            gc.enable()


class World:
    """All parts of a run."""

    def __init__(self, seed: int, make: Make, object_key: Callable[[int], str], options: Options) -> None:
        self.seed, self.options = seed, options
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
        self.fleet = Fleet(
            *(self.queue, self.tape, seed, self.log, self.store, self.network, make),
            done=self._done,
            started=self._started,
            ended=self._ended,
        )
        self.director = Director(self.queue, self.fleet, self.catalog, self.history)
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
        """Set the cluster up, run the script under faults, and heal."""
        self._set_up()
        clients = self._begin_script()
        self.tape.arm()
        self.chaos.begin()
        last = self.begin + max((each.at for each in self.script), default=0) + GRACE_MS
        while self.queue.now < last and not all(each.ended for each in clients):
            self.queue.run(min(last, self.queue.now + 500))
        self.chaos.end()
        heal = Heal(self.queue, self.cluster, self.director, self.catalog, clients, self._spawn)
        heal.run()
        self.history.missing = heal.missing
        return Run(
            seed=self.seed,
            history=self.history,
            log=self.log,
            script=tuple(self.script),
            faults=self.tape.faults,
            drawn=self.rates,
            happened=self.tape.counts(),
            missing=heal.missing,
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
        }

    # Phases -----------------------------------------------------------------------------------------------------

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
            self.queue.run(self.queue.now + 50)

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
