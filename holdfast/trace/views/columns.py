"""A run in columns: on the left the actor and the action, on the right the changed cells and their owners.

      #  who  action                        whose  what changed
      1  p1   open(s=s1, e=1)               p1     handle[p1, s1]  0     -> 1
                                            s1     opened[s1]      False -> True

The text fits the given width unless the model's names are too long; a longer value continues on the next line.
"""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Mapping, Sequence
from itertools import zip_longest

import attrs

from holdfast.lower.layout import Cell, Value
from holdfast.trace.text import NOBODY, back, header, listed, name_of, standing, verdict
from holdfast.trace.trace import Step, Trace
from holdfast.trace.views.events import Event, events

WIDTH = 80
"""Columns of text if the output is no terminal."""

GAP = "  "
HARD = "\N{NO-BREAK SPACE}"
UNOWNED = "-"
"""Stands in the column ``whose`` for a cell that belongs to no element."""
NARROWEST = 20
"""The smallest width of the column of actions, and of the column of changes."""


@attrs.frozen(kw_only=True)
class ColumnsView:
    """How a run is shown.

    ``full``: every state is shown after its step. ``only``: the names of the cells to show; None for all. ``width``:
    columns of text. ``notes``: sentences about steps, by the number of the step. ``refused``: by the number of a step
    (0 for the start), a clause for each action that says which rules refuse it in that state.
    """

    full: bool = False
    only: Collection[str] | None = None
    width: int = WIDTH
    notes: Mapping[int, Sequence[str]] = attrs.field(factory=dict)
    refused: Mapping[int, Mapping[str, str]] = attrs.field(factory=dict)


def render_columns(trace: Trace, view: ColumnsView) -> str:
    """The run as text, without a final newline."""
    blocks = [header(trace, view.width), _start(trace, view), _table(trace, view)]
    if trace.loop is not None:
        blocks.append([f"     {back(trace)}"])
    blocks.append(verdict(trace, view.width))
    return "\n\n".join("\n".join(line.rstrip() for line in block) for block in blocks if block)


# The start ---------------------------------------------------------------------------------------------------------


def _start(trace: Trace, view: ColumnsView) -> list[str]:
    lines: list[str] = []
    given = [(cell, value) for cell, value in trace.constants if view.only is None]
    if given:
        lines += ["given", *listed(standing(given, full=True), view.width), ""]
    first = trace.steps[0]
    args = f" {', '.join(f'{name}={value}' for name, value in first.args)}" if first.args else ""
    lines.append(f"start{args}" if view.full else f"start{args}  (cells that are False, None or 0 are left out)")
    return [*lines, *(_state(trace, first, view) or ["     nothing else"]), *_refused(view, 0)]


def _state(trace: Trace, step: Step, view: ColumnsView) -> list[str]:
    """The cells of a state; without ``full`` it leaves out budgets and the cells that are False, None or 0."""
    cells = [
        (cell, value)
        for cell, value in zip(trace.cells, step.values, strict=True)
        if (view.full or not cell.field.hidden) and (view.only is None or cell.name in view.only)
    ]
    return [part for line in listed(standing(cells, view.full), view.width) for part in _folded(line, view.width, 9)]


def _notes(view: ColumnsView, number: int) -> list[str]:
    return [line for text in view.notes.get(number, ()) for line in _folded(f"     {text}", view.width, 7)]


def _refused(view: ColumnsView, number: int) -> list[str]:
    """The rules that refuse each action in a state: at the start for all actions, later only where they changed."""
    clauses = view.refused.get(number)
    if not clauses:
        return []
    lead = "what rules refuse, with the number of choices" if number == 0 else "now"
    width = max(len(action) for action in clauses)
    lines = ["", f"     {lead}"] if number == 0 else [f"     {lead}"]
    for action, clause in clauses.items():
        # A rule and its number of choices stay together on a line.
        held = clause.replace(" ", HARD).replace(f";{HARD}", "; ")
        lines += [
            line.replace(HARD, " ") for line in _folded(f"       {action:{width}}  {held}", view.width, width + 9)
        ]
    return [*lines, ""] if number else lines


# The steps ---------------------------------------------------------------------------------------------------------


@attrs.frozen
class _Row:
    """An event with the texts of its columns; each change is a pair of the owner and the text of the change."""

    event: Event
    action: str
    changes: tuple[tuple[str, str], ...]


