"""A model's kernel: its actions and properties as machine code over packed states."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast.ir.system import Action, Property
from holdfast.lower.interpreter import Interpreter
from holdfast.lower.kernel.build import build
from holdfast.lower.kernel.packing import Packing
from holdfast.lower.kernel.source import Source
from holdfast.lower.statistics import Statistics
from holdfast.lower.symmetry import Symmetry

Words = NDArray[np.int64]
"""States as rows of words."""


class Notes(NamedTuple):
    """What the kernel notes while it works; one for each thread, added up afterwards.

    ``pending`` are three sets of properties as bits: step properties, invariants that have not said anything yet, and
    witnesses not yet reached. ``steps``, ``repeated``, ``ends``, ``states`` and ``reached`` hold for each property a
    flag and the rank of the least thing found: see ``driver.note_least``. ``counts`` are the repetitions that a bound
    cut, and the ends that are no deadlock.
    """

    taken: NDArray[np.int64]
    hits: NDArray[np.uint8]
    cuts: NDArray[np.int64]
    repeats: NDArray[np.int64]
    counts: NDArray[np.int64]
    pending: NDArray[np.int64]
    steps: NDArray[np.int64]
    repeated: NDArray[np.int64]
    ends: NDArray[np.int64]
    states: NDArray[np.int64]
    reached: NDArray[np.int64]


class Kernel:
    """The compiled functions of an interpreter's system and scope."""

    def __init__(
        self,
        machine: Interpreter,
        symmetry: Symmetry | None,
        *,
        witnesses: Sequence[Property] = (),
        finals: Sequence[Property] = (),
        idempotent: Sequence[Action] = (),
    ) -> None:
        self.machine = machine
        self.packing = Packing(machine.layout)
        self.statistics = Statistics()
        self.checked, self.steps, self.witnesses = machine.checked, machine.checked_steps, tuple(witnesses)
        source = Source(
            self.packing,
            self.statistics,
            symmetry,
            checked=self.checked,
            steps=self.steps,
            witnesses=self.witnesses,
            finals=finals,
            idempotent=idempotent,
        )
        self.source = source.text()
        self.fan = max(source.fan, 1)
        self.module: Any = build(self.source)

    @property
    def words(self) -> int:
        """How many words a state takes."""
        return self.packing.words

    def notes(self) -> Notes:
        """Empty notes, everything pending."""
        actions, words = len(self.machine.system.actions), self.words
        steps, checked, witnesses = len(self.steps), len(self.checked), len(self.witnesses)

        def zeros(*shape: int) -> NDArray[np.int64]:
            return np.zeros(shape, np.int64)

        return Notes(
            taken=zeros(actions),
            hits=np.zeros(len(self.statistics.hits) + 1, np.uint8),
            cuts=zeros(len(self.statistics.cut_counts) + 1),
            repeats=zeros(actions),
            counts=zeros(2),
            pending=np.array([(1 << steps) - 1, (1 << checked) - 1, (1 << witnesses) - 1], np.int64),
            steps=zeros(max(steps, 1), 1 + 4 * words),
            repeated=zeros(actions, 1 + 4 * words),
            ends=zeros(1, 1 + words),
            states=zeros(max(checked, 1), 1 + words),
            reached=zeros(max(witnesses, 1), 1 + words),
        )

    def successors(self, state: bytes) -> list[bytes]:
        """The states one step away, an entry for each step, in the order of the actions and of their arguments."""
        rows = np.empty((self.fan, self.words), np.int64)
        found = self.module.successors(self.packing.pack(state), rows, self.notes())
        return [self.packing.unpack(row) for row in rows[:found]]
