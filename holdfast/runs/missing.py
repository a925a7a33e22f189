"""Find the removed rule behind each step of a run: compare the step with the complete model."""

from __future__ import annotations

from holdfast.ir.compile import compile_model
from holdfast.lower.outcome import Refused, Taken
from holdfast.lower.python.interpreter import Interpreter
from holdfast.runs.replay import Replayer
from holdfast.trace.trace import Trace


def complete_model(replayer: Replayer) -> Interpreter | None:
    """The model of a run without a removed rule, in the same scope; None if no rule is removed.

    It keeps the same ghosts, so that both share one layout of states.
    """
    system, layout = replayer.system, replayer.machine.layout
    if not system.removed:
        return None
    kept = frozenset(var.name for var in system.variables if var.ghost) - layout.dropped
    complete = compile_model(system.python, variants=system.chosen)
    return Interpreter(complete, replayer.machine.scope, ghosts=kept, properties=())


def missing_rules(replayer: Replayer, trace: Trace) -> dict[int, str]:
    """Compare a run, step by step, with the complete model: the one from which no rule is removed.

    Returns a sentence for each step that the complete model refuses, or that it takes to another state. The key is the
    step's number. The result is empty for a model from which no rule is removed. The initial condition is not compared.
    """
    system, complete = replayer.system, complete_model(replayer)
    if complete is None:
        return {}
    found: dict[int, str] = {}
    for number, (before, step) in enumerate(zip(trace.steps, trace.steps[1:], strict=False), start=1):
        if step.repeat:
            continue
        match complete.step(before.code, *replayer.coded(step.action, dict(step.args))):
            case Refused(label, error):
                found[number] = f"{label}{f' ({error})' if error else ''}, which is removed, refuses this step"
            case Taken(state) if state != step.code:
                found[number] = f"with {', '.join(system.removed)} in place the step leads to another state"
            case _:
                pass
    return found
