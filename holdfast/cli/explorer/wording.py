"""The texts of the explorer's panes, as plain lines: no colours, no widgets."""

from __future__ import annotations

from itertools import pairwise

from holdfast.lower.layout import Value
from holdfast.runs.explorer.beliefs import Belief
from holdfast.runs.explorer.choices import Named, Refusal
from holdfast.runs.explorer.expression import Expression
from holdfast.runs.explorer.session import Session
from holdfast.trace.text import action, configuration, count
from holdfast.trace.trace import Step, Trace

MOST_CHANGES = 6
"""The largest number of changes of a watched value that is shown; a run may have thousands."""


def heading(session: Session) -> str:
    """The model, scope, variants and removed rules of the session, on one line."""
    trace = session.opened
    what = configuration(trace.model, trace.scope, trace.variants, trace.removed)
    return f"{what}  (no model)" if session.replayer is None else what


def place(session: Session) -> str:
    """The position in the run."""
    last = len(session.run) - 1
    return f"step {session.at} of {last}" if session.at else f"start, then {count(last, 'step')}"


def rules(session: Session) -> list[str]:
    """The texts on the screen that name rules: the heading, the violated property, and the rules that refuse a step.

    Raises UsageError for a run without a model.
    """
    system, violated = session.require_model().system, session.violated()
    titles = [prop.title for prop in system.properties if prop.name == violated]
    labels = [refusal.label for refusal in session.refusals() if isinstance(refusal, Refusal)]
    return [heading(session), *titles, *labels]


def entry(number: int, step: Step, *, violates: bool = False) -> str:
    """A step in the list of a run. A repeated step also says whether a rule refused the repetition."""
    again = f"  again: refused by {step.refused}" if step.refused else "  again" if step.repeat else ""
    called = action(step) if step.args or number else "init"
    return f"{number:>2} {'!' if violates else ' '} {called}{again}"


def loop(trace: Trace) -> str:
    """Where a lasso continues after its last step."""
    if trace.loop == len(trace.steps) - 1:
        return "then nothing happens any more"
    return f"then back to {f'step {trace.loop}' if trace.loop else 'the start'}, for ever"


def stands(belief: Belief) -> str:
    """A cell with its value, and with its former value if the step changed it."""
    ghost = "  (ghost)" if belief.cell.field.ghost else ""
    value = f"{belief.before} -> {belief.value}" if belief.changed else f"{belief.value}"
    return f"{belief.cell.name}: {value}{ghost}"


def arguments(args: Named) -> str:
    """Arguments by name: ``p=p1, s=s1``."""
    return ", ".join(f"{name}={value}" for name, value in args)


def along(values: tuple[Value, ...], at: int) -> str:
    """How a watched value changes along a run: ``0, from step 4: 1, from step 5: 2``.

    If there are many changes, only those around the step ``at`` are shown.
    """
    changes = [(step, new) for step, (old, new) in enumerate(pairwise(values), start=1) if old != new]
    if len(changes) <= MOST_CHANGES:
        return ", ".join([str(values[0]), *(f"from step {step}: {new}" for step, new in changes)])
    first = max(0, sum(step <= at for step, _ in changes) - MOST_CHANGES // 2)
    shown = changes[first : first + MOST_CHANGES]
    said = [f"from step {step}: {new}" for step, new in shown]
    before = "..." if first else str(values[0])
    return ", ".join([f"{len(changes)} changes: {before}", *said, *(["..."] if shown[-1] != changes[-1] else [])])


def watched(session: Session, expression: Expression) -> tuple[str, str]:
    """A watched expression with its value at the current step, and the changes of the value along the run."""
    values = session.watched(expression)
    return f"{expression.text} = {values[session.at]}", along(values, session.at)
