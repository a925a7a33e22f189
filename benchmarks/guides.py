"""Compares guided campaigns of clusters with blind ones of the same seeds and the same number of runs.

Both run in this process, without Spark, by the code that executors run, and what they reached is read from their
tables. No figure is a time, so the load of the machine changes nothing.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import attrs
import pyarrow as pa

from spark.campaign.blind import CIRCUMSTANCES, ReachedKinds, compare_with_blind
from spark.campaign.cluster_target import ClusterTarget
from spark.campaign.config import CLUSTER, WAVE, ClusterOptions, Config, traces_per_unit
from spark.campaign.engine import begin
from spark.campaign.places import UNIT_TABLES, unit_path
from spark.campaign.summary import Summary, summarise
from spark.campaign.work import UNITS, Assignment, run_units
from spark.cluster.storage import FolderStorage

SHOWN = ("moments", CIRCUMSTANCES, "pairs of events", "situations", "rules that decided", "kinds of image")
"""The kinds of things that are compared, as the page of a campaign names them."""


@attrs.frozen
class GuidedFigures:
    """What two campaigns of a seed have reached: ``rows`` has one row for each of SHOWN, in this order."""

    seed: int
    runs: int
    rows: tuple[ReachedKinds, ...]


def measured(seeds: Iterable[int], runs: int, steps: int = 300) -> Iterator[GuidedFigures]:
    """Run both campaigns of each seed. ``steps``: the operations of a run."""
    for seed in seeds:
        asked = Config(
            target=CLUSTER,
            scope="",
            traces=runs,
            depth=steps,
            seed=seed,
            traces_per_unit=traces_per_unit(runs, "cluster"),
            cluster=ClusterOptions(steps=steps),
        )
        with TemporaryDirectory(prefix="holdfast-bench-") as folder:
            guided = _ran(Path(folder, "guided"), attrs.evolve(asked, guided=True))
            found = compare_with_blind(guided, _ran(Path(folder, "blind"), asked, Path(folder, "guided")))
        rows = {row.kind: row for row in found.rows}
        yield GuidedFigures(seed, runs, tuple(rows[kind] for kind in SHOWN))


def _ran(folder: Path, asked: Config, same: Path | None = None) -> Summary:
    """The summary of a campaign, made unit by unit. ``same``: the folder of a campaign with the same first round."""
    storage, target = _storage(folder), ClusterTarget.of(asked)
    begin(storage, asked, target)
    if same is not None:
        # The first round of a guided campaign is blind, so it is not made twice.
        for path in (unit_path(table, unit) for table in UNIT_TABLES for unit in range(min(WAVE, asked.units))):
            storage.write(path, _storage(same).read(path) or b"")
    payload = Assignment(pickle.dumps(target), asked, storage).to_bytes()
    missing = {"unit": range(0 if same is None else WAVE, asked.units)}
    for batch in pa.table(missing, schema=UNITS).to_batches(max_chunksize=1):
        list(run_units(payload, batch))
    return summarise(storage)


def _storage(folder: Path) -> FolderStorage:
    return FolderStorage(name=str(folder), root=str(folder))


def lines(found: GuidedFigures) -> Iterator[str]:
    """The figures of one seed."""
    counts = ", ".join(f"{row.kind} {row.guided}/{row.blind}" for row in found.rows)
    yield f"seed {found.seed}, {found.runs:,} runs, guided/blind: {counts}"


def sums(all_found: Iterable[GuidedFigures]) -> Iterator[str]:
    """For each kind the number of seeds in which guided campaigns reach more, as many, or fewer."""
    for rows in zip(*(found.rows for found in all_found), strict=True):
        more, fewer = sum(row.guided > row.blind for row in rows), sum(row.guided < row.blind for row in rows)
        yield f"{rows[0].kind}: guided reaches more in {more} of {len(rows)} seeds, and fewer in {fewer}"


LEAST = traces_per_unit(1, "cluster") * WAVE + 1
"""The least number of runs of which some are guided: a campaign of one round is blind."""
