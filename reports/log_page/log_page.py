"""A judged log as one HTML page: the verdict, the event that no run explains, the reasons, and the lines before it."""

from __future__ import annotations

from holdfast.records.judged_log import JudgedLog
from reports.page.document import document


def render(log: JudgedLog) -> str:
    """The page of a log as HTML text. Equal verdicts give equal bytes."""
    sections = [("event", "The event")] if log.event else []
    sections += [("last", "Lines before it")] if log.last else []
    sections += [("nearby", "What would be possible")] if log.nearby else []
    sections += [("judged", "What was judged")]
    return document(__package__, "log", log=log, holdfast=log.holdfast, sections=sections)
