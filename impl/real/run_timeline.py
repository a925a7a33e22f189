"""A run of a real cluster as facts with times: phases, acknowledged records, leaders, processes.

All times are in milliseconds of the cluster's clock.
"""

from __future__ import annotations

from collections import Counter

import msgspec

from impl.client.history import History
from impl.real.run_report import RunReport
from impl.sim.spans import LeaderSpan, ProcessLife, leaders, lives

SECOND = 1_000


class TimelinePhase(msgspec.Struct, frozen=True):
    """A phase of a run, from ``begin`` to ``end``."""

    name: str
    begin: int
    end: int


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
        leaders=leaders(events, end),
        processes=lives(events, end),
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
