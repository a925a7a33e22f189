"""Bounded model checking for any sizes: asks whether a run of at most N steps violates a property.

It needs no lemmas, and it says nothing about longer runs.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated, Any, Literal

import attrs
from cattrs import override

from holdfast.check.budget import INTERRUPTED, Budget, Meter, interruptible
from holdfast.check.json_values import NextProperty, as_object
from holdfast.check.prove.asking import Askers, LimitExceeded
from holdfast.check.prove.counterexample import claim_of
from holdfast.check.prove.prover import SolverLimits, label
from holdfast.check.result import HOLDS, OUT_OF_BUDGET, VIOLATED
from holdfast.ir.errors import UsageError
from holdfast.ir.ghosts import ghosts_read
from holdfast.ir.system import System
from holdfast.lower.python.interpreter import Args, Interpreter
from holdfast.lower.smt.instance import NotFound, StateSequence
from holdfast.lower.smt.logic import Logic
from holdfast.lower.smt.theory import Obligation, obligations
from holdfast.runs.selection import select
from holdfast.runs.where import where_it_fails
from holdfast.trace.text import render
from holdfast.trace.trace import Origin, Trace

DepthVerdict = Literal["none_within", "violated", "unknown"]

NO_BUDGET = Budget()


@attrs.frozen
class DepthResult:
    """The answer. ``none_within``: no violation within ``depth`` steps. ``violated``: ``trace`` shows a violation.

    ``unknown``: ``reason`` says what had no answer at ``depth``.
    """

    model: str
    verdict: Annotated[DepthVerdict, NextProperty("exit_code")]
    depth: int
    queries: int
    reason: str = ""
    trace: Annotated[Trace | None, override(rename="finding")] = None

    @property
    def exit_code(self) -> int:
        """12 violated, 20 no answer, 0 nothing within the depth."""
        return {"none_within": HOLDS, "violated": VIOLATED, "unknown": OUT_OF_BUDGET}[self.verdict]

    def text(self) -> str:
        """The answer as a text for people."""
        if self.trace is not None:
            return f"{render(self.trace)}\n\n{self.model}: violated after {self.depth} steps"
        if self.verdict == "unknown":
            return f"{self.model}: no answer at depth {self.depth}: {self.reason}"
        return f"{self.model}: nothing violated within {self.depth} steps, for any sizes ({self.queries:,} queries)"

    def to_json(self) -> dict[str, Any]:
        """The answer as JSON values."""
        return {"engine": "prove", **as_object(self)}


def unroll(
    system: System,
    depth: int,
    *,
    properties: Sequence[str] | None = None,
    budget: Budget = NO_BUDGET,
    progress: Callable[[str], None] | None = None,
    target: str | None = None,
    cores: int | None = None,
    limits: SolverLimits | None = None,
) -> DepthResult:
    """Look for a violation within ``depth`` steps in any sizes, the shortest runs first.

    The arguments are those of ``prove``. Raises UsageError if the names select nothing provable.
    """
    selection = select(system, properties)
    goals = selection.of_kind("invariant", "lemma", "step")
    if not goals and not selection.idempotent:
        said = "none of these names can be proved; name an invariant or a @step"
        raise UsageError(f"{', '.join(properties or ())}: {said}")
    meter, limit = Meter(budget), limits or SolverLimits()
    ghosts = ghosts_read(system, goals)
    dues = obligations(system.actions, goals, selection.idempotent)
    with interruptible(meter), Askers((os.cpu_count() or 1) if cores is None else cores, meter) as askers:
        assumable = [prop for prop in goals if prop.kind != "step"]
        logic = Logic(system, ghosts, assumable, seconds=partial(askers.allowed, limit.long))
        steps = 0
        try:
            for steps in range(depth + 1):
                # Depth 0 checks the initial states. Depth n > 0 checks a step that follows n - 1 other steps.
                here = [due for due in dues if (due.kind == "start") == (steps == 0)]
                if progress is not None:
                    progress(f"depth {steps}")
                questions = [partial(logic.reached, due, max(steps - 1, 0)) for due in here]
                answers = askers.answers(questions, limit.long, groups=[due.where for due in here])
                for due, answer in zip(here, answers, strict=True):
                    if answer.verdict != "unsat":
                        found = logic.run(due, max(steps - 1, 0))
                        if isinstance(found, NotFound):
                            reason = f"{label(due)}: {answer.reason or 'there is a run in no small size'}"
                            return DepthResult(system.name, "unknown", steps, askers.asked, reason=reason)
                        trace = _trace(system, target or system.file, ghosts, due, found)
                        return DepthResult(system.name, "violated", steps, askers.asked, trace=trace)
        except LimitExceeded:
            return DepthResult(system.name, "unknown", steps, askers.asked, reason=str(meter.spent))
        except KeyboardInterrupt:
            # Ctrl-C during a question that this process itself asks Z3: see ``holdfast.lower.smt.solve.checked``.
            return DepthResult(system.name, "unknown", steps, askers.asked, reason=INTERRUPTED)
        if isinstance(start := logic.size(lambda theory: theory.starts()), NotFound):
            reason = f"there is no initial state up to size {start.largest}, so the result would be vacuous"
            return DepthResult(system.name, "unknown", 0, askers.asked, reason=reason)
        return DepthResult(system.name, "none_within", depth, askers.asked)


def _trace(system: System, target: str, ghosts: frozenset[str], due: Obligation, found: StateSequence) -> Trace:
    """The trace through the states, with the first action and the least arguments that lead from each to the next.

    The last step takes the action of the obligation.
    """
    props = () if due.prop is None else (due.prop,)
    machine = Interpreter(system, found.scope, ghosts=ghosts, properties=props)
    origin = Origin(system, machine.layout, target, None)
    first, last = found.states[0], found.states[-1]
    starts = dict(machine.starts())
    assert first in starts, f"the engines disagree about the initial states of {system.name}"
    steps = [origin.start(first, starts[first])]
    args: Args = ()
    for number, (before, after) in enumerate(itertools.pairwise(found.states), start=2):
        wanted = due.where if number == len(found.states) else None
        action, args = _step(machine, before, after, wanted)
        steps.append(origin.step(action, args, after))
    claim = claim_of(system, due)
    if due.prop is not None:
        before = found.states[-2] if len(found.states) > 1 else last
        claim = attrs.evolve(claim, where=where_it_fails(machine, due.prop, before, last, args))
    return origin.trace(claim, steps)


def _step(machine: Interpreter, before: bytes, after: bytes, wanted: str | None) -> tuple[str, Args]:
    for action, successors in zip(machine.system.actions, machine.successors, strict=True):
        for new, args in sorted(successors(before)):
            if new == after and wanted in (None, action.name):
                return action.name, args
    raise AssertionError(f"the engines disagree about a step of {machine.system.name}")
