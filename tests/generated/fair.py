"""Liveness by fair components: sets of states where a run can stay for ever, fairly, and still owe the goal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import attrs
import networkx as nx

from tests.generated.oracle import Graph, Oracle, Prop

Demand = tuple[int, tuple[Any, ...]]
"""The number of an action, and values of the parameters in its ``per``."""


@attrs.define
class Fairness:
    """The steps of a graph with the demands of fairness."""

    strong: dict[Demand, bool]
    possible: list[set[Demand]]
    cut: list[set[Demand]]
    served: list[dict[int, set[Demand]]]
    """For each state: the successors, with the demands that a step to each of them serves."""


def fairness(oracle: Oracle, graph: Graph) -> Fairness:
    """All demands, the states in which each is possible, and the demands that each step serves."""
    real = [name for name in oracle.fields if name not in oracle.ghosts]
    lasting = [oracle.key(state, real) for state in graph.states]
    found = Fairness({}, [], [], [])

    def demand(act: int, args: tuple[Any, ...]) -> Demand | None:
        mark, names = oracle.acts[act].mark, [name for name, _ in oracle.acts[act].types]
        if mark.fair is None:
            return None
        key = (act, tuple(args[names.index(name)] for name in mark.per))
        found.strong[key] = mark.fair == "strong"
        return key

    for here, edges in enumerate(graph.edges):
        served: dict[int, set[Demand]] = {}
        possible: set[Demand] = set()
        for edge in edges:
            into = served.setdefault(edge.target, set())
            asked = demand(edge.act, edge.args)
            if asked is not None and lasting[edge.target] != lasting[here]:
                into.add(asked)
                possible.add(asked)
        cuts = {asked for act, args in graph.cuts[here] if (asked := demand(act, args)) is not None}
        found.served.append(served)
        found.possible.append(possible)
        found.cut.append(cuts)
    return found


def violated(graph: Graph, fair: Fairness, prop: Prop, args: dict[str, Any], *, cautious: bool) -> bool:
    """Whether a fair run violates the property; ``cautious`` treats cut steps as possible."""
    asked = [state.holds(prop.name, **args) for state in graph.states]
    if prop.mark.kind == "eventually_always":
        # A run may go anywhere, and must come to a state without the condition again and again.
        false = {here for here, holds in enumerate(asked) if not holds}
        every = nx.DiGraph((of, to) for of in range(len(asked)) for to in fair.served[of])
        every.add_nodes_from(range(len(asked)))
        return any(can_stay(fair, part, cautious, false) for part in nx.strongly_connected_components(every))
    if prop.mark.kind == "always_eventually":
        asked = [(True, holds) for holds in asked]
    unmet = {here for here, (_, goal) in enumerate(asked) if not goal}
    whole = nx.DiGraph()
    whole.add_nodes_from(unmet)
    whole.add_edges_from((of, to) for of in unmet for to in fair.served[of] if to in unmet)
    pending: set[int] = set()
    for here in unmet:
        if asked[here][0] and here not in pending:
            pending |= {here, *nx.descendants(whole, here)}
    return any(can_stay(fair, part, cautious) for part in nx.strongly_connected_components(whole.subgraph(pending)))


def can_stay(fair: Fairness, part: Iterable[int], cautious: bool, among: set[int] | None = None) -> bool:
    """Whether a fair run can stay for ever in some of these states, which form a strongly connected component.

    ``among``: the run has to visit one of these again and again (None: any states).
    """
    states = set(part)
    served = {asked for of in states for to, labels in fair.served[of].items() if to in states for asked in labels}
    possible = {of: fair.possible[of] | (fair.cut[of] if cautious else set()) for of in states}
    fewer = set(states)
    for asked, strong in fair.strong.items():
        if asked in served:
            continue
        if strong:
            fewer -= {of for of in states if asked in possible[of]}
        elif all(asked in possible[of] for of in states):
            return False
    if fewer == states:
        return among is None or bool(among & states)
    inner = nx.DiGraph()
    inner.add_nodes_from(fewer)
    inner.add_edges_from((of, to) for of in fewer for to in fair.served[of] if to in fewer)
    return any(can_stay(fair, kept, cautious, among) for kept in nx.strongly_connected_components(inner))
