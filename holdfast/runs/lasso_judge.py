"""Whether a lasso violates a liveness property, judged by the interpreter from the run alone.

Apart from the definition of fairness demands, it shares no code with the search. So it can check the search's findings.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import attrs

from holdfast.ir.system import Property
from holdfast.lower.graph.fairness import FREE, Demand, Demands
from holdfast.lower.graph.labelled_steps import LabelledSteps
from holdfast.lower.python.interpreter import Args, Interpreter
from holdfast.lower.statistics import Statistics

Call = tuple[str, Args]


@attrs.frozen
class FairnessEvidence:
    """How a loop meets a fairness demand.

    ``taken``: number of a loop step that serves the demand. ``impossible``: number of the step after which the demand
    is disabled, in the loop. Each is None if there is no such step. ``ever_possible``: whether the demand is enabled
    in some state of the loop.
    """

    demand: Demand
    taken: int | None
    impossible: int | None
    ever_possible: bool

    @property
    def met(self) -> bool:
        """Whether the loop meets the demand. A strong demand is met without a step only if it is never enabled."""
        if self.taken is not None:
            return True
        return self.impossible is not None if self.demand.strength == "weak" else not self.ever_possible


class LassoJudge:
    """Judges lassos of one machine, whose layout must keep the ghosts that the properties read."""

    def __init__(self, machine: Interpreter) -> None:
        self.machine = machine
        self.demands = Demands(machine.layout)
        self._steps = LabelledSteps(machine.layout, self.demands, Statistics())

    def violated(self, prop: Property, states: Sequence[bytes], calls: Sequence[Call], loop: int) -> Args | None:
        """The least arguments for which the lasso violates the property; None if it violates it for no arguments, or
        is unfair.

        ``states`` begin with the start. The last state must equal the state with index ``loop``; if ``loop`` is the
        last index, the lasso stutters there.
        """
        if states[-1] != states[loop] or not all(each.met for each in self.fairness(states, calls, loop)):
            return None
        sizes = (range(self.machine.layout.codes(param.type)) for param in prop.params)
        return next((args for args in itertools.product(*sizes) if self._fails(prop, args, states, loop)), None)

    def fairness(self, states: Sequence[bytes], calls: Sequence[Call], loop: int) -> Iterator[FairnessEvidence]:
        """How the loop meets each demand. A step that a bound cuts counts as possible: the protocol has no bounds."""
        served: dict[int, int] = {}
        for number in range(loop, len(calls)):
            label = self.demands.label(*calls[number])
            # The step from state ``number`` has the number ``number`` + 1.
            if label != FREE and self._serves(states[number], states[number + 1], label):
                served.setdefault(label, number + 1)
        possible = [self._possible(state) for state in states[loop:]]
        for number, demand in enumerate(self.demands.each):
            without = [place for place, labels in enumerate(possible, start=loop) if number not in labels]
            yield FairnessEvidence(
                demand,
                served.get(number),
                without[0] if without else None,
                any(number in labels for labels in possible),
            )

    def _possible(self, state: bytes) -> set[int]:
        steps, cuts = self._steps.of(state)
        return {label for _, label in steps} | set(cuts)

    def _serves(self, state: bytes, new: bytes, label: int) -> bool:
        return (new, label) in self._steps.of(state)[0]

    def _fails(self, prop: Property, args: Args, states: Sequence[bytes], loop: int) -> bool:
        """Whether the lasso, which is fair, violates the property for these arguments."""
        if prop.kind == "eventually_always":
            # The run visits the states of the loop again and again.
            return not all(self.machine.goal(prop, state, args) for state in states[loop:])
        return self._owes(prop, args, states, loop)

    def _owes(self, prop: Property, args: Args, states: Sequence[bytes], loop: int) -> bool:
        """Whether the goal is owed for ever: it becomes owed in some state, and no state of the loop meets it."""
        if any(self.machine.goal(prop, state, args) for state in states[loop:]):
            return False
        # Once owed, the goal stays owed until a state meets it; the premise need not hold any longer.
        owed = False
        for state in states:
            owed = (owed or self.machine.holds(prop, state, args)) and not self.machine.goal(prop, state, args)
        return owed
