"""Walks through a graph of requests that take every edge of a set: a few long ones, each edge once if possible."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from impl.bridge.nearest_edge import NearestEdge
from impl.bridge.paired_run import PairedCall, PairedRun
from impl.bridge.request_graph import EdgeKey, RequestGraph
from impl.bridge.statement import Statement, setup_statements, taken

MOST_STEPS = 400
"""A walk ends at this number of steps, so that a failure in a scenario has a short history."""


class EdgeCover:
    """Covers edges by walks. ``missing``: the edges that no walk has taken yet."""

    def __init__(self, graph: RequestGraph, edges: Iterable[EdgeKey]) -> None:
        self.graph = graph
        self.missing = dict.fromkeys(edges)
        self._at: dict[int, dict[EdgeKey, PairedCall]] = {}
        """By state: the missing edges whose home it is, and their calls."""
        for key in self.missing:
            edge = graph.edges[key]
            self._at.setdefault(edge.home, {})[key] = edge.call
        self._left = Counter(facts for facts, _ in self.missing)
        """By facts about the controller: the number of missing edges."""
        self._nearest = NearestEdge(graph, self._at)

    def walks(self) -> Iterator[list[Statement]]:
        """Walks, as the steps of a scenario, until no walk can take a missing edge any more.

        Raises DisagreementError if the controller does not do as the model does.
        """
        for number, start in zip(self.graph.starts, self.graph.pairing.starts, strict=True):
            while self._nearest.path(number) is not None:
                yield self._walk(start)

    def _walk(self, start: bytes) -> list[Statement]:
        """One walk: from a state to the nearest one with a missing edge, until there is none."""
        run = PairedRun(self.graph.pairing, start)
        steps = setup_statements(self.graph.pairing, run)
        while True:
            steps += self._loops(run)
            path = self._nearest.path(self.graph.number(run.state))
            if path is None or len(steps) >= MOST_STEPS:
                return steps
            for call in path:
                steps += self._take(run, call)

    def _take(self, run: PairedRun, call: PairedCall) -> list[Statement]:
        key = self.graph.key(run.state, call)
        if key not in self.missing:
            # Where the step was taken before, queries have shown what it changes.
            return taken(run, call, queries=False)
        del self.missing[key]
        self._left[key[0]] -= 1
        del self._at[self.graph.edges[key].home][key]
        return taken(run, call)

    def _loops(self, run: PairedRun) -> list[Statement]:
        """Take the missing edges of the present state that do not lead to another state, also those of other homes."""
        steps: list[Statement] = []
        if not self._left[self.graph.facts(run.state)]:
            return steps
        for kind in ("refusal", "repeat"):
            for call in list(run.calls(kind)):
                if self.graph.key(run.state, call) in self.missing:
                    steps += self._take(run, call)
        return steps
