"""Space-time diagrams in text."""

from __future__ import annotations

import attrs
import pytest

from holdfast.trace.trace import Trace
from holdfast.trace.views.diagram import render_diagram
from holdfast.trace.views.events import select_cells

HANDOVER = """\
       p1   p2   s1
       │    │    ┆
  1    ●────┼────▶   open(s1, 1)
       │    │    ┆     p1 handle[s1]=1, +used[s1, epoch 1]; s1 opened=True,
       │    │    ┆     owner=n1, epoch=1, last_opener=p1
       │    │    ┆
  2    │    ●────▶   open(s1, 2)
       │    │    ┆     p2 handle[s1]=2, +used[s1, epoch 2]; s1 owner=n2,
       │    │    ┆     epoch=2, last_opener=p2
       │    │    ┆
"""


def test_a_run_as_a_diagram(handover: Trace) -> None:
    """Each step is a row: the actor, the elements it changes, the action, and the changes."""
    assert HANDOVER in render_diagram(handover)
    assert render_diagram(handover).endswith("one_handle (INV-01) is violated for s = s1, p = p1, q = p2.")


@pytest.mark.parametrize("width", [60, 80, 100])
def test_it_fits(handover: Trace, sampler: Trace, width: int) -> None:
    """No line is wider than the limit, and none ends in blanks."""
    for trace in (handover, sampler):
        lines = render_diagram(trace, width=width).split("\n")
        assert max(map(len, lines)) <= width
        assert [line for line in lines if line != line.rstrip()] == []


def test_many_share_a_line(handover: Trace) -> None:
    """If there is no room for a column for each, the last ones share a column and are named beside it."""
    text = render_diagram(handover, width=48)
    assert "others" in text
    assert "p2: open(s1, 2)" in text


def test_a_step_that_changes_nothing(handover: Trace) -> None:
    """A step without changes, or without chosen changes, is an empty circle."""
    text = render_diagram(handover, select_cells(handover, ["opened"]))
    assert "  2    │    ○    ┆   open(s1, 2)\n" in text


def test_a_step_of_nobody(handover: Trace) -> None:
    """A step without an actor marks the elements that it changes, without an arrow."""
    steps = tuple(attrs.evolve(step, args=()) for step in handover.steps)
    text = render_diagram(attrs.evolve(handover, steps=steps))
    assert "  1    ◆    │    ◆   open()\n" in text


def test_a_refused_repetition(repeated: Trace) -> None:
    """A refused repetition is marked with the rule that refused it."""
    assert "again: refused by PR-03" in render_diagram(repeated)


def test_no_steps(handover: Trace) -> None:
    """A run without steps is one sentence without a diagram."""
    assert "     no steps\n" in render_diagram(attrs.evolve(handover, steps=handover.steps[:1]))


def test_the_idle_are_named(handover: Trace) -> None:
    """Elements that could act and never do are named and not drawn."""
    text = render_diagram(attrs.evolve(handover, steps=handover.steps[:2]))
    assert "Not drawn, since nothing happens there: p2." in text
