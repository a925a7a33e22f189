"""The answer of ``holdfast cluster test``: its text, and the same for programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from impl.bridge.log_judgement import LogJudgement
from impl.real.children import SentSignal
from impl.real.run import RunReport
from impl.sim.check import Question

HELD, VIOLATED, UNANSWERED, FAULT = 0, 12, 20, 1
WORDS = {
    HELD: "nothing violated",
    VIOLATED: "violated",
    UNANSWERED: "nothing violated, and a model has no answer",
    FAULT: "the run cannot be judged",
}


def exit_code(report: RunReport, found: Sequence[LogJudgement]) -> int:
    """The code of the gravest result: a violation, a history that cannot be judged, a model without an answer."""
    if report.verdict.violations or any(each.kind == "impossible" for each in found):
        return VIOLATED
    if report.verdict.error is not None:
        return FAULT
    return HELD if all(each.kind == "conforms" for each in found) else UNANSWERED


def to_json(question: Question, report: RunReport, found: Sequence[LogJudgement]) -> dict[str, Any]:
    """The answer as JSON. Times are in milliseconds since the faults began."""
    code = exit_code(report, found)
    return {
        "verdict": WORDS[code],
        "exit_code": code,
        "seed": question.seed,
        "version": question.version,
        "generation": question.generation,
        "without": list(question.without),
        "switches": list(question.switches),
        "records": {"acked": report.acked, "read_back": report.read, "lost": report.lost, "twice": report.twice},
        "signals": [
            {"at": _since(report, each.at), "process": each.process, "pid": each.pid, "signal": each.signal}
            for each in report.signals
        ],
        "faults": dict(sorted(report.happened.items())),
        "missing": _missing(report),
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
            for each in found
        ],
    }  # fmt: skip


def to_text(question: Question, report: RunReport, found: Sequence[LogJudgement]) -> str:
    """The answer for people."""
    code = exit_code(report, found)
    changes = [*(f"without {each}" for each in question.without), *(f"with {each}" for each in question.switches)]
    title = ", ".join([f"Cluster {question.version} {question.generation}", *changes, f"seed {question.seed}"])
    kills = killed(report)
    shown = [f"{_since(report, each.at) / 1_000:8.3f} s  {each.process}, pid {each.pid}" for each in kills]
    faults = ", ".join(f"{name} {count}" for name, count in sorted(report.happened.items()))
    torn = len(report.merged.torn)
    lines = [
        f"{title}: {WORDS[code]}",
        "",
        f"  records         {report.acked:,} acked, {report.read:,} read back by new processes",
        f"  {'':14}  {report.lost:,} lost, {report.twice:,} twice",
        f"  kill -9         {len(kills)}",
        *(f"  {'':14}  {each}" for each in shown),
        f"  faults          {faults or 'none'}",
        *(f"  missing rule    {rule} would have decided {count} times" for rule, count in _missing(report).items()),
        f"  moves           {report.moves} accepted; partitions changed their leader {report.handovers} times",
        f"  store           {report.calls:,} calls took effect; {report.objects:,} objects at the end",
        f"  log             {report.merged.lines:,} lines in {report.merged.files} files, {torn} torn",
    ]
    for (model, kind), partitions in _models(found).items():
        events = sum(each.events for each in partitions)
        of = "" if partitions[0].partition < 0 else f" in {len(partitions)} logs of partitions"
        lines.append(f"  {model:14}  {kind}: {events:,} events{of}")
        lines += [f"  {'':14}  {_place(each)}{each.said}" for each in partitions if each.said]
    if report.verdict.error is not None:
        lines += ["", f"  the history cannot be judged: {report.verdict.error}"]
    lines += [f"  {each.oracle}: {each.message}" for each in report.verdict.violations]
    return "\n".join(lines)


def killed(report: RunReport) -> list[SentSignal]:
    """The kills under faults. Those that end a run come later."""
    signals = [each for each in report.signals if each.signal == "SIGKILL"]
    return [each for each in signals if report.begin <= each.at // 1_000 < report.end]


def _models(found: Sequence[LogJudgement]) -> dict[tuple[str, str], list[LogJudgement]]:
    groups: dict[tuple[str, str], list[LogJudgement]] = {}
    for each in found:
        groups.setdefault((each.model, each.kind), []).append(each)
    return groups


def _missing(report: RunReport) -> dict[str, int]:
    """How often each switched-off rule would have decided something."""
    labels = [subject["rule"] for _, _, kind, subject in report.merged.log.events if kind == "missing"]
    return dict(sorted(Counter(labels).items()))


def _place(judgement: LogJudgement) -> str:
    return "" if judgement.partition < 0 else f"partition {judgement.partition}: "


def _since(report: RunReport, micros: int) -> float:
    return micros / 1_000 - report.begin
