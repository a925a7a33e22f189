"""Subgraphs of a state graph, and their strongly connected components."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

from holdfast.lower.graph.state_graph import GraphArrays

Numbers = NDArray[np.int64]
Mask = NDArray[np.bool_]


@attrs.frozen(eq=False)
class GraphPart:
    """A subgraph: some states of a graph and all edges between them.

    ``states`` are state numbers of the graph, ascending. ``sources`` and ``targets`` have an entry for each edge: an
    index into ``states``. Edges are sorted by source. ``labels`` are the demands that the edges serve.
    """

    states: Numbers
    sources: NDArray[np.int32]
    targets: NDArray[np.int32]
    labels: NDArray[np.uint16]

    def components(self) -> NDArray[np.int32]:
        """For each state, the number of its strongly connected component (numbers begin at 0)."""
        count = len(self.states)
        matrix = csr_matrix((np.ones(len(self.sources)), (self.sources, self.targets)), shape=(count, count))
        _, found = connected_components(matrix, directed=True, connection="strong")
        return np.asarray(found, np.int32)

    def within(self, kept: Mask) -> GraphPart:
        """The subgraph of the states that ``kept`` marks; ``kept`` has an entry for each of ``states``."""
        return self._of(kept, self.sources, self.targets, self.labels, self.states[kept])

    def _of(self, kept: Mask, sources: Any, targets: Any, labels: Any, states: Numbers) -> GraphPart:
        # The new index of each kept state is the number of kept states before it.
        places = np.cumsum(kept, dtype=np.int32) - np.int32(1)
        edges = kept[sources] & kept[targets]
        return GraphPart(states, places[sources[edges]], places[targets[edges]], labels[edges])


def part(graph: GraphArrays, kept: Mask) -> GraphPart:
    """The subgraph of the states that ``kept`` marks; ``kept`` has an entry for each state of the graph."""
    states = np.flatnonzero(kept)
    edges, sources = edges_of(graph, states)
    inside = kept[graph.targets[edges]]
    edges, sources = edges[inside], sources[inside]
    places = np.cumsum(kept, dtype=np.int32) - np.int32(1)
    return GraphPart(states, sources.astype(np.int32), places[graph.targets[edges]], graph.labels[edges])


def edges_of(graph: GraphArrays, states: Numbers) -> tuple[Numbers, Numbers]:
    """The edges that leave ``states``, state by state. Returns edge numbers and, for each, an index into ``states``."""
    starts = graph.offsets[states]
    counts = graph.offsets[states + 1] - starts
    sources = np.repeat(np.arange(len(states)), counts)
    # A state's edges are consecutive. ``first`` is where they begin in the answer, ``starts`` where in the graph.
    first = np.cumsum(counts) - counts
    return np.arange(len(sources)) + np.repeat(starts - first, counts), sources


def reached(graph: GraphArrays, seeds: Mask, within: Mask) -> Mask:
    """The states that runs from ``seeds`` reach inside ``within``, seeds included. All three are masks of states."""
    found = seeds & within
    frontier = np.flatnonzero(found)
    while len(frontier):
        targets = graph.targets[edges_of(graph, frontier)[0]]
        new = np.unique(targets[within[targets] & ~found[targets]])
        found[new] = True
        frontier = new.astype(np.int64)
    return found
