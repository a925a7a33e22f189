"""The enabled and refused instances along a run: all actions at the start, later only the actions that changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from holdfast.runs.explorer.choices import Chooser, UntriedAction
from holdfast.runs.replay import Replayer
from holdfast.trace.trace import Trace

Clauses = Mapping[str, str]
"""For each action the number of possible instances, and the number that each rule refuses: ``2 possible; ST-14 4``."""


def refusals(replayer: Replayer, trace: Trace) -> dict[int, Clauses]:
    """By step number: for the start (0) a clause for each action, for a step only the clauses that changed."""
    chooser = Chooser(replayer)
    found: dict[int, Clauses] = {}
    last: Clauses = {}
    for number, step in enumerate(trace.steps):
        if not step.repeat:
            clauses = _clauses(chooser, step.code)
            found[number] = {action: clause for action, clause in clauses.items() if last.get(action) != clause}
            last = clauses
    return {number: clauses for number, clauses in found.items() if clauses}


def _clauses(chooser: Chooser, state: bytes) -> Clauses:
    possible = Counter(choice.step.action for choice in chooser.choices(state))
    parts = {action.name: [f"{possible[action.name]} possible"] for action in chooser.actions}
    for refusal in chooser.refusals(state):
        if isinstance(refusal, UntriedAction):
            parts[refusal.action].append(f"the rest of {refusal.instances:,} not tried")
        else:
            by = f"cut by {refusal.label}" if refusal.by_bound else refusal.label
            parts[refusal.action].append(f"{by} {len(refusal.args)}")
    return {action: "; ".join(clauses) for action, clauses in parts.items()}
