"""From fair components to one lasso: a shortest stem into a component, and a fair loop in it.

The loop is short, but not the shortest one. From the entry it repeatedly takes a shortest path to the nearest place
that satisfies an open demand: an edge that serves the demand, or a state in which it is disabled. Then it returns to
the entry. Ties go to the least number.
"""

from __future__ import annotations

from collections.abc import Iterable

import attrs
import numpy as np

from holdfast.check.live.components import GraphPart, Mask, Numbers, edges_of, part
from holdfast.check.live.fair import FairComponents, FairStates
from holdfast.lower.graph.state_graph import FLAGS, GraphArrays

NONE = -1


@attrs.frozen
class Lasso:
    """A lasso as state numbers.

    ``stem``: the states from the start to the entry of the loop. ``round``: for each step of the loop, its label and
    the state that it leads to; the last one is the entry. An empty ``round`` means that the run stutters in the entry.
    """

    stem: tuple[int, ...]
    round: tuple[tuple[int, int], ...]


def find_lasso(graph: GraphArrays, fairness: FairComponents, fair: FairStates, owed: Mask, unmet: Mask) -> Lasso:
    """A lasso into a fair component. Its stem passes a state of ``owed``, and from there on stays within ``unmet``."""
    return _with_round(graph, fairness, fair, shortest_stem(graph, fair, owed, unmet))


def find_relapse(graph: GraphArrays, fairness: FairComponents, fair: FairStates, unmet: Mask) -> Lasso | None:
    """A lasso that visits a state of ``unmet`` in every round; None if no fair component has such a state.

    It enters its loop in such a state, so each round returns there. ``fair`` are the maximal fair components of the
    whole graph: whatever a fair run visits again and again lies in one of them.
    """
    entries = fair.among(unmet)
    if not len(entries.states):
        return None
    anywhere = np.ones(graph.states, np.bool_)
    return _with_round(graph, fairness, fair, shortest_stem(graph, entries, anywhere, anywhere))


def _with_round(graph: GraphArrays, fairness: FairComponents, fair: FairStates, stem: tuple[int, ...]) -> Lasso:
    """The stem with a fair loop in the component of its last state."""
    place = int(np.searchsorted(fair.states, stem[-1]))
    kept = np.zeros(graph.states, np.bool_)
    kept[fair.states[fair.components == fair.components[place]]] = True
    return Lasso(stem, _Round(part(graph, kept), fairness, stem[-1]).steps())


def shortest_stem(graph: GraphArrays, fair: FairStates, owed: Mask, unmet: Mask) -> tuple[int, ...]:
    """A shortest run from an initial state to a fair state that passes ``owed`` and then stays within ``unmet``.

    This is a breadth-first search in which each state of ``owed`` joins at its own depth in the graph: the part of the
    run before it is arbitrary. ``levels[d]`` holds the states that a run which owes the goal reaches first after ``d``
    steps.
    """
    inside = np.zeros(graph.states, np.bool_)
    inside[fair.states] = True
    found = np.zeros(graph.states, np.bool_)
    levels: list[Numbers] = []
    # Owed states begin at a depth below graph.states, and a path among unmet states is shorter than graph.states.
    for depth in range(2 * graph.states):
        first, last = _level(graph, depth)
        begins = first + np.flatnonzero(owed[first:last])
        goes_on = graph.targets[edges_of(graph, levels[-1])[0]] if levels else begins
        new = np.unique(np.concatenate([begins, goes_on]).astype(np.int64))
        new = new[unmet[new] & ~found[new]]
        found[new] = True
        levels.append(new)
        # ``new`` is sorted, so met[0] is the least fair state at this distance.
        met = new[inside[new]]
        if len(met):
            return _back(graph, levels, owed, int(met[0]))
    raise AssertionError("a fair component was found, so some run leads there")


def _level(graph: GraphArrays, depth: int) -> tuple[int, int]:
    """The range of the states at this depth of the graph; an empty range beyond the last level."""
    if depth + 1 < len(graph.levels):
        return graph.levels[depth], graph.levels[depth + 1]
    return graph.states, graph.states


def _back(graph: GraphArrays, levels: list[Numbers], owed: Mask, end: int) -> tuple[int, ...]:
    """The run that ends in the state ``end``, found backwards by the least predecessor each time.

    ``pending`` tells whether the run still owes the goal here: if so, its predecessor is in the previous level of
    ``levels``. Before the debt began, it is any state of the previous depth of the graph.
    """
    run = [end]
    pending = True
    for depth in range(len(levels) - 1, 0, -1):
        state = run[-1]
        # A state of ``owed`` at its own depth starts the debt, so its predecessor need not owe anything.
        pending = pending and not (owed[state] and state in range(*_level(graph, depth)))
        before = levels[depth - 1] if pending else np.arange(*_level(graph, depth - 1))
        edges, sources = edges_of(graph, before)
        run.append(int(before[sources[graph.targets[edges] == state][0]]))
    return tuple(run[::-1])


