"""A slice of a run as text: for each step, the cells that it wrote and who reads them, and the cells that it needed.

4  open(p=p2, s=s1, e=2, heard=False)
   wrote   epoch[s1]: 1 -> 2            opened_by_its_owner reads it
   needed  opened[s1] = True            written by step 1
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from holdfast.trace.text import action, conclusion, count, name_of
from holdfast.trace.trace import Trace
from holdfast.trace.views.slice import Cause, Slice

INDENT = "     "
HEADS = 8
"""The width of the words ``wrote`` and ``needed`` with the gap after them."""
HARD = "\N{NO-BREAK SPACE}"


def render_why(trace: Trace, found: Slice, *, width: int = 80) -> str:
    """The text of the slice, without a final newline."""
    return _Writer(trace, found, width).text()


class _Writer:
    def __init__(self, trace: Trace, found: Slice, width: int) -> None:
        self.trace = trace
        self.found = found
        self.width = width
        self.steps = [step for step in trace.steps if not step.repeat]
        shown = [self.changed(cause, cell) for cause in found.causes for cell in cause.wrote]
        shown += [self.value(cell, cause.number - 1) for cause in found.causes for cell in cause.needed]
        self.column = min(max((len(text) for text in shown), default=0), width - 32)

    def text(self) -> str:
        blocks = [self.header(), *(self.cause(cause) for cause in self.found.causes), self.footer()]
        return "\n\n".join("\n".join(line.rstrip() for line in block) for block in blocks)

    def header(self) -> list[str]:
        """The question, and how many steps of the run answer it."""
        found, claim = self.found, self.found.claim
        outcome = "is reached" if claim.kind == "witness" else "is violated"
        led, out = len(found.causes), found.left_out
        parts = f"{led:,} of them led to it, the other {out:,} did not" if out else "all of them led to it"
        if found.end == 0:
            parts = "it is so from the start on"
        lines = self.wrapped(f"Why {claim.title} {outcome} after {count(found.end, 'step')}: {parts}.", "")
        return [*lines, *self.wrapped(claim.sentence, "  ", later="  ")]

    def cause(self, cause: Cause) -> list[str]:
        """A step with the cells that it wrote and needed."""
        lines = self.wrapped(f"{cause.number:>3}  {action(self.steps[cause.number])}", "", later=INDENT)
        lines += self.listed("wrote", [(self.changed(cause, cell), self.readers(cause, cell)) for cell in cause.wrote])
        if not cause.wrote:
            lines.append(f"{INDENT}it is this step that {self.found.claim.name} speaks of")
        return [*lines, *self.needed("needed", cause.needed, cause.number - 1)]

    def footer(self) -> list[str]:
        """The cells that the property itself reads."""
        found, name = self.found, self.found.claim.name
        lines: list[str] = []
        if found.before:
            lines += [f"{name} reads before step {found.end}", *self.needed("", found.before, found.end - 1)]
        lines += [f"{name} reads at the end", *self.needed("", found.reads, found.end)] if found.reads else []
        if not (found.before or found.reads):
            lines.append(f"{name} reads no cell here: the arguments of the last step and constants decide it.")
        return [*lines, "", *self.wrapped(conclusion(found.claim), "")]

    # Cells ----------------------------------------------------------------------------------------------------

    def needed(self, head: str, cells: Sequence[int], at: int) -> list[str]:
        """Cells with their values in a state, and the steps that wrote them; cells unchanged since the start share a
        line.
        """
        written = [(cell, self.found.writer(cell, at)) for cell in cells]
        entries = [(self.value(cell, at), f"written by step {by}") for cell, by in written if by]
        lines = self.listed(head, entries)
        start = [self.value(cell, at) for cell, by in written if not by]
        if start:
            lead = f"{INDENT}{head if not entries else '':{HEADS}}"
            # A cell and its value stay together on a line.
            text = f"since the start: {'; '.join(each.replace(' ', HARD) for each in start)}"
            folded = textwrap.wrap(text, self.width, initial_indent=lead, subsequent_indent=f"{INDENT}{'':{HEADS + 2}}")
            lines += [line.replace(HARD, " ") for line in folded]
        return lines

    def listed(self, head: str, entries: Sequence[tuple[str, str]]) -> list[str]:
        """Entries in two columns; the second text stands on the next line if the first is too long."""
        lines: list[str] = []
        for index, (text, note) in enumerate(entries):
            line = f"{INDENT}{head if index == 0 else '':{HEADS}}{text:{self.column}}  {note}"
            if len(line) <= self.width:
                lines.append(line)
            else:
                lines.append(f"{INDENT}{head if index == 0 else '':{HEADS}}{text}")
                lines += self.wrapped(note, f"{INDENT}{'':{HEADS + 2}}")
        return lines

    def readers(self, cause: Cause, cell: int) -> str:
        """A clause that names the readers of a written cell: later steps, or the property."""
        readers = self.found.readers(cause, cell)
        steps = [str(number) for number in readers if number <= self.found.end]
        parts = [f"for step{'s' if len(steps) > 1 else ''} {', '.join(steps)}"] if steps else []
        parts += [f"{self.found.claim.name} reads it"] if self.found.end + 1 in readers else []
        return "; ".join(parts)

    def changed(self, cause: Cause, cell: int) -> str:
        old, new = (self.steps[number].values[cell] for number in (cause.number - 1, cause.number))
        return f"{self.name(cell)}: {old} -> {new}"

    def value(self, cell: int, at: int) -> str:
        return f"{self.name(cell)} = {self.steps[at].values[cell]}"

    def name(self, cell: int) -> str:
        return name_of(self.trace.cells[cell])

    def wrapped(self, text: str, indent: str, *, later: str | None = None) -> list[str]:
        return textwrap.wrap(
            text, self.width, initial_indent=indent, subsequent_indent=f"{indent}  " if later is None else later
        )
