"""Compares a campaign on Spark with a bare loop over its runs: the additional processor time, and the whole duration.

Both make the same runs of the same units on this machine. The bare loop is one process that stores nothing: it calls
the machine code of a model, or simulates clusters and lets the oracles judge them. The campaign includes the driver,
Java, and the workers, which read the coverage of clusters and write tables. Starting Spark and compiling are not in the
first figure; starting Spark is in the second.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import attrs
import psutil

from benchmarks.clock import now
from holdfast.check.budget import Budget
from holdfast.ir.variants import load_variant
from impl.sim.check import check
from spark.campaign.cluster_target import ClusterTarget
from spark.campaign.config import CLUSTER, ClusterOptions, Config, traces_per_unit
from spark.campaign.engine import advance, begin
from spark.campaign.model_target import ModelTarget
from spark.campaign.units import Target
from spark.cluster.session import Cluster, start_cluster
from spark.cluster.settings import SparkOptions
from spark.cluster.storage import FolderStorage

MODEL = "reassignment"
WARM = 100_000
"""The number of runs before the measurement: after them the workers have imported and compiled, and Java is warm."""


WARM_CLUSTERS = 16
"""The same of clusters."""


@attrs.frozen
class CampaignCosts:
    """The costs of a campaign of ``traces`` runs, and of the same runs in a bare loop; all times in seconds.

    ``cpu``: processor time of driver, Java and workers together. ``bare_cpu``: processor time of the bare loop.
    ``start``: the start of Spark. ``whole``: the time that a user waits who has only compiled kernels.
    """

    target: str
    traces: int
    cores: int
    start: float
    whole: float
    cpu: float
    bare_cpu: float

    @property
    def more(self) -> float:
        """The additional processor time of a campaign, as a fraction of the bare loop's."""
        return self.cpu / self.bare_cpu - 1


def campaigned(traces: int, cores: int, depth: int) -> CampaignCosts:
    """Measure a campaign of a model, and then its runs on the bare kernel."""
    config = Config(
        target=MODEL, scope="default", traces=traces, depth=depth, seed=1, traces_per_unit=traces_per_unit(traces)
    )
    target = ModelTarget(load_variant(MODEL), config)
    kernel = target.ready()
    warm = attrs.evolve(config, traces=WARM, traces_per_unit=1 << 12)
    return _costs(
        *(config, warm, target, cores),
        lambda unit: kernel.walks.sample(0, config.traces_of(unit), config.seed_of(unit)),
    )


def clusters_campaigned(traces: int, cores: int) -> CampaignCosts:
    """Measure a campaign of simulated clusters, and then its runs in a bare loop."""
    config = Config(
        target=CLUSTER,
        scope="",
        traces=traces,
        depth=300,
        seed=1,
        traces_per_unit=traces_per_unit(traces, "cluster"),
        cluster=ClusterOptions(),
    )
    target = ClusterTarget.of(config)
    clusters = target.ready()

    def simulate(unit: int) -> None:
        for number in range(config.traces_of(unit)):
            check(clusters.of(config.seed_of(unit), number))

    warm = attrs.evolve(config, seed=2, traces=WARM_CLUSTERS, traces_per_unit=1)
    return _costs(config, warm, target, cores, simulate)


def _costs(config: Config, warm: Config, target: Target, cores: int, bare: Callable[[int], object]) -> CampaignCosts:
    """Measure a campaign, and then the bare loop. ``bare`` makes the runs of a unit there."""
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-") as folder:
        began = now()
        with start_cluster(SparkOptions(master=f"local[{cores}]")) as cluster:
            start = now() - began
            _run(cluster, Path(folder, "warm"), warm, target)
            warmed = now() - began - start
            with _computing() as used:
                _run(cluster, Path(folder, "campaign"), config, target)
            whole = now() - began - warmed
    with _computing() as alone:
        for unit in range(config.units):
            bare(unit)
    return CampaignCosts(config.target, config.traces, cores, start, whole, used[0], alone[0])


def _run(cluster: Cluster, folder: Path, config: Config, target: Target) -> None:
    storage = FolderStorage(name=str(folder), root=str(folder))
    begin(storage, config, target)
    advance(cluster, storage, config, target, budget=Budget(), progress=lambda _now: None)


@contextmanager
def _computing() -> Iterator[list[float]]:
    """Measure the processor time in seconds of this process and all processes below it, within the context."""
    used = [0.0]
    before = _used()
    yield used
    after = _used()
    # A process that ended within the context is missed. Workers live as long as the session, so none is.
    used[0] = sum(later - before.get(pid, 0.0) for pid, later in after.items())


def _used() -> dict[int, float]:
    found = {}
    here = psutil.Process()
    for process in (here, *here.children(recursive=True)):
        with suppress(psutil.NoSuchProcess):
            times = process.cpu_times()
            found[process.pid] = times.user + times.system
    return found


def lines(found: CampaignCosts) -> Iterator[str]:
    """The figures in words, with the goals."""
    start = f"{found.start:,.1f} s for Spark to start"
    bare = f"the bare loop {found.bare_cpu:,.1f} s"
    yield f"campaign of {found.traces:,} runs of {found.target}, on {found.cores} cores"
    yield f"  processors  {found.cpu:,.1f} s, {bare}: {found.more:+.1%}; without the start (goal: at most +15%)"
    goal = "" if found.target == CLUSTER else " (goal: 60 s)"
    yield f"  in all      {found.whole:,.1f} s, of which {start}{goal}"
