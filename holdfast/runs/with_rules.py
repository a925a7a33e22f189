"""The same run with the rules that were removed: which of its steps are refused then, and what the others do."""

from __future__ import annotations

import attrs

from holdfast.lower.layout import Layout, Value
from holdfast.lower.outcome import Cut, Refused, Taken
from holdfast.runs.missing import complete_model
from holdfast.runs.replay import Replayer
from holdfast.trace.sequences import whole
from holdfast.trace.text import name_of
from holdfast.trace.trace import Trace
from holdfast.trace.views.events import differ


@attrs.frozen
class GuardedStep:
    """A step of a run, tried with all rules.

    ``refused``: what refuses it there, "" if it is taken. ``changes``: by cell, the value before and after it.
    """

    number: int
    refused: str
    changes: tuple[tuple[str, Value, Value], ...]


@attrs.frozen
class GuardedRun:
    """A run, tried step by step with all rules: a refused step is left out, and the next one is tried.

    ``holds``: whether the property of the run's claim holds at the end; None if a state does not tell.
    """

    steps: tuple[GuardedStep, ...]
    holds: bool | None

    @property
    def first(self) -> int | None:
        """The number of the first step that is refused; None if none is."""
        return next((step.number for step in self.steps if step.refused), None)


def guarded_run(replayer: Replayer, trace: Trace) -> GuardedRun | None:
    """The run with all rules; None if no rule is removed, or for a lasso, which has no last state."""
    complete = complete_model(replayer)
    if complete is None or trace.loop is not None:
        return None
    state, found = trace.steps[0].code, []
    for number, step in enumerate(trace.steps[1:], start=1):
        if step.repeat:
            break
        match complete.step(state, *replayer.coded(step.action, dict(step.args))):
            case Taken(after):
                found.append(GuardedStep(number, "", _changes(replayer.machine.layout, state, after)))
                state = after
            case Refused(label):
                found.append(GuardedStep(number, f"{label} refuses it", ()))
            case Cut(label):
                found.append(GuardedStep(number, f"the bound {label} cuts it", ()))
    claim = None if trace.claim is None else trace.claim.name
    judged = [each for each in complete.system.properties if each.name == claim and each.kind in ("invariant", "lemma")]
    return GuardedRun(tuple(found), complete.holds(judged[0], state) if judged else None)


def _changes(layout: Layout, old: bytes, new: bytes) -> tuple[tuple[str, Value, Value], ...]:
    """The cells that differ, by their shown names; each sequence is one cell."""
    before, after = (whole(layout.cells, tuple(layout.decode(state).values())) for state in (old, new))
    return tuple(
        (name_of(cell), value, other)
        for (cell, value), (_, other) in zip(before, after, strict=True)
        if differ(value, other)
    )
