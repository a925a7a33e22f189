"""State graphs in machine code: the same graph as ``graph.state_graph.draw``, some hundred times as fast."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.ir.errors import UsageError
from holdfast.ir.system import Property
from holdfast.lower.graph.fairness import Demands
from holdfast.lower.graph.state_graph import GraphArrays, Pause, StateGraph
from holdfast.lower.kernel.build import build
from holdfast.lower.kernel.graph_source import GraphSource
from holdfast.lower.kernel.kernel import Words
from holdfast.lower.kernel.packing import Packing
from holdfast.lower.python.interpreter import Args, Interpreter
from holdfast.lower.python.names import numbered
from holdfast.lower.statistics import Statistics

CHUNK = 1 << 14
"""The number of states that are expanded between two checks of the limits."""

MOST = (1 << 31) - 1
"""The number of states that a graph may have: a state's number is a signed number of 32 bits."""

FIRST = 1 << 12
"""The number of states that the arrays have room for at first. They have room for four times as many edges."""


class KernelGraph(StateGraph):
    """A graph that the kernel draws. Raises UsageError for a state that takes too many words."""

    def __init__(self, machine: Interpreter, demands: Demands, liveness: Sequence[Property]) -> None:
        self.machine = machine
        self.packing = Packing(machine.layout)
        self._liveness = tuple(liveness)
        self._statistics = Statistics()
        source = GraphSource(self.packing, self._statistics, demands, liveness)
        self._module: Any = build(source.text(), "graph_driver.py", quick=True)

    def state(self, number: int) -> bytes:
        return self.packing.state(self._states[number])

    def asked(self, prop: Property, args: Args) -> NDArray[np.uint8]:
        found = np.empty(len(self._states), np.uint8)
        getattr(self._module, numbered("asked", self._liveness.index(prop)))(self._states, len(found), found, *args)
        return found

    def draw(self, starts: Sequence[bytes], pause: Pause) -> bool:
        """Draw the graph from these initial states on. Returns False, without arrays, if ``pause`` asked to stop.

        Raises UsageError for more than ``MOST`` states.
        """
        module = self._module
        notes = np.zeros(module.NOTES, np.int64)
        rows = np.empty((module.FAN, module.ROW_WORDS), np.int64)
        room = _GrowingArrays(module, max(FIRST, 2 * len(starts) + module.FAN))
        module.begin(np.array([self.packing.row(state) for state in starts], np.int64), room.states, room.table)
        levels, known, first = [0, len(starts)], len(starts), 0
        while first < known:
            # All states of the last level are expanded: the states found since are the next level.
            if first == levels[-1]:
                levels.append(known)
            if pause(len(levels) - 2, known, room.edges(first), known - first):
                return False
            first, known = module.explore(
                first,
                min(first + CHUNK, levels[-1]),
                known,
                room.states,
                room.table,
                room.ends,
                room.targets,
                room.labels,
                room.possible,
                room.cut,
                rows,
                notes,
            )
            room.grow(first, known)
        self._states = room.states[:known].copy()
        self._note(notes)
        self.arrays = room.arrays(known, tuple(levels), notes[: module.CUTS].tolist())
        return True

    def _note(self, notes: NDArray[np.int64]) -> None:
        """Add the cuts and decisive rules to the interpreter's statistics, as if it had drawn the graph."""
        module = self._module
        hits, cuts = notes[module.HITS : module.CUT_FLAGS], notes[module.CUTS : module.HITS]
        self._statistics.note(hits.tolist(), cuts.tolist())
        self.machine.statistics.add(self._statistics)


class _GrowingArrays:
    """The arrays of a graph while they grow: see ``graph_driver.explore``."""

    states: Words

    def __init__(self, module: Any, count: int) -> None:
        self.module = module
        self.states = np.empty((count, module.ROW_WORDS), np.int64)
        self.ends = np.empty(count, np.int64)
        self.possible = np.zeros((count, module.FLAG_WORDS), np.int64)
        self.cut = np.zeros((count, module.FLAG_WORDS), np.int64)
        self.table = np.full(_power(2 * count), -1, np.int32)
        self.targets = np.empty(4 * count + module.FAN, np.int32)
        self.labels = np.empty(4 * count + module.FAN, np.uint16)

    def edges(self, first: int) -> int:
        """The number of edges of the states before ``first``."""
        return int(self.ends[first - 1]) if first else 0

    def grow(self, first: int, known: int) -> None:
        """Make room for the successors of one more state. ``known`` states are known, the first ``first`` are expanded.

        Raises UsageError if there would be more than ``MOST`` states.
        """
        fan, count, edges = self.module.FAN, len(self.states), self.edges(first)
        if known + fan > MOST:
            raise UsageError(f"the graph has {known:,} states, and {MOST:,} are the most; choose a smaller scope")
        if known + fan > count:
            larger = 2 * count + fan
            self.states, self.ends = _longer(self.states, known, larger), _longer(self.ends, first, larger)
            self.possible, self.cut = _longer(self.possible, first, larger), _longer(self.cut, first, larger)
        # A table at most half full keeps probes short. ``explore`` stops at the same limit.
        if 2 * (known + fan) > len(self.table):
            self.table = np.full(_power(2 * len(self.states)), -1, np.int32)
            self.module.rehash(self.states, known, self.table)
        if edges + fan > len(self.targets):
            # Twice the edges so far, or four for each state that there is room for.
            larger = max(2 * edges + fan, 4 * len(self.states))
            self.targets, self.labels = _longer(self.targets, edges, larger), _longer(self.labels, edges, larger)

    def arrays(self, known: int, levels: tuple[int, ...], taken: Sequence[int]) -> GraphArrays:
        """The arrays of the ``known`` states, without the room to grow."""
        edges = self.edges(known)
        return GraphArrays(
            np.concatenate([np.zeros(1, np.int64), self.ends[:known]]),
            self.targets[:edges].copy(),
            self.labels[:edges].copy(),
            self.possible[:known].copy(),
            self.cut[:known].copy(),
            levels,
            tuple(taken),
        )


def _longer(old: NDArray[Any], used: int, size: int) -> NDArray[Any]:
    """An array of ``size`` rows: the first ``used`` rows of ``old``, then zeros, which take no memory until written."""
    new = np.zeros((size, *old.shape[1:]), old.dtype)
    new[:used] = old[:used]
    return new


def _power(least: int) -> int:
    """The least power of two that is at least ``least``."""
    return 1 << (least - 1).bit_length()
