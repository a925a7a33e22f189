"""The initial states of a model in a scope, after a check that the scope agrees with the model."""

from __future__ import annotations

from holdfast.ir.errors import ModelError
from holdfast.lower.python.interpreter import Interpreter
from holdfast.lower.scope_limits import refuse_choices
from holdfast.runs.selection import Selection


def initial_states(machine: Interpreter, selection: Selection) -> list[bytes]:
    """The initial states, sorted.

    Raises ModelError if the scope contradicts the model: there is no initial state, one exceeds a bound, or an
    assumption is false. Assumptions are about constants, which are the same in all states, so initial states suffice.

    Raises UsageError if an action has too many choices of arguments: the caller is going to try all of them.
    """
    refuse_choices(machine.system.actions, machine.scope, machine.layout.codes)
    states, scope = machine.initial(), machine.scope
    for prop in selection.of_kind("assume"):
        if not all(machine.holds(prop, state) for state in states):
            raise ModelError(
                scope.at,
                scope.name,
                f"its constants contradict the assumption {prop.title}",
                "give them other values, or mend the assumption",
            )
    return states
