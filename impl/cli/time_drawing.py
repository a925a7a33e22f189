"""A picture with time from left to right, and rows of bars and marks: what the timelines of all runs have in common.

The picture is SVG inside a page, whose style sheet has its colours. All texts are escaped.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from html import escape

from impl.sim.spans import LeaderSpan, ProcessLife

WIDTH, LEFT, RIGHT = 1_120, 150, 20
TOP, ROW, BAR, GAP = 8, 22, 16, 14
"""Heights: above the first row, of a row, of a bar in it, and between two groups of rows."""
LETTER = 7
"""The width of a letter in pixels, at most."""
SECOND = 1_000
STEPS_S = (1, 2, 5, 10, 20, 30, 60, 120, 300, 600)
MOST_TICKS = 14
MARK = 4
COLOURS = 6
"""The number of colours for nodes; the style sheet has a class for each."""


class TimeDrawing:
    """A picture of the time from ``begin`` to ``end``, in milliseconds. ``zero``: the time that is shown as 0 s."""

    def __init__(self, begin: int, end: int, zero: int) -> None:
        self.begin, self.end, self.zero = begin, end, zero
        self.y = TOP
        """The top of the next row."""

    def text(self, about: str, groups: Iterable[Iterable[str]]) -> str:
        """The picture as an element of a page. ``groups``: its parts, which are made in their order."""
        parts = [part for group in (*groups, self._axis()) for part in group]
        size = f'viewBox="0 0 {WIDTH} {self.y + TOP}" role="img" aria-label="{escape(about)}"'
        return "\n".join([f"<svg {size}>", *parts, "</svg>"])

    def x(self, at: int) -> float:
        """The place of a time."""
        place = (min(max(at, self.begin), self.end) - self.begin) / max(1, self.end - self.begin)
        return LEFT + place * (WIDTH - LEFT - RIGHT)

    def since(self, at: int) -> float:
        """Seconds since ``zero``."""
        return (at - self.zero) / SECOND

    def label(self, text: str) -> str:
        """The name of the next row."""
        return written(LEFT - 8, self.y + BAR - 4, text, "end")

    def bar(self, begin: int, end: int, kind: str, about: str, text: str = "", below: int = 0) -> str:
        """A bar in the next row, or ``below`` its top. ``about``: shown when a reader points at it."""
        left, y = self.x(begin), self.y + below
        width = max(1.0, self.x(end) - left)
        bar = box(left, y, width, BAR, kind, about)
        return f"{bar}{written(left + 4, y + BAR - 4, text, kind)}" if text and len(text) * LETTER + 6 < width else bar

    def mark(self, at: int, kind: str, about: str, below: int = 0) -> str:
        """A mark in the next row: a triangle for a move, and a cross for anything else."""
        x, y = self.x(at), self.y + below + BAR / 2
        title = f"<title>{escape(about)}</title>"
        if kind == "move":
            return f'<path class="move" d="M{x - MARK:.1f} {y - 8} h{2 * MARK} l-{MARK} 6 z">{title}</path>'
        cross = f"M{x - MARK:.1f} {y - MARK} l8 8 m0 -8 l-8 8"
        return f'<path class="{kind}" d="{cross}">{title}</path>'

    def leaders(self, spans: Iterable[LeaderSpan]) -> Iterator[str]:
        """Who led a partition, in the next row."""
        for span in spans:
            who = f"node {span.node}" if span.node >= 0 else "nobody"
            kind = f"node{span.node % COLOURS}" if span.node >= 0 else "nobody"
            about = f"{self.since(span.begin):.3f} s to {self.since(span.end):.3f} s: {who} leads it"
            yield self.bar(span.begin, span.end, kind, about, str(span.node) if span.node >= 0 else "")

    def life(self, life: ProcessLife, below: int) -> Iterator[str]:
        """A process, ``below`` the top of the next row."""
        about = f"{life.name}: {self.since(life.begin):.3f} s to {self.since(life.end):.3f} s"
        yield self.bar(life.begin, life.end, "life", about, life.name, below)
        for begin, end in life.stopped:
            yield self.bar(begin, end, "stopped", f"{life.name}: stopped for {end - begin:,} ms", "", below)

    def _axis(self) -> Iterator[str]:
        """Lines at whole seconds since ``zero``."""
        first, last = self.since(self.begin), self.since(self.end)
        step = next((each for each in STEPS_S if (last - first) / each <= MOST_TICKS), STEPS_S[-1])
        for second in range(math.ceil(first / step) * step, math.floor(last) + 1, step):
            x = self.x(self.zero + second * SECOND)
            yield f'<line class="tick" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{self.y}"/>'
            yield written(x, self.y + 14, f"{second} s", "quiet middle")
        self.y += 18


def free_rows(spans: Iterable[tuple[int, int]]) -> list[int]:
    """A row for each span, so that spans in one row do not overlap. Spans come in the order of their begins."""
    ends: list[int] = []
    rows = []
    for begin, end in spans:
        row = next((index for index, free in enumerate(ends) if free <= begin), len(ends))
        ends[row : row + 1] = [end]
        rows.append(row)
    return rows


def box(x: float, y: float, width: float, height: float, kind: str, about: str) -> str:
    """A rectangle."""
    size = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"'
    return f'<rect class="{kind}" {size}><title>{escape(about)}</title></rect>'


def written(x: float, y: float, text: str, kind: str) -> str:
    """A text at a place."""
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}">{escape(text)}</text>'
