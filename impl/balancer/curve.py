"""The curve that turns a distance from the average into a score (AB-28, AB-29).

Every expression is evaluated literally as the rules write it, in IEEE-754 doubles, so that equal loads give equal bits.
Python raises an error where IEEE-754 has an infinity or NaN; ``divided`` and ``logarithm`` give the value of IEEE-754.
"""

from __future__ import annotations

import math

STEP_VALUE = 0.9
"""The part of the score that the linear section takes away."""


def divided(dividend: float, divisor: float) -> float:
    """The quotient by IEEE-754: also for a divisor of 0."""
    if divisor:
        return dividend / divisor
    if math.isnan(dividend) or not dividend or math.isnan(divisor):
        return math.nan
    return math.copysign(math.inf, dividend) * math.copysign(1.0, divisor)


def logarithm(value: float) -> float:
    """The natural logarithm by IEEE-754: minus infinity for 0, NaN below."""
    if value > 0:
        return math.log(value)
    return -math.inf if value == 0 else math.nan


def linear(value: float, low: float, high: float) -> float:
    """How far a value is on the way from ``low`` to ``high``: 0 to 1 between them, not clamped outside."""
    return divided(value - low, high - low)


def stepped(value: float, low: float, step: float, step_value: float = STEP_VALUE) -> float:
    """Linear from 0 at ``low`` to ``step_value`` at ``step``. Beyond, a logarithm to the base ``step`` approaches 1."""
    if value <= step:
        return step_value * linear(value, low, step)
    ratio = divided(logarithm(value), logarithm(step))
    return step_value + (1 - step_value) * (1 - divided(1, ratio))


def distance_score(distance: float, margin: float, step: float) -> float:
    """The score of a broker at a distance from the average: 1 below ``margin``, about 0.1 at ``step`` (AB-28).

    With a span of 0, ``margin`` equals ``step``, and a broker at that distance has the score NaN (P-01).
    """
    if distance < margin:
        return 1.0
    return 1 - stepped(distance, margin, step)
