"""The answer of ``holdfast cluster test`` as one page of HTML, with the timeline of the run.

The page is a single file that loads nothing and has no script: a content security policy forbids all network access,
and allows only its own style sheet, by its digest. All texts are escaped.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator
from html import escape
from importlib.resources import files

from holdfast.ir.printable import printable
from impl.cli.cluster_answer import ClusterAnswer
from impl.cli.cluster_drawing import drawing
from impl.cli.cluster_record import command
from impl.cli.cluster_report import heading, missing_rules
from impl.real.run_timeline import timeline_of

LEGEND = (
    "Partitions have the colour and the number of the node that leads them; a dashed box means nobody. A triangle is a "
    "move that the controller has accepted. Each node has a row with its processes; a cross is kill -9, and a shaded "
    "part is the time between SIGSTOP and SIGCONT. Nodes that begin with r read back. Point at a mark for its time."
)


def page(answer: ClusterAnswer) -> str:
    """The text of the page."""
    css = files(__package__).joinpath("cluster_style.css").read_text(encoding="utf-8")
    title = heading(answer)
    policy = f"default-src 'none'; style-src '{_digest(css)}'; img-src data:; base-uri 'none'; form-action 'none'"
    lines = [
        "<!DOCTYPE html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<link rel="icon" href="data:,">',
        f"<title>{escape(title)}</title>",
        f"<style>{css}</style>",
        "</head>",
        "<body>",
        "<main>",
        f"<h1>{escape(title)}</h1>",
        f'<p class="verdict code{answer.exit_code}">{escape(answer.words)}</p>',
        *_facts(answer),
        "<h2>Findings</h2>",
        *_findings(answer),
        "<h2>Timeline</h2>",
        f'<div class="scroll">{drawing(answer.report, timeline_of(answer.report))}</div>',
        f"<p>{escape(LEGEND)}</p>",
        "<h2>Details</h2>",
        *_details(answer),
        "<h2>Again</h2>",
        f"<p>The faults are the same, the course is not: <code>{escape(command(answer.plan))}</code></p>",
        "</main>",
        "</body>",
        "</html>",
    ]
    return printable("\n".join(lines)) + "\n"


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _facts(answer: ClusterAnswer) -> Iterator[str]:
    report = answer.report
    records = report.records
    facts = {"Acknowledged records": f"{records.acked:,}"}
    if records.lost is None:
        facts["Read back"] = "not all partitions"
    else:
        facts["Read back by new processes"] = f"{records.read:,}"
        facts["Lost, twice"] = f"{records.lost:,}, {records.twice:,}"
    facts["kill -9"] = str(len(report.kills))
    facts["Moves accepted"] = str(report.moves)
    facts["Changes of leaders"] = str(report.handovers)
    facts["Calls to the store"] = f"{report.calls:,}"
    facts["Lines in logs"] = f"{report.merged.lines:,} in {report.merged.files} files, {len(report.merged.torn)} torn"
    for rule, count in missing_rules(report).items():
        facts[f"Missing rule {rule}"] = f"would have decided {count} times"
    yield "<dl>"
    for name, value in facts.items():
        yield f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>"
    yield "</dl>"


def _findings(answer: ClusterAnswer) -> Iterator[str]:
    """What oracles and models object to, and which questions are open."""
    verdict = answer.report.verdict
    found = [f"{each.oracle}: {each.message}" for each in verdict.violations]
    found += [f"{each.model}{_of(each.partition)}: {each.said}" for each in answer.judged if each.kind == "impossible"]
    if verdict.error is not None:
        found.append(f"The history cannot be judged: {verdict.error}")
    found += [f"Too little happened: {each}" for each in answer.report.shortfalls]
    found += [f"Not judged: {each}" for each in answer.left_out]
    found += [f"{each.model}{_of(each.partition)} has no answer: {each.said or each.kind}" for each in answer.judged
              if each.kind not in ("conforms", "impossible")]  # fmt: skip
    if found:
        yield "<ul>"
        yield from (f"<li>{escape(each)}</li>" for each in found)
        yield "</ul>"
    else:
        yield "<p>No oracle and no model objects to anything.</p>"


def _of(partition: int) -> str:
    return f", partition {partition}" if partition >= 0 else ""


def _details(answer: ClusterAnswer) -> Iterator[str]:
    report = answer.report
    kills = [(_seconds(answer, each.at), each.process, each.pid, each.signal) for each in report.kills]
    yield from _table("Kills", ("seconds", "process", "pid", "signal"), kills)
    faults = [(_seconds(answer, each.at), each.kind, each.text) for each in report.told]
    yield from _table("Faults; 0 s is their begin", ("seconds", "kind", "what happened"), faults)
    models = [
        (each.model, _of(each.partition).removeprefix(", "), each.kind, f"{each.events:,}") for each in answer.judged
    ]
    yield from _table("Models", ("model", "log", "verdict", "events"), models)


def _seconds(answer: ClusterAnswer, micros: int) -> str:
    return f"{micros / 1_000_000 - answer.report.begin / 1_000:.3f}"


def _table(caption: str, head: Iterable[str], rows: Iterable[Iterable[object]]) -> Iterator[str]:
    yield f'<div class="scroll"><table><caption>{escape(caption)}</caption>'
    yield f"<thead><tr>{''.join(f'<th>{escape(each)}</th>' for each in head)}</tr></thead><tbody>"
    for row in rows:
        yield f"<tr>{''.join(f'<td>{escape(str(each))}</td>' for each in row)}</tr>"
    yield "</tbody></table></div>"
