"""The seam between a campaign and what it runs: ``run_case(seed, config)`` is pure, and all else only distributes it.

A *target* says what is run: a small value that executors get as bytes. It is made *ready* once in each process, which
may take long (imports, compiling); a ready target runs cases and shows single runs. Today a target is a model
(``model_target.py``).
"""

from __future__ import annotations

import pickle
from functools import cache
from typing import Protocol

import attrs

from holdfast.check.budget import Budget, Meter
from holdfast.check.walk.result import StopFigures
from spark.campaign.findings import ShrunkRun


@attrs.frozen(kw_only=True)
class Sighting:
    """What some runs of a case violate: ``times`` of them, of which that of number ``run`` is the shortest.

    ``action`` is the last one, empty if an initial state violates the property; ``state`` are the predicates of the
    model that hold before that action. Runs are told apart by these three, and by nothing else.
    """

    property: str
    action: str
    state: tuple[str, ...]
    times: int
    run: int
    steps: int


@attrs.frozen(kw_only=True)
class CaseResult:
    """What was counted over the runs of one seed; see ``tables.py`` for the meaning of each."""

    runs: int
    steps: int
    stops: tuple[StopFigures, ...]
    sightings: tuple[Sighting, ...]
    actions: tuple[tuple[str, int, int], ...]
    """Name, taken, refused."""
    rules: tuple[tuple[str, str, int, int], ...]
    """Action, label, refused, decisive."""
    cuts: tuple[tuple[str, str, int], ...]
    """Action, bound, times."""
    pairs: tuple[tuple[str, str, int], ...]
    """First, second, times."""
    witnesses: tuple[tuple[str, int, int], ...]
    """Name, run, steps."""
    states: bytes
    """A bit for each signature of a state that was met."""


class RunnableTarget(Protocol):
    """A target that can be run at once."""

    def run(self, seed: int, traces: int) -> CaseResult:
        """So many runs of a seed."""

    def show(self, seed: int, run: int) -> ShrunkRun:
        """The run of that number, which violates something."""


class Target(Protocol):
    """What a campaign runs: a value that can be pickled."""

    def ready(self) -> RunnableTarget:
        """Make it ready."""


@attrs.frozen
class CaseConfig:
    """What a case is made from besides its seed: the target, as bytes, and how many runs."""

    target: bytes
    traces: int


def run_case(seed: int, config: CaseConfig) -> CaseResult:
    """The case of a seed. It depends on its arguments alone: not on where it runs, nor on what ran before."""
    return ready(config.target).target.run(seed, config.traces)


@attrs.define
class TimedTarget:
    """A ready target, and how many seconds it took to make it so, until somebody has noted them."""

    target: RunnableTarget
    seconds: float

    def unspent(self) -> float:
        """The seconds, once; then 0."""
        seconds, self.seconds = self.seconds, 0.0
        return seconds


@cache
def ready(target: bytes) -> TimedTarget:
    """The target of these bytes, made ready once in this process."""
    meter = Meter(Budget())
    found: Target = pickle.loads(target)  # noqa: S301 - written by the driver of this campaign
    return TimedTarget(found.ready(), meter.seconds)