class _Round:
    """Finds the loop in one fair component.

    States are indices into ``part.states`` here. Sets of demands are Python sets of demand numbers.
    """

    def __init__(self, within: GraphPart, fairness: FairComponents, entry: int) -> None:
        self.part = within
        self.entry = int(np.searchsorted(within.states, entry))
        self.enabled = fairness.enabled[within.states]
        self.weak, self.strong = _set(fairness.weak), _set(fairness.strong)
        self.offsets = np.searchsorted(within.sources, np.arange(len(within.states) + 1))

    def steps(self) -> tuple[tuple[int, int], ...]:
        """The steps of the loop: for each, its label and the number of the state that it leads to."""
        wanted: set[int] = set()
        while True:
            edges = self._walk(wanted)
            places = [self.entry, *(int(self.part.targets[edge]) for edge in edges)]
            labels = [int(self.part.labels[edge]) for edge in edges]
            possible = set().union(*(_set(self.enabled[place]) for place in places))
            starved = (possible & self.strong) - set(labels)
            if not starved:
                numbers = (int(self.part.states[place]) for place in places[1:])
                return tuple(zip(labels, numbers, strict=True))
            # A strong demand counts only if it is enabled in a state of the loop, which depends on the loop. So add
            # the violated ones and try again. ``wanted`` grows in every round, so this ends.
            wanted |= starved

    def _walk(self, strong: set[int]) -> list[int]:
        """The edges of a loop from the entry that satisfies all weak demands and serves these strong ones."""
        place, edges = self.entry, list[int]()
        # A weak demand that is disabled in the entry is satisfied already.
        weak = self.weak & _set(self.enabled[place])
        strong = set(strong)
        while weak or strong:
            leg = self._nearest(place, weak, strong)
            for edge in leg:
                place = int(self.part.targets[edge])
                served = {int(self.part.labels[edge])}
                weak = (weak & _set(self.enabled[place])) - served
                strong -= served
            edges += leg
        return edges + (self._home(place) if edges else [])

    def _home(self, place: int) -> list[int]:
        return [] if place == self.entry else self._path(place, {self.entry}, np.zeros_like(self.enabled[0]), set())

    def _nearest(self, place: int, weak: set[int], strong: set[int]) -> list[int]:
        """A shortest path to a state in which a weak demand is disabled, or over an edge that serves any demand."""
        return self._path(place, set(), _row(weak, len(self.enabled[0])), weak | strong)

    def _path(self, start: int, ends: set[int], weak: Numbers, labels: set[int]) -> list[int]:
        """The edges of a shortest path from ``start`` to one of three targets: a state of ``ends``, a state in which a
        demand of the flags ``weak`` is disabled, or an edge with one of the ``labels``.
        """
        came_by = np.full(len(self.part.states), NONE, np.int64)
        frontier = np.array([start], np.int64)
        wanted_labels = np.array(sorted(labels), np.uint16)
        wanted_ends = np.array(sorted(ends), np.int64)
        while len(frontier):
            edges = self._edges(frontier)
            targets = self.part.targets[edges]
            serving = edges[np.isin(self.part.labels[edges], wanted_labels)]
            arriving = np.isin(targets, wanted_ends) | np.any(~self.enabled[targets] & weak, axis=1)
            # Of all edges that reach a target, the least number wins.
            last = min([*serving[:1].tolist(), *edges[arriving][:1].tolist()], default=NONE)
            if last != NONE:
                return self._trail(came_by, start, last)
            new, firsts = np.unique(targets, return_index=True)
            # ``firsts`` has the first edge in ``edges`` to each new state.
            fresh = (came_by[new] == NONE) & (new != start)
            came_by[new[fresh]] = edges[firsts[fresh]]
            frontier = new[fresh].astype(np.int64)
        raise AssertionError("the component is strongly connected, and meets every demand")

    def _edges(self, places: Numbers) -> Numbers:
        counts = self.offsets[places + 1] - self.offsets[places]
        first = np.cumsum(counts) - counts
        edges: Numbers = np.arange(int(counts.sum())) + np.repeat(self.offsets[places] - first, counts)
        return edges

    def _trail(self, came_by: Numbers, start: int, last: int) -> list[int]:
        edges = [last]
        while self.part.sources[edges[-1]] != start:
            edges.append(int(came_by[self.part.sources[edges[-1]]]))
        return edges[::-1]


def _set(row: Numbers) -> set[int]:
    """The numbers of the demands whose flags are set in a row."""
    return {word * FLAGS + bit for word, flags in enumerate(row.tolist()) for bit in range(FLAGS) if flags >> bit & 1}


def _row(demands: Iterable[int], words: int) -> Numbers:
    row = [0] * words
    for demand in demands:
        row[demand // FLAGS] |= 1 << demand % FLAGS
    return np.array(row, np.int64)
