"""A model's kernel: its actions and properties as machine code over packed states."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast.ir.errors import UsageError
from holdfast.ir.system import Action, Property
from holdfast.lower.interpreter import Args, Interpreter
from holdfast.lower.kernel.build import build
from holdfast.lower.kernel.packing import WORD_BITS, Packing
from holdfast.lower.kernel.source import TAKEN, Source
from holdfast.lower.outcome import Outcome, Taken
from holdfast.lower.statistics import Statistics
from holdfast.lower.symmetry import Symmetry

Words = NDArray[np.int64]
"""States as rows of words."""


class Notes(NamedTuple):
    """What the kernel notes while it works; one for each thread, added up afterwards.

    ``still`` are the step properties that a step which changes nothing would violate in the state at hand.
    ``pending`` are three sets of properties as bits: step properties, invariants that have not said anything yet, and
    witnesses not yet reached. ``steps``, ``repeated``, ``ends``, ``states`` and ``reached`` hold for each property a
    flag and the rank of the least thing found: see ``driver.note_least``. ``counts`` are the repetitions that a bound
    cut, and the ends that are no deadlock. ``removed`` is read: which rules are gone, where the kernel is mutable.
    """

    taken: NDArray[np.int64]
    hits: NDArray[np.uint8]
    cuts: NDArray[np.int64]
    repeats: NDArray[np.int64]
    counts: NDArray[np.int64]
    pending: NDArray[np.int64]
    still: NDArray[np.int64]
    steps: NDArray[np.int64]
    repeated: NDArray[np.int64]
    ends: NDArray[np.int64]
    states: NDArray[np.int64]
    reached: NDArray[np.int64]
    removed: NDArray[np.uint8]


class Kernel:
    """The compiled functions of an interpreter's system and scope.

    A ``mutable`` kernel serves all mutants of the system: see ``without``. Raises UsageError for a state that takes
    too many words, and for more properties of one kind than a word has bits.
    """

    def __init__(
        self,
        machine: Interpreter,
        symmetry: Symmetry | None,
        *,
        witnesses: Sequence[Property] = (),
        finals: Sequence[Property] = (),
        idempotent: Sequence[Action] = (),
        mutable: bool = False,
    ) -> None:
        self.machine = machine
        self.packing = Packing(machine.layout)
        self.statistics = Statistics()
        self.checked, self.steps, self.witnesses = machine.checked, machine.checked_steps, tuple(witnesses)
        most = max(len(self.checked), len(self.steps), len(self.witnesses))
        if most > WORD_BITS:
            raise UsageError(
                f"{machine.system.name} has {most} properties of one kind, and the kernel checks at most {WORD_BITS} "
                "at once; choose some of them with --property"
            )
        source = Source(
            self.packing,
            self.statistics,
            symmetry,
            checked=self.checked,
            steps=self.steps,
            witnesses=self.witnesses,
            finals=finals,
            idempotent=idempotent,
            mutable=mutable,
        )
        self.source = source.text()
        self.fan = max(source.fan, 1)
        self.outcomes = source.outcomes
        self.mutable = mutable
        self.removed = np.zeros(len(self.statistics.hits) + 1, np.uint8)
        """For each place of the statistics' rules, whether the rule is gone."""
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
            return apart(shape, np.int64)

        pending = zeros(3)
        pending[:] = ((1 << steps) - 1, (1 << checked) - 1, (1 << witnesses) - 1)
        return Notes(
            taken=zeros(actions),
            hits=apart((len(self.statistics.hits) + 1,), np.uint8),
            cuts=zeros(len(self.statistics.cut_counts) + 1),
            repeats=zeros(actions),
            counts=zeros(2),
            pending=pending,
            still=zeros(1),
            steps=zeros(max(steps, 1), 1 + 4 * words),
            repeated=zeros(actions, 1 + 4 * words),
            ends=zeros(1, 1 + words),
            states=zeros(max(checked, 1), 1 + words),
            reached=zeros(max(witnesses, 1), 1 + words),
            removed=self.removed,
        )

    def successors(self, state: bytes) -> list[bytes]:
        """The states one step away, an entry for each step, in the order of the actions and of their arguments."""
        rows = np.empty((self.fan, self.words), np.int64)
        found = self.module.successors(self.packing.pack(state), rows, self.notes())
        return [self.packing.unpack(row) for row in rows[:found]]

    def step(self, state: bytes, action: str, args: Args) -> Outcome:
        """What becomes of one action with given arguments; the same as the interpreter's answer."""
        removed = (self.removed,) if self.mutable else ()
        found, words = getattr(self.module, f"outcome_{action}")(self.packing.pack(state), *args, *removed)
        return Taken(self.packing.unpack(words)) if found == TAKEN else self.outcomes[found]

    def without(self, removed: Sequence[str]) -> Kernel:
        """The kernel of the mutant that lacks these rules, ``LABEL`` or ``LABEL@action``; nothing is compiled.

        It answers as a kernel of ``remove_rules(system, removed)`` does, but that the initial states are its caller's.
        """
        assert self.mutable, "only a mutable kernel can do without rules"
        mutant = copy(self)
        mutant.statistics = self.statistics.blank()
        mutant.removed = self.removed.copy()
        mutant.removed[self.statistics.places(removed)] = 1
        return mutant


LINE = 128
"""Bytes that processors move at once, at most."""


def apart(shape: tuple[int, ...], kind: type[np.generic]) -> NDArray[Any]:
    """Zeros that share no cache line with anything else: what one core writes must not slow another down."""
    size = int(np.prod(shape)) * np.dtype(kind).itemsize
    memory = np.zeros(size + 2 * LINE, np.uint8)
    start = -memory.ctypes.data % LINE
    return memory[start : start + size].view(kind).reshape(shape)
