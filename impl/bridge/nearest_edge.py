"""The nearest state with a missing edge, found without a look at the whole graph each time.

A measurement gives the distance of every state to the nearest missing edge. No edge becomes missing again, so distances
only grow: an old one is a lower bound. A search leaves out what the bounds exclude, and finds what a search of the
whole graph would find. If searches have visited much for nothing, the distances are measured anew.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

from impl.bridge.paired_run import PairedCall
from impl.bridge.request_graph import EdgeKey, RequestGraph

_NEVER = 1 << 60
"""The distance of a state from which no missing edge can be reached."""

Missing = Mapping[int, Mapping[EdgeKey, PairedCall]]
"""By state: the missing edges whose home it is, and their calls."""


class NearestEdge:
    """Finds missing edges in a graph. ``missing``: the caller takes edges away, and never adds one."""

    def __init__(self, graph: RequestGraph, missing: Missing) -> None:
        self._graph, self._missing = graph, missing
        self._leading: list[list[int]] = [[] for _ in graph.states]
        """By state: the states from which a step leads there."""
        for number, steps in enumerate(graph.steps):
            for _, to, _ in steps:
                self._leading[to].append(number)
        self._measure()

    def path(self, number: int) -> list[PairedCall] | None:
        """The calls from a state to the end of the nearest missing edge; None if none can be reached.

        Of several edges at the same distance it is the one that a breadth-first search finds first.
        """
        limit = 0
        while self._bounds[number] != _NEVER:
            limit = max(limit, self._bounds[number])
            path = self._within(number, limit)
            if path is not None:
                return path
            limit += 1
            if self._wasted > len(self._bounds):
                self._measure()
        return None

    def _within(self, number: int, limit: int) -> list[PairedCall] | None:
        """The path if it has at most ``limit`` steps before the edge.

        A state on the way to an edge within the limit is never left out, nor is one from which a step leads to such a
        state. So the states that remain are visited in the order of a breadth-first search of the whole graph.
        """
        bounds, missing = self._bounds, self._missing
        before: dict[int, tuple[int, PairedCall] | None] = {number: None}
        todo = deque([(number, 0)])
        while todo:
            at, depth = todo.popleft()
            if missing.get(at):
                calls = [next(iter(missing[at].values()))]
                while (step := before[at]) is not None:
                    at, call = step
                    calls.append(call)
                return calls[::-1]
            for call, to, _ in self._graph.steps[at]:
                if to not in before and depth + 1 + bounds[to] <= limit:
                    before[to] = (at, call)
                    todo.append((to, depth + 1))
        self._wasted += len(before)
        return None

    def _measure(self) -> None:
        """Find the exact distance of each state, by steps backwards from all homes of missing edges."""
        self._wasted = 0
        """The states that searches have visited for nothing since then."""
        self._bounds = [_NEVER] * len(self._leading)
        todo = deque(number for number, edges in self._missing.items() if edges)
        for number in todo:
            self._bounds[number] = 0
        while todo:
            at = todo.popleft()
            for number in self._leading[at]:
                if self._bounds[number] == _NEVER:
                    self._bounds[number] = self._bounds[at] + 1
                    todo.append(number)
