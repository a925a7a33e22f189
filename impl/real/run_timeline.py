"""A run of a real cluster as facts with times: phases, acknowledged records, leaders, processes.

All times are in milliseconds of the cluster's clock.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import msgspec

from impl.client.history import History
from impl.metadata.image import Image
from impl.metadata.log import replay
from impl.real.run_report import RunReport
from impl.sim.event_log import AppendedBatch, Event
from impl.sim.partitions.metadata import TOPIC

SECOND = 1_000
_ENDS = ("crash", "halt")


class TimelinePhase(msgspec.Struct, frozen=True):
    """A phase of a run, from ``begin`` to ``end``."""

    name: str
    begin: int
    end: int


class LeaderSpan(msgspec.Struct, frozen=True):
    """From ``begin`` to ``end``, a partition was led by ``node``; -1 for nobody."""

    begin: int
    end: int
    node: int


class ProcessLife(msgspec.Struct):
    """A process from its first event to its end. ``stopped``: the times between SIGSTOP and SIGCONT."""

    name: str
    begin: int
    end: int
    stopped: list[tuple[int, int]]

    @property
    def node(self) -> str:
        """The name of its node: b1 of the process b1.0."""
        return self.name.rpartition(".")[0]


class RunTimeline(msgspec.Struct, frozen=True):
    """``acked``: by second since ``begin``, the number of records that were acknowledged. ``leaders``: by partition.

    ``moves``: the time and the partition of each move that the controller has accepted.
    """

    begin: int
    end: int
    phases: tuple[TimelinePhase, ...]
    acked: dict[int, int]
    leaders: dict[int, tuple[LeaderSpan, ...]]
    processes: tuple[ProcessLife, ...]
    moves: tuple[tuple[int, int], ...]


def timeline_of(report: RunReport) -> RunTimeline:
    """The timeline of a run, or of the part of it until it was interrupted."""
    phases = _phases(report)
    begin, end = (phases[0].begin, phases[-1].end) if phases else (report.begin, report.end)
    events = report.merged.log.events
    return RunTimeline(
        begin=begin,
        end=end,
        phases=phases,
        acked=_acked(report.history, begin),
        leaders=_leaders(events, end),
        processes=_processes(events, end),
        moves=tuple((op.at, op.key) for op in report.history.ops if op.f == "move" and op.kind == "ok"),
    )


def _phases(report: RunReport) -> tuple[TimelinePhase, ...]:
    """The phases in which the cluster ran. A run that is interrupted at its start ends where its faults would begin."""
    at = report.begin - round(report.phases.get("start", 0.0) * SECOND)
    found: list[TimelinePhase] = []
    for name, seconds in report.phases.items():
        if name != "judge":
            found.append(TimelinePhase(name, at, at := at + round(seconds * SECOND)))
    return tuple(found)


def _acked(history: History, begin: int) -> dict[int, int]:
    counts = {op.index: op.count for op in history.ops if op.kind == "invoke" and op.f == "send"}
    found: Counter[int] = Counter()
    for op in history.ops:
        if op.kind == "ok" and op.f == "send":
            found[(op.at - begin) // SECOND] += counts[op.index]
    return dict(sorted(found.items()))


def _leaders(events: Iterable[Event], end: int) -> dict[int, tuple[LeaderSpan, ...]]:
    """By partition: who led it when, as the committed metadata have it."""
    image = Image()
    since: dict[int, tuple[int, int]] = {}
    """By partition: its leader, and since when it leads."""
    spans: dict[int, list[LeaderSpan]] = {}
    for at, _, _, subject in events:
        if not isinstance(subject, AppendedBatch) or subject.lost:
            continue
        replay((subject.batch,), image)
        for (topic, number), row in image.partitions.items():
            if topic == TOPIC and (number not in since or since[number][0] != row.leader):
                if number in since:
                    spans.setdefault(number, []).append(LeaderSpan(since[number][1], at, since[number][0]))
                since[number] = row.leader, at
    for number, (leader, begin) in since.items():
        spans.setdefault(number, []).append(LeaderSpan(begin, max(begin, end), leader))
    return {number: tuple(each) for number, each in sorted(spans.items())}


def _processes(events: Iterable[Event], end: int) -> tuple[ProcessLife, ...]:
    """The processes in the order of their starts. One whose end no event tells lives to the end."""
    found: dict[str, ProcessLife] = {}
    stopped: dict[str, int] = {}
    for at, name, kind, _ in events:
        if kind in ("start", "elected"):
            found[name] = ProcessLife(name, at, max(at, end), [])
        elif name in found and kind in _ENDS:
            found[name].end = at
            if name in stopped:
                found[name].stopped.append((stopped.pop(name), at))
        elif name in found and kind == "pause":
            stopped[name] = at
        elif name in found and kind == "resume" and name in stopped:
            found[name].stopped.append((stopped.pop(name), at))
    for name, at in stopped.items():
        found[name].stopped.append((at, found[name].end))
    return tuple(found.values())
