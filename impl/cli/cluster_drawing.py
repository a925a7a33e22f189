"""The picture of a run of a real cluster: a row for each partition, node and kind of fault."""

from __future__ import annotations

from collections.abc import Iterator

from impl.cli.time_drawing import (
    BAR,
    GAP,
    LEFT,
    RIGHT,
    ROW,
    SECOND,
    WIDTH,
    TimeDrawing,
    box,
    free_rows,
    written,
)
from impl.real.fault_driver import FaultEvent
from impl.real.run_report import RunReport
from impl.real.run_timeline import RunTimeline
from impl.sim.spans import ProcessLife, by_node

CHART = 90
"""The height of the chart of records."""


def drawing(report: RunReport, timeline: RunTimeline) -> str:
    """The picture as an element of a page."""
    return _Drawing(report, timeline).drawn()


class _Drawing(TimeDrawing):
    def __init__(self, report: RunReport, timeline: RunTimeline) -> None:
        super().__init__(timeline.begin, timeline.end, report.begin)
        self._report, self._timeline = report, timeline

    def drawn(self) -> str:
        groups = [self._phases(), self._acked(), self._leaders(), self._nodes(), self._faults()]
        return self.text("Timeline: phases, acknowledged records, leaders of partitions, processes, and faults", groups)

    def _phases(self) -> Iterator[str]:
        yield self.label("phase")
        for each in self._timeline.phases:
            about = f"{each.name}: {(each.end - each.begin) / SECOND:.1f} s"
            yield self.bar(each.begin, each.end, "phase", about, each.name)
        self.y += ROW + GAP

    def _acked(self) -> Iterator[str]:
        """A chart of the acknowledged records of each second."""
        most = max(self._timeline.acked.values(), default=0)
        yield self.label("records acked")
        yield written(LEFT - 8, self.y + BAR + 16, f"up to {most:,} a second", "quiet end")
        bottom = self.y + CHART
        for second, count in self._timeline.acked.items():
            begin = self.begin + second * SECOND
            left, right = self.x(begin), self.x(begin + SECOND)
            height = CHART * count / most
            about = f"{self.since(begin):.0f} s: {count:,} records acknowledged"
            yield box(left, bottom - height, max(0.5, right - left - 0.5), height, "acked", about)
        yield f'<line class="line" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{bottom}" y2="{bottom}"/>'
        self.y = bottom + GAP

    def _leaders(self) -> Iterator[str]:
        for number, spans in self._timeline.leaders.items():
            yield self.label(f"partition {number}")
            yield from self.leaders(spans)
            for at, partition in self._timeline.moves:
                if partition == number:
                    yield self.mark(at, "move", f"{self.since(at):.3f} s: a move is accepted")
            self.y += ROW
        self.y += GAP

    def _nodes(self) -> Iterator[str]:
        """A row for each node. A zombie stands below the process that has replaced it."""
        found = by_node(self._timeline.processes)
        for node, lives in sorted(found.items(), key=lambda each: (each[0].startswith("r."), each[0])):
            yield self.label(node)
            rows = free_rows((life.begin, life.end) for life in lives)
            for life, row in zip(lives, rows, strict=True):
                yield from self.life(life, row * ROW)
                yield from self._kills(life, row * ROW)
            self.y += ROW * (max(rows) + 1)
        self.y += GAP

    def _kills(self, life: ProcessLife, below: int) -> Iterator[str]:
        for each in self._report.kills:
            if each.process == life.name:
                at = each.at // 1_000
                yield self.mark(at, "kill", f"{self.since(at):.3f} s: kill -9 of {life.name}, pid {each.pid}", below)

    def _faults(self) -> Iterator[str]:
        by_kind: dict[str, list[FaultEvent]] = {}
        for each in self._report.told:
            by_kind.setdefault(each.kind, []).append(each)
        for kind, events in sorted(by_kind.items()):
            yield self.label(kind)
            for event in events:
                at = event.at // 1_000
                end = min(at + event.ms, self._report.end)
                yield self.bar(at, max(at, end), "fault", f"{self.since(at):.3f} s: {event.text}")
            self.y += ROW
