"""What is possible along a run, and which rules refuse the rest: said once of the start, then where it changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from holdfast.runs.explorer.choices import Chooser, Untried
from holdfast.runs.replay import Replayer
from holdfast.trace.trace import Trace

Clauses = Mapping[str, str]
"""For each action how many of its instances are possible, and which rules refuse how many: ``2 possible; ST-14 4``."""


def refusals(replayer: Replayer, trace: Trace) -> dict[int, Clauses]:
    """For the start (0) what all actions meet there, and for each step what those meet for which it is another."""
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
        if isinstance(refusal, Untried):
            parts[refusal.action].append(f"the rest of {refusal.instances:,} not tried")
        else:
            by = f"cut by {refusal.label}" if refusal.by_bound else refusal.label
            parts[refusal.action].append(f"{by} {len(refusal.args)}")
    return {action: "; ".join(clauses) for action, clauses in parts.items()}
