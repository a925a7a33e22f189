"""Measures a cluster of processes on moto's server, without faults: records, calls to the store, and moves.

All processes share the cores of one machine, with moto's server, which takes some milliseconds of a core for each call.
So the figures say what bounds such a cluster here, and nothing about brokers on machines of their own.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from statistics import median

import attrs

from impl.metadata.image import Image
from impl.metadata.log import MetadataBatch, replay
from impl.real.run import ClusterRun, RunPlan
from impl.real.run_report import RunReport
from impl.real.starts import ClusterRules, Version
from impl.real.store_place import BUCKET, StorePlace
from impl.sim.event_log import AppendedBatch, StoreEffect


@attrs.frozen
class ClusterSpeed:
    """``records`` and ``calls``: acknowledged records, and calls to the store, in a second.

    ``moves``: the milliseconds of each move in which a partition had no leader, ascending.
    """

    version: Version
    seconds: int
    records: float
    calls: float
    moves: tuple[int, ...]


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
        report = asyncio.run(ClusterRun(plan, lambda _: None).run())
    return speed_of(version, seconds, report)


def speed_of(version: Version, seconds: int, report: RunReport) -> ClusterSpeed:
    """The figures of a run. A send that was under way at the end counts, too: at most one for each producer."""
    events = [(at, each) for at, *_, each in report.merged.log.events if report.begin <= at < report.end]
    calls = sum(isinstance(each, StoreEffect) for _, each in events)
    moves = gaps(each.batch for *_, each in report.merged.log.events if isinstance(each, AppendedBatch))
    return ClusterSpeed(version, seconds, report.records.acked / seconds, calls / seconds, tuple(sorted(moves)))


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
