"""A run as a space-time diagram in SVG: a line for each process, time downwards, arrows to the lines a step changes.

The picture is complete in itself: it loads no script, font or style, and is light or dark like the reader's screen. A
tooltip lists all changes of a step. Widths assume a fixed-width font, so equal runs give equal bytes.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Collection, Sequence
from xml.sax.saxutils import escape

import attrs

from holdfast.trace.text import action, back, conclusion, configuration, count, name_of, outcome
from holdfast.trace.trace import Trace
from holdfast.trace.views.lanes import Happening, LanePlan, plan

MOST_LANES = 12
LETTER = 7.3
"""The width of a letter of 12 pixels. It is generous, because fonts differ."""
LINE = 15
"""The distance of two lines of text."""
NUMBERS, EDGE = 46, 20
"""The width of the step numbers left of the lanes, and the margin around the picture."""
BOX = 24
"""The height of a lane's head."""
LONGEST = 30
"""The most letters on one line of text; a longer text is wrapped."""
REPEATED = 12
"""If there are more steps than that, the heads stand below the lanes as well."""

STYLE = """\
.ground { fill: #ffffff; }
text { font: 12px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #1f2328; }
.title { font-size: 15px; font-weight: bold; }
.quiet { fill: #59636e; }
.bad { fill: #b3261e; }
.change { fill: #0b57a4; }
.ghost { fill: #59636e; font-style: italic; }
.life { stroke: #aab4be; stroke-width: 1.5; }
.shared { stroke-dasharray: 4 4; }
.head { fill: #eef2f6; stroke: #aab4be; }
.arrow { stroke: #0b57a4; stroke-width: 1.5; fill: none; }
.tip { fill: #0b57a4; }
.dot { fill: #0b57a4; stroke: #0b57a4; stroke-width: 1.5; }
.still { fill: #ffffff; }
.stopped { fill: #b3261e; stroke: #b3261e; }
.stripe { fill: #f6f8fa; }
@media (prefers-color-scheme: dark) {
.ground { fill: #0d1117; }
text { fill: #e6edf3; }
.quiet, .ghost { fill: #9aa4af; }
.bad { fill: #ff8a80; }
.change { fill: #79b8ff; }
.life, .head { stroke: #4b5560; }
.head { fill: #1c232b; }
.arrow, .dot { stroke: #79b8ff; }
.tip, .dot { fill: #79b8ff; }
.still { fill: #0d1117; }
.stopped { fill: #ff8a80; stroke: #ff8a80; }
.stripe { fill: #151b23; }
}
"""


def render_svg(trace: Trace, only: Collection[str] | None = None) -> str:
    """The text of the SVG file."""
    return _Picture(trace, plan(trace, only, most=MOST_LANES)).text()


@attrs.frozen
class _Row:
    """An event with its texts and its place.

    The call stands above the event's line, the changes of each lane below it. ``top``, ``line`` and ``bottom`` are in
    pixels from the top of the picture.
    """

    happening: Happening
    call: tuple[str, ...]
    changes: dict[int, list[str]]
    top: int
    line: int
    bottom: int


