"""A run of a real cluster under faults, from its start to the reads of new processes."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import msgspec

from impl.client.history import History
from impl.metadata.image import Image
from impl.metadata.log import MetadataBatch, replay
from impl.oracles.judge import judge
from impl.oracles.storage import BucketContents
from impl.oracles.verdict import Violation
from impl.real.bucket_contents import contents_of, read_objects
from impl.real.children import Children
from impl.real.clock import Clock, new_clock
from impl.real.cluster import LocalCluster
from impl.real.fault_driver import FaultDriver, ProxiedWires
from impl.real.links import LinkTable
from impl.real.load import ClientGroup, RealLoad
from impl.real.merge import merge
from impl.real.metadata_file import MetadataFile
from impl.real.metadata_follower import MetadataFollower
from impl.real.problems import ClusterError
from impl.real.run_report import RunReport, acked_sends, record_counts
from impl.real.schedule import KILLS, PlannedFault, make_schedule
from impl.real.shortfall import shortfalls
from impl.real.starts import ClusterRules
from impl.real.store_place import StorePlace, check_empty, environment_of, open_place
from impl.real.store_proxy import StoreProxy
from impl.sim.partitions.metadata import Metadata
from impl.sim.stages import is_drained
from impl.sim.tape import stream
from impl.store.s3_boto import BotoStore

START_S, HEAL_S, READ_S = 60.0, 90.0, 60.0
"""How long the start, the heal phase and the last reads may take."""
LOOK_S = 0.1
"""The time between two looks whether the run is interrupted."""
CANCEL_S = 5.0
"""The time after which an interrupted run is cancelled again: a wait that ends just then misses the first time."""
READER = "r."
"""Precedes the names of the processes that read back."""
NODE_ERROR = "node error"


class RunPlan(msgspec.Struct, frozen=True, kw_only=True):
    """``folder``: for the logs. ``seconds``: how long faults happen. ``kill_every``: seconds from one kill -9 to the
    next; 0 for none. ``batch``: the records of a send. ``faults``: whether other faults happen, too.
    """

    folder: Path
    store: StorePlace
    rules: ClusterRules
    seed: int = 0
    seconds: int = 30
    kill_every: float = 5.0
    brokers: int = 3
    partitions: int = 4
    batch: int = 1_000
    faults: bool = True


class ClusterRun:
    """One run. ``say``: takes a line for people whenever a phase begins. ``stops``: whether the run is to end early."""

    def __init__(self, plan: RunPlan, say: Callable[[str], None], stops: Callable[[], bool] = lambda: False) -> None:
        self.plan, self._say, self._stops = plan, say, stops
        self.clock: Clock = new_clock()
        self.history, self.metadata = History(), Metadata()
        self._environment = environment_of(plan.store)
        self._children = Children(plan.folder, self.clock, self._environment)
        self._links = LinkTable()
        self._store = StoreProxy(self.clock, stream(plan.seed, "calls"))
        self._phases: dict[str, float] = {}
        self._phase, self._phase_begun = "", 0
        self._begin_at = self._end_at = 0
        """When faults began and ended, in milliseconds; 0 before."""
        self._clusters: list[LocalCluster] = []
        """The one under faults, and the one that reads back."""
        self._faults: FaultDriver | None = None
        self._load: RealLoad | None = None

    async def run(self) -> RunReport:
        """Make the run, or a part of it. All processes have ended when this returns, or raises ClusterError.

        A problem of the cluster, such as a full disk, ends the run: its log may have gaps, so nobody can judge it.
        """
        work = asyncio.get_running_loop().create_task(self._run())
        interrupted = ""
        try:
            while not work.done():
                await asyncio.wait({work}, timeout=LOOK_S)
                if (self._problem or self._stops()) and not work.done():
                    interrupted = self._phase
                    self._end_at = self._end_at or self.clock.now()
                    work.cancel()
                    await asyncio.wait({work}, timeout=CANCEL_S)
            problem = self._problem  # A process that cannot start any more is none.
        finally:
            await self._end()
        if problem:
            # Whatever else went wrong is its consequence.
            raise ClusterError(problem) from (None if work.cancelled() else work.exception())
        return self._report_of_part(interrupted) if work.cancelled() else work.result()

    @property
    def _problem(self) -> str:
        """The first problem that the user can solve; "" for none."""
        return next((each.problem for each in self._clusters if each.problem), "")

    async def _end(self) -> None:
        """End all processes, and close all ports."""
        try:
            for cluster in self._clusters:
                await cluster.kill_all()
        finally:
            self._links.close()
            await self._children.close()
            self._store.close()

    async def _run(self) -> RunReport:
        plan = self.plan
        self._begin("start")
        endpoint = await open_place(plan.store, self._children, self._environment)
        check_empty(plan.store.bucket, endpoint)
        assert endpoint is not None, "the store has a URL, for Amazon's is refused"
        self._store.endpoint = endpoint
        cluster = self._new_cluster(endpoint)
        await cluster.start(plan.brokers)
        group = ClientGroup(self.clock, cluster, plan.brokers, self.history)
        load = RealLoad(group, self.metadata, seed=plan.seed, partitions=plan.partitions, batch=plan.batch)
        self._load = load

        def learn(batches: tuple[MetadataBatch, ...]) -> None:
            self.metadata.learn(batches)
            load.see(batches)

        follower = MetadataFollower("driver", cluster.controller_port, learn)
        # The controller gives partitions to active brokers only.
        is_ready = await follower.wait(lambda: len(self.metadata.active()) == plan.brokers, START_S)
        load.create_topic(plan.brokers)
        if not (is_ready and await follower.wait(lambda: self._is_settled(self.metadata), START_S)):
            raise ClusterError(f"{cluster.fault or 'the cluster does not start'}; look at the files in {plan.folder}")

        self._begin("faults")
        self._begin_at = self.clock.now()
        load.begin()
        faults = self._faults = FaultDriver(cluster, self._links, self._store, self.clock)
        schedule = self._schedule()
        fate = asyncio.get_running_loop().create_task(faults.run(schedule))
        await asyncio.sleep(plan.seconds)
        fate.cancel()
        await faults.end()
        self._end_at = self.clock.now()
        load.stop()

        self._begin("heal")
        self.history.missing = await self._heal(follower, load)
        group.check()

        self._begin("read back")
        await cluster.kill_all()
        await self._store.settle()
        follower.close()
        group.close()
        if not self.history.missing:
            self.history.missing = await self._read_back(endpoint, load, cluster.epochs)
        return self._judge(endpoint)

    def _new_cluster(self, endpoint: str | None, name: str = "", epochs: dict[int, int] | None = None) -> LocalCluster:
        plan = self.plan
        cluster = LocalCluster(
            *(plan.folder, self._children, self.clock),
            endpoint=endpoint,
            bucket=plan.store.bucket,
            rules=plan.rules,
            name=name,
            wires=ProxiedWires(self._links, self._store),
            epochs=epochs,
        )
        self._clusters.append(cluster)
        return cluster

    def _schedule(self) -> tuple[PlannedFault, ...]:
        plan = self.plan
        made = make_schedule(plan.seed, seconds=plan.seconds, kill_every=plan.kill_every, brokers=plan.brokers)
        return tuple(each for each in made if plan.faults or each.kind.startswith("kill"))

    def _is_settled(self, metadata: Metadata) -> bool:
        return all(map(metadata.is_settled, range(self.plan.partitions)))

    # Heal -----------------------------------------------------------------------------------------------------------

    async def _heal(self, follower: MetadataFollower, load: RealLoad) -> str:
        """Wait, without faults, until everything works again. Returns the condition that fails; "" if none does."""
        if not await load.wait(HEAL_S):
            return "clients have not ended"
        if not await follower.wait(lambda: self._is_settled(self.metadata) and not load.asks, HEAL_S):
            return "partitions have no leader that serves"
        if not await follower.wait(lambda: is_drained(self.metadata.image), HEAL_S):
            return "sealed entries are not committed"
        return ""

    async def _read_back(self, endpoint: str | None, load: RealLoad, epochs: dict[int, int]) -> str:
        """Read everything with new processes. Returns the condition that fails; "" if none does."""
        cluster = self._new_cluster(endpoint, READER, epochs)
        metadata = Metadata()
        await cluster.start(self.plan.brokers)
        follower = MetadataFollower("reader", cluster.controller_port, metadata.learn)
        group = ClientGroup(self.clock, cluster, self.plan.brokers, self.history, READER)
        missing = ""
        if not await follower.wait(lambda: self._is_settled(metadata), HEAL_S):
            missing = "partitions have no leader that serves new clients"
        else:
            load.read_all(group)
            if not await load.wait(READ_S):
                missing = "partitions cannot be read"
        group.check()
        follower.close()
        group.close()
        await cluster.kill_all()
        return missing

    # The verdict ----------------------------------------------------------------------------------------------------

    def _judge(self, endpoint: str | None) -> RunReport:
        """The report of a whole run."""
        self._begin("judge")
        plan = self.plan
        image = replay(MetadataFile(plan.folder / "metadata.log").batches, Image())
        objects = read_objects(BotoStore(plan.store.bucket, endpoint))
        last = Metadata()
        last.image = image
        keys = {stream: number for number in range(plan.partitions) for stream in last.streams(number)}
        return self._report(
            "", None if self.history.missing else contents_of(objects, image, keys), objects=len(objects)
        )

    def _report_of_part(self, interrupted: str) -> RunReport:
        """The report of a run that was interrupted: nothing has healed, and nobody has looked into the bucket."""
        self.history.missing = None
        return self._report(interrupted, None, objects=None)

    def _report(self, interrupted: str, stored: BucketContents | None, *, objects: int | None) -> RunReport:
        verdict = judge(self.history, stored)
        fault = next((each.fault for each in self._clusters if each.fault), "")
        if fault:
            found = Violation(NODE_ERROR, -1, fault)
            verdict = msgspec.structs.replace(verdict, violations=(found, *verdict.violations))
        merged = merge(self.plan.folder, self._store.outcomes)
        self._begin("")
        happened, told = (self._faults.happened, self._faults.told) if self._faults is not None else ({}, [])
        report = RunReport(
            interrupted=interrupted,
            signals=tuple(self._children.signals),
            told=tuple(told),
            happened={**happened, **self._store.happened},
            begin=self._begin_at or self._end_at,
            end=self._end_at,
            records=record_counts(self.history),
            moves=0 if self._load is None else self._load.accepted_moves,
            handovers=self.metadata.handovers,
            objects=objects,
            calls=len(self._store.outcomes),
            phases=self._phases,
            verdict=verdict,
            history=self.history,
            merged=merged,
        )
        return report if interrupted else msgspec.structs.replace(report, shortfalls=self._shortfalls(report))

    def _shortfalls(self, report: RunReport) -> tuple[str, ...]:
        plan = self.plan
        found = shortfalls(
            kills=len(report.kills),
            scheduled=sum(each.kind in KILLS for each in self._schedule()),
            kill_every=plan.kill_every,
            sends=Counter(partition for partition, _ in acked_sends(self.history)),
            partitions=plan.partitions,
            seconds=plan.seconds,
        )
        return tuple(found)

    def _begin(self, phase: str) -> None:
        """Begin a phase, and end the one before."""
        now = self.clock.now()
        if self._phase:
            self._phases[self._phase] = (now - self._phase_begun) / 1_000
        self._phase, self._phase_begun = phase, now
        if phase:
            self._say(phase)
