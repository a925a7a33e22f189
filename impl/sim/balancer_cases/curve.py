"""The score of a broker once more, in real numbers: a second reading of AB-25 to AB-28 for oracles.

It shares no code with the balancer, and agrees with it within rounding.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from impl.balancer.goals import GoalSettings

Band = tuple[float, float]
"""The average load of the eligible brokers, and the margin around it."""


def band(settings: GoalSettings, loads: Sequence[float]) -> Band:
    """The band of a goal for the loads of the eligible brokers."""
    average = math.fsum(loads) / len(loads)
    return average, settings.deviation * average


def score(settings: GoalSettings, of: Band, load: float) -> float:
    """The score of a broker: 1 in the band, 0.1 at the end of the span, beyond it the share of two logarithms.

    For a hard goal: the free share of its capacity.
    """
    if settings.capacity is not None:
        return 1.0 - load / settings.capacity
    average, margin = of
    distance = abs(load - average)
    if distance <= margin:
        return 1.0
    if distance <= margin + settings.span:
        return 1.0 - 0.9 * (distance - margin) / settings.span
    return 0.1 * math.log(margin + settings.span) / math.log(distance)
