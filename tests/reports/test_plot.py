"""The plot of what random runs have met: to scale, with the estimate, and with readable numbers."""

from __future__ import annotations

import re

import attrs
import pytest

from spark.campaign.page.plot import compact, growth_plot, ticks
from spark.campaign.saturation import Point, Saturation

CURVE = Saturation(
    what="x", samples=3, seen=30, once=6, twice=4, curve=(Point(100, 10), Point(200, 25), Point(300, 30))
)


def coordinates(plot: str) -> list[tuple[float, float]]:
    """The points of the line."""
    (points,) = re.findall(r'polyline class="seen" points="([^"]*)"', plot)
    return [(float(x), float(y)) for x, y in (pair.split(",") for pair in points.split())]


def test_the_line_is_as_the_curve() -> None:
    """The line starts at 0 and is to scale: traces to the right, kinds seen upwards."""
    at = coordinates(growth_plot(CURVE, "x"))
    assert len(at) == 4
    (left, bottom), right, top = at[0], at[-1][0], at[-1][1]
    for (x, y), (traces, seen) in zip(at, [(0, 0), (100, 10), (200, 25), (300, 30)], strict=True):
        assert x == pytest.approx(left + (right - left) * traces / 300, abs=0.1)
        assert y == pytest.approx(bottom - (bottom - top) * seen / 30, abs=0.1)


def test_the_estimate_is_a_dashed_line_where_it_fits() -> None:
    """The estimate is a dashed line above the curve. If it is far above, only its number is shown."""
    plot = growth_plot(CURVE, "x")
    (dashed,) = re.findall(r'class="expected" x1="[^"]*" y1="([^"]*)"', plot)
    assert float(dashed) < coordinates(plot)[-1][1]
    assert "at least 32 in all" in plot
    far = growth_plot(attrs.evolve(CURVE, once=30, twice=0), "x")
    assert 'class="expected"' not in far
    assert "far above this plot" in far


def test_nothing_is_drawn_of_nothing() -> None:
    """Without units there is no plot. A single point causes no division by zero."""
    assert growth_plot(attrs.evolve(CURVE, curve=(), samples=0), "x") == ""
    assert "<circle" in growth_plot(attrs.evolve(CURVE, curve=(Point(5, 0),), samples=1, seen=0), "x")


@pytest.mark.parametrize(
    ("top", "expected"),
    [
        (1, [0, 1]),
        (4, [0, 1, 2, 3, 4]),
        (7, [0, 2, 4, 6]),
        (86, [0, 20, 40, 60, 80]),
        (10**7, [0, 2e6, 4e6, 6e6, 8e6, 1e7]),
    ],
)
def test_ticks_are_round(top: float, expected: list[float]) -> None:
    """Ticks are multiples of 1, 2 or 5, and whole numbers."""
    assert ticks(top, 5) == expected


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0"),
        (0.01, "0.01"),
        (999, "999"),
        (1_000, "1k"),
        (1_234, "1.2k"),
        (99_600, "100k"),
        (34e6, "34M"),
        (1e15, "1P"),
    ],
)
def test_compact_numbers(number: float, text: str) -> None:
    """Large numbers are short and have no exponent."""
    assert compact(number) == text
