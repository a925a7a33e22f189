"""The growth curves of a campaign as SVG. Upper panel: things met, by traces. Lower panel: new ones per million traces.

The picture has no style of its own: the page's style sheet defines its classes. Equal numbers give equal bytes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from xml.sax.saxutils import escape, quoteattr

from spark.campaign.saturation import Saturation

WIDTH, LEFT, RIGHT = 480, 58, 12
UPPER, LOWER = (26, 196), (232, 322)
"""The top and the bottom of the two panels, in units of the picture."""
HEIGHT = 362
HIGHEST = 3
"""An estimate is drawn if it is at most this many times the number of things seen."""


def growth_plot(found: Saturation, about: str) -> str:
    """The picture as SVG text; empty if there is no point to draw. ``about`` describes it for screen readers."""
    if not found.curve or not found.curve[-1].traces:
        return ""
    return "\n".join(
        [
            f'<svg class="plot" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label={quoteattr(about)}>',
            *_traces_axis(found),
            *_seen_panel(found),
            *_new_panel(found),
            "</svg>",
        ]
    )


def _x(found: Saturation, traces: float) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * traces / found.curve[-1].traces


def _traces_axis(found: Saturation) -> Iterator[str]:
    last = found.curve[-1].traces
    for tick in ticks(last, 5):
        x = _x(found, tick)
        yield _line("grid", x, UPPER[0], x, UPPER[1])
        yield _line("grid", x, LOWER[0], x, LOWER[1])
        # Centred, the text of the last tick would reach beyond the edge.
        anchor = "end" if x > WIDTH - 30 else "middle"
        yield _text(min(x, WIDTH - 2), LOWER[1] + 16, compact(tick), anchor)
    yield _text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 6, "traces", "middle")


# What was seen -----------------------------------------------------------------------------------------------------


def _seen_panel(found: Saturation) -> Iterator[str]:
    expected = found.expected
    drawn = expected is not None and expected <= HIGHEST * max(1, found.seen)
    top = max(1.0, found.seen, expected if drawn and expected is not None else 0) * 1.06

    def y(value: float) -> float:
        return UPPER[1] - (UPPER[1] - UPPER[0]) * value / top

    yield _text(LEFT, 14, "seen so far", "start")
    for tick in ticks(top, 5):
        yield _line("grid", LEFT, y(tick), WIDTH - RIGHT, y(tick))
        yield _text(LEFT - 6, y(tick) + 4, compact(tick), "end")
    yield _line("axis", LEFT, UPPER[1], WIDTH - RIGHT, UPPER[1])
    points = [(_x(found, 0), y(0)), *((_x(found, point.traces), y(point.seen)) for point in found.curve)]
    way = " ".join(f"{_n(x)},{_n(height)}" for x, height in points)
    yield f'<polyline class="seen" points="{way}"/>'
    if len(points) == 2:
        yield f'<circle class="point" cx="{_n(points[1][0])}" cy="{_n(points[1][1])}" r="4"/>'
    if expected is None:
        return
    # The text gives the number; the dashed line alone could not be read off exactly.
    said = f"estimate: at least {round(expected):,} {'in all' if found.room is None else 'signatures'}"
    if drawn:
        yield _line("expected", LEFT, y(expected), WIDTH - RIGHT, y(expected))
    else:
        said += ", far above this plot"
    yield _text(WIDTH - RIGHT, 14, said, "end", "estimate")


# What was new ------------------------------------------------------------------------------------------------------


def _new_panel(found: Saturation) -> Iterator[str]:
    rates = found.rates
    some = [rate for rate in rates if rate > 0]
    low = math.floor(math.log10(min(some))) if some else 0
    high = max(low + 1, math.ceil(math.log10(max(some)))) if some else 1

    def y(rate: float) -> float:
        return LOWER[1] - (LOWER[1] - LOWER[0]) * (math.log10(rate) - low) / (high - low)

    yield _text(LEFT, LOWER[0] - 8, "new per million traces (logarithmic)", "start")
    for power in range(low, high + 1, max(1, -(-(high - low) // 4))):
        yield _line("grid", LEFT, y(10.0**power), WIDTH - RIGHT, y(10.0**power))
        yield _text(LEFT - 6, y(10.0**power) + 4, compact(10.0**power), "end")
    left = _x(found, 0)
    for point, rate in zip(found.curve, rates, strict=True):
        right = _x(found, point.traces)
        if rate > 0:
            # The lowest bar has height 0 on the logarithmic scale; it is drawn 1.5 high, so that it is visible.
            top = min(y(rate), LOWER[1] - 1.5)
            yield (
                f'<rect class="new" x="{_n(left)}" y="{_n(top)}" width="{_n(max(0.6, right - left - 0.6))}" '
                f'height="{_n(LOWER[1] - top)}"/>'
            )
        left = right
    yield _line("axis", LEFT, LOWER[1], WIDTH - RIGHT, LOWER[1])


# Numbers and shapes ------------------------------------------------------------------------------------------------


def ticks(top: float, most: int) -> list[float]:
    """Round whole numbers from 0 to ``top``, at most ``most`` besides 0: steps of 1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(max(top / most, 1)))
    step = next(power * each for each in (1, 2, 5, 10) if top / (power * each) <= most)
    return [step * place for place in range(math.floor(top / step + 1e-9) + 1)]


def compact(number: float) -> str:
    """A number in few characters, such as ``950``, ``1.2k``, ``34M``, ``5G``."""
    if number < 1000:
        return f"{number:.3g}"
    for power, letter in enumerate("kMGTPE", start=1):
        scaled = number / 1000**power
        if scaled < 999.5 or letter == "E":
            return f"{scaled:.2g}{letter}" if scaled < 99.5 else f"{scaled:,.0f}{letter}"
    raise AssertionError("the last letter takes everything")


def _line(kind: str, x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line class="{kind}" x1="{_n(x1)}" y1="{_n(y1)}" x2="{_n(x2)}" y2="{_n(y2)}"/>'


def _text(x: float, y: float, text: str, anchor: str, kind: str = "") -> str:
    classes = f' class="{kind}"' if kind else ""
    return f'<text x="{_n(x)}" y="{_n(y)}" text-anchor="{anchor}"{classes}>{escape(text)}</text>'


def _n(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
