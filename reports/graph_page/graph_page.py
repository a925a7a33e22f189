"""A state graph as one HTML page: a picture in layers, paths to witnesses and violations, and each state."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from holdfast.records.drawn_graph import DrawnGraph, DrawnState
from reports.page.document import document, drawing

COLOURS = 6
"""The number of colours for witnesses; the style sheet has a class for each."""
RADIUS = 6


def render(graph: DrawnGraph) -> str:
    """The page of a graph as HTML text. Equal graphs give equal bytes."""
    colours = {name: f"w{index % COLOURS}" for index, name in enumerate(graph.witnesses)}
    picture = drawing("\n".join(_picture(graph, colours)))
    sections = [("graph", "The graph"), ("paths", "Paths"), ("states", "States")]
    return document(
        __package__,
        "graph",
        graph=graph,
        colours=colours,
        picture=picture,
        holdfast=graph.holdfast,
        sections=sections,
    )


def _picture(graph: DrawnGraph, colours: dict[str, str]) -> Iterator[str]:
    """The lines of the picture: all arrows, and the states above them. All texts are escaped."""
    about = f"State graph: {graph.summary}"
    size = f'width="{graph.width}" height="{graph.height}" viewBox="0 0 {graph.width} {graph.height}"'
    yield f'<svg {size} role="img" aria-label="{escape(about)}">'
    for arrow in graph.arrows:
        (x1, y1), (x2, y2) = arrow.begin, arrow.end
        kind = "arrow violated" if arrow.violates else "arrow"
        title = f"<title>{escape(arrow.label)}</title>"
        yield f'<line class="{kind}" x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}">{title}</line>'
    for state in graph.states:
        title = f"<title>{escape(_about(state))}</title>"
        circle = (
            f'<circle class="{_kind(state, colours)}" cx="{state.x:g}" cy="{state.y:g}" r="{RADIUS}">{title}</circle>'
        )
        yield f'<a href="#state-{state.number}" data-state="{state.number}">{circle}</a>'
    yield "</svg>"


def _kind(state: DrawnState, colours: dict[str, str]) -> str:
    found = ["initial"] if state.is_initial else []
    if state.violates:
        return " ".join([*found, "violated"])
    return " ".join([*found, *(colours[name] for name in state.reaches[:1])]) or "plain"


def _about(state: DrawnState) -> str:
    said = [f"violates {state.violates}"] if state.violates else []
    said += [f"reaches {name}" for name in state.reaches]
    return "\n".join([f"state {state.number}, depth {state.depth}", *said, *state.cells])
