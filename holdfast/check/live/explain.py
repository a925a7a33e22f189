"""Why a lasso is fair: for each demand, the step that serves it, or the rules that refuse it in a state of the loop."""

from __future__ import annotations

import itertools
from functools import partial

from holdfast.lower.graph.fairness import Demand
from holdfast.lower.outcome import Refused
from holdfast.lower.python.interpreter import Args
from holdfast.runs.lasso_judge import FairnessEvidence, LassoJudge
from holdfast.runs.replay import Replayer, Script

Reasons = tuple[tuple[str, str], ...]
"""Pairs of a way to satisfy demands and a text with the demands that are satisfied in this way."""

TAKEN, BETWEEN, NEVER = "taken", "not possible", "never possible on the way round"

MOST_RULES = 3
"""The largest number of rules that a reason names."""


def why_fair(replayer: Replayer, script: Script) -> Reasons:
    """Why the lasso is fair. Demands on one action with the same way and the same reason are listed together.

    ``script`` must be a lasso that the model can take and that is fair.
    """
    states = replayer.states(script)
    assert isinstance(states, tuple), "the run was found on the model"
    assert script.loop is not None, "the run is a lasso"
    judge = replayer.lassos
    ways: dict[str, dict[tuple[str, str], list[Demand]]] = {TAKEN: {}, BETWEEN: {}, NEVER: {}}
    for met in judge.fairness(states, script.steps, script.loop):
        way, reason = _reason(judge, met, states)
        ways[way].setdefault((met.demand.action, reason), []).append(met.demand)
    return tuple(
        (way, "; ".join(f"{_named(judge, demands)} {reason}" for (_, reason), demands in groups.items()))
        for way, groups in ways.items()
        if groups
    )


def _named(judge: LassoJudge, demands: list[Demand]) -> str:
    """The names of the demands; only the name of the action if these are all demands on it."""
    action = demands[0].action
    every = [demand for demand in judge.demands.each if demand.action == action]
    return action if demands == every else ", ".join(map(str, demands))


def _reason(judge: LassoJudge, met: FairnessEvidence, states: tuple[bytes, ...]) -> tuple[str, str]:
    """The way in which a demand is satisfied, and a text that says in which step or why."""
    if met.taken is not None:
        return TAKEN, f"in step {met.taken}"
    assert met.impossible is not None, "the run was found to be fair"
    why = _refusal(judge, met, states[met.impossible])
    if not met.ever_possible:
        return NEVER, why
    place = f"after step {met.impossible}" if met.impossible else "at the start"
    return BETWEEN, f"{place}, {why}"


def _refusal(judge: LassoJudge, met: FairnessEvidence, state: bytes) -> str:
    """The rules that refuse the steps which would serve the demand, in a state in which none of them is possible."""
    machine, demand = judge.machine, met.demand
    action = machine.system.action(demand.action)
    wanted = dict(demand.values)
    choices = []
    for param in action.params:
        codes = range(machine.layout.codes(param.type))
        decode = partial(machine.layout.decode_value, param.type)
        choices.append([code for code in codes if param.name not in wanted or decode(code) == wanted[param.name]])
    # A dictionary as an ordered set: the rules appear in the order of the arguments.
    labels: dict[str, None] = {}
    for args in itertools.product(*choices):
        labels[_label(judge, action.name, args, state)] = None
    # A step that no rule refuses has an empty label. It changes nothing, or it would serve the demand.
    named = [label for label in labels if label]
    if not named:
        return "which would change nothing"
    more = f" and {len(named) - MOST_RULES} more" if len(named) > MOST_RULES else ""
    return f"by {', '.join(named[:MOST_RULES])}{more}"


def _label(judge: LassoJudge, action: str, args: Args, state: bytes) -> str:
    outcome = judge.machine.step(state, action, args)
    return outcome.label if isinstance(outcome, Refused) else ""
