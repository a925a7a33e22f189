"""The picture of a report: the time of a move and of a copy by the size of the history, both scales logarithmic.

Equal moves give equal bytes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from impl.sim.move.formula import LOAD, copy_seconds
from impl.sim.move.measure import Move, MoveStudy
from impl.sim.move.report import duration

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 640, 360, 70, 170, 30, 50
COLOURS = ("#1b6ca8", "#2e8b57", "#8e44ad", "#c0392b")
COPY, LOADED = "#b8860b", "#a0522d"
STYLE, ABOUT = (
    'font-family="sans-serif" font-size="12" role="img"',
    "Time of a move and of a copy by size of the history",
)
TICKS = ((1, "1 s"), (10, "10 s"), (60, "1 min"), (600, "10 min"), (3_600, "1 h"), (36_000, "10 h"), (360_000, "100 h"))


class Scale:
    """Maps numbers of [``low``, ``high``] to pixels from ``begin`` to ``end``, by their logarithms."""

    def __init__(self, low: float, high: float, begin: float, end: float) -> None:
        self._low, self._span = math.log10(low), math.log10(high) - math.log10(low) or 1.0
        self._begin, self._end = begin, end

    def __call__(self, value: float) -> str:
        place = (math.log10(value) - self._low) / self._span
        return f"{self._begin + place * (self._end - self._begin):.1f}"


def plot(question: MoveStudy, moves: Sequence[Move]) -> str:
    """The picture as SVG."""
    bandwidth, sizes = question.conditions.bandwidth, sorted(question.histories.values())
    copied = [copy_seconds(each, bandwidth, load) for each in sizes for load in (0, LOAD)]
    times = [*(each.steps.serves / 1_000 for each in moves), *(each for each in copied if each is not None)]
    x = Scale(sizes[0], sizes[-1], LEFT, WIDTH - RIGHT)
    low, high = min(1.0, *times), max(times) * 1.3
    y = Scale(low, high, HEIGHT - BOTTOM, TOP)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" {STYLE} aria-label="{ABOUT}">',
            f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
            f'<text x="{LEFT}" y="18">time (logarithmic)</text>',
            *_axes(question, x, y, low, high),
            *_curves(question, moves, x, y),
            "</svg>\n",
        ]
    )


def _axes(question: MoveStudy, x: Scale, y: Scale, low: float, high: float) -> Iterator[str]:
    for seconds, words in TICKS:
        if low <= seconds <= high:
            yield f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(seconds)}" y2="{y(seconds)}" stroke="#dddddd"/>'
            yield f'<text x="{LEFT - 6}" y="{y(seconds)}" dy="4" text-anchor="end">{words}</text>'
    for label, size in question.histories.items():
        yield f'<text x="{x(size)}" y="{HEIGHT - BOTTOM + 20}" text-anchor="middle">{label}</text>'
    middle = (LEFT + WIDTH - RIGHT) / 2
    yield f'<text x="{middle:.1f}" y="{HEIGHT - 10}" text-anchor="middle">history (logarithmic)</text>'


def _curves(question: MoveStudy, moves: Sequence[Move], x: Scale, y: Scale) -> Iterator[str]:
    curves: list[tuple[str, str, list[tuple[int, float]]]] = []
    for words, colour, load in (("copy, 100 MB/s go on", LOADED, LOAD), ("copy, producers stop", COPY, 0)):
        times = [
            (each, copy_seconds(each, question.conditions.bandwidth, load)) for each in question.histories.values()
        ]
        curves.append((words, colour, [(size, seconds) for size, seconds in times if seconds is not None]))
    for variant, colour in zip(question.variants, COLOURS, strict=False):
        points = [(each.size, each.steps.serves / 1_000) for each in moves if each.variant == variant]
        curves.append((f"move, {variant.name}", colour, points))
    for number, (words, colour, points) in enumerate(curves):
        way = " ".join(f"{x(size)},{y(seconds)}" for size, seconds in sorted(points))
        yield f'<polyline points="{way}" fill="none" stroke="{colour}" stroke-width="2"/>'
        for size, seconds in points:
            about = f"<title>{words}: {duration(seconds)}</title>"
            yield f'<circle cx="{x(size)}" cy="{y(seconds)}" r="3.5" fill="{colour}">{about}</circle>'
        height = TOP + 14 + 20 * number
        yield f'<rect x="{WIDTH - RIGHT + 14}" y="{height - 9}" width="10" height="10" fill="{colour}"/>'
        yield f'<text x="{WIDTH - RIGHT + 30}" y="{height}">{words}</text>'
