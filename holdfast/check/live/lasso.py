"""From where a fair run can stay for ever to one such run: a shortest way there, and a way round that is fair.

The way round is short, not shortest: from the entry it goes to whatever is nearest of what the demands of fairness
still want, an edge that serves one or a state that does not make it possible, and in the end back. Ties go to the
least number.
"""

from __future__ import annotations

from collections.abc import Iterable

import attrs
import numpy as np

from holdfast.check.live.components import GraphPart, Mask, Numbers, edges_of, part
from holdfast.check.live.fair import Fair, FairComponents
from holdfast.lower.graph.state_graph import FLAGS, Arrays

NONE = -1


@attrs.frozen
class Lasso:
    """A run as numbers of states: from the start to the entry, then round (for each step the label and the state, the
    entry at the end). Without a way round the run stays where it is.
    """

    stem: tuple[int, ...]
    round: tuple[tuple[int, int], ...]


def find_lasso(graph: Arrays, fairness: FairComponents, fair: Fair, owed: Mask, unmet: Mask) -> Lasso:
    """A lasso into a fair component, through a state of ``owed`` and from there on within ``unmet``."""
    stem = shortest_stem(graph, fair, owed, unmet)
    place = int(np.searchsorted(fair.states, stem[-1]))
    kept = np.zeros(graph.states, np.bool_)
    kept[fair.states[fair.components == fair.components[place]]] = True
    return Lasso(stem, _Round(part(graph, kept), fairness, stem[-1]).steps())


def shortest_stem(graph: Arrays, fair: Fair, owed: Mask, unmet: Mask) -> tuple[int, ...]:
    """A shortest run from an initial state to a fair one that passes ``owed`` and stays within ``unmet`` from there."""
    inside = np.zeros(graph.states, np.bool_)
    inside[fair.states] = True
    found = np.zeros(graph.states, np.bool_)
    levels: list[Numbers] = []
    for depth in range(2 * graph.states):
        first, last = _level(graph, depth)
        begins = first + np.flatnonzero(owed[first:last])
        goes_on = graph.targets[edges_of(graph, levels[-1])[0]] if levels else begins
        new = np.unique(np.concatenate([begins, goes_on]).astype(np.int64))
        new = new[unmet[new] & ~found[new]]
        found[new] = True
        levels.append(new)
        met = new[inside[new]]
        if len(met):
            return _back(graph, levels, owed, int(met[0]))
    raise AssertionError("a fair component was found, so some run leads there")


def _level(graph: Arrays, depth: int) -> tuple[int, int]:
    """From which to which state that many steps lead at least; none for more steps than lead to any."""
    if depth + 1 < len(graph.levels):
        return graph.levels[depth], graph.levels[depth + 1]
    return graph.states, graph.states


def _back(graph: Arrays, levels: list[Numbers], owed: Mask, end: int) -> tuple[int, ...]:
    """The run that ends there, by the least predecessor each time."""
    run = [end]
    pending = True
    for depth in range(len(levels) - 1, 0, -1):
        state = run[-1]
        # A state that owes something at its own depth is reached from anywhere.
        pending = pending and not (owed[state] and state in range(*_level(graph, depth)))
        before = levels[depth - 1] if pending else np.arange(*_level(graph, depth - 1))
        edges, sources = edges_of(graph, before)
        run.append(int(before[sources[graph.targets[edges] == state][0]]))
    return tuple(run[::-1])


class _Round:
    """Finds the way round in one fair component."""

    def __init__(self, within: GraphPart, fairness: FairComponents, entry: int) -> None:
        self.part = within
        self.entry = int(np.searchsorted(within.states, entry))
        self.enabled = fairness.enabled[within.states]
        self.weak, self.strong = _set(fairness.weak), _set(fairness.strong)
        self.offsets = np.searchsorted(within.sources, np.arange(len(within.states) + 1))

    def steps(self) -> tuple[tuple[int, int], ...]:
        """For each step its label and the number of the state it leads to."""
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
            # A strong demand counts only where the way makes it possible, which depends on the way.
            wanted |= starved

    def _walk(self, strong: set[int]) -> list[int]:
        """The edges of a way from the entry to itself on which the weak demands and these strong ones are met."""
        place, edges = self.entry, list[int]()
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
        """A shortest way to a state that does not make a weak demand possible, or over an edge that serves any."""
        return self._path(place, set(), _row(weak, len(self.enabled[0])), weak | strong)

    def _path(self, start: int, ends: set[int], weak: Numbers, labels: set[int]) -> list[int]:
        """The edges of a shortest way to one of the ends, or to a state that lacks a flag, or over such a label."""
        came_by = np.full(len(self.part.states), NONE, np.int64)
        frontier = np.array([start], np.int64)
        wanted_labels = np.array(sorted(labels), np.uint16)
        wanted_ends = np.array(sorted(ends), np.int64)
        while len(frontier):
            edges = self._edges(frontier)
            targets = self.part.targets[edges]
            serving = edges[np.isin(self.part.labels[edges], wanted_labels)]
            arriving = np.isin(targets, wanted_ends) | np.any(~self.enabled[targets] & weak, axis=1)
            last = min([*serving[:1].tolist(), *edges[arriving][:1].tolist()], default=NONE)
            if last != NONE:
                return self._trail(came_by, start, last)
            new, firsts = np.unique(targets, return_index=True)
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
    """The demands whose flags are set."""
    return {word * FLAGS + bit for word, flags in enumerate(row.tolist()) for bit in range(FLAGS) if flags >> bit & 1}


def _row(demands: Iterable[int], words: int) -> Numbers:
    row = [0] * words
    for demand in demands:
        row[demand // FLAGS] |= 1 << demand % FLAGS
    return np.array(row, np.int64)
