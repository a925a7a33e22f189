"""The labelled steps of a state, computed by the interpreter: each with the fairness demand that it serves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from holdfast.ir.errors import Place
from holdfast.ir.system import Action
from holdfast.lower.graph.fairness import FREE, Demands, protocol_cells
from holdfast.lower.layout import Layout
from holdfast.lower.python.emit import Emitter
from holdfast.lower.python.instance_ends import GatherTaken
from holdfast.lower.python.names import numbered
from holdfast.lower.statistics import Statistics

Labelled = tuple[bytes, int]
"""A step: the state it leads to, and its label, the demand that it serves or FREE."""


class LabelledSteps:
    """Lists the steps of states. Counts cuts and decisive rules in ``statistics``, and steps by action in ``taken``."""

    def __init__(
        self, layout: Layout, demands: Demands, statistics: Statistics, *, emitter: type[Emitter] = Emitter
    ) -> None:
        self.layout = layout
        self.demands = demands
        self.taken = [0] * len(layout.system.actions)
        self._cuts: list[int] = []
        self._emitter = emitter
        self._globals: dict[str, Any] = {
            "HIT": statistics.hits,
            "CUT": statistics.cut_counts,
            "CUT_LABELS": self._cuts,
            "TAKEN": self.taken,
        }
        self._functions = [
            self._function(index, action, statistics) for index, action in enumerate(layout.system.actions)
        ]

    def of(self, state: bytes) -> tuple[list[Labelled], list[int]]:
        """The steps that change the state, and the numbers of the demands of which a bound cut a step.

        The steps are in the order of the actions and of their arguments. The second list is valid until the next call.
        """
        self._cuts.clear()
        return [step for function in self._functions for step in function(state)], self._cuts

    def _function(self, index: int, action: Action, statistics: Statistics) -> Callable[[bytes], list[Labelled]]:
        name = numbered("labelled", index)
        sink = _GatherLabelled(index, action.name, statistics, self.demands, self.layout)
        source = self._emitter(self.layout, f"action {action.name}", sink).every_instance(name, action)
        exec(compile(source, f"<{self.layout.system.name}.{name}>", "exec"), self._globals)  # noqa: S102 - written here
        found: Callable[[bytes], list[Labelled]] = self._globals[name]
        return found


class _GatherLabelled(GatherTaken):
    """Writes each step that changes the state into ``out``, with its label."""

    def __init__(self, index: int, action: str, statistics: Statistics, demands: Demands, layout: Layout) -> None:
        super().__init__(action, statistics)
        self.index = index
        self.label = demands.label_text(action)
        changes = (f"t[{start}:{end}] != s[{start}:{end}]" for start, end in protocol_cells(layout))
        self.changes = " or ".join(changes) or "False"

    def cut(self, bound: str, at: Place | None, leave: str) -> list[str]:
        counted, end = super().cut(bound, at, leave)
        return [counted, end] if self.label == str(FREE) else [counted, f"CUT_LABELS.append({self.label})", end]

    def taken(self, state: str, args: str) -> list[str]:  # noqa: ARG002 - the label has the part that is needed
        label = self.label if self.label == str(FREE) else f"({self.label}) if {self.changes} else {FREE}"
        return [f"TAKEN[{self.index}] += 1", f"t = {state}", f"if t != s: out.append((t, {label}))"]
