"""The interface between a campaign and the runs that it makes. ``run_unit(seed, config)`` is a pure function; all other
code of a campaign only distributes its calls.

A *target* makes the runs: a small value that executors get as bytes. Each process makes it *ready* once, which may take
long (imports, compiling). A ready target makes the runs of a unit, or shows a single run. A target is a model
(``model_target.py``), a simulated cluster (``cluster_target.py``), the balancer (``balancer_target.py``), or recorded
logs (``log_target.py``).
"""

from __future__ import annotations

import pickle
from functools import cache
from typing import Literal, Protocol, runtime_checkable

import attrs

from holdfast.check.budget import Budget, Meter
from holdfast.check.walk.result import StopFigures
from spark.campaign.findings import ShrunkRun
from spark.campaign.guide import Guide, KeptRun


@attrs.frozen(kw_only=True)
class Sighting:
    """Alike violations in the runs of a unit: ``times`` runs violate ``property``; the shortest has number ``run``.

    ``action``: the last action, or empty if an initial state violates the property. ``state``: the predicates of the
    model that hold before that action. Two violating runs are alike if property, action and state are equal.

    Of clusters, ``property`` is an oracle, ``action`` its message without numbers, ``state`` the situations that tell
    failures apart, and ``steps`` the number of operations and faults of the run. Of logs, ``property`` is damaged or
    impossible, ``action`` the kind of the event or of the damage, ``state`` the rules that refuse the event, and
    ``steps`` the number of events before it. Of the balancer, ``action`` is what is wrong, ``state`` the situation, and
    ``steps`` the number of brokers and partitions.
    """

    property: str
    action: str
    state: tuple[str, ...]
    times: int
    run: int
    steps: int


@attrs.frozen(kw_only=True)
class UnitResult:
    """The counts over the runs of one unit; see ``tables.py`` for the meaning of each field."""

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
    situations: tuple[tuple[str, int, int], ...] = ()
    """Name, runs, first run."""
    circumstances: tuple[tuple[str, str, int], ...] = ()
    """Situation, circumstances, runs."""
    moments: tuple[tuple[str, str, str, int], ...] = ()
    """Situation, last event, the event before, runs."""
    kept: tuple[KeptRun, ...] = ()
    logs: tuple[tuple[str, str], ...] = ()
    """Of the logs that do not conform: name, signature; of those without an answer, the reason is in its place."""


@attrs.frozen(kw_only=True)
class TargetHeader:
    """The columns of ``tables.CAMPAIGN`` that describe a target."""

    kind: Literal["model", "cluster", "log", "balancer"]
    model: str
    fingerprint: str
    deadlock: str
    actions: tuple[str, ...]
    situations: tuple[str, ...] = ()


class RunnableTarget(Protocol):
    """A target that is ready to make runs."""

    def run(self, seed: int, traces: int) -> UnitResult:
        """Make the runs 0 to ``traces`` - 1 of a seed, and count."""

    def show(self, seed: int, run: int) -> ShrunkRun:
        """Make one run again, by its number, and shrink it. The run must violate a property."""


@runtime_checkable
class GuidableTarget(RunnableTarget, Protocol):
    """A target whose runs may be made of earlier ones."""

    def guided(self, guide: Guide) -> RunnableTarget:
        """The same target, whose runs are guided."""


class Target(Protocol):
    """Makes the runs of a campaign once it is ready. It must be a value that can be pickled."""

    def header(self) -> TargetHeader:
        """How the header of a campaign describes the target."""

    def ready(self) -> RunnableTarget:
        """The ready target; this may take long."""


@attrs.frozen
class UnitConfig:
    """The input of a unit besides its seed: the target as bytes, the number of runs, and the guide of its round."""

    target: bytes
    traces: int
    guide: Guide | None = None

    def runnable(self) -> RunnableTarget:
        """The ready target, guided if there is a guide."""
        target = ready(self.target).target
        if self.guide is None:
            return target
        assert isinstance(target, GuidableTarget), "only a target of which runs can be made again is guided"
        return target.guided(self.guide)


def run_unit(seed: int, config: UnitConfig) -> UnitResult:
    """Make the runs of one unit. The result depends on the arguments alone, not on the machine or on earlier units."""
    return config.runnable().run(seed, config.traces)


@attrs.define
class TimedTarget:
    """A ready target, and the seconds that it took to make it ready."""

    target: RunnableTarget
    seconds: float

    def unspent(self) -> float:
        """The seconds for the first caller, and 0 for all others: so only one unit of a process counts them."""
        seconds, self.seconds = self.seconds, 0.0
        return seconds


@cache
def ready(target: bytes) -> TimedTarget:
    """The ready target of these bytes; cached, so that a process makes it ready once."""
    meter = Meter(Budget())
    found: Target = pickle.loads(target)  # noqa: S301 - written by the driver of this campaign
    return TimedTarget(found.ready(), meter.seconds)
