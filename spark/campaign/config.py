"""The configuration of a campaign. It determines every random run, and so all tables except the times."""

from __future__ import annotations

import hashlib
import json
from typing import Annotated

import attrs

from holdfast.check.json_values import OPTIONAL, as_json, read_json
from holdfast.check.walk.options import MOST_RUNS, WalkOptions
from holdfast.ir.errors import UsageError

SHARE = 64
"""The number of units of a campaign, unless that makes a unit too small or too large."""

CLUSTER = "cluster"
"""The name of the target that simulates clusters."""

BALANCER = "balancer"
"""The name of the target that plans rounds of the balancer."""

BALANCER_MODES = ("parity", "safe")
"""The modes of the balancer: as AutoMQ plans, or so that planning comes to rest."""

BOUNDS = {
    "model": (1 << 10, 1 << 21),
    "cluster": (1 << 2, 1 << 6),
    "log": (1 << 2, 1 << 6),
    "balancer": (1 << 6, 1 << 11),
}
"""By kind of target: bounds for the runs of a unit. A unit should take at most seconds, and its files some kilobytes.

A simulated cluster takes as long as many thousand runs of a model.
"""

LOGS = "log"
"""The name of the target that judges recorded logs."""

WAVE = 16
"""The number of units of a round. With ``stop_after`` findings are counted after each round; in a guided campaign, a
round is guided by all rounds before it."""


@attrs.frozen(kw_only=True)
class ClusterOptions:
    """The options of `holdfast simulate` by which the clusters of a campaign are drawn; None for their defaults."""

    version: str | None = None
    generation: str | None = None
    brokers: int | None = None
    streams: int | None = None
    partitions: int | None = None
    zones: Annotated[int | None, OPTIONAL] = None
    clients: int | None = None
    steps: int | None = None
    minutes: Annotated[int | None, OPTIONAL] = None
    faults: str | None = None
    switch: tuple[str, ...] = ()
    setting: Annotated[tuple[str, ...], OPTIONAL] = ()

    @property
    def given(self) -> dict[str, object]:
        """The options that were given, by name."""
        return {name: value for name, value in attrs.asdict(self).items() if value not in (None, ())}


@attrs.frozen(kw_only=True)
class LogCollection:
    """Where recorded logs lie, and what judges them: a model, and a mapping if the logs have a foreign format."""

    place: str
    s3: str | None = None
    model: str
    map: str | None = None


@attrs.frozen(kw_only=True)
class Config:
    """The runs of a campaign: ``traces`` of them, each of at most ``depth`` steps, in units of ``traces_per_unit``.

    ``target`` is the model's name on the command line. ``stop_after`` is the number of findings that ends the campaign.
    Findings are counted only after every WAVE units, so the set of units that run does not depend on their timing.
    """

    target: str
    scope: str
    variants: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    properties: tuple[str, ...] = ()
    traces: int
    depth: int
    seed: int
    swarm: bool = True
    pct: int | None = None
    pct_sort: str | None = None
    stop_after: int | None = None
    traces_per_unit: int
    cluster: Annotated[ClusterOptions | None, OPTIONAL] = None
    """How clusters are drawn, if they are the target. ``depth`` is then the number of operations of a run."""
    guided: Annotated[bool, OPTIONAL] = False
    """Whether runs of clusters are made of earlier runs that reached something new: see ``guide.py``."""
    log: Annotated[LogCollection | None, OPTIONAL] = None
    """The logs, if they are the target. ``traces`` is then their number."""
    balancer: Annotated[str | None, OPTIONAL] = None
    """The mode of the balancer, if it is the target. ``depth`` is then the number of rounds of a run."""

    @property
    def is_model(self) -> bool:
        """Whether the target is a model."""
        return self.kind == "model"

    @property
    def kind(self) -> str:
        """The kind of the target: a key of BOUNDS."""
        others = {CLUSTER: self.cluster, LOGS: self.log, BALANCER: self.balancer}
        return next((name for name, given in others.items() if given is not None), "model")

    @property
    def units(self) -> int:
        """The number of units."""
        return -(-self.traces // self.traces_per_unit)

    def traces_of(self, unit: int) -> int:
        """The number of runs of a unit; the last unit may have fewer."""
        return min(self.traces_per_unit, self.traces - unit * self.traces_per_unit)

    def round_of(self, unit: int) -> int:
        """The first unit of a unit's round."""
        return unit - unit % WAVE

    def seed_of(self, unit: int) -> int:
        """The seed of a unit's runs. It depends only on the campaign's seed and the unit's number.

        Of logs, which nobody draws, it is the number of the unit's first log.
        """
        if self.log is not None:
            return unit * self.traces_per_unit
        digest = hashlib.blake2b(f"holdfast campaign, seed {self.seed}, unit {unit}".encode(), digest_size=8)
        return int.from_bytes(digest.digest(), "big")

    def walk_options(self, seed: int, run: int | None = None) -> WalkOptions:
        """The options of `holdfast walk` for the runs of a unit with this seed; ``run``: for one of them, by number."""
        return WalkOptions(
            seed=seed,
            traces=max(1, min(self.traces, self.traces_per_unit)),
            depth=self.depth,
            run=run,
            pct=self.pct,
            pct_sort=self.pct_sort,
            swarm=self.swarm,
        )

    def check(self) -> None:
        """Raise UsageError for numbers out of range."""
        if self.is_model:
            self.walk_options(self.seed, 0)
        if self.stop_after is not None and self.stop_after < 1:
            raise UsageError(f"--stop-after {self.stop_after}: it is out of range; choose a number from 1")
        if self.traces > MOST_RUNS or self.traces < 1:
            raise UsageError(f"--runs {self.traces}: it is out of range; choose a number from 1 to {MOST_RUNS:,}")

    def to_json(self) -> str:
        """The configuration as JSON on one line. Equal configurations give equal texts."""
        return json.dumps(as_json(self), sort_keys=True)


def traces_per_unit(traces: int, kind: str = "model") -> int:
    """The number of runs of a unit: a power of two, which is easy to read in plans and tables. ``kind``: of target."""
    # The largest power of two that is at most traces / SHARE.
    wanted = 1 << max(traces // SHARE, 1).bit_length() - 1
    least, most = BOUNDS[kind]
    return min(max(wanted, least), most)


def read_config(place: str, text: str) -> Config:
    """The configuration in a JSON text. Raises UsageError, which names ``place``, if the text is no configuration."""
    try:
        config = read_json(Config, text)
        numbers = (config.traces, config.depth, config.traces_per_unit)
        if min(numbers) < 1:
            raise ValueError(f"{numbers} are no numbers above 0")
    except ValueError as error:
        raise UsageError(f"{place}: its configuration cannot be understood ({error}); begin another campaign") from None
    return config
