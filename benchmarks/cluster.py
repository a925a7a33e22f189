"""Measures a cluster of processes on moto's server, without faults: records, calls to the store, and moves.

All processes share the cores of one machine, with moto's server, which takes some milliseconds of a core for each call.
So the figures say what bounds such a cluster here, and nothing about brokers on machines of their own.
"""

from __future__ import annotations

import asyncio
import os
import resource
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from statistics import median

import attrs

from benchmarks.clock import now
from impl.metadata.image import Image
from impl.metadata.log import MetadataBatch, replay
from impl.real.children import Children
from impl.real.clock import new_clock
from impl.real.run import ClusterRun, RunPlan
from impl.real.run_report import RunReport
from impl.real.starts import ClusterRules, Version
from impl.real.store_place import BUCKET, StorePlace, environment_of, open_place
from impl.sim.event_log import AppendedBatch, StoreEffect
from impl.store.interface import Get, Put
from impl.store.s3_boto import BotoStore


@attrs.frozen
class ClusterSpeed:
    """``records`` and ``calls``: acknowledged records, and calls to the store, in a second.

    ``moves``: the milliseconds of each move in which a partition had no leader, ascending. ``busy``: the share of all
    cores that the processes of the run used, from its start to its end. ``call_ms``: the time of a call, one after the
    other, to moto's server, with nothing else on the machine.
    """

    version: Version
    seconds: int
    records: float
    calls: float
    moves: tuple[int, ...]
    busy: float
    call_ms: float


def measured(version: Version, seconds: int = 30) -> ClusterSpeed:
    """Run a cluster for some seconds, with a producer for each of four partitions and operators who move them."""
    with tempfile.TemporaryDirectory(prefix="holdfast-") as folder:
        plan = RunPlan(
            folder=Path(folder),
            store=StorePlace(None, BUCKET, own=True),
            rules=ClusterRules(version=version),
            seconds=seconds,
            kill_every=0,
            faults=False,
        )
        used, begun = _cpu_seconds(), now()
        report = asyncio.run(ClusterRun(plan, lambda _: None).run())
        cores = len(os.sched_getaffinity(0))
        busy = (_cpu_seconds() - used) / (now() - begun) / cores
    return speed_of(version, seconds, report, busy, call_ms())


def _cpu_seconds() -> float:
    """The seconds of CPU of this process, and of its children that have ended."""
    found = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in found)


def call_ms(calls: int = 200) -> float:
    """The time of a call to moto's server: half of the calls put 64 KiB, and half get them."""

    async def run() -> float:
        place = StorePlace(None, BUCKET, own=True)
        environment = environment_of(place)
        with tempfile.TemporaryDirectory(prefix="holdfast-") as folder:
            children = Children(Path(folder), new_clock(), environment)
            try:
                store = BotoStore(BUCKET, await open_place(place, children, environment))
                # The first call makes the connection.
                store.execute(Put("first", b""))
                begun = now()
                for number in range(calls // 2):
                    store.execute(Put(f"{number}", bytes(65_536)))
                    store.execute(Get(f"{number}"))
                return (now() - begun) * 1_000 / calls
            finally:
                await children.close()

    return asyncio.run(run())


def speed_of(version: Version, seconds: int, report: RunReport, busy: float, call: float) -> ClusterSpeed:
    """The figures of a run. A send that was under way at the end counts, too: at most one for each producer."""
    events = [(at, each) for at, *_, each in report.merged.log.events if report.begin <= at < report.end]
    calls = sum(isinstance(each, StoreEffect) for _, each in events)
    moves = gaps(each.batch for *_, each in report.merged.log.events if isinstance(each, AppendedBatch))
    records = report.records.acked / seconds
    return ClusterSpeed(version, seconds, records, calls / seconds, tuple(sorted(moves)), busy, call)


def gaps(batches: Iterable[MetadataBatch]) -> Iterator[int]:
    """The milliseconds from each time at which a partition lost its leader to its next leader."""
    image = Image()
    since: dict[tuple[str, int], int] = {}
    for batch in batches:
        before = {key: row.leader for key, row in image.partitions.items()}
        replay((batch,), image)
        for key, row in image.partitions.items():
            if row.leader < 0 <= before.get(key, -1):
                since[key] = batch.time
            elif row.leader >= 0 and key in since:
                yield batch.time - since.pop(key)


def lines(found: ClusterSpeed) -> Iterator[str]:
    """The figures."""
    yield f"{found.version}, {found.seconds} s: {found.records:,.0f} records and {found.calls:,.0f} calls a second"
    if found.moves:
        middle, longest = median(found.moves), found.moves[-1]
        yield f"{found.version}: {len(found.moves)} moves, median {middle:,.0f} ms, longest {longest:,} ms"
    store = found.calls * found.call_ms / 1_000
    yield (
        f"{found.version}: the processes use {found.busy:.0%} of the cores; the store takes {found.call_ms:.1f} ms a "
        f"call, so it is busy {store:.0%} of the time"
    )
