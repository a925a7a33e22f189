"""The notes of the kernel: counts, and the least findings so far. Each core has a block of its own.

The search adds the blocks up after each level.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

Shapes = Mapping[str, tuple[int, ...]]
"""The shapes of the parts of a block, by name, in the order in which the parts lie."""


def shapes(
    *, words: int, by_orbit: bool, actions: int, steps: int, checked: int, witnesses: int, rules: int, bounds: int
) -> Shapes:
    """The parts of a kernel's block, from the number of words of a state, of actions, and of properties of each kind.

    ``by_orbit``: whether the rank of a state begins with its canonical state.

    - ``taken`` and ``repeats`` count steps and repeated steps by action, ``cuts`` counts by bound.
    - ``pending``: three bit masks. Step properties, and then invariants and lemmas, whose premise has never been true;
      and witnesses not reached yet.
    - ``counts``: the repetitions that a bound cut, and the states without a step that are no deadlock because a bound
      cut one.
    - ``hits`` has a 1 for each rule that was decisive.
    - ``steps``, ``repeated``, ``ends``, ``states`` and ``reached`` have a row for each property (``repeated``: for each
      action; ``ends``: one row). A row is a flag and the rank of the least finding: see ``driver.note_least``.
    - ``removed`` is an input: 1 for each rule that a mutant lacks. Only a mutable kernel reads it.
    """
    # A finding in a state is ranked by the state, or by the canonical state and then the state. A step is ranked by
    # four states: both canonical ones, then both.
    state, step = 1 + words * (1 + by_orbit), 1 + 4 * words
    return {
        "taken": (actions,),
        "pending": (3,),
        "counts": (2,),
        "hits": (rules,),
        "cuts": (bounds,),
        "repeats": (actions,),
        "steps": (steps, step),
        "repeated": (actions, step),
        "ends": (1, state),
        "states": (checked, state),
        "reached": (witnesses, state),
        "removed": (rules,),
    }


def places(parts: Shapes) -> dict[str, int]:
    """The index of each part's first word in the block."""
    found, start = {}, 0
    for name, shape in parts.items():
        found[name] = start
        start += prod(shape)
    return found


class Notes:
    """A block of zeros, and its parts as arrays that share its memory."""

    taken: NDArray[np.int64]
    pending: NDArray[np.int64]
    counts: NDArray[np.int64]
    hits: NDArray[np.int64]
    cuts: NDArray[np.int64]
    repeats: NDArray[np.int64]
    steps: NDArray[np.int64]
    repeated: NDArray[np.int64]
    ends: NDArray[np.int64]
    states: NDArray[np.int64]
    reached: NDArray[np.int64]
    removed: NDArray[np.int64]

    def __init__(self, parts: Shapes) -> None:
        self.block = apart((sum(prod(shape) for shape in parts.values()),), np.int64)
        for name, start in places(parts).items():
            shape = parts[name]
            setattr(self, name, self.block[start : start + prod(shape)].reshape(shape))

    @property
    def discoveries(self) -> tuple[NDArray[np.int64], ...]:
        """The parts for what the core has discovered. The first word of each row is its flag; 0 means empty."""
        return self.states, self.reached, self.ends, self.steps, self.repeated


LINE = 128
"""Bytes of a cache line, at most: what processors move at once."""


def apart(shape: tuple[int, ...], kind: type[np.generic]) -> NDArray[Any]:
    """An array of zeros that shares no cache line with any other memory.

    If two cores write to one line, the line travels between them, and both are slow.
    """
    size = int(np.prod(shape)) * np.dtype(kind).itemsize
    # One line too many in front, to start at a multiple of LINE; one behind, so that nothing else begins in the last.
    memory = np.zeros(size + 2 * LINE, np.uint8)
    start = -memory.ctypes.data % LINE
    return memory[start : start + size].view(kind).reshape(shape)
