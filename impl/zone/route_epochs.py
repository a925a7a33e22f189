"""The controller's record of route epochs, and its tick (ZR-54 to ZR-57)."""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from impl.rules import rule
from impl.zone.encodings import RouteEpochRecord

BUMP_MS = 10_000
"""The time between two bumps of the current epoch, in milliseconds, unless a profile has another one."""
FIRST = RouteEpochRecord(committed=-3, fenced=-2, current=0, bumped_ms=0)
"""The record of a new cluster, which stands nowhere."""


@attrs.define
class CountedNode:
    """What the controller knows of a registered node.

    ``state``: a runtime state (ND-30). ``opening``: whether a stream of it is open, or handed over but not uploaded.
    ``report``: the epoch that it has committed; None before its first report.
    """

    state: str
    opening: bool
    report: int | None = None

    def is_counted(self) -> bool:
        """Whether the controller waits for the report of this node (ZR-54)."""
        if rule("M-11", self.opening):
            return True
        if rule("M-11.active", self.state != "FENCED"):
            return True
        return not rule("M-12")


def committed_by_all(nodes: Iterable[CountedNode]) -> int | None:
    """The epoch that all counted nodes have committed; None if one has not reported, or none counts (ZR-54)."""
    reports = [node.report for node in nodes if node.is_counted()]
    known = [report for report in reports if report is not None]
    if not known or rule("M-10", len(known) < len(reports)):
        return None
    return min(known) if rule("M-09", min(known) < max(known)) else max(known)


def tick(
    record: RouteEpochRecord, nodes: Iterable[CountedNode], now_ms: int, bump_ms: int = BUMP_MS
) -> RouteEpochRecord | None:
    """The record that an active controller writes at a tick; None if it writes none (ZR-55).

    ``bump_ms``: the time between two bumps of the current epoch.
    """
    everywhere = committed_by_all(nodes)
    committed = record.committed
    if everywhere is not None:
        # The epoch that is committed neither falls nor passes the fenced one (ZR-57).
        limited = min(everywhere, record.fenced) if rule("ZR-57.fenced", everywhere > record.fenced) else everywhere
        committed = max(committed, limited) if rule("ZR-57", limited < committed) else limited
    if now_ms - record.bumped_ms >= bump_ms:
        current = record.current + 1
        # An epoch is fenced a whole interval after it was the current one, so that a proxy may lag that long (M-08).
        fenced = current - 2 if rule("M-08") else current - 1
        return RouteEpochRecord(committed, fenced, current, now_ms)
    if committed == record.committed:
        return None
    return RouteEpochRecord(committed, record.fenced, record.current, record.bumped_ms)
