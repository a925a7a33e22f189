"""The benchmark of the planner: its figures are there, and its lines name the goal."""

from __future__ import annotations

import attrs

from benchmarks.balancer import SECONDS, SHAPES, PlannerFigures, cluster, lines, measured


def test_a_measurement_has_all_figures() -> None:
    """A small measurement has the figures of each shape. Whether the goal is met depends on the machine."""
    found = list(measured(10, 300, (5, 60), 1))

    assert [each.shape for each in found] == list(SHAPES)
    assert all(min(each.seconds, each.safe_seconds, each.ratio, each.actions) > 0 for each in found)
    # Each action was judged by two goals, each with four scores.
    assert all(each.scores >= 8 * each.actions for each in found)


def test_the_goal_is_met_or_missed() -> None:
    """The slower of both modes counts."""
    met = PlannerFigures("skewed", 100, 1_000, SECONDS, SECONDS, 5, 8_000, 3.0, (5, 60))
    for missed in (attrs.evolve(met, seconds=SECONDS + 0.1), attrs.evolve(met, safe_seconds=SECONDS + 0.1)):
        assert next(lines(missed)).endswith("; missed")

    assert next(lines(met)).endswith("; met")
    assert "8,000 scores" in list(lines(met))[1]


def test_a_cluster_is_the_same_each_time() -> None:
    """Figures of two runs compare the same work."""
    for shape in SHAPES:
        assert cluster(shape, 5, 50).brokers == cluster(shape, 5, 50).brokers
