"""A campaign as one HTML page: its configuration, its findings, its coverage, and an estimate of what is left to find.

Equal summaries give equal bytes. What all pages share is in `reports.page`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import attrs
from markupsafe import Markup

from holdfast.check.rules.book import RuleRow, book_of
from holdfast.check.walk.result import WHY, StopFigures
from holdfast.ir.errors import UsageError
from holdfast.trace.itf_read import itf_run
from holdfast.trace.text import count
from holdfast.trace.views.svg import STYLE, render_svg
from reports.page.document import document, drawing
from spark.campaign.blind import BlindComparison
from spark.campaign.estimate import size, span
from spark.campaign.findings import MOST_SHOWN, Finding
from spark.campaign.page.plot import compact, growth_plot
from spark.campaign.saturation import Point, Saturation, new_steps, sentence
from spark.campaign.summary import RuleSum, Summary
from spark.campaign.text import answer
from spark.campaign.words import Words, rate

MOST_RULES = 500
MOST_ACTIONS = 40
"""The most rows of rules, and actions in the matrix. The page says how many it leaves out."""

MOST_STEPS = 200
"""The most steps of a run that is drawn as a diagram; a longer run is shown as text only."""
LONGEST_TEXT = 200_000
"""The most characters of a run's text that the page shows."""

NUMBERED = 14
"""With at most this number of actions, the cells of the matrix show numbers besides colours."""
LEVELS = 5
"""The number of colours of the matrix, without the colour for "never"."""

TABLE_ROWS = 12
"""The most rows of a curve's table."""

SECTIONS = (
    ("asked", "What was asked"),
    ("findings", "Findings"),
    ("saturation", "Saturation"),
    ("coverage", "Coverage"),
)


def render(summary: Summary, blind: BlindComparison | None = None, pages: Mapping[str, str] | None = None) -> str:
    """The page of a campaign as HTML text.

    ``blind``: what a blind campaign has reached beside a guided one. ``pages``: by signature of a finding, the address
    of the page of its run.
    """
    word, _, said = answer(summary).partition(": ") if summary.verdict == "violated" else (answer(summary), "", "")
    findings = [_finding(finding, summary.words) for finding in summary.findings[:MOST_SHOWN]]
    rules = summary.rules[:MOST_RULES]
    explained = _explained(summary, findings, rules)
    most_taken = max((action.taken for action in summary.actions), default=0)
    most_decisive = max((rule.decisive for rule in summary.rules), default=0)
    return document(
        __package__,
        "campaign",
        summary=summary,
        holdfast=summary.holdfast,
        sections=[*SECTIONS, ("pairs", summary.words.pairs.capitalize()), *([("rules", "Rules")] if explained else [])],
        answer=answer(summary),
        word=word,
        said=said,
        facts=list(_facts(summary)),
        stops=[_Stop(stop, WHY.get(stop.reason, stop.reason), 100 * stop.runs / summary.runs)
               for stop in summary.stops if stop.runs],
        findings=findings,
        more_findings=max(0, len(summary.findings) - MOST_SHOWN),
        growths=[_growth(title, each) for title, each in _kinds(summary)],
        actions=[(action, _share(action.taken, most_taken)) for action in summary.actions],
        rules=[(rule, _share(rule.decisive, most_decisive)) for rule in rules],
        more_rules=max(0, len(summary.rules) - MOST_RULES),
        matrix=_matrix(summary),
        more_actions=max(0, len(summary.actions) - MOST_ACTIONS),
        explained=explained,
        words=summary.words,
        blind=blind,
        pages=pages or {},
    )  # fmt: skip


# What was asked and done -------------------------------------------------------------------------------------------


@attrs.frozen
class _Stop:
    figures: StopFigures
    why: str
    share: float


