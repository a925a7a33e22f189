"""A puzzle as the arrays of a graph, numbered breadth-first as the engine does it."""

from __future__ import annotations

import numpy as np

from holdfast.lower.graph.fairness import FREE, Demand
from holdfast.lower.graph.state_graph import GraphArrays
from tests.live.oracle import Puzzle


class PuzzleDemands:
    """The engine's interface ``Demands``, for a puzzle."""

    def __init__(self, puzzle: Puzzle) -> None:
        self.each = tuple(Demand(f"a{index}", strength, ()) for index, strength in enumerate(puzzle.demands))


def as_arrays(puzzle: Puzzle) -> tuple[GraphArrays, list[int]]:
    """The arrays of the puzzle's graph, and the puzzle's state for each number."""
    order = sorted(puzzle.starts)
    levels, offsets, targets, labels = [0], [0], list[int](), list[int]()
    for position, state in enumerate(order):
        if position == levels[-1]:
            levels.append(len(order))
        for of, to, label in puzzle.sorted_edges:
            if of == state:
                order += [] if to in order else [to]
                targets.append(order.index(to))
                labels.append(FREE if label is None else label)
        offsets.append(len(targets))
    possible = [
        sum({1 << label for of, _, label in puzzle.edges if of == state and label is not None}) for state in order
    ]
    cut = [sum({1 << label for at, label in puzzle.cuts if at == state}) for state in order]
    arrays = GraphArrays(
        np.array(offsets, np.int64),
        np.array(targets, np.int32),
        np.array(labels, np.uint16),
        np.array(possible, np.int64).reshape(-1, 1),
        np.array(cut, np.int64).reshape(-1, 1),
        tuple(levels),
        (),
    )
    return arrays, order
