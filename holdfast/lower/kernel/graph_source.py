"""The kernel's text of one model for its state graph: the functions that ``graph_driver.py`` calls.

A step of a graph is the state it leads to, and a label: the number of the fairness demand that the step serves. The
properties are liveness properties: a premise and a goal, evaluated in every state.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from holdfast.ir.errors import Place
from holdfast.ir.system import Action, Property
from holdfast.lower.graph.fairness import FREE, Demands
from holdfast.lower.graph.state_graph import FLAGS, words_of_flags
from holdfast.lower.kernel.instance_ends import GatherRows
from holdfast.lower.kernel.packing import Packing
from holdfast.lower.kernel.source import KernelSource
from holdfast.lower.python.names import code_name, numbered
from holdfast.lower.statistics import Statistics


class GraphSource(KernelSource):
    """Writes the functions of a model. ``liveness`` are the properties to be evaluated in the graph's states."""

    def __init__(
        self, packing: Packing, statistics: Statistics, demands: Demands, liveness: Sequence[Property]
    ) -> None:
        super().__init__(packing, statistics, None, checked=(), steps=(), witnesses=(), finals=(), idempotent=())
        self.demands = demands
        self.liveness = liveness

    def text(self) -> str:
        parts = [*self._states(), self._hashed()]
        parts += [
            self._every(action, "every", _GatherLabelledRows(self, action, self.demands))
            for action in self.system.actions
        ]
        parts.append(self._successors())
        parts += [self._asked(number, prop) for number, prop in enumerate(self.liveness)]
        return self._module(parts)

    def places(self) -> dict[str, int]:
        """The places of the notes, and the other constants of the driver.

        The notes are: steps by action, cuts by bound, decisive rules. And for the state that is expanded: the flags of
        the demands of which a bound cut a step, and the labels of its steps.
        """
        sizes = {
            "TAKEN": len(self.system.actions),
            "CUTS": len(self.statistics.cut_counts),
            "HITS": len(self.statistics.hits),
            "CUT_FLAGS": words_of_flags(self.demands),
            "LABELS": max(self.fan, 1),
        }
        found, start = {}, 0
        for name, size in sizes.items():
            found[name] = start
            start += size
        return found | {"NOTES": start, "FREE": FREE, "FLAGS": FLAGS, "FLAG_WORDS": words_of_flags(self.demands)}

    def _successors(self) -> str:
        calls = [f"    k = {self.name('every', action)}(s, k, rows, notes)" for action in self.system.actions]
        return "\n".join(["def successors(s, rows, notes):", "    k = 0", *calls, "    return k", ""])

    def _asked(self, number: int, prop: Property) -> str:
        """A function that writes for each of ``n`` states: 1 if the premise holds, plus 2 if the goal holds."""
        args = "".join(f", {code_name(param)}" for param in prop.params)
        asked = [f"def {numbered('judge', number)}(s{args}):", f"    {self.words('s')} = s", "    found = 0"]
        assert prop.goal is not None, prop.name
        for bit, expr in ((1, prop.body), (2, prop.goal)):
            writer = self._writer(prop.title, prop.at)
            for param in prop.params:
                writer.parameter(param, code_name(param))
            term = writer.expr(expr)
            asked.append(f"    if {bool(term.lo) if term.constant else term.text}: found |= {bit}")
        loop = [
            "@entry",
            f"def {numbered('asked', number)}(states: Rows, n, found: Line8{args}):",
            "    states_at = address(states)",
            "    for i in range(n):",
            f"        found[i] = {numbered('judge', number)}(load(states_at, i){args})",
        ]
        return "\n".join([*asked, "    return found", "", "", *loop, ""])


class _GatherLabelledRows(GatherRows):
    """Writes each step that changes something as a row, with its label in the notes."""

    def __init__(self, source: GraphSource, action: Action, demands: Demands) -> None:
        super().__init__(source, action)
        self.label = demands.label_text(action.name)
        self.index = source.number(action)

    def cut(self, bound: str, at: Place | None, leave: str) -> list[str]:
        return [*self._flag(), *super().cut(bound, at, leave)]

    def _flag(self) -> Iterator[str]:
        if self.label != str(FREE):
            yield f"place = CUT_FLAGS + ({self.label}) // FLAGS"
            yield f"poke(notes, place, peek(notes, place) | (1 << (({self.label}) % FLAGS)))"

    def taken(self, state: str, args: str) -> list[str]:  # noqa: ARG002 - the label has the part that is needed
        changed = " | ".join(
            f"((t{word} ^ s{word}) & {mask})" for word, mask in enumerate(self.source.lasting()) if mask
        )
        # A step that changes only ghosts or budgets serves no demand: see ``fairness.py``.
        label = self.label if self.label == str(FREE) else f"({self.label}) if ({changed or '0'}) != 0 else FREE"
        return [
            f"bump(notes, TAKEN + {self.index}, 1)",
            f"t = ({state},)",
            f"if t != s: put(rows, k, t); poke(notes, LABELS + k, {label}); k += 1",
        ]