def _table(trace: Trace, view: ColumnsView) -> list[str]:
    run = events(trace, view.only)
    if not run.each:
        return []
    changes = [change for event in run.each for change in event.changes]
    names = max((len(name_of(change.cell)) for change in changes), default=0)
    olds = min(8, max((len(str(change.old)) for change in changes), default=0))
    nothing = "nothing changes" if view.only is None else "no change here"
    rows = [_row(event, names, olds, nothing) for event in run.each]
    who = max(3, *(len(row.event.actor) for row in rows))
    whose = max(5, *(len(home) for row in rows for home, _ in (*row.changes, ("", ""))))
    # The column of actions gets the room that the changes do not need, but neither falls below NARROWEST.
    room = view.width - len(f"{'#':>3}{GAP}{'':{who}}{GAP}{GAP}{'':{whose}}{GAP}")
    needed = max(len("what changed"), *(len(text) for row in rows for _, text in (*row.changes, ("", ""))))
    longest = max(len(row.action) for row in rows)
    action = min(longest, max(NARROWEST, room - needed))
    right = max(NARROWEST, room - action)
    lines = [f"{'#':>3}{GAP}{'who':{who}}{GAP}{'action':{action}}{GAP}{'whose':{whose}}{GAP}what changed"]
    skipped: list[int] = []
    for row in rows:
        number = row.event.number
        if view.only is not None and not row.event.changes and not (number in view.notes or number in view.refused):
            skipped.append(number)
            continue
        lines += _skipped(skipped)
        skipped = []
        left = _folded(row.action, action, 2)
        beside: list[str] = []
        for index, (home, text) in enumerate(row.changes):
            again = index > 0 and row.changes[index - 1][0] == home
            beside += _owned("" if again else home, text, whose, right)
        for index, (one, two) in enumerate(zip_longest(left, beside, fillvalue="")):
            first, actor = (str(number), row.event.actor) if index == 0 else ("", "")
            lines.append(f"{first:>3}{GAP}{actor:{who}}{GAP}{one:{action}}{GAP}{two}")
        lines += [*_notes(view, number), *_refused(view, number)]
        if view.full and row.event.step.refused is None:
            lines += ["     now", *_state(trace, row.event.step, view), ""]
    # A state or a table of rules ends with a blank line; the last one of the text does not need it.
    return [*(lines[:-1] if lines[-1] == "" else lines), *_skipped(skipped)]


def _skipped(numbers: Sequence[int]) -> list[str]:
    """A line that says that these steps change none of the shown cells."""
    if not numbers:
        return []
    which = f"{numbers[0]}" if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]}"
    return [f"     step{'s' if len(numbers) > 1 else ''} {which}: no change here"]


def _row(event: Event, names: int, olds: int, nothing: str) -> _Row:
    step = event.step
    args = ", ".join(f"{name}={value}" for name, value in step.args if value != event.actor)
    action = (f"{step.action}({args})" if step.args or step.code else step.action) + (" again" if step.repeat else "")
    if step.refused is not None:
        return _Row(event, action, ((NOBODY, f"refused by {step.refused}"),))
    # The actor's own changes come first, changes of cells without an owner last.
    ordered = sorted(event.changes, key=lambda change: (change.home == NOBODY, change.home != event.actor))
    homes = list(dict.fromkeys(change.home for change in ordered))
    changes = tuple(
        (home or UNOWNED, _change(change.cell, change.old, change.new, names, olds))
        for home in homes
        for change in ordered
        if change.home == home
    )
    return _Row(event, action, changes or ((NOBODY, nothing),))


def _change(cell: Cell, old: Value, new: Value, names: int, olds: int) -> str:
    ghost = "  (ghost)" if cell.field.ghost else ""
    return f"{name_of(cell):{names}}{GAP}{old!s:{olds}} -> {new}{ghost}"


def _owned(home: str, text: str, whose: int, width: int) -> list[str]:
    first, *others = _folded(text, width, 4)
    return [f"{home:{whose}}{GAP}{first}", *(f"{'':{whose}}{GAP}{line}" for line in others)]


def _folded(text: str, width: int, indent: int) -> list[str]:
    """The text in lines of at most ``width`` columns; all lines but the first are indented."""
    if len(text) <= width:
        return [text]
    return textwrap.wrap(text, width, subsequent_indent=" " * indent, drop_whitespace=True) or [""]
