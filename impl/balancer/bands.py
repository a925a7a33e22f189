"""The band of loads around the average that a goal accepts (AB-25)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from impl.balancer.resources import plain_sum
from impl.rules import rule


class Band(msgspec.Struct, frozen=True):
    """The average load, the margin around it, and the loads between which a broker is accepted, in bytes per second.

    A round computes the band once. Moves between the brokers of the average leave their average unchanged.
    """

    average: float
    margin: float
    low: float
    high: float


def band_of(loads: Sequence[float], deviation: float) -> Band:
    """The band of some brokers' loads (AB-25). ``deviation``: the margin as a share of the average.

    Without loads every value is NaN, and no broker is accepted or refused by the band.
    The loads are added from left to right (AB-62).
    """
    if not loads:
        return Band(math.nan, math.nan, math.nan, math.nan)
    average = plain_sum(loads) / len(loads)
    share = deviation if rule("BG-05", deviation > 0) else 0.0
    return Band(average, share * average, max(0.0, average * (1 - share)), average * (1 + share))
