"""A run as one HTML page: its diagram, each step with what it changed and needed, and the state after it.

Without its script the page lists all steps, and the state at the start. The script shows one step at a time, with the
state after it, and follows the arrow keys, the slider, clicks in the diagram, and the fragment ``#step-N``.
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.records.explained_run import ExplainedRun, ShownCell
from reports.page.document import document, drawing


def render(run: ExplainedRun) -> str:
    """The page of a run as HTML text. Equal runs give equal bytes."""
    sections = [("run", "The run"), ("state", "The state")]
    sections += [("why", "Why")] if run.led is not None else []
    sections += [("with", "With the rule")] if run.with_rules else []
    sections += [("rules", "Rules")] if run.rules else []
    return document(
        __package__,
        "run",
        run=run,
        holdfast=run.holdfast,
        sections=sections,
        diagram=drawing(run.svg, run.style) if run.svg else None,
        homes=list(_homes(run)),
    )


def _homes(run: ExplainedRun) -> Iterator[tuple[str, list[ShownCell]]]:
    """The elements of the run in the order of their first cell, each with its cells."""
    for home in dict.fromkeys(cell.home for cell in run.cells):
        yield home, [cell for cell in run.cells if cell.home == home]
