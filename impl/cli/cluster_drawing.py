"""The picture of a run of a real cluster: time from left to right, and a row for each partition, node and fault.

The picture is SVG inside a page. The page's style sheet has its colours. All texts are escaped.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from html import escape

from impl.real.fault_driver import FaultEvent
from impl.real.run_report import RunReport
from impl.real.run_timeline import SECOND, ProcessLife, RunTimeline

WIDTH, LEFT, RIGHT = 1_120, 150, 20
TOP, ROW, BAR, GAP, CHART = 8, 22, 16, 14, 90
"""Heights: above the first row, of a row, of a bar in it, between two groups of rows, and of the chart of records."""
LETTER = 7
"""The width of a letter in pixels, at most."""
COLOURS = 6
"""The number of colours for nodes; the style sheet has a class for each."""
STEPS_S = (1, 2, 5, 10, 20, 30, 60, 120, 300, 600)
MOST_TICKS = 14
MARK = 4


def drawing(report: RunReport, timeline: RunTimeline) -> str:
    """The picture as an element of a page."""
    return _Drawing(report, timeline).text()


class _Drawing:
    def __init__(self, report: RunReport, timeline: RunTimeline) -> None:
        self._report, self._timeline = report, timeline
        self._span = max(1, timeline.end - timeline.begin)
        self._y = TOP

    def text(self) -> str:
        groups = [self._phases(), self._acked(), self._leaders(), self._nodes(), self._faults(), self._axis()]
        parts = [part for group in groups for part in group]
        about = "Timeline: phases, acknowledged records, leaders of partitions, processes, and faults"
        size = f'viewBox="0 0 {WIDTH} {self._y + TOP}" role="img" aria-label="{about}"'
        return "\n".join([f"<svg {size}>", *parts, "</svg>"])

    # Rows -------------------------------------------------------------------------------------------------------------

    def _phases(self) -> Iterator[str]:
        yield self._label("phase")
        for each in self._timeline.phases:
            about = f"{each.name}: {(each.end - each.begin) / SECOND:.1f} s"
            yield self._bar(each.begin, each.end, "phase", about, each.name)
        self._y += ROW + GAP

    def _acked(self) -> Iterator[str]:
        """A chart of the acknowledged records of each second."""
        most = max(self._timeline.acked.values(), default=0)
        yield self._label("records acked")
        yield _text(LEFT - 8, self._y + BAR + 16, f"up to {most:,} a second", "quiet end")
        bottom = self._y + CHART
        for second, count in self._timeline.acked.items():
            begin = self._timeline.begin + second * SECOND
            left, right = self._x(begin), self._x(begin + SECOND)
            height = CHART * count / most
            about = f"{self._since(begin):.0f} s: {count:,} records acknowledged"
            yield _rect(left, bottom - height, max(0.5, right - left - 0.5), height, "acked", about)
        yield f'<line class="line" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{bottom}" y2="{bottom}"/>'
        self._y = bottom + GAP

    def _leaders(self) -> Iterator[str]:
        for number, spans in self._timeline.leaders.items():
            yield self._label(f"partition {number}")
            for span in spans:
                who = f"node {span.node}" if span.node >= 0 else "nobody"
                kind = f"node{span.node % COLOURS}" if span.node >= 0 else "nobody"
                about = f"{self._since(span.begin):.3f} s to {self._since(span.end):.3f} s: {who} leads it"
                yield self._bar(span.begin, span.end, kind, about, str(span.node) if span.node >= 0 else "")
            for at, partition in self._timeline.moves:
                if partition == number:
                    yield self._mark(at, "move", f"{self._since(at):.3f} s: a move is accepted")
            self._y += ROW
        self._y += GAP

    def _nodes(self) -> Iterator[str]:
        """A row for each node. A zombie stands below the process that has replaced it."""
        by_node: dict[str, list[ProcessLife]] = {}
        for life in self._timeline.processes:
            by_node.setdefault(life.node, []).append(life)
        for node, lives in sorted(by_node.items(), key=lambda each: (each[0].startswith("r."), each[0])):
            yield self._label(node)
            free: list[int] = []
            for life in lives:
                row = next((index for index, end in enumerate(free) if end <= life.begin), len(free))
                free[row : row + 1] = [life.end]
                yield from self._life(life, row * ROW)
            self._y += ROW * len(free)
        self._y += GAP

    def _life(self, life: ProcessLife, below: int) -> Iterator[str]:
        about = f"{life.name}: {self._since(life.begin):.3f} s to {self._since(life.end):.3f} s"
        yield self._bar(life.begin, life.end, "life", about, life.name, below)
        for begin, end in life.stopped:
            yield self._bar(begin, end, "stopped", f"{life.name}: stopped for {end - begin:,} ms", "", below)
        for each in self._report.kills:
            if each.process == life.name:
                at = each.at // 1_000
                yield self._mark(at, "kill", f"{self._since(at):.3f} s: kill -9 of {life.name}, pid {each.pid}", below)

    def _faults(self) -> Iterator[str]:
        by_kind: dict[str, list[FaultEvent]] = {}
        for each in self._report.told:
            by_kind.setdefault(each.kind, []).append(each)
        for kind, events in sorted(by_kind.items()):
            yield self._label(kind)
            for event in events:
                at = event.at // 1_000
                end = min(at + event.ms, self._report.end)
                yield self._bar(at, max(at, end), "fault", f"{self._since(at):.3f} s: {event.text}", "")
            self._y += ROW

    def _axis(self) -> Iterator[str]:
        """Lines at whole seconds since the faults began."""
        first, last = self._since(self._timeline.begin), self._since(self._timeline.end)
        step = next((each for each in STEPS_S if (last - first) / each <= MOST_TICKS), STEPS_S[-1])
        for second in range(math.ceil(first / step) * step, math.floor(last) + 1, step):
            x = self._x(self._report.begin + second * SECOND)
            yield f'<line class="tick" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{self._y}"/>'
            yield _text(x, self._y + 14, f"{second} s", "quiet middle")
        self._y += 18

    # Parts ------------------------------------------------------------------------------------------------------------

    def _x(self, at: int) -> float:
        place = (min(max(at, self._timeline.begin), self._timeline.end) - self._timeline.begin) / self._span
        return LEFT + place * (WIDTH - LEFT - RIGHT)

    def _since(self, at: int) -> float:
        """Seconds since the faults began."""
        return (at - self._report.begin) / SECOND

    def _label(self, text: str) -> str:
        return _text(LEFT - 8, self._y + BAR - 4, text, "end")

    def _bar(self, begin: int, end: int, kind: str, about: str, text: str, below: int = 0) -> str:
        left, y = self._x(begin), self._y + below
        width = max(1.0, self._x(end) - left)
        bar = _rect(left, y, width, BAR, kind, about)
        return f"{bar}{_text(left + 4, y + BAR - 4, text, kind)}" if text and len(text) * LETTER + 6 < width else bar

    def _mark(self, at: int, kind: str, about: str, below: int = 0) -> str:
        x, y = self._x(at), self._y + below + BAR / 2
        title = f"<title>{escape(about)}</title>"
        if kind == "move":
            return f'<path class="move" d="M{x - MARK:.1f} {y - 8} h{2 * MARK} l-{MARK} 6 z">{title}</path>'
        cross = f"M{x - MARK:.1f} {y - MARK} l8 8 m0 -8 l-8 8"
        return f'<path class="kill" d="{cross}">{title}</path>'


def _rect(x: float, y: float, width: float, height: float, kind: str, about: str) -> str:
    size = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"'
    return f'<rect class="{kind}" {size}><title>{escape(about)}</title></rect>'


def _text(x: float, y: float, text: str, kind: str) -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}">{escape(text)}</text>'
