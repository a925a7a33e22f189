"""Campaigns of simulated clusters without Spark."""

from __future__ import annotations

from pathlib import Path

from holdfast.check.budget import Budget
from spark.campaign.cluster_target import ClusterTarget
from spark.campaign.config import CLUSTER, ClusterOptions, Config
from spark.campaign.engine import advance, begin
from spark.campaign.places import CASES
from spark.cluster.storage import FolderStorage
from tests.spark.running import InlineWorkers, place


def clusters(
    *, traces: int = 8, removed: tuple[str, ...] = (), per_unit: int = 4, guided: bool = False, **options: object
) -> Config:
    """A campaign of small clusters."""
    drawn = ClusterOptions(**{"steps": 60, "streams": 2, **options})
    return Config(
        target=CLUSTER,
        scope="",
        removed=removed,
        traces=traces,
        depth=60,
        seed=1,
        traces_per_unit=per_unit,
        cluster=drawn,
        guided=guided,
    )


def ran_clusters(folder: Path, asked: Config, workers: InlineWorkers | None = None) -> FolderStorage:
    """A storage with a complete campaign of clusters."""
    storage, target = place(folder), ClusterTarget.of(asked)
    begin(storage, asked, target)
    go_on(storage, asked, workers)
    return storage


def go_on(storage: FolderStorage, asked: Config, workers: InlineWorkers | None = None) -> None:
    """Make the missing units."""
    target = ClusterTarget.of(asked)
    advance(workers or InlineWorkers(), storage, asked, target, budget=Budget(), progress=lambda _now: None)


def cases(storage: FolderStorage) -> list[str]:
    """The files that repeat findings."""
    return [f"{CASES}/{name}" for name in storage.list(CASES)]
