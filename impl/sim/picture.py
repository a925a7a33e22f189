"""What the pictures of measurements share: a frame with two axes, curves, and a legend. Pictures are SVG.

Equal numbers give equal bytes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 640, 360, 70, 170, 30, 50
"""The size of a frame in pixels, and the room around its axes. The legend is on the right."""
COLOURS = ("#1b6ca8", "#2e8b57", "#8e44ad", "#c0392b")
STYLE = 'font-family="sans-serif" font-size="12" role="img"'


class Scale:
    """Maps numbers of [``low``, ``high``] to pixels from ``begin`` to ``end``: evenly, or by their logarithms."""

    def __init__(self, low: float, high: float, begin: float, end: float, *, is_logarithmic: bool) -> None:
        self._is_logarithmic = is_logarithmic
        self._low = self._place(low)
        self._span = self._place(high) - self._low or 1.0
        self._begin, self._end = begin, end

    def _place(self, value: float) -> float:
        return math.log10(value) if self._is_logarithmic else value

    def __call__(self, value: float) -> str:
        place = (self._place(value) - self._low) / self._span
        return f"{self._begin + place * (self._end - self._begin):.1f}"


def picture(about: str, parts: Iterable[str], height: int = HEIGHT) -> str:
    """The picture. ``about``: its text for those who cannot see it."""
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" {STYLE} aria-label="{about}">',
            f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
            *parts,
            "</svg>\n",
        ]
    )


def line_across(y: str, words: str) -> Iterator[str]:
    """A thin line across the frame at a height, with words on its left."""
    yield f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y}" y2="{y}" stroke="#dddddd"/>'
    yield f'<text x="{LEFT - 6}" y="{y}" dy="4" text-anchor="end">{words}</text>'


def words_below(x: str, words: str, height: int = HEIGHT) -> str:
    """Words below the frame that ends at a height."""
    return f'<text x="{x}" y="{height - BOTTOM + 20}" text-anchor="middle">{words}</text>'


def name_below(words: str, height: int = HEIGHT) -> str:
    """The name of the axis at the bottom of the frame that ends at a height."""
    middle = (LEFT + WIDTH - RIGHT) / 2
    return f'<text x="{middle:.1f}" y="{height - 10}" text-anchor="middle">{words}</text>'


def curve(points: Sequence[tuple[str, str]], colour: str) -> str:
    """A curve through points, each given by its pixels."""
    way = " ".join(f"{x},{y}" for x, y in points)
    return f'<polyline points="{way}" fill="none" stroke="{colour}" stroke-width="2"/>'


def area(points: Sequence[tuple[str, str]], colour: str) -> str:
    """The area within points, each given by its pixels."""
    way = " ".join(f"{x},{y}" for x, y in points)
    return f'<polygon points="{way}" fill="{colour}"/>'


def line_down(x: str, colour: str, about: str, top: int, bottom: int) -> str:
    """A line from the top to the foot of the frame between two heights. ``about``: as for ``dot``."""
    place = f'x1="{x}" x2="{x}" y1="{top + TOP}" y2="{bottom - BOTTOM}"'
    return f'<line {place} stroke="{colour}" stroke-dasharray="4 3"><title>{about}</title></line>'


def mark(x: str, y: str, colour: str, about: str) -> str:
    """A triangle whose tip is at a point. ``about``: as for ``dot``."""
    return f'<path d="M{x} {y} l-4 -8 h8 z" fill="{colour}"><title>{about}</title></path>'


def dot(x: str, y: str, colour: str, about: str) -> str:
    """A dot at a point. ``about``: shown when a reader points at it."""
    return f'<circle cx="{x}" cy="{y}" r="3.5" fill="{colour}"><title>{about}</title></circle>'


def legend(number: int, words: str, colour: str, top: int = TOP) -> Iterator[str]:
    """The entry of a curve in the legend of the frame that begins at ``top``. ``number``: its place."""
    height = top + 14 + 20 * number
    yield f'<rect x="{WIDTH - RIGHT + 14}" y="{height - 9}" width="10" height="10" fill="{colour}"/>'
    yield f'<text x="{WIDTH - RIGHT + 30}" y="{height}">{words}</text>'
