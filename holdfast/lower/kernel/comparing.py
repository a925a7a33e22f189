"""Whether a mutant takes the same steps as the whole model, asked of every state that the whole model reaches.

A step that a bound of the scope cuts leads nowhere, and yet it is not the same as a refused one: in a larger scope the
model would refuse it and the mutant would take it. A used up budget is as good as a refusal here.

If it does, from the same initial states, then by induction over the length of a run both reach the same states, by the
same actions with the same arguments: their graphs are equal. Nothing of the mutant has to be searched for that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from holdfast.ir.errors import Place, UsageError
from holdfast.ir.stmt import Require
from holdfast.ir.system import Action
from holdfast.ir.types import BUDGET
from holdfast.lower.kernel.build import build
from holdfast.lower.kernel.kernel import Words
from holdfast.lower.kernel.packing import Packing
from holdfast.lower.kernel.source import KernelSource
from holdfast.lower.python.interpreter import Interpreter
from holdfast.lower.python.names import code_name
from holdfast.lower.statistics import Statistics

MOST_ACTIONS = 62
"""How many actions one word of flags has room for."""

CHUNK = 1 << 14
"""How many states are compared between two looks at Ctrl-C."""


class MutantComparison:
    """The compiled comparison for an interpreter's system and scope.

    Raises UsageError as a mutable kernel does, and for more actions than a word has bits.
    """

    def __init__(self, machine: Interpreter) -> None:
        self.machine = machine
        self._statistics = Statistics()
        if len(machine.system.actions) > MOST_ACTIONS:
            raise UsageError(
                f"{machine.system.name} has more than {MOST_ACTIONS} actions, and the kernel compares no more"
            )
        source = _CompareSource(
            Packing(machine.layout), self._statistics, None, checked=(), steps=(), witnesses=(), finals=(),
            idempotent=(), mutable=True,
        )  # fmt: skip
        self._module: Any = build(source.text(), "compare_driver.py")

    def first_difference(self, states: Words, removed: Sequence[str], actions: Sequence[str]) -> int | None:
        """The row of the first state from which these actions take other steps without the rules; None if none do.

        ``removed`` are rules, ``LABEL`` or ``LABEL@action``; ``actions`` those in which they stand.
        """
        whole, mutant = (np.zeros(max(len(self._statistics.hits), 1), np.int64) for _ in range(2))
        mutant[self._statistics.places(removed)] = 1
        wanted = sum(1 << index for index, each in enumerate(self.machine.system.actions) if each.name in actions)
        for first in range(0, len(states), CHUNK):
            last = min(first + CHUNK, len(states))
            found = self._module.differing(states, first, last, wanted, whole, mutant)
            if found < last:
                return int(found)
        return None


class _CompareSource(KernelSource):
    """Writes for each action the step of one instance, and the comparison of all its instances in a state.

    An instance is compared as it is, with its arguments: a step of other arguments is another step.
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
        """Nothing is noted; the array that says which rules are gone stands alone."""
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
    """What becomes of a step (0 refused, 1 taken, 2 cut by a bound), and where it leads, if anywhere."""

    def __init__(self, source: KernelSource) -> None:
        self.source = source

    def decisive(self, label: str) -> list[str]:  # noqa: ARG002 - nothing is noted
        return []

    def note(self, label: str) -> str | None:  # noqa: ARG002 - as above
        return None

    def refuse(self, stmt: Require, leave: str) -> list[str]:  # noqa: ARG002 - the return is the leaving
        return ["return 0, s"]

    def cut(self, bound: str, at: Place | None, leave: str) -> list[str]:  # noqa: ARG002 - as above
        return [f"return {0 if bound == BUDGET else 2}, s"]

    def taken(self, state: str, args: str) -> list[str]:  # noqa: ARG002 - the caller knows them
        return [f"return 1, ({state},)"]
