"""Judge one state or one step on the interpreter: the property that it violates."""

from __future__ import annotations

import attrs

from holdfast.ir.system import Property
from holdfast.lower.python.interpreter import Interpreter
from holdfast.runs.rebuilding import Edge, repeat_differs
from holdfast.runs.selection import Selection, deadlock_claim, idempotence
from holdfast.trace.trace import Claim


@attrs.frozen
class Violation:
    """A violated property; ``prop`` is None for idempotence and deadlocks."""

    claim: Claim
    prop: Property | None = None


class StepJudge:
    """Judges single states and steps by the selected properties."""

    def __init__(self, machine: Interpreter, selection: Selection) -> None:
        self.machine = machine
        self.selection = selection
        self.actions = machine.system.actions

    def state(self, state: bytes) -> Violation | None:
        """The first invariant or lemma that a state violates, or None."""
        first = self.machine.invariants(state)
        return None if first < 0 else _violation(self.machine.checked[first])

    def step(self, old: bytes, edge: Edge) -> Violation | None:
        """The violation of a step, or None: the first violated property in the order of the source, whether the step
        itself or its new state violates it; if there is none, the violated idempotence of its action.
        """
        new, action, args = edge
        state, step = self.machine.invariants(new), self.machine.steps[action](new, old, args)
        failing = [self.machine.checked[state]] if state >= 0 else []
        failing += [self.machine.checked_steps[step]] if step >= 0 else []
        if failing:
            return _violation(min(failing, key=self.selection.properties.index))
        if self.actions[action] in self.selection.idempotent and new != old:
            outcome = self.machine.step(new, self.actions[action].name, args)
            if repeat_differs(self.machine, new, outcome):
                return Violation(idempotence(self.machine.system, self.actions[action]))
        return None

    def deadlock(self) -> Violation:
        """The violation of a state without a step."""
        return Violation(deadlock_claim(self.machine.system))


def _violation(prop: Property) -> Violation:
    return Violation(Claim.of_property(prop), prop)
