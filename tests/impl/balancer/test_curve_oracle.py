"""The oracle of scores is silent about the planner, and objects to each kind of wrong curve."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator

import pytest

import impl.balancer.goals
import impl.balancer.judgement
from impl.balancer.curve import distance_score
from impl.rules import without
from impl.sim.balancer_cases.curve_oracle import judge_scores
from impl.sim.balancer_cases.drawing import draw_case

Curve = Callable[[float, float, float], float]


def objections() -> Iterator[str]:
    """What the oracle objects to in a hundred cases."""
    draw = random.Random(3).random
    for _ in range(100):
        found = judge_scores(draw_case(draw))
        if found is not None:
            yield found.label


def test_the_curve_of_the_planner_is_right() -> None:
    """P-01, P-03, P-04, P-05."""
    assert list(objections()) == []


def _straight(distance: float, margin: float, step: float) -> float:
    """Without the logarithm: below 0 for loads far beyond the span."""
    return 1.0 if distance < margin else 1 - 0.9 * (distance - margin) / (step - margin)


def _rising(distance: float, margin: float, step: float) -> float:
    """Beyond twice the span the score rises."""
    return distance_score(min(distance, 4 * step - distance) if distance < 3 * step else step, margin, step)


def _flat(distance: float, margin: float, step: float) -> float:
    """Half of the linear section has one score."""
    middle = (margin + step) / 2
    return distance_score(max(distance, middle) if margin <= distance < middle else distance, margin, step)


def _jumping(distance: float, margin: float, step: float) -> float:
    """Beyond the margin the score falls at once."""
    score = distance_score(distance, margin, step)
    return score if distance <= margin else 0.9 * score


def _falling_at_the_span(distance: float, margin: float, step: float) -> float:
    """Beyond the span the score halves."""
    score = distance_score(distance, margin, step)
    return score if distance <= step else score / 2


def _no_number(distance: float, margin: float, step: float) -> float:
    """At the average the score is not a number."""
    return math.nan if distance == 0 else distance_score(distance, margin, step)


@pytest.mark.parametrize(
    ("curve", "label"),
    [
        (_straight, "P-01"),
        (_no_number, "P-01"),
        (_rising, "P-03"),
        (_flat, "P-03"),
        (_jumping, "P-04"),
        (_falling_at_the_span, "P-04"),
    ],
)
def test_a_wrong_curve_is_found(curve: Curve, label: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each property of the curve has a wrong curve that violates it, and none before it."""
    monkeypatch.setattr(impl.balancer.goals, "distance_score", curve)
    assert label in set(objections())


def test_a_move_within_the_band_that_is_not_neutral_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """P-05. The curve is right; the score of an action has a bias."""
    monkeypatch.setattr(impl.balancer.judgement, "FORBIDDEN", -1.001)
    assert set(objections()) == {"P-05"}


def test_a_planner_without_the_band_is_found() -> None:
    """BG-05. The score at the margin is not 1."""
    with without("BG-05"):
        assert "P-04" in set(objections())
