"""The answer of ``holdfast simulate`` for programs: JSON, and the record of the reports."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any

from holdfast.ir.errors import Place
from holdfast.records.record import Case, Moment, Record, Status, fingerprint
from impl.cli.finding import SimulationFinding, told
from impl.oracles import judge
from impl.sim.awaits import awaits_of_brokers
from impl.sim.check import Question
from impl.sim.faults import KINDS, NAMED
from impl.sim.outcome import Totals


def to_json(
    question: Question,
    seeds: str,
    verdict: str,
    code: int,
    totals: Totals,
    findings: Sequence[SimulationFinding],
    ended: str,
) -> dict[str, Any]:
    """The answer as JSON. ``ended``: why not all seeds were run; "" if all were run."""
    options = question.options
    return {
        "verdict": verdict,
        "exit_code": code,
        "cluster": question.version,
        "partitions": options.partitions or None,
        "zones": options.zones or None,
        "generation": question.generation if options.partitions else None,
        "seeds": seeds,
        "without": list(question.without),
        "switches": list(question.switches),
        "runs": totals.runs,
        "ended_by": ended or None,
        "counts": dict(totals.counts),
        "least": totals.least,
        "most": totals.most,
        "looked": dict(totals.looked),
        "faults": {
            kind: {"drawn": totals.drew[kind], "happened_in": totals.had[kind], "times": totals.happened[kind]}
            for kind in NAMED
            if kind in KINDS or totals.drew[kind]
        },
        "decided": dict(sorted(totals.decided.items())),
        "awaits": [
            {"file": file, "line": line, "function": function, "crashed": totals.crashed[file, line, function]}
            for file, line, function in awaits_of_brokers(partitions=options.partitions > 0, zones=options.zones > 0)
        ],
        "violated_seeds": [each.seed for each in totals.violated],
        "not_judged": [{"seed": each.seed, "why": each.error} for each in totals.errors],
        "violations": [_finding(each) for each in findings],
    }


def _finding(finding: SimulationFinding) -> dict[str, Any]:
    operations, faults = finding.size
    return {
        "seed": finding.seed,
        "oracle": finding.violation.oracle,
        "stream": finding.violation.key,
        "message": finding.violation.message,
        "operations": operations,
        "faults": faults,
        "shrinking_runs": finding.runs,
        "complete": finding.complete,
        "file": None if finding.path is None else str(finding.path),
        "with_all_rules": None if finding.mended is None else [each.message for each in finding.mended],
    }


def record_of(
    question: Question,
    seeds: str,
    verdict: str,
    code: int,
    totals: Totals,
    findings: Sequence[SimulationFinding],
    ended: str,
) -> Record:
    """The record of an answer, with a case for each oracle. The arguments are those of ``to_json``."""
    changes = (*(f"-{label}" for label in question.without), *(f"+{name}" for name in question.switches))
    found = {each.violation.oracle: each for each in findings}
    names = dict.fromkeys([*judge.NAMES, *found])
    violated = {each.oracle for outcome in totals.violated for each in outcome.violations}
    return Record(
        engine="simulate",
        model=f"cluster {question.version}",
        scope=seeds,
        changes=changes,
        verdict=verdict,
        exit_code=code,
        cases=tuple(
            _violated(question, found[name]) if name in found else _open(name, totals.runs, name in violated, ended)
            for name in names
        ),
        figures=(("runs", str(totals.runs)), ("violated", str(len(totals.violated)))),
    )


def _open(oracle: str, runs: int, is_violated: bool, ended: str) -> Case:
    """The case of an oracle without a finding: it objected to no run, or was not the first to object to a run."""
    status: Status = "passed"
    said = f"objects to none of {runs:,} runs"
    if is_violated:
        status, said = "skipped", "objects to a run that shows another violation"
    elif ended:
        status, said = "unanswered", f"{said}; ended early ({ended})"
    return Case(name=oracle, kind="oracle", sentence=oracle, at=Place(judge.__file__, 1), status=status, message=said)


def _violated(question: Question, finding: SimulationFinding) -> Case:
    oracle = finding.violation.oracle
    at = Place(judge.__file__ if finding.path is None else str(finding.path), 1)
    operations = [f"{each.f} {each.key}" for each in finding.case.script]
    faults = [f"{each.kind} {each.site}" for each in finding.case.faults]
    return Case(
        name=oracle,
        kind="oracle",
        sentence=oracle,
        at=at,
        status="failed",
        message=finding.violation.message,
        text="\n".join(told(finding)),
        # Only a run of --mended has no file.
        replay=None if finding.path is None else shlex.join(["holdfast", "simulate", str(finding.path)]),
        fingerprint=fingerprint(
            "simulate", question.version, *question.without, *question.switches, oracle, *operations, *faults
        ),
        flow=tuple(Moment(line[12:24].strip(), line[26:], at) for line in finding.moments),
    )
