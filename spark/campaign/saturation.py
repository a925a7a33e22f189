"""How much of what random runs can reach they have reached: what is new along the units, and how much is left.

A unit is a sample, and what it met are the species seen in it. From how many species one unit alone has met, and how
many exactly two, Chao's estimator tells how many no unit has met yet: A. Chao, "Estimating the population size for
capture-recapture data with unequal catchability", Biometrics 43 (1987) 783-791; here in its bias-corrected form for
incidences (Chao2). It is a lower bound, and it speaks of what these runs can reach, by their weights and depth: not of
the state space.

Signatures of states are hashes of 16 bits, so several kinds of state share one, and more so the more are in use. How
many stand behind the signatures in use is estimated by linear counting: K.-Y. Whang, B. T. Vander-Zanden and
H. M. Taylor, "A linear-time probabilistic counting algorithm for database applications", ACM TODS 15 (1990) 208-229.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import attrs
import numpy as np

from spark.campaign.tables import STATE_BITS

MOST_POINTS = 120
"""How many points a curve has at most: more cannot be told apart on a page."""

CROWDED = 0.9
"""The share of signatures in use from which on their number says little about the states behind them."""


@attrs.frozen
class Point:
    """After so many traces, so many had been seen."""

    traces: int
    seen: int


@attrs.frozen(kw_only=True)
class Saturation:
    """What was seen of one kind over ``samples`` units: ``seen`` in all, ``once`` and ``twice`` in so many units.

    ``room`` is how many signatures can be told apart, or None where nothing collides.
    """

    what: str
    samples: int
    seen: int
    once: int
    twice: int
    curve: tuple[Point, ...]
    room: int | None = None

    @property
    def expected(self) -> float | None:
        """How many there are to be seen at least, by Chao2; None with fewer than two samples."""
        if self.samples < 2:
            return None
        return chao2(self.seen, self.once, self.twice, self.samples)

    @property
    def occupancy(self) -> float | None:
        """The share of signatures in use, where there is only so much room for them."""
        return None if self.room is None else self.seen / self.room

    @property
    def behind(self) -> float | None:
        """How many things stand behind what was seen, collisions counted in; None where there is no telling."""
        return float(self.seen) if self.room is None else linear_count(self.seen, self.room)

    @property
    def left(self) -> float | None:
        """How many more these runs can reach at least; None where there is no telling."""
        expected, behind = self.expected, self.behind
        if expected is None or behind is None:
            return None
        total = expected if self.room is None else linear_count(expected, self.room)
        return None if total is None else max(0.0, total - behind)

    @property
    def rates(self) -> tuple[float, ...]:
        """How many were new per million traces, up to each point from the one before."""
        before = (Point(0, 0), *self.curve)
        return tuple(
            (now.seen - last.seen) * 1e6 / (now.traces - last.traces)
            for last, now in zip(before, self.curve, strict=False)
        )


def chao2(seen: int, once: int, twice: int, samples: int) -> float:
    """How many species there are at least, seen or not: see the module."""
    return seen + (samples - 1) / samples * once * (once - 1) / (2 * (twice + 1))


def linear_count(used: float, room: int) -> float | None:
    """How many things were hashed where so many of the places are in use; None where no place is left."""
    return None if used >= room else -room * math.log1p(-used / room)


# Adding up ---------------------------------------------------------------------------------------------------------


class Growth:
    """What is met by one unit after the other, each by its name."""

    def __init__(self, what: str, units: int) -> None:
        self.what = what
        self.curve = _Curve(units)
        self.times: dict[object, int] = {}

    def add(self, traces: int, met: Iterable[object]) -> None:
        """Count a unit of so many traces that met these."""
        for name in set(met):
            self.times[name] = self.times.get(name, 0) + 1
        self.curve.add(traces, len(self.times))

    def sum(self) -> Saturation:
        """What it comes to."""
        counts = list(self.times.values())
        return Saturation(
            what=self.what,
            samples=self.curve.units,
            seen=len(counts),
            once=counts.count(1),
            twice=counts.count(2),
            curve=self.curve.closed(),
        )


class StateGrowth:
    """The same for signatures of states, which come as bits."""

    def __init__(self, units: int) -> None:
        self.curve = _Curve(units)
        self.times = np.zeros(STATE_BITS, np.int64)

    def add(self, traces: int, bits: bytes) -> None:
        """Count a unit of so many traces that met the signatures whose bits are set, the lowest of a byte first."""
        self.times += np.unpackbits(np.frombuffer(bits, np.uint8), bitorder="little")
        self.curve.add(traces, int(np.count_nonzero(self.times)))

    def sum(self) -> Saturation:
        """What it comes to."""
        return Saturation(
            what="states",
            samples=self.curve.units,
            seen=int(np.count_nonzero(self.times)),
            once=int(np.count_nonzero(self.times == 1)),
            twice=int(np.count_nonzero(self.times == 2)),
            curve=self.curve.closed(),
            room=STATE_BITS,
        )


class _Curve:
    """The points of a curve over so many units, neighbours taken together where they are too many."""

    def __init__(self, units: int) -> None:
        self.together = max(1, -(-units // MOST_POINTS))
        self.units = 0
        self.points: list[Point] = []
        self.last = Point(0, 0)

    def add(self, traces: int, seen: int) -> None:
        self.units += 1
        self.last = Point(self.last.traces + traces, seen)
        if self.units % self.together == 0:
            self.points.append(self.last)

    def closed(self) -> tuple[Point, ...]:
        return tuple(self.points if self.units % self.together == 0 else [*self.points, self.last])


# In words ----------------------------------------------------------------------------------------------------------


def sentence(found: Saturation) -> str:
    """What the numbers mean, in a sentence or two; which runs these are is said with them."""
    if not found.samples:
        return "No unit is done, so nothing is known."
    said = _seen(found)
    if found.samples < 2:
        return f"{said} One unit does not show how many are left; two are needed at least."
    left = found.left
    if left is None:
        return f"{said} Too many signatures are in use to tell how many are left."
    if found.once == 0:
        rest = "Each was met by two units or more, so that these runs hardly reach any others."
    elif round(left) == 0:
        rest = "An estimate of what is left of what these runs can reach comes to less than one."
    else:
        rest = f"Of what these runs can reach at least {round(left):,} more are left, by estimate (Chao2)."
    crowded = (
        " So many signatures are in use that the estimate is a rough one."
        if found.occupancy is not None and found.occupancy > CROWDED
        else ""
    )
    return f"{said} {rest}{crowded} That says nothing about what these runs cannot reach."


def _seen(found: Saturation) -> str:
    if found.room is None:
        return f"{found.seen:,} seen, {found.once:,} of them by one unit alone."
    behind = "" if found.behind is None else f", behind which stand about {round(found.behind):,} kinds of state"
    share = found.occupancy or 0.0
    return f"{found.seen:,} of {found.room:,} signatures in use ({share:.1%}){behind}."
