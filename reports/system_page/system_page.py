"""A run of a system as one HTML page: the verdict, what is objected to, a timeline, and what happened."""

from __future__ import annotations

from holdfast.records.system_run import SystemRun
from reports.page.document import document
from reports.page.document import drawing as drawn


def render(run: SystemRun) -> str:
    """The page of a run as HTML text. Equal runs give equal bytes."""
    sections = [("findings", "Findings")]
    sections += [("timeline", "Timeline")] if run.drawing else []
    sections += [("pictures", "Pictures")] if run.pictures else []
    sections += [("moments", "What happened")] if run.moments else []
    sections += [("details", "Details")]
    return document(__package__, "system", run=run, drawn=drawn, holdfast=run.holdfast, sections=sections)
