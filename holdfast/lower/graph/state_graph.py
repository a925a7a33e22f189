"""The graph of all reachable states as arrays: what liveness is decided on.

States are numbered in the order in which a breadth-first search finds them: initial states first, in their order, then
the new states of each state in turn, by action and arguments. So the numbers depend on nothing but the model and its
scope, and the interpreter and the kernel draw the same graph.

Edges are steps that change something, each once for a target and label: the demand of fairness that it serves. What a
demand's flag says of a state is whether it has such an edge (``possible``), or whether a bound of the scope cut one.
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
"""How many demands one word of flags has room for: a word is signed, and stays positive."""

Pause = Callable[[int, int, int, int], bool]
"""Asked now and then, with the depth, and the numbers of states, steps and states that wait: whether to stop."""


@attrs.frozen(eq=False)
class Arrays:
    """The numbers of a graph.

    The edges that leave a state number ``s`` are those from ``offsets[s]`` to ``offsets[s + 1]``; ``targets`` and
    ``labels`` tell where each leads and which demand it serves. ``possible`` and ``cut`` have a row of flags for each
    state, demand ``d`` in bit ``d % FLAGS`` of word ``d // FLAGS``. Level ``d`` of the search is from ``levels[d]``
    to ``levels[d + 1]``; the last entry is the number of states. ``taken`` counts the steps by action, those that
    change nothing too.
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
        """How many states there are."""
        return len(self.offsets) - 1

    @property
    def edges(self) -> int:
        """How many edges there are."""
        return len(self.targets)


class StateGraph(ABC):
    """The arrays, and the states behind the numbers."""

    arrays: Arrays

    @abstractmethod
    def state(self, number: int) -> bytes:
        """The state of a number."""

    @abstractmethod
    def asked(self, prop: Property, args: Args) -> NDArray[np.uint8]:
        """For each state, whether a leads-to's trigger (1) and goal (2) hold for these arguments."""


class PlainGraph(StateGraph):
    """A graph that the interpreter has drawn."""

    def __init__(self, machine: Interpreter, states: Sequence[bytes], arrays: Arrays) -> None:
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
    for position, state in enumerate(states):
        if position == levels[-1]:
            levels.append(len(states))
        if pause(len(levels) - 2, len(states), len(targets), len(states) - position):
            return None
        edges, cuts = steps.of(state)
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
    arrays = Arrays(
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
    """Rows of flags, one row after the other."""

    def __init__(self, demands: Demands) -> None:
        self.words = words_of_flags(demands)
        self._values = array("q")

    def add(self, numbers: Iterable[int]) -> None:
        """The next row: the flags of these demands."""
        row = [0] * self.words
        for number in numbers:
            row[number // FLAGS] |= 1 << number % FLAGS
        self._values.extend(row)

    def rows(self) -> NDArray[np.int64]:
        """All rows."""
        return np.array(self._values, np.int64).reshape(-1, self.words)


def words_of_flags(demands: Demands) -> int:
    """How many words the flags of a state take."""
    return max(1, -(-len(demands.each) // FLAGS))
