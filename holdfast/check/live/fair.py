"""Where a fair run can stay for ever: components of a graph that meet every demand of fairness.

Any state may stay as it is for ever (stuttering), so a single state without edges is a component like any other. On
the whole of a component a weak demand is met if one of its edges serves it, or one of its states does not make it
possible; if neither is so, it is met on no part of the component either. A strong demand is met if an edge serves it,
or no state makes it possible; if neither is so, it may still be met on a part without the states that do.
"""

from __future__ import annotations

import attrs
import numpy as np

from holdfast.check.live.components import GraphPart, Numbers
from holdfast.lower.graph.fairness import FREE, Demands
from holdfast.lower.graph.state_graph import FLAGS, Arrays, words_of_flags


@attrs.frozen(eq=False)
class Fair:
    """The states of fair components: numbers of the graph, ascending, and for each the number of its component."""

    states: Numbers
    components: Numbers


class FairComponents:
    """Finds them in the parts of one graph.

    ``cautious`` takes a step that a bound of the scope cut for possible: then no run is called fair that is so only
    because of the bound.
    """

    def __init__(self, graph: Arrays, demands: Demands, *, cautious: bool = True) -> None:
        self.enabled = graph.possible | graph.cut if cautious else graph.possible
        self.words = words_of_flags(demands)
        self.weak, self.strong = (self._flags(demands, strength) for strength in ("weak", "strong"))

    def _flags(self, demands: Demands, strength: str) -> Numbers:
        """The flags of all demands of one strength."""
        row = [0] * self.words
        for number, demand in enumerate(demands.each):
            if demand.strength == strength:
                row[number // FLAGS] |= 1 << number % FLAGS
        return np.array(row, np.int64)

    def of(self, part: GraphPart) -> Fair:
        """The largest fair components of a part; of nested ones the outer."""
        states: list[Numbers] = []
        components: list[Numbers] = []
        count = 0
        while len(part.states):
            found = part.components().astype(np.int64)
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
            # What may still hold a fair part: no state that makes possible what is never done.
            rest = ~kept & ~lost[found]
            rest &= ~np.any(self.enabled[part.states] & starved[found], axis=1)
            part = part.within(rest)
        if not states:
            return Fair(np.empty(0, np.int64), np.empty(0, np.int64))
        order = np.argsort(np.concatenate(states), kind="stable")
        return Fair(np.concatenate(states)[order], np.concatenate(components)[order])

    def _served(self, part: GraphPart, found: Numbers, count: int) -> Numbers:
        """For each component, the flags of the demands that edges within it serve."""
        served = np.zeros((count, self.words), np.int64)
        inside = (found[part.sources] == found[part.targets]) & (part.labels != FREE)
        labels = part.labels[inside].astype(np.int64)
        words = found[part.sources[inside]] * self.words + labels // FLAGS
        np.bitwise_or.at(served.ravel(), words, np.int64(1) << labels % FLAGS)
        return served
