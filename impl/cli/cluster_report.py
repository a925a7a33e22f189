"""The answer of ``holdfast cluster test``: its text, and the same for programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from impl.bridge.log_judgement import LogJudgement
from impl.cli.cluster_answer import ClusterAnswer
from impl.real.run_report import RunReport


def to_json(answer: ClusterAnswer) -> dict[str, Any]:
    """The answer as JSON. Times are in milliseconds since the faults began."""
    question, report, records = answer.question, answer.report, answer.report.records
    return {
        "verdict": answer.words,
        "exit_code": answer.exit_code,
        "left_out": list(answer.left_out),
        "shortfalls": list(report.shortfalls),
        "seed": question.seed,
        "version": question.version,
        "generation": question.generation,
        "without": list(question.without),
        "switches": list(question.switches),
        "records": {
            "acked": records.acked, "read_back": records.read, "lost": records.lost, "twice": records.twice
        },
        "signals": [
            {"at": _since(report, each.at), "process": each.process, "pid": each.pid, "signal": each.signal}
            for each in report.signals
        ],
        "faults": dict(sorted(report.happened.items())),
        "missing": missing_rules(report),
        "moves": report.moves,
        "handovers": report.handovers,
        "store": {"calls": report.calls, "objects": report.objects},
        "log": {"files": report.merged.files, "lines": report.merged.lines, "torn": list(report.merged.torn)},
        "phases": report.phases,
        "looked": report.verdict.looked,
        "not_judged": report.verdict.error,
        "violations": [
            {"oracle": each.oracle, "partition": each.key, "message": each.message}
            for each in report.verdict.violations
        ],
        "models": [
            {"model": each.model, "partition": each.partition, "verdict": each.kind, "events": each.events,
             "said": each.said}
            for each in answer.judged
        ],
    }  # fmt: skip


def to_text(answer: ClusterAnswer) -> str:
    """The answer for people."""
    report = answer.report
    shown = [f"{_since(report, each.at) / 1_000:8.3f} s  {each.process}, pid {each.pid}" for each in report.kills]
    faults = ", ".join(f"{name} {count}" for name, count in sorted(report.happened.items()))
    objects = "" if report.objects is None else f"; {report.objects:,} objects at the end"
    torn = len(report.merged.torn)
    lines = [
        f"{heading(answer)}: {answer.words}",
        "",
        *_records(report),
        f"  kill -9         {len(report.kills)}",
        *(f"  {'':14}  {each}" for each in shown),
        f"  faults          {faults or 'none'}",
        *(
            f"  missing rule    {rule} would have decided {count} times"
            for rule, count in missing_rules(report).items()
        ),
        f"  moves           {report.moves} accepted; partitions changed their leader {report.handovers} times",
        f"  store           {report.calls:,} calls took effect{objects}",
        f"  log             {report.merged.lines:,} lines in {report.merged.files} files, {torn} torn",
    ]
    for (model, kind), partitions in _models(answer.judged).items():
        events = sum(each.events for each in partitions)
        of = "" if partitions[0].partition < 0 else f" in {len(partitions)} logs of partitions"
        lines.append(f"  {model:14}  {kind}: {events:,} events{of}")
        lines += [f"  {'':14}  {_place(each)}{each.said}" for each in partitions if each.said]
    lines += [f"  too little      {each}" for each in report.shortfalls]
    if answer.left_out:
        lines.append(f"  not judged      {'; '.join(answer.left_out)}")
    if report.verdict.error is not None:
        lines += ["", f"  the history cannot be judged: {report.verdict.error}"]
    lines += [f"  {each.oracle}: {each.message}" for each in report.verdict.violations]
    return "\n".join(lines)


def heading(answer: ClusterAnswer) -> str:
    """What was run."""
    question = answer.question
    changes = [*(f"without {each}" for each in question.without), *(f"with {each}" for each in question.switches)]
    return ", ".join([f"Cluster {question.version} {question.generation}", *changes, f"seed {question.seed}"])


def _records(report: RunReport) -> list[str]:
    records = report.records
    if records.lost is None:
        return [f"  records         {records.acked:,} acked; new processes have not read all partitions back"]
    return [
        f"  records         {records.acked:,} acked, {records.read:,} read back by new processes",
        f"  {'':14}  {records.lost:,} lost, {records.twice:,} twice",
    ]


def _models(found: Sequence[LogJudgement]) -> dict[tuple[str, str], list[LogJudgement]]:
    groups: dict[tuple[str, str], list[LogJudgement]] = {}
    for each in found:
        groups.setdefault((each.model, each.kind), []).append(each)
    return groups


def missing_rules(report: RunReport) -> dict[str, int]:
    """How often each switched-off rule would have decided something."""
    labels = [subject["rule"] for _, _, kind, subject in report.merged.log.events if kind == "missing"]
    return dict(sorted(Counter(labels).items()))


def _place(judgement: LogJudgement) -> str:
    return "" if judgement.partition < 0 else f"partition {judgement.partition}: "


def _since(report: RunReport, micros: int) -> float:
    return micros / 1_000 - report.begin
