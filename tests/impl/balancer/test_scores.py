"""The properties of scores: P-01 to P-04, P-07, P-23."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from impl.balancer.bands import Band, band_of
from impl.balancer.curve import distance_score, divided, linear, logarithm, stepped
from impl.balancer.goals import MIB, GoalSettings, UsageGoal
from impl.rules import without

MARGINS = st.floats(0, 1e12)
SPANS = st.floats(2, 1e12)
DISTANCES = st.floats(0, 1e13)


@given(DISTANCES, MARGINS, SPANS)
def test_a_score_is_above_0_and_at_most_1(distance: float, margin: float, span: float) -> None:
    """P-01. It holds for a span of more than 1 byte per second."""
    assert 0 < distance_score(distance, margin, margin + span) <= 1


def test_a_span_of_0_breaks_the_curve() -> None:
    """P-01. At the margin the score is NaN, also of an idle cluster; a step below 1 makes scores negative."""
    assert math.isnan(distance_score(10.0, 10.0, 10.0))
    assert math.isnan(distance_score(0.0, 0.0, 0.0))
    assert distance_score(4.0, 0.4, 0.4) == pytest.approx(-0.066096, abs=1e-6)


@given(DISTANCES, DISTANCES, MARGINS, SPANS)
def test_a_larger_distance_never_scores_higher(first: float, second: float, margin: float, span: float) -> None:
    """P-03."""
    near, far = sorted((first, second))

    assert distance_score(near, margin, margin + span) >= distance_score(far, margin, margin + span)


@given(st.floats(1, 1e11), st.floats(1, 1e11), st.floats(0, 1), st.floats(0.001, 1))
def test_beyond_the_margin_a_larger_distance_scores_less(margin: float, span: float, place: float, more: float) -> None:
    """P-03. It holds strictly for distances that differ by a thousandth of the span."""
    near = margin + place * span

    assert distance_score(near, margin, margin + 2 + span) > distance_score(
        near + more * span, margin, margin + 2 + span
    )


@given(MARGINS, SPANS)
def test_the_curve_has_no_jump(margin: float, span: float) -> None:
    """P-04. It is 1 at the margin and 0.1 at the end of the span, from both sides."""
    step = margin + span
    above = math.nextafter(step, math.inf)

    assert distance_score(margin, margin, step) == pytest.approx(1, abs=1e-12)
    assert distance_score(step, margin, step) == pytest.approx(0.1, abs=1e-12)
    assert distance_score(above, margin, step) == pytest.approx(0.1, abs=1e-6)


def test_the_slope_falls_at_the_end_of_the_span() -> None:
    """P-04. By the factor 9 s ln s / L, which is about 166 for a small margin and a span of 100 MiB."""
    step = 100.0 * MIB
    before = distance_score(step - MIB, 0.0, step) - distance_score(step, 0.0, step)
    after = distance_score(step, 0.0, step) - distance_score(step + MIB / 100, 0.0, step)

    assert before / (after * 100) == pytest.approx(9 * math.log(step), rel=0.01)


def test_loads_that_are_scaled_score_differently() -> None:
    """P-23. The span and the threshold are absolute."""
    small, large = (
        UsageGoal(GoalSettings("NW_IN"), band_of([0.0, 20.0 * scale * MIB], 0.1)).score(0.0) for scale in (1, 10)
    )

    assert small > large


@pytest.mark.parametrize(
    ("load", "score"),
    [(50, 0.64), (150, 0.64), (89, 0.991), (90, 1.0), (110, 1.0), (120, 0.91), (0, 0.19), (200, 0.19), (210, 0.1)],
)
def test_the_default_curve(load: int, score: float) -> None:
    """AB-30. The linear part of the table."""
    goal = UsageGoal(GoalSettings("NW_IN"), band_of([100.0 * MIB], 0.1))

    assert goal.score(load * float(MIB)) == pytest.approx(score, abs=1e-12)


@pytest.mark.parametrize(("load", "score"), [(250, 0.098357), (300, 0.096880), (600, 0.092459), (1100, 0.089373)])
def test_the_default_curve_beyond_the_span(load: int, score: float) -> None:
    """AB-30. The logarithmic part of the table."""
    goal = UsageGoal(GoalSettings("NW_IN"), band_of([100.0 * MIB], 0.1))

    assert goal.score(load * float(MIB)) == pytest.approx(score, abs=5e-7)


def test_division_and_logarithm_are_those_of_ieee_754() -> None:
    """Python raises an error where IEEE-754 has a value."""
    nan = math.nan
    assert [divided(1, 0.0), divided(-1, 0.0), divided(1, -0.0)] == [math.inf, -math.inf, -math.inf]
    assert all(map(math.isnan, (divided(0, 0.0), divided(nan, 0.0), divided(1, nan), logarithm(-1), logarithm(nan))))
    assert logarithm(0) == -math.inf
    assert linear(3, 1, 5) == 0.5
    assert stepped(100, 0, 10) == pytest.approx(0.95)


@given(st.lists(st.floats(0, 1e9), min_size=1), st.floats(0, 1))
def test_the_average_is_within_the_band(loads: list[float], deviation: float) -> None:
    """AB-25. The band has the average; without loads all is NaN."""
    band = band_of(loads, deviation)

    assert band.low <= band.average <= band.high
    assert band.low >= 0
    assert band.average == pytest.approx(math.fsum(loads) / len(loads))


def test_no_broker_makes_no_band() -> None:
    """P-21. The average of nothing is NaN, and no broker is accepted by it."""
    goal = UsageGoal(GoalSettings("NW_IN", threshold=0.0), band_of([], 0.1))

    assert math.isnan(goal.band.average)
    assert not goal.accepts(5.0)
    assert not goal.needs_less(5.0)
    assert not goal.needs_more(5.0)
    assert not goal.is_trivial(0.0)


@pytest.mark.parametrize(("load", "average", "accepted"), [(99, 99, True), (100, 99, False), (99, 100, False)])
def test_the_threshold_is_strict_for_both(load: float, average: float, accepted: bool) -> None:
    """AB-27. A broker is idle if its load and the average are below the threshold."""
    band = Band(average, 0.0, -2.0, -1.0)  # a band that accepts nothing

    assert UsageGoal(GoalSettings("NW_IN", threshold=100.0), band).accepts(load) is accepted


def test_without_the_threshold_an_idle_broker_is_not_accepted() -> None:
    """BG-04."""
    goal = UsageGoal(GoalSettings("NW_IN", threshold=100.0), Band(50.0, 5.0, 45.0, 55.0))

    assert goal.accepts(10.0)
    with without("BG-04"):
        assert not goal.accepts(10.0)


def test_without_the_band_noise_counts() -> None:
    """BG-05. A broker at 101 beside one at 99 is accepted only with the band."""
    loads = [101.0 * MIB, 99.0 * MIB]

    assert UsageGoal(GoalSettings("NW_IN"), band_of(loads, 0.1)).accepts(loads[0])
    with without("BG-05"):
        assert not UsageGoal(GoalSettings("NW_IN"), band_of(loads, 0.1)).accepts(loads[0])
