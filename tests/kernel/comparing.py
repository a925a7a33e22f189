"""The kernel's answers about a state must equal the interpreter's; its steps and refusals must also equal CPython's.

Every function here yields sentences, one for each difference, and none if all answers are equal.
"""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from holdfast.ir.system import Action, Property, Scope, System
from holdfast.lower.kernel.kernel import Kernel
from holdfast.lower.kernel.notes import Notes
from holdfast.lower.outcome import Cut
from holdfast.lower.python.cpython import CPython
from holdfast.lower.python.interpreter import Args, Interpreter
from holdfast.lower.symmetry import Symmetry
from holdfast.runs.rebuilding import repeat_differs
from tests.differential.comparing import some_states, starts_of

ENOUGH = 3
"""The number of differences that are reported."""

Rank = tuple[bytes, ...]
"""States that rank a finding; of several findings the one with the least rank is kept."""


class Engines:
    """The kernel, the interpreter and CPython for one system and scope, with all properties and all ghosts."""

    def __init__(self, system: System, scope: Scope, kernel: Kernel | None = None) -> None:
        self.system = system
        self.interpreter = Interpreter(system, scope)
        self.cpython = CPython(system, scope)
        self.group = Symmetry(self.interpreter.layout)
        self.finals = tuple(system.of_kind("final"))
        self.idempotent = [action for action in system.actions if action.idempotent is not None]
        self.kernel = kernel or self.make_kernel()

    def make_kernel(self, *, mutable: bool = False) -> Kernel:
        """A kernel of the system."""
        return Kernel(
            self.interpreter,
            self.group,
            witnesses=tuple(self.system.of_kind("witness")),
            finals=self.finals,
            idempotent=self.idempotent,
            mutable=mutable,
        )

    def differences(self, state: bytes) -> Iterator[str]:
        """The differences between the engines on a state and its steps."""
        where = self.interpreter.layout.decode(state)
        for found in (
            self._packed(state),
            self._steps(state),
            self._outcomes(state),
            self._noted_of_steps(state),
            self._noted_of_the_state(state),
        ):
            yield from (f"{difference}\n  at {where}" for difference in found)

    # States and steps -----------------------------------------------------------------------------------------

    def _packed(self, state: bytes) -> Iterator[str]:
        packing, module = self.kernel.packing, self.kernel.module
        words = packing.pack(state)
        yield from differing("unpacked", packing.unpack(words), state)
        yield from differing("canonical", packing.unpack(module.canonical(words)), self.group.canonical(state))

    def _steps(self, state: bytes) -> Iterator[str]:
        wanted = Counter(new for steps in self.cpython.successors(state) for new, _ in steps)
        interpreted = Counter(new for successors in self.interpreter.successors for new, _ in successors(state))
        found = Counter(self.kernel.successors(state))
        for name, other in (("CPython", wanted), ("the interpreter", interpreted)):
            for new in sorted(found | other):
                yield from differing(f"steps to {new.hex()}, by {name}", found[new], other[new])

    def _outcomes(self, state: bytes) -> Iterator[str]:
        for action in self.system.actions:
            for args in arguments(self.interpreter, action):
                found = self.kernel.step(state, action.name, args)
                for other in (self.interpreter, self.cpython):
                    wanted = other.step(state, action.name, args)
                    yield from differing(f"{action.name}{args} by {type(other).__name__}", found, wanted)

    # What is noted --------------------------------------------------------------------------------------------

    def _noted_of_steps(self, state: bytes) -> Iterator[str]:
        """Compare the notes and rows that ``expand`` writes when it expands this state alone."""
        interpreter, kernel = self.interpreter, self.kernel
        interpreter.statistics.reset()
        steps = [
            (index, new, args)
            for index, successors in enumerate(interpreter.successors)
            for new, args in successors(state)
        ]
        notes, rows, strayed = self._expanded(state)
        noted = kernel.statistics.blank()
        noted.note(notes.hits.tolist(), notes.cuts.tolist())
        yield from differing("decisive rules", noted.decisive_in, interpreter.statistics.decisive_in)
        yield from differing("cuts", noted.cuts, interpreter.statistics.cuts)
        yield from differing("shortages", set(noted.shortages), set(interpreter.statistics.shortages))
        taken = Counter(index for index, _, _ in steps)
        yield from differing("taken", Counter(dict(enumerate(notes.taken.tolist()))), taken)
        yield from differing("rows in partitions where the store does not begin", strayed, [])
        wanted = {self.group.canonical(new) for _, new, _ in steps if new != state}
        yield from differing("rows", set(rows), wanted)
        for number, prop in enumerate(kernel.steps):
            of = [step for step in steps if prop.of in (None, self.system.actions[step[0]].name)]
            bad = [self._rank(state, new) for _, new, args in of if not interpreter.holds_step(prop, state, new, args)]
            said = any(interpreter.premise(prop, new, args, old=state) for _, new, args in of)
            yield from differing(f"violations of {prop.name}", self._best(notes.steps, number), min(bad, default=None))
            yield from differing(f"premise of {prop.name}", not notes.pending[0] >> number & 1, said)
        yield from self._noted_of_repeats(state, steps, notes)
        stuck = not steps and self.finals and not any(interpreter.holds(prop, state) for prop in self.finals)
        cut = bool(interpreter.statistics.cuts)
        yield from differing("deadlock", self._best(notes.ends, 0), (state,) if stuck and not cut else None)
        yield from differing("ends that were cut", int(notes.counts[1]), int(bool(stuck and cut)))

    def _noted_of_repeats(self, state: bytes, steps: list[tuple[int, bytes, Args]], notes: Notes) -> Iterator[str]:
        cuts = 0
        for index, action in enumerate(self.system.actions):
            repeated = [(new, args) for number, new, args in steps if number == index and new != state]
            repeated = repeated if action in self.idempotent else []
            outcomes = [(new, self.interpreter.step(new, action.name, args)) for new, args in repeated]
            bad = [self._rank(state, new) for new, out in outcomes if repeat_differs(self.interpreter, new, out)]
            cuts += sum(isinstance(outcome, Cut) for _, outcome in outcomes)
            yield from differing(f"repeats of {action.name}", int(notes.repeats[index]), len(repeated))
            found = self._best(notes.repeated, index)
            yield from differing(f"repeats of {action.name} that differ", found, min(bad, default=None))
        yield from differing("repeats that were cut", int(notes.counts[0]), cuts)

    def _noted_of_the_state(self, state: bytes) -> Iterator[str]:
        """Compare the notes that ``check`` writes when it checks this state alone."""
        interpreter, kernel, notes = self.interpreter, self.kernel, self.kernel.notes()
        row, directory = self._row(state), self._directory
        directory[0, kernel.module.STATES_AT], directory[0, kernel.module.COUNT] = row.ctypes.data, 1
        kernel.module.check(directory, 0, 1, np.zeros(len(directory), np.int64), notes.block)
        for number, prop in enumerate(kernel.checked):
            holds = interpreter.holds(prop, state)
            yield from differing(f"{prop.name} fails", self._best(notes.states, number), None if holds else (state,))
            said = interpreter.premise(prop, state)
            yield from differing(f"premise of {prop.name}", not notes.pending[1] >> number & 1, said)
        for number, prop in enumerate(kernel.witnesses):
            wanted = (state,) if interpreter.holds(prop, state) else None
            yield from differing(f"{prop.name} is reached", self._best(notes.reached, number), wanted)

    def _expanded(self, state: bytes) -> tuple[Notes, list[bytes], list[bytes]]:
        """Expand one state. Returns the notes, the written states, and the written states in a wrong partition.

        A partition is wrong if the store would not look for the state there.
        """
        kernel, module = self.kernel, self.kernel.module
        notes, partitions = kernel.notes(), 1 << module.PARTITION_BITS
        buffers = np.empty((partitions, 2 * kernel.fan, kernel.row_words), np.int64)
        filled = np.zeros(partitions, np.int64)
        rows = np.empty((kernel.fan, kernel.row_words), np.int64)
        cache = np.full((1 << module.CACHE_BITS, kernel.row_words), -1, np.int64)
        row, directory, chunks = self._row(state), self._directory, np.array([(0, 0, 1)], np.int64)
        directory[0, module.STATES_AT] = row.ctypes.data
        assert module.expand(directory, chunks, 0, buffers, filled, rows, cache, notes.block) == 1
        written = [(part, row) for part in range(partitions) for row in buffers[part, : filled[part]]]
        strayed = [row for part, row in written if part != _part(kernel, kernel.packing.state(row))]
        unpacked = kernel.packing.state
        return notes, [unpacked(row) for _, row in written], [unpacked(row) for row in strayed]

    @property
    def _directory(self) -> NDArray[np.int64]:
        """A directory of empty partitions: see ``driver.py``."""
        return np.zeros((1 << self.kernel.module.PARTITION_BITS, self.kernel.module.MORE_SIZE + 1), np.int64)

    def _row(self, state: bytes) -> NDArray[np.int64]:
        return np.array([self.kernel.packing.row(state)], np.int64)

    def _rank(self, old: bytes, new: bytes) -> Rank:
        return (self.group.canonical(new), self.group.canonical(old), old, new)

    def _best(self, best: NDArray[np.int64], index: int) -> Rank | None:
        if not best[index, 0]:
            return None
        return tuple(self.kernel.packing.unpack(row) for row in best[index, 1:].reshape(-1, self.kernel.words))


def _part(kernel: Kernel, state: bytes) -> int:
    """The partition of a state, computed as the store computes it for initial states."""
    return int(kernel.module.hashed(kernel.packing.pack(state))) % (1 << 64) >> 64 - kernel.module.PARTITION_BITS


def differing(what: str, found: object, wanted: object) -> Iterator[str]:
    """Yields a sentence if the two values differ."""
    if found != wanted:
        yield f"{what}: the kernel says {found}, which should be {wanted}"


def arguments(interpreter: Interpreter, of: Action | Property) -> Iterator[Args]:
    """All arguments of an action or a property."""
    return itertools.product(*(range(interpreter.layout.codes(param.type)) for param in of.params))


def differences(engines: Engines, states: int, seed: int = 0) -> list[str]:
    """The first differences on N reachable states and on N that need not be reachable."""
    chance = random.Random(seed)
    looked_at = some_states(engines.interpreter, starts_of(engines.interpreter), states, chance)
    found = (difference for state in looked_at for difference in engines.differences(state))
    return list(itertools.islice(found, ENOUGH))
