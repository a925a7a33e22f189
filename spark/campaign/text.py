"""A campaign as text for a terminal: its progress, and its findings."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from holdfast.check.summary import entry
from holdfast.check.walk.result import WHY
from holdfast.trace.text import WIDTH, count
from spark.campaign.difference import listed
from spark.campaign.estimate import size, span
from spark.campaign.findings import Finding
from spark.campaign.saturation import new_steps, sentence
from spark.campaign.summary import Summary
from spark.campaign.words import WORDS, Words, rate

MOST_LOGS = 100
"""The most logs that a finding names; the page and the table ``runs`` have them all."""

MOST_FINDINGS = 10
"""The most findings that are listed; the page of `holdfast campaign report` has more."""


def render_summary(summary: Summary) -> str:
    """The results of a campaign, without a final newline. The text has no times: equal campaigns give equal bytes.

    It begins with the shrunk run of the most frequent finding, as other commands print a run.
    """
    blocks = [finding.shrunk.text for finding in summary.findings[:1] if finding.shrunk is not None]
    lines = [*_wrapped(f"{summary.configuration}: {answer(summary)}"), ""]
    lines += [line for name, text in _figures(summary) for line in entry(name, text)]
    lines += _findings(summary)
    return "\n\n".join([*blocks, "\n".join(lines)])


def render_status(summary: Summary, cores: int | None = None) -> str:
    """The progress of a campaign, without a final newline. With ``cores``, the remaining time is estimated for them."""
    asked, rates = summary.asked, summary.rates
    left = 0 if summary.is_complete else asked.units - summary.done
    rows = {
        "units": f"{summary.done:,} of {asked.units:,} done, of {asked.traces_per_unit:,} runs each",
        "runs": f"{summary.runs:,} of {asked.traces:,}{_drawn(summary)}",
    }
    if summary.done:
        rows["rate"] = _rate(summary)
        rows["set-up"] = f"{rates.setup_seconds:,.1f} s in {count(rates.setups, 'worker')}, on top of that"
    if summary.done < asked.units and not left:
        rows["ended"] = f"by {count(asked.stop_after or 0, 'finding')}, as --stop-after wanted"
    if left and summary.done:
        seconds = (asked.traces - summary.runs) / rates.runs_per_second if rates.runs_per_second else 0.0
        # All units have the same size, so all cores are busy as long as there are enough units.
        on = f", {span(seconds / min(cores, left))} on {count(cores, 'core')}" if cores else ""
        rows["left"] = f"{count(left, 'unit')}: {span(seconds)} on one core{on}"
    rows["findings"] = _found(summary)
    rows["tables"] = f"{size(summary.bytes)} in {summary.name}"
    lines = [
        *_wrapped(f"{summary.configuration}: {answer(summary)}"),
        "",
        *(line for name, text in rows.items() for line in entry(name, text)),
    ]
    return "\n".join([*lines, *_findings(summary)])


def timing_line(summary: Summary) -> str:
    """The speed of a campaign on one line, for standard error."""
    return f"{count(summary.runs, 'run')}, {_rate(summary)}, {size(summary.bytes)} written"


def _rate(summary: Summary) -> str:
    rates = summary.rates
    return (
        f"{rate(rates.runs_per_second)} runs and {rate(rates.steps_per_second)} steps a second and core "
        f"({span(rates.seconds)} in units)"
    )


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, subsequent_indent="  ")


def answer(summary: Summary) -> str:
    """The verdict in one clause."""
    asked = summary.asked
    made = count(summary.runs, "run") if summary.is_complete else f"{summary.runs:,} of {count(asked.traces, 'run')}"
    match summary.verdict:
        case "violated":
            met = f"met by {summary.violations:,} of {made}"
            open_ones = f"; {count(summary.not_judged, 'log')} without an answer" if summary.unanswered else ""
            return f"violated: {count(len(summary.findings), 'finding')}, {met}{open_ones}"
        case "not_found" if summary.kind == "log":
            open_ones = f"; {count(summary.not_judged, 'log')} without an answer" if summary.not_judged else ""
            return f"nothing wrong in {made}{open_ones}"
        case "not_found":
            why = "reached the limit of rounds" if summary.kind == "balancer" else "could not be judged"
            unjudged = f"; {count(summary.not_judged, 'run')} {why}" if summary.not_judged else ""
            return f"nothing found in {made}, which is no proof{unjudged}"
        case "out_of_budget":
            return f"no answer yet; nothing found in {made}"


def _found(summary: Summary) -> str:
    if not summary.violations:
        return "none"
    return f"{count(len(summary.findings), 'finding')}, met by {count(summary.violations, 'run')}"


def _drawn(summary: Summary) -> str:
    """From which seed runs are drawn, and the greatest length of a run. Nobody draws logs."""
    if summary.kind == "log":
        return ""
    guided = ", guided" if summary.asked.guided else ""
    return f" from seed {summary.asked.seed}{guided}, of at most {count(summary.asked.depth, summary.words.run)} each"


def _figures(summary: Summary) -> Iterator[tuple[str, str]]:
    runs = summary.runs
    yield "runs", f"{runs:,}{_drawn(summary)}, in {count(summary.done, 'unit')}"
    if not summary.done:
        return
    lengths = [length for stop in summary.stops if stop.runs for length in (stop.shortest, stop.longest)] or [0]
    shortest, longest, mean = min(lengths), max(lengths), summary.steps / runs if runs else 0.0
    yield (
        {"log": "events", "balancer": "rounds"}.get(summary.kind, "steps"),
        f"{summary.steps:,}; a run has {shortest:,} to {longest:,}, {mean:,.1f} on average",
    )
    yield "ended", "; ".join(_stops(summary)) or "none"
    words = summary.words
    yield f"{words.action}s", ", ".join(f"{a.name} {a.taken:,}" for a in summary.actions if a.taken) or "none taken"
    if summary.never_taken:
        yield "never taken", ", ".join(summary.never_taken)
    idle = [f"{rule.label}@{rule.action}" for rule in summary.undecisive]
    if idle:
        yield "never decisive", listed(idle)
    if summary.kind == "log":
        return
    every = len(summary.actions) ** 2
    yield "pairs", f"{len(summary.pairs):,} of {every:,} pairs of consecutive {words.action}s seen"
    reached = [f"{each.name} in unit {each.unit:,} after {count(each.steps, 'step')}" for each in summary.witnesses]
    if reached:
        yield "witnesses", ", ".join(reached)
    if summary.kind in ("cluster", "balancer"):
        yield (
            "situations",
            "; ".join(f"{each.name} {each.runs:,}" for each in summary.situations if each.runs) or "none",
        )
        if summary.never_reached:
            yield "not reached", "; ".join(summary.never_reached)
        if summary.kind == "balancer":
            yield "kinds", sentence(summary.states)
            return
        if summary.circumstances:  # Tables before version 6 do not count them.
            said = "a situation with who served its stream and what had become of its owner"
            yield "circumstances", f"{len(summary.circumstances):,}: {said}"
        yield "moments", f"{len(summary.moments):,}: a situation with the last two events of its stream or partition"
        yield "images", sentence(summary.states)
        return
    cuts = [f"{cut.action} by {cut.bound} {cut.times:,}" for cut in summary.cuts]
    yield "cut", ", ".join(cuts) or "nothing: no step went beyond a bound of the scope"
    yield "new", new_steps(summary.states, summary.steps)
    yield "states", sentence(summary.states)


def _stops(summary: Summary) -> Iterator[str]:
    for stop in summary.stops:
        if stop.runs:
            length = f"{stop.shortest:,}" if stop.shortest == stop.longest else f"{stop.shortest:,} to {stop.longest:,}"
            yield f"{stop.runs:,} {WHY.get(stop.reason, stop.reason)} (after {length})"


def _findings(summary: Summary) -> list[str]:
    """The lines of the findings, the most frequent finding first."""
    lines: list[str] = []
    for finding in summary.findings[:MOST_FINDINGS]:
        lines += ["", *_finding(finding, summary.words)]
    more = len(summary.findings) - MOST_FINDINGS
    lines += ["", f"  and {count(more, 'finding')} more"] if more > 0 else []
    open_logs = summary.unanswered[:MOST_LOGS]
    lines += [""] if open_logs else []
    lines += [line for log, reason in open_logs for line in entry("no answer", f"{log}: {reason}")]
    more = len(summary.unanswered) - MOST_LOGS
    return [*lines, f"  and {count(more, 'log')} without an answer more"] if more > 0 else lines


def _finding(finding: Finding, words: Words) -> list[str]:
    name, shrunk = finding.signature[:12], finding.shrunk
    met = f"met by {count(finding.times, 'run')} of {count(finding.units, 'unit')}"
    drawn = f"drawn with {words.sized(finding.drawn)}"
    if shrunk is None:
        length = ", not shrunk yet"
    else:
        length = f", shrunk to {shrunk.steps:,}" if shrunk.steps != finding.drawn else ""
    # The situation of the shrunk run tells findings of the balancer apart.
    is_told = shrunk is not None and words is WORDS["balancer"]
    said = shrunk.sentence if is_told and shrunk is not None else f"{finding.property}, {words.by(finding.action)}"
    lines = entry(name, f"{said}: {met}; {drawn}{length}")
    if shrunk is not None and shrunk.replay:
        # A command is never wrapped, however long it is, so that it can be copied.
        lines.append(f"{'':18}{shrunk.replay}")
    if finding.logs:
        lines += entry("", f"logs: {listed(finding.logs, MOST_LOGS)}")
    return lines
