"""A run as a space-time diagram in text: a line for each process, time downwards, the actions and changes beside it.

          p1   p3   s1
      1   ●────┼────▶   open(s1, 1, True)
          │    │    ┆     p1 handle[s1]=1; s1 opened=True, epoch=1, owner=n1

``●`` is an actor whose step changes something, ``○`` one whose step changes nothing. An arrow points to each other line
that the step changes. A step without an actor has ``◆`` on each line that it changes. ``✗`` is a repetition that was
refused.
"""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Sequence

from holdfast.trace.text import back, conclusion, header
from holdfast.trace.trace import Trace
from holdfast.trace.views.lanes import Happening, Lane, LanePlan, plan

MARGIN = 6
"""The width of the step numbers, left of the lines."""
TEXT = 34
"""The smallest width of the text beside the lines."""
CLOSEST = 5
"""The smallest distance of two lines."""


def render_diagram(trace: Trace, only: Collection[str] | None = None, *, width: int = 80) -> str:
    """The diagram, without a final newline."""
    # Names are short as a rule. If long names leave too little room for the text, fewer elements get a line.
    most = max(2, (width - MARGIN - TEXT) // CLOSEST)
    drawn = plan(trace, only, most=most)
    while len(drawn.lanes) > 2 and MARGIN + _pitch(drawn.lanes) * len(drawn.lanes) + TEXT > width:
        most = len(drawn.lanes) - 1
        drawn = plan(trace, only, most=most)
    lines = [*header(trace, width), "", *(_Drawing(drawn, width).lines() if drawn.happenings else ["     no steps"])]
    if trace.loop is not None:
        lines += ["", back(trace)]
    if trace.claim is not None:
        lines += ["", *textwrap.wrap(conclusion(trace.claim), width, subsequent_indent="  ")]
    if drawn.idle and drawn.happenings:
        lines += ["", *textwrap.wrap(f"Not drawn, since nothing happens there: {', '.join(drawn.idle)}.", width)]
    return "\n".join(line.rstrip() for line in lines)


def _pitch(lanes: Sequence[Lane]) -> int:
    return max(CLOSEST, max((len(lane.name) for lane in lanes), default=0) + 2)


class _Drawing:
    def __init__(self, drawn: LanePlan, width: int) -> None:
        self.drawn = drawn
        self.pitch = _pitch(drawn.lanes)
        self.beside = MARGIN + self.pitch * len(drawn.lanes)
        self.width = width

    def lines(self) -> list[str]:
        names = "".join(f"{lane.name:^{self.pitch}}" for lane in self.drawn.lanes)
        found = [f"{'':{MARGIN}}{names}"]
        for happening in self.drawn.happenings:
            found += [self.lifelines(), *self.happening(happening)]
        return [*found, self.lifelines()]

    def lifelines(self) -> str:
        return f"{'':{MARGIN}}{''.join(self.row())}"

    def row(self) -> list[str]:
        """The characters of one row: a character for each lifeline, without marks."""
        cells = [" "] * (self.pitch * len(self.drawn.lanes))
        for index, lane in enumerate(self.drawn.lanes):
            cells[self.column(index)] = "│" if lane.acts else "┆"
        return cells

    def column(self, lane: int) -> int:
        """The column of a line: the middle of its name."""
        length = len(self.drawn.lanes[lane].name)
        return lane * self.pitch + (self.pitch - length) // 2 + (length - 1) // 2

    def happening(self, happening: Happening) -> list[str]:
        """The row with the marks, and more rows if the text beside it needs them."""
        first = f"{happening.event.number:>3}{'':{MARGIN - 3}}{''.join(self.marked(happening))}"
        room = max(TEXT, self.width - self.beside)
        texts = textwrap.wrap(self.call(happening), room, subsequent_indent="    ", break_on_hyphens=False)
        changes = "; ".join(
            f"{self.drawn.lanes[lane].name} {', '.join(texts)}" for lane, texts in happening.touched.items()
        )
        texts += textwrap.wrap(
            changes, room, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False, break_long_words=False
        )
        return [f"{first}{texts[0]}", *(f"{self.lifelines()}{text}" for text in texts[1:])]

    def call(self, happening: Happening) -> str:
        step = happening.event.step
        if step.refused is not None:
            return f"{happening.call} again: refused by {step.refused}"
        return f"{happening.call}{' again' if step.repeat else ''}"

    def marked(self, happening: Happening) -> list[str]:
        """The characters of the lines, with marks for the actor and for each element that the step changes."""
        cells, actor = self.row(), happening.actor
        others = [lane for lane in happening.touched if lane != actor]
        if actor is None:
            for lane in others:
                cells[self.column(lane)] = "◆"
            return cells
        start = self.column(actor)
        ends = [start, *(self.column(lane) for lane in others)]
        # The arrow's shaft; `┼` where it crosses a line. The ends are overwritten below.
        for place in range(min(ends), max(ends)):
            cells[place] = "─" if cells[place] == " " else "┼"
        for lane in others:
            cells[self.column(lane)] = "▶" if lane > actor else "◀"
        refused = happening.event.step.refused is not None
        cells[start] = "✗" if refused else "●" if happening.touched else "○"
        return cells
