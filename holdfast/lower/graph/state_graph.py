"""The graph of all reachable states as arrays. Liveness is decided on it.

States are numbered in the order in which a breadth-first search finds them: initial states first, in their order, then
the new states of each state in turn, by action and arguments. So the numbers depend on nothing but the model and its
scope, and the interpreter and the kernel draw the same graph.

An edge is a step that changes the state. Its label is the number of the fairness demand that the step serves. Steps of
one state with equal target and label are one edge. Each state has two flags for each demand: whether one of its edges
serves the demand (``possible``), and whether a bound of the scope cut a step of the demand (``cut``).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from array import array
from collections.abc import Callable, Iterable, Sequence

import attrs
import numpy as np
from numpy.typing import NDArray

from holdfast.ir.system import Property
from holdfast.lower.graph.fairness import FREE, Demands
from holdfast.lower.graph.labelled_steps import LabelledSteps
from holdfast.lower.python.interpreter import Args, Interpreter

FLAGS = 63
"""The number of demands that one word of flags has room for. A word is signed, and its sign bit stays 0."""

Pause = Callable[[int, int, int, int], bool]
"""Called now and then, with the depth and the numbers of states, edges and waiting states. True asks to stop."""


@attrs.frozen(eq=False)
class GraphArrays:
    """The numbers of a graph.

    - The edges of state ``s`` are numbers ``offsets[s]`` to ``offsets[s + 1]`` (not included).
    - ``targets`` and ``labels`` have for each edge its target state, and the demand that it serves or FREE.
    - ``possible`` and ``cut`` have a row of flags for each state: demand ``d`` is bit ``d % FLAGS`` of word
      ``d // FLAGS``.
    - Level ``d`` of the search is states ``levels[d]`` to ``levels[d + 1]`` (not included). The last entry is the
      number of states.
    - ``taken`` counts the steps by action, also steps that change nothing.
    """

    offsets: NDArray[np.int64]
    targets: NDArray[np.int32]
    labels: NDArray[np.uint16]
    possible: NDArray[np.int64]
    cut: NDArray[np.int64]
    levels: tuple[int, ...]
    taken: tuple[int, ...]

    @property
    def states(self) -> int:
        """The number of states."""
        return len(self.offsets) - 1

    @property
    def edges(self) -> int:
        """The number of edges."""
        return len(self.targets)


class StateGraph(ABC):
    """The arrays of a graph, and the state behind each number."""

    arrays: GraphArrays

    @abstractmethod
    def state(self, number: int) -> bytes:
        """The state with that number."""

    @abstractmethod
    def asked(self, prop: Property, args: Args) -> NDArray[np.uint8]:
        """For each state, 1 if a liveness property's premise is true for these arguments, plus 2 if its goal is."""


class PlainGraph(StateGraph):
    """A graph that the interpreter drew."""

    def __init__(self, machine: Interpreter, states: Sequence[bytes], arrays: GraphArrays) -> None:
        self.machine = machine
        self.arrays = arrays
        self._states = states

    def state(self, number: int) -> bytes:
        return self._states[number]

    def asked(self, prop: Property, args: Args) -> NDArray[np.uint8]:
        holds, goal = self.machine.holds, self.machine.goal
        found = (holds(prop, state, args) | goal(prop, state, args) << 1 for state in self._states)
        return np.fromiter(found, np.uint8, len(self._states))


def draw(machine: Interpreter, starts: Sequence[bytes], demands: Demands, pause: Pause) -> PlainGraph | None:
    """The graph from these initial states on, drawn by the interpreter; None if ``pause`` asked to stop."""
    steps = LabelledSteps(machine.layout, demands, machine.statistics)
    numbers = {state: number for number, state in enumerate(starts)}
    states = list(starts)
    offsets, targets, labels = array("q", [0]), array("i"), array("H")
    possible, cut = Flags(demands), Flags(demands)
    levels = [0]
    # The list grows while the loop goes through it: it is the queue of the breadth-first search too.
    for position, state in enumerate(states):
        if position == levels[-1]:
            levels.append(len(states))
        if pause(len(levels) - 2, len(states), len(targets), len(states) - position):
            return None
        edges, cuts = steps.of(state)
        # A dict keeps the order in which its keys came; a set would not.
        seen: dict[tuple[int, int], None] = {}
        for new, label in edges:
            number = numbers.setdefault(new, len(states))
            if number == len(states):
                states.append(new)
            seen[number, label] = None
        for number, label in seen:
            targets.append(number)
            labels.append(label)
        offsets.append(len(targets))
        possible.add(label for _, label in seen if label != FREE)
        cut.add(cuts)
    arrays = GraphArrays(
        np.array(offsets, np.int64),
        np.array(targets, np.int32),
        np.array(labels, np.uint16),
        possible.rows(),
        cut.rows(),
        tuple(levels),
        tuple(steps.taken),
    )
    return PlainGraph(machine, states, arrays)


class Flags:
    """Rows of flags: a row for each state, in the order of the states."""

    def __init__(self, demands: Demands) -> None:
        self.words = words_of_flags(demands)
        self._values = array("q")

    def add(self, numbers: Iterable[int]) -> None:
        """Add the next row, with the flags of these demands set."""
        row = [0] * self.words
        for number in numbers:
            row[number // FLAGS] |= 1 << number % FLAGS
        self._values.extend(row)

    def rows(self) -> NDArray[np.int64]:
        """All rows."""
        return np.array(self._values, np.int64).reshape(-1, self.words)


def words_of_flags(demands: Demands) -> int:
    """The number of words that the flags of a state take, at least 1."""
    # -(-a // b) is a / b, rounded up.
    return max(1, -(-len(demands.each) // FLAGS))
