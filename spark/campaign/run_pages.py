"""The runs of a campaign's findings as records for pages of their own, which the campaign's page links."""

from __future__ import annotations

import json
from pathlib import Path

import attrs

from holdfast.ir.errors import UsageError
from holdfast.ir.trust import is_bundled
from holdfast.records.explained_run import ExplainedRun, explained_run
from holdfast.records.system_run import SystemRun
from holdfast.runs.loading import open_trace
from holdfast.trace.itf_read import itf_run
from holdfast.trace.line import parse_line
from holdfast.trace.text import count
from spark.campaign.findings import Finding


def run_of(finding: Finding) -> ExplainedRun | SystemRun | None:
    """The shrunk run of a finding; None if it has none, or none that can be made again.

    A model is executed to explain its run. The tables may be from anywhere, so the model that the replay line names
    must come along with Holdfast. The run of any other model says what it changed, and no more.
    """
    shrunk = finding.shrunk
    if shrunk is None:
        return None
    if shrunk.case:
        from spark.campaign.cluster_target import run_of_case  # noqa: PLC0415 - it loads the implementation

        return run_of_case(shrunk.case)
    if not shrunk.itf:
        return None
    try:
        if is_bundled(parse_line(shrunk.line).target):
            opened = open_trace(shrunk.line)
            return explained_run(opened.trace, opened.replayer)
    except UsageError:
        pass  # The model is another one by now, and no longer has this run.
    try:
        plain = explained_run(itf_run(json.loads(shrunk.itf), Path("itf")).trace(), None)
    except (UsageError, ValueError, TypeError, AttributeError, RecursionError):
        return None
    return attrs.evolve(
        plain,
        title=f"{finding.property}: violated after {count(shrunk.steps, 'step')}",
        sentence=shrunk.sentence,
        conclusion=shrunk.sentence,
        replay=shrunk.replay,
    )
