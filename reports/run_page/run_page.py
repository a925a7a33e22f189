"""A run as one HTML page: its diagram, each step with what it changed and needed, and the state after it.

Without its script the page lists all steps, and the state at the start. The script shows one step at a time, with the
state after it, and marks what the step needed and which steps need it. It follows the arrow keys, the slider, clicks in
the diagram, and the fragment ``#step-N``.
"""

from __future__ import annotations

from holdfast.records.explained_run import ExplainedRun
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
    )
