"""A comparison of two models as one HTML page: figures side by side, and a run to what only one of them does."""

from __future__ import annotations

from holdfast.records.compared_models import ComparedModels
from reports.page.document import document, drawing


def render(models: ComparedModels) -> str:
    """The page of a comparison as HTML text. Equal comparisons give equal bytes."""
    sections = [("figures", "Side by side"), *((side.title.lower(), side.title) for side in models.sides)]
    sections += [("answers", "Different answers")] if models.answers else []
    diagrams = {side.title: drawing(side.run.svg, side.run.style) for side in models.sides if side.run is not None}
    return document(__package__, "diff", models=models, diagrams=diagrams, holdfast=models.holdfast, sections=sections)