def _facts(summary: Summary) -> Iterator[tuple[str, str]]:
    asked, rates = summary.asked, summary.rates
    yield "Target", f"{asked.target}, scope {asked.scope}" if asked.is_model else summary.model
    if asked.log is not None:
        yield "Logs", f"{summary.runs:,} of {asked.traces:,} in {asked.log.place}"
        yield "Judged by", " ".join([asked.log.model, *([f"read by {asked.log.map}"] if asked.log.map else [])])
    for name, values in (
        ("Variants", asked.variants),
        ("Without the rules", asked.removed),
        ("Properties", asked.properties),
    ):
        if values:
            yield name, ", ".join(values)
    yield from () if asked.log is not None else _choices(summary)
    yield "Units", f"{summary.done:,} of {asked.units:,} done, of {asked.traces_per_unit:,} runs each"
    if asked.stop_after is not None:
        yield "To end", f"after {count(asked.stop_after, 'finding')}"
    if summary.done:
        mean = summary.steps / summary.runs if summary.runs else 0.0
        yield "Steps", f"{summary.steps:,}, {mean:,.1f} a run on average"
        if asked.is_model:
            yield "New steps", new_steps(summary.states, summary.steps)
        yield "Runs that violate something", f"{summary.violations:,}"
        speed = f"{rate(rates.runs_per_second)} runs and {rate(rates.steps_per_second)} steps a second"
        yield "Rate of one core", f"{speed}; {span(rates.seconds)} in units, {span(rates.cpu_seconds)} of it computing"
        yield "Set-up", f"{rates.setup_seconds:,.1f} s in {count(rates.setups, 'worker')}, apart from the rate"
        yield "Tables", f"{size(summary.bytes)} in {summary.name}"
    yield f"Fingerprint of the {summary.kind}", summary.fingerprint
    yield "Holdfast", summary.holdfast


def _choices(summary: Summary) -> Iterator[tuple[str, str]]:
    """How runs are drawn."""
    asked = summary.asked
    yield "Runs", f"{summary.runs:,} of {asked.traces:,}, of at most {count(asked.depth, summary.words.run)} each"
    yield "Seed", str(asked.seed)
    if asked.guided:
        yield "Guide", "earlier rounds guide the runs, so what is left can be estimated only roughly"
    if asked.cluster is not None:
        yield "Faults", "each run draws half of the kinds" if asked.cluster.faults is None else asked.cluster.faults
    elif asked.balancer is not None:
        yield "Mode of the balancer", asked.balancer
    elif asked.pct is not None:
        yield "Choice of actions", f"by random priorities that change at {count(asked.pct - 1, 'point')}"
    else:
        yield "Choice of actions", "random, weighted anew for each run" if asked.swarm else "random, all weigh the same"


# Findings ----------------------------------------------------------------------------------------------------------


@attrs.frozen(kw_only=True)
class _FindingSection:
    finding: Finding
    by: str
    sentence: str
    met: str
    drawn: str
    became: str
    replay: str
    text: str
    diagram: Markup | None


def _finding(finding: Finding, words: Words) -> _FindingSection:
    shrunk = finding.shrunk
    text = "" if shrunk is None else shrunk.text
    if len(text) > LONGEST_TEXT:
        text = f"{text[:LONGEST_TEXT]}\n… {len(text) - LONGEST_TEXT:,} letters more are left out of this page"
    return _FindingSection(
        finding=finding,
        by=words.by(finding.action),
        sentence="" if shrunk is None else shrunk.sentence,
        met=f"{count(finding.times, 'run')} of {count(finding.units, 'unit')}",
        drawn=words.sized(finding.drawn),
        became="" if shrunk is None or shrunk.steps == finding.drawn else f" and shrunk to {words.sized(shrunk.steps)}",
        replay="" if shrunk is None else shrunk.replay,
        text=text,
        diagram=None if shrunk is None else _diagram(shrunk.itf, shrunk.steps),
    )


def _diagram(itf: str, steps: int) -> Markup | None:
    """The run as a space-time diagram in the page's colours; None if it is too long or cannot be read."""
    if not itf or steps > MOST_STEPS:
        return None
    try:
        # The diagram is drawn from the file alone: the model may have changed, or may not be on this machine.
        trace = itf_run(json.loads(itf), Path("itf")).trace()
    except (UsageError, ValueError, TypeError, AttributeError, RecursionError):
        return None
    return drawing(render_svg(trace), STYLE)


