"""Compares a campaign on Spark with the bare kernel: the additional processor time, and the whole duration.

Both make the same runs of the same units on this machine. The bare kernel is one process that calls the machine code
and stores nothing. The campaign includes the driver, Java, and the workers, which write tables. Starting Spark and
compiling are not in the first figure; starting Spark is in the second.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import attrs
import psutil

from benchmarks.clock import now
from holdfast.check.budget import Budget
from holdfast.ir.variants import load_variant
from spark.campaign.config import Config, traces_per_unit
from spark.campaign.engine import advance, begin
from spark.campaign.model_target import ModelTarget
from spark.cluster.session import Cluster, start_cluster
from spark.cluster.settings import SparkOptions
from spark.cluster.storage import FolderStorage

MODEL = "reassignment"
WARM = 100_000
"""The number of runs before the measurement: after them the workers have imported and compiled, and Java is warm."""


@attrs.frozen
class CampaignCosts:
    """The costs of a campaign of ``traces`` runs, and of the same runs on the bare kernel; all times in seconds.

    ``cpu``: processor time of driver, Java and workers together. ``kernel_cpu``: processor time of the bare kernel.
    ``start``: the start of Spark. ``whole``: the time that a user waits who has only compiled kernels.
    """

    traces: int
    cores: int
    start: float
    whole: float
    cpu: float
    kernel_cpu: float

    @property
    def more(self) -> float:
        """The additional processor time of a campaign, as a fraction of the bare kernel's."""
        return self.cpu / self.kernel_cpu - 1


def campaigned(traces: int, cores: int, depth: int) -> CampaignCosts:
    """Measure a campaign, and then its runs on the bare kernel."""
    config = _config(traces, depth)
    target = ModelTarget(load_variant(MODEL), config)
    kernel = target.ready()
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-") as folder:
        began = now()
        with start_cluster(SparkOptions(master=f"local[{cores}]")) as cluster:
            start = now() - began
            _run(cluster, Path(folder, "warm"), attrs.evolve(config, traces=WARM, traces_per_unit=1 << 12), target)
            warm = now() - began - start
            with _computing() as used:
                _run(cluster, Path(folder, "campaign"), config, target)
            whole = now() - began - warm
    with _computing() as bare:
        for unit in range(config.units):
            kernel.walks.sample(0, config.traces_of(unit), config.seed_of(unit))
    return CampaignCosts(traces, cores, start, whole, used[0], bare[0])


def _config(traces: int, depth: int) -> Config:
    return Config(
        target=MODEL, scope="default", traces=traces, depth=depth, seed=1, traces_per_unit=traces_per_unit(traces)
    )


def _run(cluster: Cluster, folder: Path, config: Config, target: ModelTarget) -> None:
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
    kernel = f"the bare kernel {found.kernel_cpu:,.1f} s"
    yield f"campaign of {found.traces:,} runs of {MODEL}, on {found.cores} cores"
    yield f"  processors  {found.cpu:,.1f} s, {kernel}: {found.more:+.1%}; without the start (goal: at most +15%)"
    yield f"  in all      {found.whole:,.1f} s, of which {start} (goal: 60 s)"
