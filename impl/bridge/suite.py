"""A suite of scenario files made of a model: walks that cover the edges, the rules, or the pairs of its requests."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Literal

import attrs

from holdfast.check.budget import Meter
from impl.bridge.edge_cover import EdgeCover
from impl.bridge.pair_cover import PairCover
from impl.bridge.pairings import PAIRINGS
from impl.bridge.request_graph import RequestGraph
from impl.bridge.rule_goals import rule_goals
from impl.bridge.statement import Statement, document

Goal = Literal["edges", "rules", "pairs"]
MOST_LINES = 2_000
"""A file ends with the scenario that reaches this number of lines."""


@attrs.frozen
class ScenarioSuite:
    """The files of a suite, and what they cover.

    ``files``: texts by name. ``found``: the number of goals, which are edges, decisions of rules, or pairs.
    ``uncovered``: the names of the goals that no scenario covers. ``unasked``: the names of the goals that no request
    of the graph shows. ``remarks``: what is no operation, and what no query shows.
    """

    files: Mapping[str, str]
    scenarios: int
    steps: int
    found: int
    uncovered: tuple[str, ...]
    unasked: tuple[str, ...]
    remarks: tuple[str, ...]


def suite_of(model: str, scope: str, goal: Goal, meter: Meter | None = None) -> ScenarioSuite:
    """Make the suite of a model in a scope that it declares. ``meter``: watches the limits of the work.

    Raises UsageError for any other scope, SuiteLimitError if a limit is exceeded, and DisagreementError if the
    controller does not do as the model does.
    """
    graph = RequestGraph(PAIRINGS[model].of_scope(scope), meter)
    walks, found, uncovered, unasked = _COVERS[goal](graph)
    return ScenarioSuite(
        files=dict(_files(graph, f"{model}-{scope}-{goal}", walks)),
        scenarios=len(walks),
        steps=sum(len(walk) for walk in walks),
        found=found,
        uncovered=uncovered,
        unasked=unasked,
        remarks=_remarks(graph),
    )


Cover = tuple[list[list[Statement]], int, tuple[str, ...], tuple[str, ...]]
"""Walks, the number of goals, the goals that no walk reaches, and the goals that no request of the graph shows."""


def _walks(graph: RequestGraph, cover: EdgeCover | PairCover) -> list[list[Statement]]:
    """All walks of a cover. Raises SuiteLimitError if a limit is exceeded."""
    walks = []
    for walk in cover.walks():
        walks.append(walk)
        graph.look(len(cover.missing))
    return walks


def _edges(graph: RequestGraph) -> Cover:
    cover = EdgeCover(graph, graph.edges)
    walks = _walks(graph, cover)
    return walks, len(graph.edges), tuple(f"{requests} where {facts}" for facts, requests in cover.missing), ()


def _rules(graph: RequestGraph) -> Cover:
    goals = rule_goals(graph)
    cover = EdgeCover(graph, goals.edges.values())
    walks = _walks(graph, cover)
    uncovered = tuple(name for name, key in goals.edges.items() if key in cover.missing)
    return walks, len(goals.edges) + len(goals.open), uncovered, goals.open


def _pairs(graph: RequestGraph) -> Cover:
    cover = PairCover(graph)
    walks = _walks(graph, cover)
    return walks, len(cover.found), tuple(f"{first}, then {second}" for first, second in cover.missing), ()


_COVERS: Mapping[Goal, Callable[[RequestGraph], Cover]] = {"edges": _edges, "rules": _rules, "pairs": _pairs}


def _files(graph: RequestGraph, name: str, walks: Iterable[list[Statement]]) -> Iterator[tuple[str, str]]:
    """The names and texts of the files: scenarios are added to a file until it is long enough."""
    texts: list[str] = []
    lines = number = 0
    for place, walk in enumerate(walks, 1):
        texts.append(document(f"{name} {place}", graph.pairing.profile, walk))
        lines += texts[-1].count("\n")
        if lines >= MOST_LINES:
            number += 1
            yield f"{name}-{number:03}.yaml", "---\n".join(texts)
            texts, lines = [], 0
    if texts:
        yield f"{name}-{number + 1:03}.yaml", "---\n".join(texts)


def _remarks(graph: RequestGraph) -> tuple[str, ...]:
    pairing = graph.pairing
    alone = sorted(graph.alone.union(pairing.left_out))
    found = [f"no operation: {', '.join(alone)}"] if alone else []
    found += [f"no query shows {each}" for each in pairing.unstated]
    found += [
        f"the controller decides {action}, and other decisions are not taken" for action in sorted(graph.left_open)
    ]
    if pairing.removed:
        found.append(f"any process may send any request: the model lacks {', '.join(pairing.removed)}")
    return tuple(found)
