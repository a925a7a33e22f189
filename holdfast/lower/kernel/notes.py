"""What the kernel notes while it works: one block of words for each core, added up afterwards."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

Shapes = Mapping[str, tuple[int, ...]]
"""The parts of a block, in order, and their shapes."""


def shapes(*, words: int, actions: int, steps: int, checked: int, witnesses: int, rules: int, bounds: int) -> Shapes:
    """The parts that a kernel's block has.

    ``taken`` and ``repeats`` count by action, ``cuts`` by bound; ``hits`` has a 1 for each rule that was decisive.
    ``counts`` are the repetitions that a bound cut, and the ends that are no deadlock. ``pending`` are three sets of
    properties as bits: step properties, invariants that have not said anything yet, and witnesses not yet reached.
    ``steps``, ``repeated``, ``ends``, ``states`` and ``reached`` hold for each property (or action) a flag and the
    rank of the least thing found: see ``driver.note_least``. ``removed`` is read: which rules are gone, where the
    kernel is mutable.
    """
    state, step = 1 + words, 1 + 4 * words
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
    """Where each part begins."""
    found, start = {}, 0
    for name, shape in parts.items():
        found[name] = start
        start += prod(shape)
    return found


class Notes:
    """A block, and its parts as arrays over the same memory."""

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


LINE = 128
"""Bytes that processors move at once, at most."""


def apart(shape: tuple[int, ...], kind: type[np.generic]) -> NDArray[Any]:
    """Zeros that share no cache line with anything else: what one core writes must not slow another down."""
    size = int(np.prod(shape)) * np.dtype(kind).itemsize
    memory = np.zeros(size + 2 * LINE, np.uint8)
    start = -memory.ctypes.data % LINE
    return memory[start : start + size].view(kind).reshape(shape)