class _Picture:
    def __init__(self, trace: Trace, drawn: LanePlan) -> None:
        self.trace = trace
        self.drawn = drawn
        # The order matters: the lanes' places depend on the rows' texts, and the sizes on both.
        self.title, self.about = _heading(trace)
        self.head = EDGE + 22 + LINE * len(self.about) + 14
        self.rows = self.placed(self.head + BOX + 10)
        self.end = (self.rows[-1].bottom if self.rows else self.head + BOX + 10) + 8
        self.places, right = self.lanes()
        self.loop_room = 34 if trace.loop is not None else 0
        below = BOX + 12 if len(self.rows) > REPEATED else 6
        self.foot = self.end + below
        self.footer = _footer(trace, drawn)
        self.height = self.foot + LINE * len(self.footer) + EDGE
        longest = max((len(text) for text in (*self.about, *(text for _, text in self.footer))), default=0)
        text = max(longest * LETTER, len(self.title) * 9.2)
        self.width = round(max(right + self.loop_room, EDGE + text) + EDGE)

    def placed(self, top: int) -> list[_Row]:
        """The events one below the other, each high enough for its texts."""
        rows = []
        for happening in self.drawn.happenings:
            call = tuple(textwrap.wrap(_call(happening), LONGEST, subsequent_indent="  ", break_on_hyphens=False))
            changes = {
                lane: [line for text in texts for line in textwrap.wrap(text, LONGEST, subsequent_indent="  ")]
                for lane, texts in happening.touched.items()
            }
            line = top + 6 + LINE * len(call)
            bottom = line + 8 + LINE * max((len(texts) for texts in changes.values()), default=0) + 4
            rows.append(_Row(happening, call, changes, top, line, bottom))
            top = bottom
        return rows

    def lanes(self) -> tuple[list[int], int]:
        """The x of each lane's line, and the x where the texts of the last lane end."""
        places, left = [], EDGE + NUMBERS
        for index, lane in enumerate(self.drawn.lanes):
            texts = [text for row in self.rows for text in row.changes.get(index, [])]
            texts += [text for row in self.rows if _written_at(row) == index for text in row.call]
            longest = max((len(text) for text in texts), default=0)
            head = round(len(lane.name) * LETTER) + 20
            places.append(left + head // 2)
            left += max(head + 12, head // 2 + 12 + round(longest * LETTER) + 14, 80)
        return places, left

    # Writing --------------------------------------------------------------------------------------------------

    def text(self) -> str:
        parts = [
            _opening(self.width, self.height),
            f"<title>{_safe(self.title)}</title>",
            f"<style>\n{STYLE}</style>",
            f'<rect class="ground" width="{self.width}" height="{self.height}"/>',
            _text(EDGE, EDGE + 12, self.title, "title"),
            *(_text(EDGE, EDGE + 30 + LINE * index, line, "quiet") for index, line in enumerate(self.about)),
            *self.stripes(),
            *self.lifelines(),
            *(part for row in self.rows for part in self.event(row)),
            *self.lasso(),
            *(
                _text(EDGE, self.foot + LINE * (index + 1), line, kind)
                for index, (kind, line) in enumerate(self.footer)
            ),
            "</svg>",
        ]
        return "\n".join(parts) + "\n"

    def stripes(self) -> list[str]:
        """A coloured ground for every other step."""
        width = self.width - 2 * EDGE
        return [
            f'<rect class="stripe" x="{EDGE}" y="{row.top}" width="{width}" height="{row.bottom - row.top}"/>'
            for row in self.rows[::2]
        ]

    def lifelines(self) -> list[str]:
        parts = []
        heads = [self.head, self.end] if len(self.rows) > REPEATED else [self.head]
        for lane, x in zip(self.drawn.lanes, self.places, strict=True):
            kind = "life" if lane.acts else "life shared"
            parts.append(f'<line class="{kind}" x1="{x}" y1="{self.head + BOX}" x2="{x}" y2="{self.end}"/>')
            width = round(len(lane.name) * LETTER) + 16
            for y in heads:
                parts.append(f'<rect class="head" x="{x - width // 2}" y="{y}" width="{width}" height="{BOX}" rx="5"/>')
                parts.append(_text(x, y + 16, lane.name, middle=True))
        return parts

    def event(self, row: _Row) -> list[str]:
        """A step: its number, its arrows, the actor's dot, and the texts."""
        happening = row.happening
        parts = [f'<g data-step="{happening.event.number}">', f"<title>{_safe(_tooltip(happening))}</title>"]
        parts.append(_text(EDGE + 6, row.line + 4, str(happening.event.number), "quiet"))
        for lane in happening.touched:
            if happening.actor is None:
                parts.append(_dot(self.places[lane], row.line, "dot"))
            elif lane != happening.actor:
                parts += _arrow(self.places[happening.actor], self.places[lane], row.line)
        if happening.actor is not None:
            refused = happening.event.step.refused is not None
            kind = "dot stopped" if refused else "dot" if happening.touched else "dot still"
            parts.append(_dot(self.places[happening.actor], row.line, kind))
        at = self.places[_written_at(row)] if self.places else EDGE + NUMBERS
        for index, text in enumerate(row.call):
            parts.append(_text(at + 9, row.line - 6 - LINE * (len(row.call) - 1 - index), text))
        for lane, texts in row.changes.items():
            for index, text in enumerate(texts):
                parts.append(_text(self.places[lane] + 9, row.line + LINE * (index + 1), text, "change"))
        return [*parts, "</g>"]

    def lasso(self) -> list[str]:
        """An arrow right of the lanes, back to the state that a lasso returns to."""
        loop = self.trace.loop
        if loop is None or not self.rows or loop >= len(self.rows):
            return []
        x, start = self.width - EDGE - 12, self.rows[-1].bottom
        to = self.rows[loop].top
        return [
            f'<path class="arrow" d="M {x - 16} {start - 6} H {x} V {to + 6} H {x - 12}"/>',
            f'<path class="tip" d="M {x - 20} {to + 6} l 9 -4.5 v 9 z"/>',
        ]


# Texts -------------------------------------------------------------------------------------------------------------


def _heading(trace: Trace) -> tuple[str, list[str]]:
    about = configuration(trace.model, trace.scope, trace.variants, trace.removed)
    if trace.claim is None:
        return f"A run of {count(trace.length, 'step')}", [about]
    sentence = textwrap.wrap(trace.claim.sentence, 100)
    return f"{trace.claim.name}: {outcome(trace, trace.claim)}", [*sentence, about]


def _footer(trace: Trace, drawn: LanePlan) -> list[tuple[str, str]]:
    lines = [("quiet", back(trace))] if trace.loop is not None else []
    if trace.claim is not None:
        kind = "quiet" if trace.claim.kind == "witness" else "bad"
        lines += [(kind, line) for line in textwrap.wrap(conclusion(trace.claim), 100)]
    if drawn.idle and drawn.happenings:
        text = f"Not drawn, since nothing happens there: {', '.join(drawn.idle)}."
        lines += [("quiet", line) for line in textwrap.wrap(text, 100)]
    return lines


def _call(happening: Happening) -> str:
    step = happening.event.step
    if step.refused is not None:
        return f"{happening.call} again: refused by {step.refused}"
    return f"{happening.call} again" if step.repeat else happening.call


def _tooltip(happening: Happening) -> str:
    event = happening.event
    changes = [f"{name_of(change.cell)}: {change.old} -> {change.new}" for change in event.changes]
    return "\n".join([f"{event.number}  {action(event.step)}", *(changes or ["nothing changes"])])


def _written_at(row: _Row) -> int:
    """The lane above which a step's action is written: the actor's lane, or else the first lane that changes."""
    actor = row.happening.actor
    return actor if actor is not None else min(row.happening.touched, default=0)


# Shapes ------------------------------------------------------------------------------------------------------------


def _opening(width: int, height: int) -> str:
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" role="img" {size}>'


def _text(x: int, y: int, text: str, kind: str = "", *, middle: bool = False) -> str:
    classes = f' class="{kind}"' if kind else ""
    anchor = ' text-anchor="middle"' if middle else ""
    # SVG collapses blanks at the start of a text, so the indentation of a wrapped line becomes a shift to the right.
    indent = len(text) - len(text.lstrip(" "))
    return f'<text x="{x + round(indent * LETTER)}" y="{y}"{classes}{anchor}>{_safe(text.lstrip(" "))}</text>'


def _dot(x: int, y: int, kind: str) -> str:
    return f'<circle class="{kind}" cx="{x}" cy="{y}" r="5"/>'


def _arrow(start: int, end: int, y: int) -> Sequence[str]:
    """An arrow from one lane to another, with its tip."""
    way = 1 if end > start else -1
    return (
        f'<line class="arrow" x1="{start}" y1="{y}" x2="{end - 8 * way}" y2="{y}"/>',
        f'<path class="tip" d="M {end - way} {y} l {-9 * way} -4.5 v 9 z"/>',
    )


def _safe(text: str) -> str:
    """The text with XML's escapes; control characters, which XML cannot hold, are shown by their codes."""
    return escape(re.sub(r"[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", _code, text))


def _code(found: re.Match[str]) -> str:
    return f"\\x{ord(found[0]):02x}"
