"""The answer of ``holdfast cluster test`` for its page, with the timeline of the run."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast import __version__
from holdfast.records.system_run import FactTable, SystemRun, VerdictKind
from impl.cli.cluster_answer import HELD, VIOLATED, ClusterAnswer
from impl.cli.cluster_drawing import drawing
from impl.cli.cluster_record import command
from impl.cli.cluster_report import heading, missing_rules
from impl.real.run_timeline import timeline_of

LEGEND = (
    "Partitions have the colour and the number of the node that leads them; a dashed box means nobody. A triangle is a "
    "move that the controller has accepted. Each node has a row with its processes; a cross is kill -9, and a shaded "
    "part is the time between SIGSTOP and SIGCONT. Nodes that begin with r read back. Point at a mark for its time."
)


def cluster_run(answer: ClusterAnswer) -> SystemRun:
    """The run with its findings, its timeline and its figures."""
    kinds: dict[int, VerdictKind] = {HELD: "holds", VIOLATED: "violated"}
    return SystemRun(
        holdfast=__version__,
        about="A cluster of processes under faults",
        title=heading(answer),
        verdict=kinds.get(answer.exit_code, "unknown"),
        verdict_text=answer.words,
        findings=tuple(_findings(answer)),
        nothing="No oracle and no model objects to anything.",
        drawing=drawing(answer.report, timeline_of(answer.report)),
        legend=LEGEND,
        facts=tuple(_facts(answer)),
        tables=tuple(_tables(answer)),
        commands=(("Same faults", command(answer.plan)),),
    )


def _facts(answer: ClusterAnswer) -> Iterator[tuple[str, str]]:
    report = answer.report
    records = report.records
    yield "Acknowledged records", f"{records.acked:,}"
    if records.lost is None:
        yield "Read back", "not all partitions"
    else:
        yield "Read back by new processes", f"{records.read:,}"
        yield "Lost, twice", f"{records.lost:,}, {records.twice:,}"
    yield "kill -9", str(len(report.kills))
    yield "Moves accepted", str(report.moves)
    yield "Changes of leaders", str(report.handovers)
    yield "Calls to the store", f"{report.calls:,}"
    yield "Lines in logs", f"{report.merged.lines:,} in {report.merged.files} files, {len(report.merged.torn)} torn"
    for rule, count in missing_rules(report).items():
        yield f"Missing rule {rule}", f"would have decided {count} times"


def _findings(answer: ClusterAnswer) -> Iterator[str]:
    """What oracles and models object to, and which questions are open."""
    verdict = answer.report.verdict
    yield from (f"{each.oracle}: {each.message}" for each in verdict.violations)
    for each in answer.judged:
        if each.kind == "impossible":
            yield f"{each.model}{_of(each.partition)}: {each.said}"
    if verdict.error is not None:
        yield f"The history cannot be judged: {verdict.error}"
    yield from (f"Too little happened: {each}" for each in answer.report.shortfalls)
    yield from (f"Not judged: {each}" for each in answer.left_out)
    for each in answer.judged:
        if each.kind not in ("conforms", "impossible"):
            yield f"{each.model}{_of(each.partition)} has no answer: {each.said or each.kind}"


def _of(partition: int) -> str:
    return f", partition {partition}" if partition >= 0 else ""


def _tables(answer: ClusterAnswer) -> Iterator[FactTable]:
    report = answer.report
    kills = [(_seconds(answer, each.at), each.process, str(each.pid), each.signal) for each in report.kills]
    yield FactTable("Kills", ("seconds", "process", "pid", "signal"), tuple(kills))
    faults = [(_seconds(answer, each.at), each.kind, each.text) for each in report.told]
    yield FactTable("Faults; 0 s is their begin", ("seconds", "kind", "what happened"), tuple(faults))
    models = [
        (each.model, _of(each.partition).removeprefix(", "), each.kind, f"{each.events:,}") for each in answer.judged
    ]
    yield FactTable("Models", ("model", "log", "verdict", "events"), tuple(models))


def _seconds(answer: ClusterAnswer, micros: int) -> str:
    return f"{micros / 1_000_000 - answer.report.begin / 1_000:.3f}"
