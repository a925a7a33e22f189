"""The state graph of a small scope with all that its page tells: states in layers, steps, and paths to what matters."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence

import attrs

from holdfast import __version__
from holdfast.check.search.state_graph_file import NumberedGraph, TooManyStatesError, state_graph
from holdfast.ir.errors import UsageError
from holdfast.ir.system import Scope, System
from holdfast.trace.text import configuration, count

MOST_STATES, MOST_ARROWS = 3_000, 15_000
"""The most states and arrows of a page: more can be neither read nor opened at once."""
WIDEST = 48
"""The most states in a line of the picture; a layer with more takes several lines."""
SPACE, LINE, LAYER, MARGIN = 22, 26, 34, 30
"""Pixels between two states of a line, between two lines of a layer, between two layers, and around the picture."""

Place = tuple[float, float]


@attrs.frozen
class DrawnState:
    """A state. ``x``, ``y``: its place in the picture. ``cells``: the cells whose value is not False, None or 0.

    ``depth``: the least number of steps to it. ``violates``, ``reaches``: names of properties and witnesses. ``steps``:
    the steps that lead on from here, by the state to which they lead. ``left_out``: the number of steps to states that
    are not drawn.
    """

    number: int
    x: float
    y: float
    depth: int
    cells: tuple[str, ...]
    is_initial: bool
    violates: str
    reaches: tuple[str, ...]
    steps: tuple[tuple[int, str], ...]
    left_out: int


@attrs.frozen
class DrawnArrow:
    """All steps from one state to another one. ``violates``: the step properties that one of them violates."""

    source: int
    begin: Place
    end: Place
    label: str
    violates: str


@attrs.frozen
class GraphPath:
    """A shortest path to a state where a witness holds, or where a property is violated.

    ``states``: their numbers. ``steps``: the step to each state but the first.
    """

    name: str
    kind: str
    states: tuple[int, ...]
    steps: tuple[str, ...]


@attrs.frozen
class DrawnGraph:
    """A state graph for its page. ``witnesses``: the names of all witnesses, in the order of the source.

    ``unreached``: the witnesses that hold in no drawn state. ``is_part``: some states are not drawn.
    """

    holdfast: str
    about: str
    summary: str
    width: int
    height: int
    states: tuple[DrawnState, ...]
    arrows: tuple[DrawnArrow, ...]
    witnesses: tuple[str, ...]
    unreached: tuple[str, ...]
    paths: tuple[GraphPath, ...]
    is_part: bool


def drawn_graph(system: System, scope: Scope, depth: int | None = None) -> DrawnGraph:
    """Draw the graph of all reachable states, or the states at most ``depth`` steps from the start.

    Raises UsageError if there are too many states or steps to draw.
    """
    graph = _small_graph(system, scope, depth)
    parents = _parents(graph)
    depths = {number: graph.nodes[number]["depth"] for number in graph}
    places, width, height = _places(graph, depths)
    labels = _labels(graph)
    witnesses = tuple(witness.name for witness in system.of_kind("witness"))
    states = tuple(_state(graph, number, depths[number], places[number], labels) for number in graph)
    reached = {name for state in states for name in state.reaches}
    left_out = sum(state.left_out for state in states)
    return DrawnGraph(
        holdfast=__version__,
        about=configuration(system.name, scope.name, system.chosen, system.removed),
        summary=_summary(len(states), graph.number_of_edges(), max(depths.values()), left_out),
        width=width,
        height=height,
        states=states,
        arrows=tuple(_arrow(graph, pair, places, labels) for pair in _pairs(graph)),
        witnesses=witnesses,
        unreached=tuple(name for name in witnesses if name not in reached),
        paths=tuple(_paths(graph, parents, witnesses)),
        is_part=left_out > 0,
    )


def _summary(states: int, steps: int, depth: int, left_out: int) -> str:
    drawn = f"{count(states, 'state')} and {count(steps, 'step')}, at most {count(depth, 'step')} deep."
    more = f" A part of the graph: {count(left_out, 'more step')} {'leads' if left_out == 1 else 'lead'} further."
    return drawn + more * (left_out > 0)


def _small_graph(system: System, scope: Scope, depth: int | None) -> NumberedGraph:
    """The graph, if it has neither too many states nor too many arrows."""
    try:
        graph = state_graph(system, scope, limit=MOST_STATES, depth=depth)
        said = f"{len(_pairs(graph)):,} arrows between its states"
    except TooManyStatesError as error:
        if error.depth < 0:
            raise
        graph = state_graph(system, scope, limit=MOST_STATES, depth=error.depth)
        said = f"more than {MOST_STATES:,} states"
    else:
        if len(_pairs(graph)) <= MOST_ARROWS:
            return graph
    raise UsageError(
        f"{system.name} has {said} in scope {scope.name}, too many to draw; choose a smaller scope, or "
        f"--depth {_deepest(graph)} for a part"
    )


def _pairs(graph: NumberedGraph) -> list[tuple[int, int]]:
    """The pairs of states with a step from one to the other, in the order of the steps: an arrow each."""
    return list(dict.fromkeys(pair for pair in graph.edges() if pair[0] != pair[1]))


def _deepest(graph: NumberedGraph) -> int:
    """The depth up to which a graph without too many states has not too many arrows either."""
    ends = sorted(max(graph.nodes[state]["depth"] for state in pair) for pair in _pairs(graph))
    deepest: int = max(graph.nodes[number]["depth"] for number in graph)
    return ends[MOST_ARROWS] - 1 if len(ends) > MOST_ARROWS else deepest


def _labels(graph: NumberedGraph) -> dict[tuple[int, int], str]:
    """By two states: the steps from one to the other."""
    found: dict[tuple[int, int], list[str]] = {}
    for source, target, edge in graph.edges(data=True):
        found.setdefault((source, target), []).append(edge["label"])
    return {pair: ", ".join(labels) for pair, labels in found.items()}


def _state(
    graph: NumberedGraph, number: int, depth: int, place: Place, labels: Mapping[tuple[int, int], str]
) -> DrawnState:
    node = graph.nodes[number]
    return DrawnState(
        number=number,
        x=place[0],
        y=place[1],
        depth=depth,
        cells=tuple(node["label"].split("\n")),
        is_initial=node["initial"],
        violates=node["violates"],
        reaches=tuple(name for name in node["reaches"].split(", ") if name),
        steps=tuple((target, labels[number, target]) for target in dict.fromkeys(graph.successors(number))),
        left_out=node["left_out"],
    )


def _arrow(
    graph: NumberedGraph, pair: tuple[int, int], places: Sequence[Place], labels: Mapping[tuple[int, int], str]
) -> DrawnArrow:
    source, target = pair
    violated = dict.fromkeys(edge["violates"] for edge in graph[source][target].values() if edge["violates"])
    return DrawnArrow(source, places[source], places[target], labels[pair], ", ".join(violated))


# Layers ---------------------------------------------------------------------------------------------------------------


def _parents(graph: NumberedGraph) -> dict[int, int | None]:
    """By state: the state before it on a shortest path; None for an initial state. States are numbered as found."""
    found: dict[int, int | None] = {number: None for number in graph if graph.nodes[number]["initial"]}
    for number in graph:
        for target in graph.successors(number):
            found.setdefault(target, number)
    return found


def _places(graph: NumberedGraph, depths: Mapping[int, int]) -> tuple[list[Place], int, int]:
    """The place of each state, and the size of the picture. A state stands below those from which steps lead to it."""
    layers: dict[int, list[int]] = {}
    for number, depth in depths.items():
        layers.setdefault(depth, []).append(number)
    widest = min(WIDEST, max(map(len, layers.values())))
    places: dict[int, Place] = {}
    y = float(MARGIN)
    for depth in sorted(layers):
        ordered = sorted(layers[depth], key=lambda each: (_middle(graph, each, depths, places), each))
        for begin in range(0, len(ordered), widest):
            line = ordered[begin : begin + widest]
            left = MARGIN + (widest - len(line)) * SPACE / 2
            places |= {number: (left + index * SPACE, y) for index, number in enumerate(line)}
            y += LINE
        y += LAYER
    return [places[number] for number in graph], 2 * MARGIN + (widest - 1) * SPACE, round(y - LINE - LAYER + MARGIN)


def _middle(graph: NumberedGraph, number: int, depths: Mapping[int, int], places: Mapping[int, Place]) -> float:
    """The middle of the states of the layer above from which a step leads here."""
    above = [places[each][0] for each in set(graph.predecessors(number)) if depths[each] == depths[number] - 1]
    return sum(above) / len(above) if above else 0.0


# Paths ----------------------------------------------------------------------------------------------------------------


def _paths(graph: NumberedGraph, parents: Mapping[int, int | None], witnesses: Sequence[str]) -> Iterator[GraphPath]:
    """For each witness and each violated property, in the order in which they are met, a shortest path."""
    ends: dict[tuple[str, str], tuple[int, ...]] = {}
    for number, node in graph.nodes(data=True):
        for kind, names in (("violated", node["violates"]), ("reached", node["reaches"])):
            for name in filter(None, names.split(", ")):
                ends.setdefault((kind, name), (number,))
    for source, target, edge in graph.edges(data=True):
        for name in filter(None, edge["violates"].split(", ")):
            ends.setdefault(("violated", name), (source, target))
    order = {name: index for index, name in enumerate(witnesses)}
    for kind, name in sorted(ends, key=lambda each: (each[0] != "violated", order.get(each[1], 0))):
        first, *rest = ends[kind, name]
        states = [*_back(first, parents), *rest]
        steps = [_step(graph, *pair, name) for pair in itertools.pairwise(states)]
        yield GraphPath(name, kind, tuple(states), tuple(steps))


def _back(number: int, parents: Mapping[int, int | None]) -> list[int]:
    found: list[int] = []
    at: int | None = number
    while at is not None:
        found.append(at)
        at = parents[at]
    return found[::-1]


def _step(graph: NumberedGraph, source: int, target: int, name: str) -> str:
    """The first step between two states; one that violates the property, if there is one."""
    edges = list(graph[source][target].values())
    chosen = next((edge for edge in edges if name in edge["violates"].split(", ")), edges[0])
    return str(chosen["label"])
