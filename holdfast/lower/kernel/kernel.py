"""A model's kernel: its actions and properties as machine code over packed states."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.ir.errors import UsageError
from holdfast.ir.system import Action, Property
from holdfast.lower.kernel.build import build, is_compiled
from holdfast.lower.kernel.instance_ends import TAKEN
from holdfast.lower.kernel.notes import Notes
from holdfast.lower.kernel.packing import WORD_BITS, Packing
from holdfast.lower.kernel.source import KernelSource
from holdfast.lower.outcome import Outcome, Taken
from holdfast.lower.python.interpreter import Args, Interpreter
from holdfast.lower.python.names import numbered
from holdfast.lower.statistics import Statistics
from holdfast.lower.symmetry import Symmetry

Words = NDArray[np.int64]
"""States as rows of words."""


class Kernel:
    """The compiled functions of an interpreter's system and scope.

    States are ranked by their orbits under ``symmetry``. If ``reduced``, one state of each orbit is stored. A
    ``mutable`` kernel serves all mutants of the system: see ``without``. A ``quick`` kernel begins with quick code, if
    there is no full code yet: see ``improve``.

    Raises UsageError for a state that takes too many words, and for more than ``WORD_BITS`` properties of one kind.
    """

    def __init__(
        self,
        machine: Interpreter,
        symmetry: Symmetry | None,
        *,
        reduced: bool = True,
        witnesses: Sequence[Property] = (),
        finals: Sequence[Property] = (),
        idempotent: Sequence[Action] = (),
        mutable: bool = False,
        quick: bool = False,
    ) -> None:
        self.machine = machine
        self.quick = quick
        self.packing = Packing(machine.layout)
        self.statistics = Statistics()
        self.checked, self.steps, self.witnesses = machine.checked, machine.checked_steps, tuple(witnesses)
        most = max(map(len, (self.checked, self.steps, self.witnesses, finals)))
        if most > WORD_BITS:
            raise UsageError(
                f"{machine.system.name} has {most} properties of one kind, and the kernel checks at most {WORD_BITS} "
                "at once; choose some of them with --property"
            )
        source = KernelSource(
            self.packing,
            self.statistics,
            symmetry,
            reduced=reduced,
            checked=self.checked,
            steps=self.steps,
            witnesses=self.witnesses,
            finals=finals,
            idempotent=idempotent,
            mutable=mutable,
        )
        self.source = source.text()
        self.fan = max(source.fan, 1)
        self._shapes = source.shapes()
        self.outcomes = source.outcomes
        self.has_form = reduced and source.form is not None
        """Whether stored states are canonical states of a large group: see ``canonical_form.py``."""
        self.mutable = mutable
        self.removed = np.zeros(len(self.statistics.hits), np.int64)
        """For each place of the statistics' rules, 1 if the rule is removed."""

    @cached_property
    def module(self) -> Any:
        """The constants and entries of the compiled text. The first use compiles it, or loads what was compiled."""
        return build(self.source, quick=self.quick)

    @property
    def compiled(self) -> bool:
        """Whether the first use of ``module`` need not compile."""
        return is_compiled(self.source, quick=self.quick)

    def improve(self) -> None:
        """Take full code in place of quick code: compile it, or load it. Both work on the same memory."""
        self.quick = False
        self.module = build(self.source)

    @property
    def words(self) -> int:
        """The number of words of a state."""
        return self.packing.words

    @property
    def row_words(self) -> int:
        """The number of words of a row."""
        return self.packing.row_words

    def notes(self) -> Notes:
        """Empty notes, in which every property and witness is pending."""
        notes = Notes(self._shapes)
        steps, checked, witnesses = len(self.steps), len(self.checked), len(self.witnesses)
        notes.pending[:] = ((1 << steps) - 1, (1 << checked) - 1, (1 << witnesses) - 1)
        notes.removed[:] = self.removed
        return notes

    def successors(self, state: bytes) -> list[bytes]:
        """The new state of each step from ``state``, in the order of the actions and of their arguments."""
        rows = np.empty((self.fan, self.row_words), np.int64)
        found = self.module.listed(self.packing.pack(state), rows, self.notes().block)
        return [self.packing.state(row) for row in rows[:found]]

    def canonical(self, state: bytes) -> bytes:
        """The canonical state of the state's orbit, the same as ``Symmetry.canonical`` gives."""
        return self.packing.unpack(self.module.canonical(self.packing.pack(state)))

    def step(self, state: bytes, action: str, args: Args) -> Outcome:
        """The outcome of one action with these arguments, the same as ``Interpreter.step`` gives."""
        number = [found.name for found in self.machine.system.actions].index(action)
        outcome = getattr(self.module, numbered("outcome", number))
        found, words = outcome(self.packing.pack(state), *args, self.notes().block)
        return Taken(self.packing.unpack(words)) if found == TAKEN else self.outcomes[found]

    def without(self, removed: Sequence[str]) -> Kernel:
        """The kernel of the mutant without these rules, each ``LABEL`` or ``LABEL@action``. It compiles nothing.

        It answers as a kernel of ``remove_rules(system, removed)`` does. The mutant's initial states are left to the
        caller: a kernel does not compute initial states.
        """
        assert self.mutable, "only a mutable kernel can do without rules"
        # A shallow copy shares everything but statistics and removed rules. The machine code may not be there yet.
        mutant = copy(self)
        mutant.module = self.module
        mutant.statistics = self.statistics.blank()
        mutant.removed = self.removed.copy()
        mutant.removed[self.statistics.places(removed)] = 1
        return mutant
