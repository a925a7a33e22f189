"""Saturation: how much of the reachable behaviour random runs have covered, and an estimate of what is left.

The estimate comes from ecology. A unit is a sample, and the things that its runs met (kinds of state, pairs of actions,
findings) are species. Chao's estimator computes how many species no unit has met yet. It needs the number of species
that exactly one unit met, and the number that exactly two units met: A. Chao, "Estimating the population size for
capture-recapture data with unequal catchability", Biometrics 43 (1987) 783-791; here in its bias-corrected form for
incidences (Chao2). The estimate is a lower bound. It concerns what these runs can reach with their weights and depth,
not the state space.

Signatures of states are hashes of 16 bits, so several kinds of state may share one; the more signatures are in use, the
more collide. The number of kinds behind the signatures in use is estimated by linear counting: K.-Y. Whang,
B. T. Vander-Zanden and H. M. Taylor, "A linear-time probabilistic counting algorithm for database applications", ACM
TODS 15 (1990) 208-229.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import attrs
import numpy as np

from spark.campaign.tables import STATE_BITS

MOST_POINTS = 120
"""The largest number of points of a curve: more cannot be distinguished on a page."""

CROWDED = 0.9
"""Above this share of signatures in use, their number says little about the number of kinds of state."""


@attrs.frozen
class Point:
    """A point of a curve: after ``traces`` runs, ``seen`` different things had been met."""

    traces: int
    seen: int


@attrs.frozen(kw_only=True)
class Saturation:
    """The things of one kind that ``samples`` units have met.

    ``seen``: different things met by any unit; ``once`` and ``twice``: things met by exactly one and exactly two units.
    ``room``: the number of different signatures, or None if the things are counted directly and nothing collides.
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
        """The estimated least number of things (or signatures) that exist, by Chao2; None for fewer than 2 samples."""
        if self.samples < 2:
            return None
        return chao2(self.seen, self.once, self.twice, self.samples)

    @property
    def occupancy(self) -> float | None:
        """The share of signatures in use; None if ``room`` is None."""
        return None if self.room is None else self.seen / self.room

    @property
    def behind(self) -> float | None:
        """The estimated number of things met, corrected for collisions; None if all signatures are in use."""
        return float(self.seen) if self.room is None else linear_count(self.seen, self.room)

    @property
    def left(self) -> float | None:
        """The estimated number of things left that these runs can reach at least; None if there is no estimate."""
        expected, behind = self.expected, self.behind
        if expected is None or behind is None:
            return None
        total = expected if self.room is None else linear_count(expected, self.room)
        return None if total is None else max(0.0, total - behind)

    @property
    def latest(self) -> Point:
        """The last stretch of the curve: its number of runs, and of things that no run before it had met."""
        last, now = (Point(0, 0), Point(0, 0), *self.curve)[-2:]
        return Point(now.traces - last.traces, now.seen - last.seen)

    @property
    def rates(self) -> tuple[float, ...]:
        """For each point of the curve: new things per million traces, since the point before."""
        before = (Point(0, 0), *self.curve)
        return tuple(
            (now.seen - last.seen) * 1e6 / (now.traces - last.traces)
            for last, now in zip(before, self.curve, strict=False)
        )


def chao2(seen: int, once: int, twice: int, samples: int) -> float:
    """Chao2: the estimated least number of species, seen or not.

    ``seen``: species met by any sample; ``once`` and ``twice``: by exactly one and exactly two samples. The formula
    divides by ``twice + 1`` (the bias-corrected form), so it is defined even if no species was met twice.
    """
    return seen + (samples - 1) / samples * once * (once - 1) / (2 * (twice + 1))


def linear_count(used: float, room: int) -> float | None:
    """Linear counting: the estimated number of things hashed, if ``used`` of ``room`` places are in use.

    None if all places are in use: then there is no bound.
    """
    return None if used >= room else -room * math.log1p(-used / room)


# Adding up ---------------------------------------------------------------------------------------------------------


class Growth:
    """Counts the things that units meet, one unit after the other; a thing is identified by its name."""

    def __init__(self, what: str, units: int) -> None:
        self.what = what
        self.curve = _Curve(units)
        self.times: dict[object, int] = {}

    def add(self, traces: int, met: Iterable[object]) -> None:
        """Add a unit with this number of traces, which met these things."""
        for name in set(met):
            self.times[name] = self.times.get(name, 0) + 1
        self.curve.add(traces, len(self.times))

    def sum(self) -> Saturation:
        """The figures of all units added so far."""
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
    """Counts the signatures of states that units meet, as ``Growth`` counts things. A unit has them as a bit set."""

    def __init__(self, units: int, what: str = "kinds of state") -> None:
        self.what = what
        self.curve = _Curve(units)
        self.times = np.zeros(STATE_BITS, np.int64)

    def add(self, traces: int, bits: bytes) -> None:
        """Add a unit with this number of traces. ``bits``: a bit for each signature, the lowest bit of a byte first."""
        self.times += np.unpackbits(np.frombuffer(bits, np.uint8), bitorder="little")
        self.curve.add(traces, int(np.count_nonzero(self.times)))

    def sum(self) -> Saturation:
        """The figures of all units added so far."""
        return Saturation(
            what=self.what,
            samples=self.curve.units,
            seen=int(np.count_nonzero(self.times)),
            once=int(np.count_nonzero(self.times == 1)),
            twice=int(np.count_nonzero(self.times == 2)),
            curve=self.curve.closed(),
            room=STATE_BITS,
        )


class _Curve:
    """The points of a curve over N units. If N exceeds MOST_POINTS, neighbouring units share a point."""

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
    """Two or three sentences that explain the figures. They speak of "these runs", which the text around must name."""
    if not found.samples:
        return "No unit is done, so nothing is known."
    said = _met(found)
    if found.samples < 2:
        return f"{said} An estimate of what is left needs at least two units."
    left = found.left
    if left is None:
        return f"{said} Too many signatures are in use for an estimate of what is left."
    if found.once == 0:
        rest = "At least two units met each of them, so these runs hardly reach any others."
    elif round(left) == 0:
        rest = "These runs can reach less than one more, by the estimate of Chao2."
    else:
        rest = f"These runs can reach at least {round(left):,} more, by the estimate of Chao2."
    crowded = (
        " The estimate is rough, because nearly all signatures are in use."
        if found.occupancy is not None and found.occupancy > CROWDED
        else ""
    )
    return f"{said} {rest}{crowded} This says nothing about what these runs cannot reach."


def new_steps(found: Saturation, steps: int) -> str:
    """How many of N steps were new, from the figures of states, on one line.

    A step is new if its state is of a kind that no earlier unit, and no earlier step of its own unit, has met; the
    state in which a run begins counts as a step here. Units count in the order of their numbers, wherever they ran.
    """
    if not steps:
        return "none"
    rare = f", one in {steps / found.seen:,.0f}" if found.seen else ""
    return (
        f"{found.seen:,} of the steps met a kind of state for the first time{rare}; of the last "
        f"{found.latest.traces:,} runs {found.latest.seen:,} steps did"
    )


def _met(found: Saturation) -> str:
    if found.room is None:
        return f"{found.seen:,} met, {found.once:,} of them by exactly one unit."
    behind = "" if found.behind is None else f", for about {round(found.behind):,} {found.what}"
    share = found.occupancy or 0.0
    return f"{found.seen:,} of {found.room:,} signatures are in use ({share:.1%}){behind}."
