"""A run of a real cluster under faults, from its start to the reads of new processes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import msgspec

from impl.client.history import History
from impl.metadata.image import Image
from impl.metadata.log import MetadataBatch, replay
from impl.oracles.judge import Verdict, judge
from impl.oracles.verdict import Violation
from impl.real.bucket_contents import contents_of, read_objects
from impl.real.children import Children, SentSignal
from impl.real.clock import Clock, new_clock
from impl.real.cluster import LocalCluster
from impl.real.fault_driver import FaultDriver, ProxiedWires
from impl.real.links import LinkTable
from impl.real.load import ClientGroup, RealLoad
from impl.real.merge import MergedLog, merge
from impl.real.metadata_file import MetadataFile
from impl.real.metadata_follower import MetadataFollower
from impl.real.problems import ClusterError
from impl.real.schedule import PlannedFault, make_schedule
from impl.real.starts import ClusterRules
from impl.real.store_place import StorePlace, check_empty, environment_of, open_place
from impl.real.store_proxy import StoreProxy
from impl.sim.partitions.metadata import Metadata
from impl.sim.stages import is_drained
from impl.sim.tape import stream
from impl.store.s3_boto import BotoStore

START_S, HEAL_S, READ_S = 60.0, 90.0, 60.0
"""How long the start, the heal phase and the last reads may take."""
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


class RunReport(msgspec.Struct, frozen=True, kw_only=True):
    """What happened, and what the oracles say. ``phases``: how long each phase took, in seconds.

    ``acked``, ``read``: records that were acknowledged, and that new processes read back. ``lost``: those that were
    acknowledged and not read back. ``twice``: those that were read back a second time. ``begin``, ``end``: when faults
    began and ended, in milliseconds.
    """

    signals: tuple[SentSignal, ...]
    told: tuple[tuple[int, str], ...]
    happened: dict[str, int]
    begin: int
    end: int
    acked: int
    read: int
    lost: int
    twice: int
    moves: int
    handovers: int
    objects: int
    calls: int
    phases: dict[str, float]
    verdict: Verdict
    history: History
    merged: MergedLog


class ClusterRun:
    """One run. ``say``: takes a line for people whenever a phase begins."""

    def __init__(self, plan: RunPlan, say: Callable[[str], None]) -> None:
        self.plan, self._say = plan, say
        self.clock: Clock = new_clock()
        self.history, self.metadata = History(), Metadata()
        self._environment = environment_of(plan.store)
        self._children = Children(plan.folder, self.clock, self._environment)
        self._links = LinkTable()
        self._store = StoreProxy(self.clock, stream(plan.seed, "calls"))
        self._phases: dict[str, float] = {}
        self._phase, self._phase_begun = "", 0
        self._cluster: LocalCluster
        self._faults: FaultDriver
        self._load: RealLoad

    async def run(self) -> RunReport:
        """Make the run. All processes have ended when this returns, or raises ClusterError."""
        try:
            return await self._run()
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
        cluster = self._cluster = self._new_cluster(endpoint)
        await cluster.start(plan.brokers)
        group = ClientGroup(self.clock, cluster, plan.brokers, self.history)
        load = self._load = RealLoad(group, self.metadata, seed=plan.seed, partitions=plan.partitions, batch=plan.batch)

        def learn(batches: tuple[MetadataBatch, ...]) -> None:
            self.metadata.learn(batches)
            load.see(batches)

        follower = MetadataFollower("driver", cluster.controller_port, learn)
        # The controller gives partitions to active brokers only.
        is_ready = await follower.wait(lambda: len(self.metadata.active()) == plan.brokers, START_S)
        self._load.create_topic(plan.brokers)
        if not (is_ready and await follower.wait(lambda: self._is_settled(self.metadata), START_S)):
            raise ClusterError(f"{cluster.fault or 'the cluster does not start'}; look at the files in {plan.folder}")

        self._begin("faults")
        begin = self.clock.now()
        self._load.begin()
        self._faults = FaultDriver(cluster, self._links, self._store, self.clock)
        schedule = self._schedule()
        fate = asyncio.get_running_loop().create_task(self._faults.run(schedule))
        await asyncio.sleep(plan.seconds)
        fate.cancel()
        await self._faults.end()
        end = self.clock.now()
        self._load.stop()

        self._begin("heal")
        if cluster.problem:
            raise ClusterError(f"{cluster.problem}; look at the files in {plan.folder}")
        self.history.missing = await self._heal(follower)
        group.check()

        self._begin("read back")
        await cluster.kill_all()
        await self._store.settle()
        follower.close()
        group.close()
        if not self.history.missing:
            self.history.missing = await self._read_back(endpoint)
        return self._judge(endpoint, begin, end)

    def _new_cluster(self, endpoint: str | None, name: str = "", epochs: dict[int, int] | None = None) -> LocalCluster:
        plan = self.plan
        return LocalCluster(
            *(plan.folder, self._children, self.clock),
            endpoint=endpoint,
            bucket=plan.store.bucket,
            rules=plan.rules,
            name=name,
            wires=ProxiedWires(self._links, self._store),
            epochs=epochs,
        )

    def _schedule(self) -> tuple[PlannedFault, ...]:
        plan = self.plan
        made = make_schedule(plan.seed, seconds=plan.seconds, kill_every=plan.kill_every, brokers=plan.brokers)
        return tuple(each for each in made if plan.faults or each.kind.startswith("kill"))

    def _is_settled(self, metadata: Metadata) -> bool:
        return all(map(metadata.is_settled, range(self.plan.partitions)))

    # Heal -----------------------------------------------------------------------------------------------------------

    async def _heal(self, follower: MetadataFollower) -> str:
        """Wait, without faults, until everything works again. Returns the condition that fails; "" if none does."""
        if not await self._load.wait(HEAL_S):
            return "clients have not ended"
        if not await follower.wait(lambda: self._is_settled(self.metadata) and not self._load.asks, HEAL_S):
            return "partitions have no leader that serves"
        if not await follower.wait(lambda: is_drained(self.metadata.image), HEAL_S):
            return "sealed entries are not committed"
        return ""

    async def _read_back(self, endpoint: str | None) -> str:
        """Read everything with new processes. Returns the condition that fails; "" if none does."""
        cluster = self._new_cluster(endpoint, READER, self._cluster.epochs)
        metadata = Metadata()
        await cluster.start(self.plan.brokers)
        follower = MetadataFollower("reader", cluster.controller_port, metadata.learn)
        group = ClientGroup(self.clock, cluster, self.plan.brokers, self.history, READER)
        missing = ""
        if not await follower.wait(lambda: self._is_settled(metadata), HEAL_S):
            missing = "partitions have no leader that serves new clients"
        else:
            self._load.read_all(group)
            if not await self._load.wait(READ_S):
                missing = "partitions cannot be read"
        group.check()
        follower.close()
        group.close()
        await cluster.kill_all()
        self._cluster.fault = self._cluster.fault or cluster.fault
        return missing

    # The verdict ----------------------------------------------------------------------------------------------------

    def _judge(self, endpoint: str | None, begin: int, end: int) -> RunReport:
        self._begin("judge")
        plan, load = self.plan, self._load
        image = replay(MetadataFile(plan.folder / "metadata.log").batches, Image())
        objects = read_objects(BotoStore(plan.store.bucket, endpoint))
        last = Metadata()
        last.image = image
        keys = {stream: number for number in range(plan.partitions) for stream in last.streams(number)}
        verdict = judge(self.history, None if self.history.missing else contents_of(objects, image, keys))
        if self._cluster.fault:
            found = Violation(NODE_ERROR, -1, self._cluster.fault)
            verdict = msgspec.structs.replace(verdict, violations=(found, *verdict.violations))
        merged = merge(plan.folder, self._store.outcomes)
        self._begin("")
        acked, read = _acked(self.history), _read_back(self.history)
        return RunReport(
            signals=tuple(self._children.signals),
            told=tuple(self._faults.told),
            happened={**self._faults.happened, **self._store.happened},
            begin=begin,
            end=end,
            acked=sum(acked.values()),
            read=sum(count for counts in read.values() for count in counts),
            lost=sum(count for value, count in acked.items() if value not in read),
            twice=sum(count for counts in read.values() for count in counts[1:]),
            moves=load.accepted_moves,
            handovers=self.metadata.handovers,
            objects=len(objects),
            calls=len(self._store.outcomes),
            phases=self._phases,
            verdict=verdict,
            history=self.history,
            merged=merged,
        )

    def _begin(self, phase: str) -> None:
        """Begin a phase, and end the one before."""
        now = self.clock.now()
        if self._phase:
            self._phases[self._phase] = (now - self._phase_begun) / 1_000
        self._phase, self._phase_begun = phase, now
        if phase:
            self._say(phase)


def _acked(history: History) -> dict[tuple[int, int], int]:
    """By key and value: the number of records of each send that was acknowledged."""
    counts = {op.index: op.count for op in history.ops if op.kind == "invoke" and op.f == "send"}
    values = {op.index: op.value for op in history.ops if op.kind == "invoke" and op.f == "send"}
    ends = [op for op in history.ops if op.kind == "ok" and op.f == "send"]
    return {(op.key, values[op.index]): counts[op.index] for op in ends}


def _read_back(history: History) -> dict[tuple[int, int], list[int]]:
    """By key and value: the numbers of records of each time that the last reads found it."""
    found: dict[tuple[int, int], list[int]] = {}
    for op in history.ops:
        if op.kind == "ok" and op.f == "poll" and op.phase == "final":
            for _, count, value in op.value:
                found.setdefault((op.key, value), []).append(count)
    return found
