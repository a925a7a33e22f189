"""Runs of the controller's tick of route epochs: nodes come, go and report, and the time goes on.

A report may say any epoch, also one beyond the fenced one, as that of a node of another version, or one that is left
after the metadata have lost their newest records. Judged by what the text of ZR-54 to ZR-57 says of the written record.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from impl.sim.tape import Draw, one
from impl.sim.violation import PartViolation
from impl.zone.encodings import RouteEpochRecord
from impl.zone.route_epochs import FIRST, CountedNode, tick

EVENTS, NODES = 40, 4
"""The most events of a run, and the most nodes."""
STEPS_MS = (0, 999, 1_000, 5_000, 9_999, 10_000, 25_000, -3_000)
"""How the clock goes on. Another controller may have a clock that is behind."""
PERIOD_MS = 10_000
"""The time between two bumps (ZR-55)."""
STATES = ("ACTIVE", "ACTIVE", "FENCED", "FENCED", "CONTROLLED_SHUTDOWN", "UNKNOWN")
BEYOND = (-4, -2, -1, 0, 0, 1, 2, 5)
"""How far a report is from the fenced epoch."""


class ReportingNode(msgspec.Struct):
    """A registered node. ``holds``: a stream of it is open, or has data that are not uploaded."""

    state: str = "ACTIVE"
    holds: bool = True
    report: int | None = None


def judged(draw: Draw) -> PartViolation | None:
    """Make a run of ticks, and tell the first thing that a record violates; None if nothing."""
    current = int(draw() * 8)
    fenced = current - 2
    record = RouteEpochRecord(fenced - int(draw() * 3), fenced, current, 0) if draw() < 0.5 else FIRST
    nodes: dict[int, ReportingNode] = {}
    now = 0
    for _ in range(int(draw() * EVENTS)):
        if draw() < 0.6:
            _change(draw, nodes, record.fenced)
            continue
        now += one(draw, STEPS_MS)
        shown = [CountedNode(each.state, each.holds, each.report) for each in nodes.values()]
        written = tick(record, shown, now)
        found = violation(record, list(nodes.values()), now, written)
        if found is not None:
            return found
        record = written or record
    return None


def _change(draw: Draw, nodes: dict[int, ReportingNode], fenced: int) -> None:
    """A node registers, is removed, changes its state, or reports."""
    node, kind = int(draw() * NODES), draw()
    if kind < 0.1:
        nodes.pop(node, None)
        return
    row = nodes.setdefault(node, ReportingNode())
    if kind < 0.3:
        row.state = one(draw, STATES)
    elif kind < 0.4:
        row.holds = not row.holds
    else:
        row.report = fenced + one(draw, BEYOND)


def violation(
    before: RouteEpochRecord, nodes: Sequence[ReportingNode], now: int, written: RouteEpochRecord | None
) -> PartViolation | None:
    """What a tick violates. ``written``: the record that it writes; None if it writes none."""
    after = written or before
    due = now - before.bumped_ms >= PERIOD_MS
    if (after.current, after.fenced) != (before.current + due, before.fenced + due):
        return PartViolation("ZR-55", "the controller bumps the epochs too early, too late, or not by one")
    if after.fenced != after.current - 2 or after.bumped_ms != (now if due else before.bumped_ms):
        return PartViolation("ZR-56", "the controller fences another epoch than the one two behind the current one")
    if after.committed < before.committed:
        return PartViolation("ZR-57", "the committed epoch falls")
    if after.committed > after.fenced:
        return PartViolation("ZR-57", "the committed epoch passes the fenced one")
    awaited = [each.report for each in nodes if each.holds or each.state != "FENCED"]
    if after.committed > before.committed and any(each is None or each < after.committed for each in awaited):
        return PartViolation("I-6", "the controller commits an epoch that an awaited node has not reported")
    if after.committed > before.committed and not awaited:
        return PartViolation("ZR-54", "the controller commits an epoch though no node is awaited")
    further = bool(awaited) and all(each is not None and each > after.committed for each in awaited)
    # A tick may leave the epoch that it fences itself to the next tick.
    if further and after.committed < before.fenced:
        return PartViolation("V-1", "all awaited nodes have reported a fenced epoch, and it is not committed")
    return PartViolation("ZR-55", "the controller writes a record without a change") if written == before else None
