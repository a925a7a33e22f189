"""The record of a campaign, from which reports for other tools are written."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from holdfast.ir.errors import Place, UsageError
from holdfast.ir.variants import load_variant
from holdfast.records.findings import record_of_findings
from holdfast.records.record import Case, Record, fingerprint
from holdfast.runs.loading import open_trace
from holdfast.trace.text import count
from holdfast.trace.trace import Trace
from spark.campaign.config import Config
from spark.campaign.findings import Finding, ShrunkRun
from spark.campaign.summary import Summary
from spark.campaign.text import answer


def campaign_record(config: Config, summary: Summary, command: str, code: int, model: str | None = None) -> Record:
    """The record of a campaign: a case for each shrunk finding, with its run and its frequency.

    ``command`` is the verb of the command line, ``code`` its exit code. ``model``: the model to load, instead of the
    one that the configuration names. Raises UsageError if the model is not there.
    """
    if not config.is_model:
        return _of_others(config, summary, command, code)
    loaded = model or config.target
    system = load_variant(loaded, config.variants, config.removed)
    findings = [
        (_shown(finding, finding.shrunk.line, loaded), f"in {finding.times:,} of {count(summary.runs, 'run')}")
        for finding in summary.findings
        if finding.shrunk is not None
    ]
    return record_of_findings(
        system,
        command,
        config.scope,
        summary.verdict,
        code,
        findings,
        _figures(config, summary),
        target=config.target,
        properties=config.properties or None,
        seconds=summary.rates.seconds,
        complete=summary.done == config.units,
    )


def _shown(finding: Finding, line: str, model: str) -> Trace:
    """The run of a finding. Raises UsageError if it does not violate what the tables say."""
    trace = open_trace(line, model=model).trace
    if trace.claim is None:
        raise UsageError(
            f"finding {finding.signature}: its replay line no longer shows that {finding.property} is violated; "
            "run the campaign anew"
        )
    return trace


def _figures(config: Config, summary: Summary) -> tuple[tuple[str, str], ...]:
    return (
        ("runs", str(summary.runs)),
        ("steps", str(summary.steps)),
        ("violations", str(summary.violations)),
        ("seed", str(config.seed)),
        ("fingerprint", summary.fingerprint),
    )


def _of_others(config: Config, summary: Summary, command: str, code: int) -> Record:
    """The record of a campaign of clusters, of logs or of the balancer.

    Without a finding, its only case says that nothing is wrong.
    """
    cases = [_case(summary, finding) for finding in summary.findings]
    cases += [
        Case(
            name=f"no answer {log}",
            kind=config.target,
            sentence="A log without an answer.",
            at=Place(log, 1),
            status="unanswered",
            message=f"not answered: {log}: {reason}",
        )
        for log, reason in summary.unanswered
    ]
    if not cases:
        done = summary.is_complete and not summary.not_judged
        passed = Case(
            name="nothing wrong",
            kind=config.target,
            sentence="No run violates anything.",
            at=Place(config.target, 1),
            status="passed" if done else "unanswered",
            message="no run violates anything, which is no proof" if done else f"not answered: {answer(summary)}",
        )
        cases = [passed]
    return Record(
        engine=command,
        model=summary.model,
        scope="",
        changes=tuple(f"-{label}" for label in config.removed),
        verdict=summary.verdict,
        exit_code=code,
        cases=tuple(cases),
        figures=_figures(config, summary),
        seconds=summary.rates.seconds,
    )


def _case(summary: Summary, finding: Finding) -> Case:
    shrunk = finding.shrunk
    # The file that shows the finding: a case, or the log.
    file = summary.name if shrunk is None else shlex.split(shrunk.replay)[2 if summary.kind == "cluster" else 3]
    logs = f"\nlogs: {', '.join(finding.logs)}" if finding.logs else ""
    return Case(
        name=f"{finding.property} {finding.signature}",
        kind=summary.kind,
        sentence=finding.property,
        at=_place(summary.kind, file, shrunk),
        status="failed",
        message=f"{finding.action}, in {finding.times:,} of {count(summary.runs, 'run')}",
        text="" if shrunk is None else f"{shrunk.sentence}\n{shrunk.text}{logs}",
        replay=None if shrunk is None else shrunk.replay,
        fingerprint=fingerprint("campaign", finding.property, finding.action, *finding.state),
    )


def _place(kind: str, file: str, shrunk: ShrunkRun | None) -> Place:
    """The line of a log that its sentence names, or else the first line of the file."""
    line = 1
    if kind == "log" and shrunk is not None:
        named = re.search(rf"{re.escape(Path(file).name)}:(\d+)", shrunk.sentence)
        line = int(named[1]) if named else line
    return Place(file, line)
