"""Fair components: strongly connected components of a graph that satisfy every demand of fairness.

A run may stutter in any state for ever, so a single state without edges is a component like any other.

- A component satisfies a weak demand if one of its edges serves the demand, or if the demand is disabled in one of its
  states. Otherwise no subcomponent satisfies it either.
- A component satisfies a strong demand if one of its edges serves the demand, or if the demand is disabled in all of
  its states. Otherwise a subcomponent without the states in which it is enabled may still satisfy it.
"""

from __future__ import annotations

import attrs
import numpy as np

from holdfast.check.live.components import GraphPart, Mask, Numbers, part
from holdfast.lower.graph.fairness import FREE, Demands
from holdfast.lower.graph.state_graph import FLAGS, GraphArrays, words_of_flags


@attrs.frozen(eq=False)
class FairStates:
    """The states of all fair components.

    ``states`` are state numbers of the graph, ascending. ``components`` has the component number of each.
    """

    states: Numbers
    components: Numbers

    def among(self, states: Mask) -> FairStates:
        """Those that ``states``, a mask of the graph's states, marks."""
        kept = states[self.states]
        return FairStates(self.states[kept], self.components[kept])


class FairComponents:
    """Finds the fair components of subgraphs of one graph.

    With ``cautious``, a demand is also enabled where a bound of the scope cut a step that serves it. Then no run is
    fair only because of a bound.
    """

    def __init__(self, graph: GraphArrays, demands: Demands, *, cautious: bool = True) -> None:
        self.enabled = graph.possible | graph.cut if cautious else graph.possible
        self.words = words_of_flags(demands)
        self._of_whole: FairStates | None = None
        self.weak, self.strong = (self._flags(demands, strength) for strength in ("weak", "strong"))

    def _flags(self, demands: Demands, strength: str) -> Numbers:
        """The demands of one strength as a row of words: each demand has a bit, and a word has ``FLAGS`` of them."""
        row = [0] * self.words
        for number, demand in enumerate(demands.each):
            if demand.strength == strength:
                row[number // FLAGS] |= 1 << number % FLAGS
        return np.array(row, np.int64)

    def of_whole(self, graph: GraphArrays) -> FairStates:
        """The maximal fair components of the whole graph, which are found once."""
        if self._of_whole is None:
            self._of_whole = self.of(part(graph, np.ones(graph.states, np.bool_)))
        return self._of_whole

    def of(self, part: GraphPart) -> FairStates:
        """The maximal fair components of a subgraph: of nested fair components the outer one."""
        states: list[Numbers] = []
        components: list[Numbers] = []
        count = 0
        while len(part.states):
            found = part.components().astype(np.int64)
            # Sorted by component, so that reduceat can combine the rows of each component.
            order = np.argsort(found, kind="stable")
            firsts = np.flatnonzero(np.diff(found[order], prepend=-1))
            enabled = self.enabled[part.states[order]]
            somewhere = np.bitwise_or.reduceat(enabled, firsts)
            everywhere = np.bitwise_and.reduceat(enabled, firsts)
            served = self._served(part, found, len(firsts))
            lost = np.any(everywhere & ~served & self.weak, axis=1)
            starved = somewhere & ~served & self.strong
            fair = ~lost & ~np.any(starved, axis=1)
            kept = fair[found]
            states.append(part.states[kept])
            components.append(found[kept] + count)
            count += len(firsts)
            # The next round searches what may still hold a fair component. Components that violate a weak demand hold
            # none. The others go on without the states in which an unserved strong demand is enabled. Every round
            # removes states, so the loop ends.
            rest = ~kept & ~lost[found]
            rest &= ~np.any(self.enabled[part.states] & starved[found], axis=1)
            part = part.within(rest)
        if not states:
            return FairStates(np.empty(0, np.int64), np.empty(0, np.int64))
        order = np.argsort(np.concatenate(states), kind="stable")
        return FairStates(np.concatenate(states)[order], np.concatenate(components)[order])

    def _served(self, part: GraphPart, found: Numbers, count: int) -> Numbers:
        """A row of flags for each component: the demands that its edges serve."""
        served = np.zeros((count, self.words), np.int64)
        inside = (found[part.sources] == found[part.targets]) & (part.labels != FREE)
        labels = part.labels[inside].astype(np.int64)
        words = found[part.sources[inside]] * self.words + labels // FLAGS
        np.bitwise_or.at(served.ravel(), words, np.int64(1) << labels % FLAGS)
        return served
