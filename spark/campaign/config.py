"""What a campaign was asked for: it fixes every random run, and with them all its tables but the times."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import attrs

from holdfast.check.walk.options import MOST_RUNS, WalkOptions
from holdfast.ir.errors import UsageError

SHARE = 64
"""Into how many units a campaign is divided, if they are neither very small nor very large."""

LEAST_TRACES, MOST_TRACES = 1 << 10, 1 << 21
"""How many runs a unit has at least, and at most: it should take seconds at most, and its files some kilobytes."""

WAVE = 16
"""How many units are run before the findings are counted, where a number of findings ends the campaign."""


@attrs.frozen(kw_only=True)
class Config:
    """The runs of a campaign: ``traces`` of them, each of at most ``depth`` steps, in units of ``traces_per_unit``.

    ``target`` is what the command line calls the model. ``stop_after`` is the number of findings that ends the
    campaign; it is looked at after every WAVE units, so that which units there are depends on nothing else.
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

    @property
    def units(self) -> int:
        """How many units there are."""
        return -(-self.traces // self.traces_per_unit)

    def traces_of(self, unit: int) -> int:
        """How many runs a unit has: the last may have fewer."""
        return min(self.traces_per_unit, self.traces - unit * self.traces_per_unit)

    def seed_of(self, unit: int) -> int:
        """The seed of a unit's runs: it follows from the campaign's seed and the unit's number alone."""
        digest = hashlib.blake2b(f"holdfast campaign, seed {self.seed}, unit {unit}".encode(), digest_size=8)
        return int.from_bytes(digest.digest(), "big")

    def campaign(self, seed: int, run: int | None = None) -> WalkOptions:
        """The runs of that seed, or the one of that number, as `holdfast walk` makes them."""
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
        self.campaign(self.seed, 0)
        if self.stop_after is not None and self.stop_after < 1:
            raise UsageError(f"--stop-after {self.stop_after}: choose a number from 1")
        if self.traces > MOST_RUNS or self.traces < 1:
            raise UsageError(f"--traces {self.traces}: choose a number from 1 to {MOST_RUNS:,}")

    def to_json(self) -> str:
        """The configuration on one line; equal ones give equal text."""
        return json.dumps(attrs.asdict(self), sort_keys=True)


def traces_per_unit(traces: int) -> int:
    """How many runs a unit of a campaign has: a power of two, so that plans and tables read well."""
    wanted = 1 << max(traces // SHARE, 1).bit_length() - 1
    return min(max(wanted, LEAST_TRACES), MOST_TRACES)


def read_config(place: str, text: str) -> Config:
    """The configuration of the campaign in a place; raises UsageError for what none has written."""
    try:
        found: dict[str, Any] = json.loads(text)
        lists = ("variants", "removed", "properties")
        values: dict[str, Any] = {name: tuple(value) if name in lists else value for name, value in found.items()}
        config = Config(**values)
        numbers = (config.traces, config.depth, config.traces_per_unit)
        if not all(type(number) is int and number > 0 for number in numbers):
            raise ValueError(f"{numbers} are no numbers above 0")
    except (ValueError, TypeError, AttributeError) as error:
        raise UsageError(f"{place}: its configuration cannot be understood ({error})") from None
    return config