# Rules -------------------------------------------------------------------------------------------------------------


def _explained(summary: Summary, findings: Sequence[_FindingSection], rules: Sequence[RuleSum]) -> list[RuleRow]:
    """The rules that the page mentions and that have a row in the tables beside the model, sorted by id."""
    texts = [*summary.asked.removed, *(rule.label for rule in rules)]
    texts += [f"{each.finding.property} {each.sentence} {each.text}" for each in findings]
    book = book_of(summary.asked.target)
    return [book.entries[rule].row for rule in sorted(book.ids_in(" ".join(texts)))]


# Saturation --------------------------------------------------------------------------------------------------------


@attrs.frozen(kw_only=True)
class _Growth:
    title: str
    sentence: str
    plot: Markup
    rows: Sequence[tuple[Point, float]]


def _kinds(summary: Summary) -> Iterator[tuple[str, Saturation]]:
    words = summary.words
    if summary.kind == "log":
        return
    yield f"{words.states.capitalize()}, by their signatures", summary.states
    yield f"Pairs of consecutive {words.action}s", summary.met_pairs
    if summary.findings:
        yield "Findings", summary.met_findings


def _growth(title: str, found: Saturation) -> _Growth:
    said = sentence(found)
    rows = list(zip(found.curve, found.rates, strict=True))
    # Choose the first row, the last row, and rows at even distances between them.
    chosen = sorted({round(place * (len(rows) - 1) / (TABLE_ROWS - 1)) for place in range(TABLE_ROWS)} if rows else ())
    return _Growth(
        title=title,
        sentence=said,
        plot=Markup(growth_plot(found, f"{title} by traces. {said}")),  # noqa: S704 - it escapes all texts
        rows=[rows[place] for place in chosen],
    )


# Coverage ----------------------------------------------------------------------------------------------------------


def _share(times: int, most: int) -> float:
    """The width of a bar in percent, on a logarithmic scale, so that the bar of a single occurrence is visible."""
    return 0.0 if not times else round(100 * math.log1p(times) / math.log1p(most), 1)


@attrs.frozen
class _Cell:
    level: int
    title: str
    text: str


@attrs.frozen
class _Matrix:
    names: Sequence[str]
    rows: Sequence[tuple[str, Sequence[_Cell]]]
    legend: Sequence[tuple[int, str]]
    has_numbers: bool


def _matrix(summary: Summary) -> _Matrix:
    """The matrix of pairs of the most frequent actions, in the order of the model."""
    kept = {action.name for action in sorted(summary.actions, key=lambda each: -each.taken)[:MOST_ACTIONS]}
    names = [action.name for action in summary.actions if action.name in kept] if summary.runs else []
    times = {(pair.first, pair.second): pair.times for pair in summary.pairs}
    most = max((times.get((a, b), 0) for a in names for b in names), default=0)
    numbered = len(names) <= NUMBERED
    rows = [(a, [_cell(a, b, times.get((a, b), 0), most, numbered=numbered) for b in names]) for a in names]
    return _Matrix(names, rows, _legend(most), numbered)


def _cell(first: str, second: str, times: int, most: int, *, numbered: bool) -> _Cell:
    said = f"{first}, then {second}: {f'{times:,} times' if times else 'never'}"
    return _Cell(_level(times, most), said, compact(times) if times and numbered else f"{times:,}" if times else "")


def _level(times: int, most: int) -> int:
    """The colour of a cell: 0 for never, otherwise 1 to LEVELS on a logarithmic scale."""
    return 0 if not times else min(LEVELS, 1 + math.floor(LEVELS * math.log(times) / math.log(most + 1)))


def _legend(most: int) -> list[tuple[int, str]]:
    """For each colour in use: the least number that it stands for."""
    if not most:
        return []
    least = [1, *(math.ceil((most + 1) ** (level / LEVELS)) for level in range(1, LEVELS))]
    spans = [(level, low) for level, low in enumerate(least, start=1) if _level(min(low, most), most) == level]
    return [(level, f"{compact(low)} or more") for level, low in spans if low <= most]
