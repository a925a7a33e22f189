"""The verdict about a log: as text and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs

from holdfast.check.conform.answer.candidates import Candidate, candidates
from holdfast.check.conform.answer.nearby import nearby
from holdfast.check.conform.judge.event_facts import Facts
from holdfast.check.conform.judge.judge import Judgement
from holdfast.ir.errors import Place
from holdfast.ir.system import System

CONFORMS, IMPOSSIBLE, UNKNOWN = 0, 12, 20
"""Exit codes."""

CODES = {"conforms": CONFORMS, "impossible": IMPOSSIBLE, "unknown": UNKNOWN}

COME_ALONG = Path(__file__).parents[__name__.count(".")]
"""The folder that holds the models shipped with Holdfast."""

SHOWN = 8
"""The limit of candidates that are shown."""


@attrs.frozen
class LogVerdict:
    """The answer about a log.

    For an impossible log, ``candidates`` are the reasons against its first wrong event. ``also`` has the events of
    other sources that could come next instead, each with the first reason against it. ``nearby`` are sentences about
    steps that would be possible there. ``run`` are the lines about the runs that explain the log.
    """

    system: System
    judgement: Judgement
    candidates: tuple[Candidate, ...]
    also: tuple[tuple[Facts, Candidate | None], ...] = ()
    nearby: tuple[str, ...] = ()
    run: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """The exit code of the command."""
        return CODES[self.judgement.kind]

    @property
    def at(self) -> Place:
        """The place where the log stops being a run, or else the model."""
        facts = self.judgement.facts
        return facts.event.at if facts is not None else self.system.init.at


def verdict_of(system: System, judgement: Judgement, run: tuple[str, ...] = ()) -> LogVerdict:
    """The verdict for a judgement, with its candidates and nearby steps."""
    facts, world = judgement.facts, judgement.world
    if facts is None or world is None:
        return LogVerdict(system, judgement, (), run=run)
    also = tuple((each, next(iter(candidates(world, each)), None)) for each in judgement.also)
    return LogVerdict(system, judgement, tuple(candidates(world, facts)), also, nearby(world, facts), run)


def headline(verdict: LogVerdict) -> str:
    """The answer in one sentence."""
    judgement, name = verdict.judgement, verdict.system.name
    if judgement.kind == "conforms":
        return f"conforms: {name} allows all {judgement.judged:,} events"
    if judgement.kind == "unknown":
        return f"unknown after {judgement.judged:,} of {judgement.events:,} events: {judgement.reason}"
    if judgement.facts is None:
        return f"impossible: {judgement.reason}"
    return f"impossible: {name} does not allow {place(judgement.facts)}, {call(judgement.facts)}"


def call(facts: Facts) -> str:
    """An event in the form of a call, with its span and its outcome."""
    args = ", ".join(f"{name}={_json(value)}" for name, value in facts.event.args.items())
    span = f" [{facts.event.span[0]}, {facts.event.span[1]})" if facts.event.span is not None else ""
    outcome = f" → {facts.event.outcome}" if facts.event.outcome is not None else ""
    return f"{facts.event.action}({args}){span}{outcome}"


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def render(verdict: LogVerdict) -> str:
    """The verdict as text."""
    lines = [headline(verdict), ""]
    if verdict.judgement.kind == "impossible":
        lines += [*_diagnosis(verdict), ""]
    lines += [*verdict.run, ""] if verdict.run else []
    lines += [f"{name + ':':<24}{text}" for name, text in scope_of(verdict).items()]
    return "\n".join(lines)


def _diagnosis(verdict: LogVerdict) -> Iterator[str]:
    """The lines that explain why an event is impossible."""
    if verdict.judgement.facts is not None:
        yield "No state of the model allows the event:"
    for each in verdict.candidates[:SHOWN]:
        guard = f" ({in_model(each.at)})" if each.at is not None else ""
        yield f"  - {each.text}{guard}"
        yield f"    {each.blame}"
    if len(verdict.candidates) > SHOWN:
        yield f"  and {len(verdict.candidates) - SHOWN} more reasons; --json lists all"
    if verdict.also:
        yield "The next events of other sources are impossible there, too:"
        for facts, candidate in verdict.also:
            yield f"  {place(facts)}  {call(facts)}{'' if candidate is None else f': {candidate.text}'}"
    if verdict.nearby:
        yield "The log may lack a line, or name the wrong action, since the model allows:"
        yield from (f"  - {text}" for text in verdict.nearby)
    if verdict.judgement.last:
        yield "The last events that the model allows:"
        yield from (f"  {place(facts)}  {call(facts)}" for facts in verdict.judgement.last)


def in_model(at: Place | None) -> str:
    """A place in a model, relative to the current folder or to the folder of the shipped models; "" for none."""
    if at is None:
        return ""
    file = Path(at.file)
    for root in (Path.cwd(), COME_ALONG):
        if file.is_relative_to(root):
            return f"{file.relative_to(root).as_posix()}:{at.line}"
    return f"{at.file}:{at.line}"


def place(facts: Facts) -> str:
    """The line of an event, and its offset in a metadata log."""
    event = facts.event
    offset = f" (offset {event.offset})" if event.offset is not None else ""
    return f"{event.at.file}:{event.at.line}{offset}"


def scope_of(verdict: LogVerdict) -> dict[str, str]:
    """A table of what was judged and what was not."""
    judgement = verdict.judgement
    tally, system = judgement.tally, verdict.system
    never = [action.name for action in system.actions if not judgement.seen[action.name]]
    rules = [rule.label for rule in system.rules]
    silent = [label for label in rules if label not in tally.decisive]
    projection = judgement.ground.projection if judgement.ground is not None else None
    found = {
        "events": f"{judgement.judged:,} of {judgement.events:,} judged",
        "worlds": _worlds(judgement),
        "elements": _elements(judgement),
        "actions": ", ".join(f"{name} {count:,}" for name, count in sorted(judgement.seen.items())) or "none",
        "actions never seen": ", ".join(never) or "none",
        "rules decisive": f"{len(rules) - len(silent)} of {len(rules)}",
        "rules never decisive": ", ".join(silent) or "none",
        "widest window": ", ".join(f"{nat} {width}" for nat, width in tally.widest.items()) or "none",
        "most states at once": f"{tally.peak:,}",
    }
    if judgement.apart:
        choices = ", ".join(judgement.apart)
        found["chosen by each world"] = f"{choices}: weaker than one run of all streams; --run looks for that run"
    if projection is not None and projection.weak:
        weak = (f"{action}: {', '.join(labels)}" for action, labels in projection.weak.items())
        found["judged per stream only"] = "; ".join(weak)
    if judgement.together is not None:
        found["all streams together"] = f"because {judgement.together}"
    if tally.unjudged:
        found["refusals not judged"] = ", ".join(f"{name} {count:,}" for name, count in tally.unjudged.items())
    if tally.hidden:
        found["hidden steps before"] = ", ".join(f"{name} {count:,}" for name, count in tally.hidden.items())
    for number, text in enumerate(judgement.notes, start=1):
        found[f"note {number}"] = text
    return found


def _worlds(judgement: Judgement) -> str:
    """The number of judged parts and of their streams."""
    if not judgement.streams or judgement.ground is None or judgement.ground.projection is None:
        return "1, all streams together" if judgement.streams > 1 else "1"
    sort, slots = judgement.ground.sort, len(judgement.ground.layout.elements[str(judgement.ground.sort)])
    counted = f"{judgement.worlds:,}, with {slots} {sort} each; the log names {judgement.streams:,}"
    if judgement.kind != "conforms" and judgement.finished is not None:
        return f"{counted}; {judgement.finished:,} judged to the end, the events above are those of the next one"
    return counted


def _elements(judgement: Judgement) -> str:
    if judgement.ground is None:
        return "not counted"
    elements = judgement.ground.names.elements
    counts = ", ".join(f"{sort} {len(names):,}" for sort, names in elements.items()) or "none"
    return f"{counts}; the model has no others"


def _line_to_json(facts: Facts) -> dict[str, Any]:
    event = facts.event
    return {
        "file": event.at.file,
        "line": event.at.line,
        "source": event.source,
        "seq": event.number,
        "offset": event.offset,
        "event": call(facts),
    }


def to_json(verdict: LogVerdict) -> dict[str, Any]:
    """The verdict as JSON values."""
    judgement = verdict.judgement
    return {
        "verdict": judgement.kind,
        "exit_code": verdict.exit_code,
        "model": verdict.system.name,
        "variants": list(verdict.system.chosen),
        "message": headline(verdict),
        "reason": judgement.reason,
        "line": None if judgement.facts is None else _line_to_json(judgement.facts),
        "candidates": [
            {"text": each.text, "wrong": each.blame, "states": each.states,
             "at": in_model(each.at) if each.at else None}
            for each in verdict.candidates
        ],
        "also": [
            {"file": facts.event.at.file, "line": facts.event.at.line, "event": call(facts),
             "text": None if candidate is None else candidate.text}
            for facts, candidate in verdict.also
        ],
        "nearby": list(verdict.nearby),
        "last": [{"file": facts.event.at.file, "line": facts.event.at.line, "event": call(facts)}
                 for facts in judgement.last],
        "events": judgement.events,
        "judged": judgement.judged,
        "worlds": judgement.worlds,
        "streams": judgement.streams,
        "actions": dict(sorted(judgement.seen.items())),
        "never_seen": [action.name for action in verdict.system.actions if not judgement.seen[action.name]],
        "decisive": sorted(judgement.tally.decisive),
        "never_decisive": [r.label for r in verdict.system.rules if r.label not in judgement.tally.decisive],
        "hidden": dict(judgement.tally.hidden),
        "not_judged": dict(judgement.tally.unjudged),
        "together": judgement.together,
        "apart": list(judgement.apart),
        "notes": list(judgement.notes),
        "widest": judgement.tally.widest,
        "peak": judgement.tally.peak,
        "run": list(verdict.run),
    }  # fmt: skip
