"""The record of ``conform``: it has one case, the log."""

from __future__ import annotations

from holdfast.check.conform.answer.verdict import LogVerdict, headline, render
from holdfast.check.conform.judge.judge import Kind
from holdfast.records.record import Case, Record, Status, changes_of


def conform_record(verdict: LogVerdict) -> Record:
    """The record of a verdict on a log."""
    statuses: dict[Kind, Status] = {"conforms": "passed", "impossible": "failed", "unknown": "unanswered"}
    case = Case(
        name="conforms",
        kind="log",
        sentence=f"The log is one of a run of {verdict.system.name}.",
        at=verdict.at,
        status=statuses[verdict.judgement.kind],
        message=headline(verdict),
        text=render(verdict),
    )
    figures = (("events", str(verdict.judgement.events)), ("judged", str(verdict.judgement.judged)))
    return Record(
        engine="conform",
        model=verdict.system.name,
        scope="",
        changes=changes_of(verdict.system.chosen, verdict.system.removed),
        verdict=verdict.judgement.kind,
        exit_code=verdict.exit_code,
        cases=(case,),
        figures=figures,
    )
