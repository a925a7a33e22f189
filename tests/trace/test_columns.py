"""Runs in columns: the actor of each step, the changes by element, and a note of what is left out."""

from __future__ import annotations

import attrs
import pytest

from holdfast.ir.errors import UsageError
from holdfast.trace.trace import Trace
from holdfast.trace.views.columns import ColumnsView, render_columns
from holdfast.trace.views.events import acting_sort, events, select_cells


def table(trace: Trace, view: ColumnsView | None = None) -> list[str]:
    """The lines of the table, without the text around it."""
    lines = render_columns(trace, view or ColumnsView()).split("\n")
    start = next(index for index, line in enumerate(lines) if line.startswith("  #  who"))
    return lines[start : lines.index("", start)]


def test_a_run_in_columns(handover: Trace) -> None:
    """Each step has its actor once, and each change stands below the element that it belongs to."""
    assert table(handover) == [
        "  #  who  action           whose  what changed",
        "  1  p1   open(s=s1, e=1)  p1     handle[p1, s1]         0     -> 1",
        "                                  used[p1, s1, epoch 1]  False -> True",
        "                           s1     opened[s1]             False -> True",
        "                                  owner[s1]              None  -> n1",
        "                                  epoch[s1]              0     -> 1",
        "                                  last_opener[s1]        None  -> p1  (ghost)",
        "  2  p2   open(s=s1, e=2)  p2     handle[p2, s1]         0     -> 2",
        "                                  used[p2, s1, epoch 2]  False -> True",
        "                           s1     owner[s1]              n1    -> n2",
        "                                  epoch[s1]              1     -> 2",
        "                                  last_opener[s1]        p1    -> p2  (ghost)",
    ]


def test_what_belongs_to_nobody_says_so(sampler: Trace) -> None:
    """A cell without an element is not shown below the previous element."""
    (line,) = [line for line in table(sampler) if " busy " in line]
    assert line.split()[:2] == ["-", "busy"]


@pytest.mark.parametrize("width", [60, 80, 120])
def test_lines_fit(handover: Trace, sampler: Trace, width: int) -> None:
    """No line is wider than the limit, except commands, which are there to be copied. No line ends in blanks."""
    for trace in (handover, sampler):
        for full in (False, True):
            lines = render_columns(trace, ColumnsView(full=full, width=width)).split("\n")
            assert [line for line in lines if line != line.rstrip()] == []
            assert [line for line in lines if len(line) > width and not line.startswith(("reproduce", "replay"))] == []


def test_chosen_cells_only(handover: Trace) -> None:
    """Other cells, and steps that change no chosen cell, are left out, and a line says so."""
    assert [
        line.split()[-3:] for line in table(handover, ColumnsView(only=select_cells(handover, ["opened"])))[1:]
    ] == [
        ["False", "->", "True"],
        ["no", "change", "here"],
    ]
    one = table(handover, ColumnsView(only=select_cells(handover, ["handle[p2,s1]", "used"])))
    assert sum("handle" in line for line in one) == 1
    assert sum("used" in line for line in one) == 2
    assert not any("epoch[" in line for line in one)


def test_a_name_there_is_not(handover: Trace) -> None:
    """An unknown field or cell is refused with the existing fields, or with the nearest name."""
    with pytest.raises(UsageError, match=r"--only ownr: Table has no field or cell .*did you mean owner\?"):
        select_cells(handover, ["ownr"])
    with pytest.raises(UsageError, match=r"--only owner\[s9\].*it has: opened, owner"):
        select_cells(handover, ["owner[s9]"])


def test_notes_and_clauses_stand_at_their_step(handover: Trace) -> None:
    """A note on a step stands below its changes. The rules that refuse the start stand before the table."""
    view = ColumnsView(
        notes={2: ["! so it is"]}, refused={0: {"open": "2 possible; ST-14 4"}, 1: {"close": "0 possible"}}
    )
    lines = render_columns(handover, view).split("\n")

    marks = ("       open  2 possible; ST-14 4", "  1  p1", "       close  0 possible", "  2  p2", "     ! so it is")
    assert [mark for line in lines for mark in marks if line.startswith(mark)] == list(marks)


def test_a_repetition(repeated: Trace) -> None:
    """A repeated step is marked, with the rule that refused it."""
    assert "press(s=BUSY) again" in "\n".join(table(repeated))
    assert "refused by PR-03" in "\n".join(table(repeated))


def test_whole_states(sampler: Trace) -> None:
    """On request each step is followed by the whole state, with budgets."""
    text = render_columns(sampler, ColumnsView(full=True))
    assert "     now\n" in text
    assert "budget(sample): 1" in text
    assert "budget" not in render_columns(sampler, ColumnsView())


def test_a_lasso(handover: Trace) -> None:
    """A lasso ends with the step to which its loop returns."""
    text = render_columns(attrs.evolve(handover, loop=1), ColumnsView())
    assert "and then back to the state after step 1, for ever" in text


def test_who_acts(handover: Trace) -> None:
    """The actor is the parameter that most actions have; without types the one that arguments name most often; without
    arguments the key of most variables.
    """
    foreign = attrs.evolve(handover, signatures=(), foreign=())
    silent = attrs.evolve(foreign, steps=tuple(attrs.evolve(step, args=()) for step in handover.steps))

    assert [str(acting_sort(trace)) for trace in (handover, foreign, silent)] == ["Proc", "Proc", "Stream"]
    assert [event.actor for event in events(handover).each] == ["p1", "p2"]
    assert [event.actor for event in events(silent).each] == ["", ""]
