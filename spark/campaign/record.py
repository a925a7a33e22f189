"""The record of a campaign, from which reports for other tools are written."""

from __future__ import annotations

from holdfast.ir.system import System
from holdfast.records.findings import record_of_findings
from holdfast.records.record import Record
from holdfast.runs.loading import open_trace
from holdfast.trace.text import count
from spark.campaign.config import Config
from spark.campaign.summary import Summary


def campaign_record(system: System, config: Config, summary: Summary, command: str, code: int) -> Record:
    """The record of a campaign: a case for each shrunk finding, with its run and its frequency.

    ``command`` is the verb of the command line, ``code`` its exit code.
    """
    findings = [
        (open_trace(finding.shrunk.line).trace, f"in {finding.times:,} of {count(summary.runs, 'run')}")
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
        [
            ("runs", str(summary.runs)),
            ("steps", str(summary.steps)),
            ("violations", str(summary.violations)),
            ("seed", str(config.seed)),
            ("fingerprint", summary.fingerprint),
        ],
        target=config.target,
        properties=config.properties or None,
        seconds=summary.rates.seconds,
        complete=summary.done == config.units,
    )
