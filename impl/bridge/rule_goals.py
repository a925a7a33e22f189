"""The edges that decide the rules of a model: for each rule one that it changes, and one that it leaves as it is.

A rule decides a request if the model without the rule answers it differently, or ends in another state.
"""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from holdfast.ir.removal import remove_rules
from holdfast.lower.outcome import Outcome, Refused
from holdfast.lower.python.interpreter import Args, Interpreter
from impl.bridge.request_graph import EdgeKey, RequestEdge, RequestGraph

DECIDES, ALLOWS = "decides", "leaves as it is"


@attrs.frozen
class RuleGoals:
    """For each rule and way, such as ``ST-14 decides``, the first edge that shows it. ``open``: those without edge."""

    edges: dict[str, EdgeKey]
    open: tuple[str, ...]


def rule_goals(graph: RequestGraph) -> RuleGoals:
    """The goals of all rules that stand in an action which asks the controller for something."""
    system = graph.pairing.machine.system
    by_action: dict[str, list[RequestEdge]] = {}
    for edge in graph.edges.values():
        by_action.setdefault(edge.call.action, []).append(edge)
    found: dict[str, EdgeKey] = {}
    wanted: list[str] = []
    for rule in system.rules:
        edges = [edge for action in rule.actions for edge in by_action.get(action, ())]
        names = {True: f"{rule.label} {DECIDES}", False: f"{rule.label} {ALLOWS}"}
        # A rule that the pairing has removed decides nothing.
        if not edges or names[True] in wanted or rule.label in system.removed:
            continue
        wanted += names.values()
        for edge, decides in _decisions(graph, rule.label, edges):
            found.setdefault(names[decides], edge.key)
            if all(name in found for name in names.values()):
                break
    return RuleGoals(found, tuple(name for name in wanted if name not in found))


def _decisions(graph: RequestGraph, label: str, edges: Iterable[RequestEdge]) -> Iterable[tuple[RequestEdge, bool]]:
    """Whether a rule decides each edge."""
    machine = graph.pairing.machine
    lacking = Interpreter(remove_rules(machine.system, [label]), machine.scope, ghosts=frozenset(), properties=())
    for edge in edges:
        state, codes = graph.states[edge.home], graph.pairing.codes(edge.call.action, edge.call.values)
        yield edge, _outcomes(machine, state, edge, codes) != _outcomes(lacking, state, edge, codes)


def _outcomes(machine: Interpreter, state: bytes, edge: RequestEdge, codes: Iterable[Args]) -> set[object]:
    """What becomes of an edge: states and errors. Nobody tells rules apart that refuse with the same error."""
    return {_told(machine.step(state, edge.call.action, each)) for each in codes}


def _told(outcome: Outcome) -> object:
    # A rule of brokers answers nothing: the request is not sent.
    return ("refused", outcome.error) if isinstance(outcome, Refused) else outcome
