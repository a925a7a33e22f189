"""A run with all that its page tells: what each step changed, needed and made possible, and which rule is missing."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path

import attrs

from holdfast import __version__
from holdfast.check.rules.book import book_beside
from holdfast.ir.errors import UsageError
from holdfast.lower.layout import Value
from holdfast.records.state_tables import StateTable, state_tables
from holdfast.runs.missing import missing_rules
from holdfast.runs.refusals import refusals
from holdfast.runs.replay import Replayer
from holdfast.runs.why import why
from holdfast.runs.with_rules import GuardedRun, guarded_run
from holdfast.trace.line import replay_command
from holdfast.trace.text import action, back, conclusion, configuration, count, name_of, outcome
from holdfast.trace.trace import Trace
from holdfast.trace.views.events import Change, events
from holdfast.trace.views.folding import FoldedRun
from holdfast.trace.views.slice import Cause, Slice
from holdfast.trace.views.svg import STYLE, render_svg

MOST_DRAWN = 300
"""The most steps of a run that is drawn: a longer diagram shows nothing."""
MOST_REFUSALS = 200
"""The most steps of a run with what is refused and possible after each step."""
MOST_LISTED = 22_000
"""The size of a page, in cells that its steps needed; a step takes as much as two of them. Then it has about 5 MB."""


@attrs.frozen
class ShownChange:
    """A change of a cell.

    ``readers``: the later steps that needed the new value. ``decides``: whether the property reads it.
    """

    index: int
    name: str
    old: str
    new: str
    readers: tuple[int, ...] = ()
    decides: bool = False


@attrs.frozen
class NeededCell:
    """A cell that a step needed, with its value. ``writer``: the step that wrote it, 0 for the start."""

    index: int
    name: str
    value: str
    writer: int


@attrs.frozen
class ExplainedStep:
    """A step. ``leads``: whether it led to the claim; None if that is unknown.

    ``missing``: what the rule that is removed would have done. ``met``: by action, how many of its instances are
    possible after the step and which rules refuse the others, as far as that has changed. ``refused``: the rule that
    refuses a repeated step.
    """

    number: int
    call: str
    actor: str
    changes: tuple[ShownChange, ...]
    needed: tuple[NeededCell, ...]
    leads: bool | None
    missing: str
    met: Mapping[str, str]
    repeat: bool = False
    refused: str = ""


@attrs.frozen
class ComparedStep:
    """A step in the run, and tried with the rules that are removed.

    ``plain``, ``guarded``: what it changes in the run and with the rules, by cell, each "CELL: OLD → NEW". ``refused``:
    what refuses it with the rules, "" if nothing does.
    """

    number: int
    call: str
    plain: tuple[str, ...]
    guarded: tuple[str, ...]
    refused: str


@attrs.frozen
class RunWithRules:
    """The run with the rules that are removed.

    ``same``: the number of first steps that do the same. ``steps``: the others. ``conclusion``: a sentence about the
    property at the end, "" if the end does not tell.
    """

    same: int
    steps: tuple[ComparedStep, ...]
    conclusion: str


@attrs.frozen
class ExplainedRun:
    """A run for its page.

    ``kind``: of its claim, "" without one. ``title``: the claim and what became of it. ``svg``, ``style``: the diagram,
    "" for a long run, and its style sheet. ``told_from``: the first step that
    tells what it needed. ``tables``: the state at the start. ``start_met``: as ``met`` of a step.
    ``before``, ``decisive``: what the property reads before the last step, and after it. ``led``: how many steps led to
    it, None if that is unknown. ``rules``: what the ids mean that are named. ``with_rules``: None if none is removed.
    """

    holdfast: str
    kind: str
    title: str
    sentence: str
    about: str
    conclusion: str
    replay: str
    svg: str
    style: str
    told_from: int
    tables: tuple[StateTable, ...]
    steps: tuple[ExplainedStep, ...]
    start_met: Mapping[str, str]
    loop: int | None
    loop_text: str
    before: tuple[NeededCell, ...]
    decisive: tuple[NeededCell, ...]
    led: int | None
    rules: tuple[tuple[str, str], ...]
    with_rules: RunWithRules | None


def explained_run(trace: Trace, replayer: Replayer | None) -> ExplainedRun:
    """All that can be told of a run. Without a model (``replayer`` is None) only what the run itself says."""
    folded, reasons = FoldedRun.of(trace), _slice(trace, replayer)
    found = None if reasons is None else folded.slice(reasons)
    told = replayer is not None and trace.length <= MOST_REFUSALS
    met = refusals(replayer, trace) if told and replayer is not None else {}
    missing = {} if replayer is None else missing_rules(replayer, trace)
    causes = {} if found is None else {cause.number: cause for cause in found.causes}
    with_rules = None if replayer is None else guarded_run(replayer, trace)
    trace = folded.trace
    places = {name_of(cell): index for index, cell in enumerate(trace.cells)}
    steps = []
    for event in events(trace).each:
        cause = causes.get(event.number)
        changes = (_change(change, places[name_of(change.cell)], found, cause) for change in event.changes)
        steps.append(
            ExplainedStep(
                number=event.number,
                call=action(event.step),
                actor=event.actor,
                changes=tuple(changes),
                needed=tuple(_needed(trace, found, cause.needed, event.number - 1)) if found and cause else (),
                leads=None if found is None else cause is not None,
                missing=missing.get(event.number, ""),
                met=met.get(event.number, {}),
                repeat=event.step.repeat,
                refused=event.step.refused or "",
            )
        )
    told_from, steps = _with_needs_of_the_last(steps)
    claim = trace.claim
    run = ExplainedRun(
        holdfast=__version__,
        kind="" if claim is None else claim.kind,
        title=f"A run of {count(trace.length, 'step')}" if claim is None else f"{claim.name}: {outcome(trace, claim)}",
        sentence="" if claim is None else claim.sentence,
        about=configuration(trace.model, trace.scope, trace.variants, trace.removed),
        conclusion="" if claim is None else conclusion(claim),
        replay=replay_command(trace) or "",
        svg=render_svg(trace) if trace.length <= MOST_DRAWN else "",
        style=STYLE,
        told_from=told_from,
        tables=state_tables(trace),
        steps=tuple(steps),
        start_met=met.get(0, {}),
        loop=trace.loop,
        loop_text="" if trace.loop is None else back(trace),
        before=() if found is None else tuple(_needed(trace, found, found.before, found.end - 1)),
        decisive=() if found is None else tuple(_needed(trace, found, found.reads, found.end)),
        led=None if found is None else len(found.causes),
        rules=(),
        with_rules=None if with_rules is None else _with_rules(trace, with_rules, steps),
    )
    return attrs.evolve(run, rules=_rules(run, replayer))


def _with_needs_of_the_last(steps: list[ExplainedStep]) -> tuple[int, list[ExplainedStep]]:
    """The steps, without what the first of them needed if that is too much; and the first step that keeps it."""
    most = MOST_LISTED - 2 * len(steps)
    # ``accumulate`` gives, from the last step on, how many cells the steps up to here have.
    sums = itertools.accumulate(len(step.needed) for step in reversed(steps))
    kept = sum(1 for _ in itertools.takewhile(lambda total: total <= most, sums))
    first = len(steps) - kept
    return first + 1, [attrs.evolve(step, needed=()) if step.number <= first else step for step in steps]


def _with_rules(trace: Trace, found: GuardedRun, steps: Sequence[ExplainedStep]) -> RunWithRules:
    shown = {name_of(cell) for cell in trace.cells if not cell.field.hidden}
    compared = [
        ComparedStep(
            number=step.number,
            call=step.call,
            plain=tuple(_changed(change.name, change.old, change.new) for change in step.changes),
            guarded=tuple(_changed(*map(_text, change)) for change in tried.changes if change[0] in shown),
            refused=tried.refused,
        )
        for step, tried in zip(steps, found.steps, strict=False)
    ]
    same = list(itertools.takewhile(lambda each: not each.refused and set(each.plain) == set(each.guarded), compared))
    return RunWithRules(len(same), tuple(compared[len(same) :]), _end(trace, found))


def _changed(cell: str, old: str, new: str) -> str:
    return f"{cell}: {old} → {new}"


def _end(trace: Trace, found: GuardedRun) -> str:
    if trace.claim is None or found.holds is None:
        return ""
    return f"At the end {trace.claim.name} {'holds' if found.holds else 'is violated all the same'}."


def _slice(trace: Trace, replayer: Replayer | None) -> Slice | None:
    """The steps that led to the claim, if the end of the run shows one."""
    if replayer is None or trace.claim is None:
        return None
    try:
        found = why(replayer, trace).slice
    except UsageError:
        return None  # A lasso shows its claim as a whole.
    return found if found.end == trace.length else None


def _change(change: Change, index: int, found: Slice | None, cause: Cause | None) -> ShownChange:
    readers = found.readers(cause, index) if found is not None and cause is not None and index in cause.wrote else []
    end = found.end if found is not None else 0
    later = tuple(number for number in readers if number <= end)
    return ShownChange(index, name_of(change.cell), _text(change.old), _text(change.new), later, end + 1 in readers)


def _needed(trace: Trace, found: Slice, cells: Sequence[int], at: int) -> list[NeededCell]:
    # A repeated step is the last one of a run, and no cell is asked for after it.
    values = trace.steps[at].values
    return [NeededCell(cell, name_of(trace.cells[cell]), _text(values[cell]), found.writer(cell, at)) for cell in cells]


def _rules(run: ExplainedRun, replayer: Replayer | None) -> tuple[tuple[str, str], ...]:
    """The rules that the page names and that the tables beside the model explain."""
    if replayer is None:
        return ()
    book = book_beside(Path(replayer.system.file).parent)
    met = itertools.chain(run.start_met.values(), *(step.met.values() for step in run.steps))
    texts = [run.title, run.sentence, run.about, *(step.missing for step in run.steps), *met]
    return tuple((rule, book.entries[rule].row.text) for rule in sorted(book.ids_in(" ".join(texts))))


def _text(value: Value) -> str:
    return str(value)
