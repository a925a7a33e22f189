"""Compares the steps of a mutant with those of the whole model, in every state that the whole model reaches.

If all steps are equal, and the initial states too, then by induction over the length of a run both reach the same
states, by the same actions with the same arguments: their graphs are equal. The mutant needs no search for that.

A cut step leads nowhere, like a refused one, but the two count as different: in a larger scope the model would still
refuse the step, and the mutant would take it. A used up budget counts as a refusal.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from holdfast.ir.errors import Place, UsageError
from holdfast.ir.stmt import Require
from holdfast.ir.system import Action, Param
from holdfast.ir.types import BUDGET
from holdfast.lower.kernel.build import build
from holdfast.lower.kernel.kernel import Words
from holdfast.lower.kernel.packing import Packing
from holdfast.lower.kernel.source import KernelSource
from holdfast.lower.python.interpreter import Interpreter
from holdfast.lower.python.names import code_name
from holdfast.lower.statistics import Statistics

MOST_ACTIONS = 62
"""The number of actions that a bit mask in one word has room for."""

CHUNK = 1 << 14
"""The number of states that one call of machine code compares. Python sees Ctrl-C only between two calls."""


class MutantComparison:
    """The compiled comparison for an interpreter's system and scope.

    Raises UsageError as a mutable kernel does, and for more than ``MOST_ACTIONS`` actions.
    """

    def __init__(self, machine: Interpreter) -> None:
        self.machine = machine
        self._statistics = Statistics()
        if len(machine.system.actions) > MOST_ACTIONS:
            raise UsageError(
                f"{machine.system.name} has more than {MOST_ACTIONS} actions, and the kernel compares no more; "
                "merge some of them"
            )
        source = _CompareSource(
            Packing(machine.layout), self._statistics, None, checked=(), steps=(), witnesses=(), finals=(),
            idempotent=(), mutable=True,
        )  # fmt: skip
        self._module: Any = build(source.text(), "compare_driver.py", quick=True)

    def first_difference(self, states: Words, removed: Sequence[str], actions: Sequence[str]) -> int | None:
        """The index of the first state in which the mutant without the rules takes other steps; None if there is none.

        ``removed`` are rules, ``LABEL`` or ``LABEL@action``. ``actions`` are the actions to compare: those that have
        the rules.
        """
        whole, mutant = (np.zeros(max(len(self._statistics.hits), 1), np.int64) for _ in range(2))
        mutant[self._statistics.places(removed)] = 1
        # ``whole`` stays zero: no rule is removed.
        wanted = sum(1 << index for index, each in enumerate(self.machine.system.actions) if each.name in actions)
        for first in range(0, len(states), CHUNK):
            last = min(first + CHUNK, len(states))
            found = self._module.differing(states, first, last, wanted, whole, mutant)
            if found < last:
                return int(found)
        return None


class _CompareSource(KernelSource):
    """Writes for each action a function of one instance, and one that compares all its instances in a state.

    Each instance is compared with the mutant's instance of the same arguments: a step with other arguments is another
    step, even if it leads to the same state.
    """

    def text(self) -> str:
        parts = list(self._states())
        for action in self.system.actions:
            parts += [self._instance(action, "instance", _StepOutcome(self)), self._differs(action)]
        lines = ["def differs(s, wanted, whole, mutant):"]
        lines += [
            f"    if wanted & {1 << index} and {self.name('differs', action)}(s, whole, mutant): return True"
            for index, action in enumerate(self.system.actions)
        ]
        parts.append("\n".join([*lines, "    return False", ""]))
        return self._module(parts)

    def places(self) -> dict[str, int]:
        """Only ``removed`` has a place: nothing is noted, and the array of removed rules is the whole block."""
        return {"REMOVED": 0}

    def _differs(self, action: Action) -> str:
        return "\n".join(
            [f"def {self.name('differs', action)}(s, whole, mutant):", *self._compared(action), "    return False", ""]
        )

    def _compared(self, action: Action) -> Iterator[str]:
        indent = "    "
        for param in action.params:
            yield f"{indent}for {code_name(param)} in range({self.layout.codes(param.type)}):"
            indent += "    "
        args = "".join(f", {code_name(param)}" for param in action.params)
        instance = self.name("instance", action)
        yield f"{indent}one, t = {instance}(s{args}, whole)"
        yield f"{indent}two, u = {instance}(s{args}, mutant)"
        yield f"{indent}if one != two or t != u: return True"


class _StepOutcome:
    """Returns the outcome of a step (0 refused, 1 taken, 2 cut by a bound), and the state that it ends in."""

    def __init__(self, source: KernelSource) -> None:
        self.source = source

    def decisive(self, label: str) -> list[str]:  # noqa: ARG002 - nothing is noted
        return []

    def note(self, label: str) -> str | None:  # noqa: ARG002 - as above
        return None

    def shortage(self, param: Param, at: Place) -> list[str]:  # noqa: ARG002 - as above
        return []

    def refuse(self, stmt: Require, leave: str) -> list[str]:  # noqa: ARG002 - the return ends the instance
        return ["return 0, s"]

    def cut(self, bound: str, at: Place | None, leave: str) -> list[str]:  # noqa: ARG002 - as above
        return [f"return {0 if bound == BUDGET else 2}, s"]

    def taken(self, state: str, args: str) -> list[str]:  # noqa: ARG002 - the caller knows them
        return [f"return 1, ({state},)"]
