"""Campaigns of the balancer without Spark."""

from __future__ import annotations

from pathlib import Path

import attrs

from holdfast.check.budget import Budget
from spark.campaign.balancer_target import BalancerTarget
from spark.campaign.config import Config
from spark.campaign.engine import advance, begin
from spark.cli.balancer_options import NO_BALANCER, balancer_config
from spark.cluster.storage import FolderStorage
from tests.spark.running import InlineWorkers, place


def balancers(*, runs: int = 192, removed: tuple[str, ...] = (), mode: str = "parity", per_unit: int = 64) -> Config:
    """A campaign of the balancer."""
    return attrs.evolve(balancer_config(NO_BALANCER, runs, 1, removed), balancer=mode, traces_per_unit=per_unit)


def ran_balancers(folder: Path, asked: Config, workers: InlineWorkers | None = None) -> FolderStorage:
    """A storage with a complete campaign of the balancer."""
    storage, target = place(folder), BalancerTarget.of(asked)
    begin(storage, asked, target)
    advance(workers or InlineWorkers(), storage, asked, target, budget=Budget(), progress=lambda _now: None)
    return storage
