"""Random runs in machine code: makes the runs from one number to another, and returns the counts over them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from holdfast.ir.errors import UsageError
from holdfast.ir.system import Action, Property
from holdfast.lower.kernel.build import build
from holdfast.lower.kernel.packing import MOST_RUN_WORDS, Packing
from holdfast.lower.kernel.walk_source import WalkSource
from holdfast.lower.python.interpreter import Interpreter
from holdfast.lower.random_runs.plan import STATE_BITS, STOPS, VIOLATED, Stops, WalkPlan, WalkTally
from holdfast.lower.statistics import Statistics

Numbers = NDArray[np.int64]

MOST_BITS = 63
"""The number of properties of a kind that a bit mask in one word has room for."""


ROOM = 4096
"""The number of violating runs that one call of machine code has room for."""


@attrs.frozen
class ViolatingRun:
    """A run that violates something. If no property fails, the violation is a deadlock."""

    run: int
    """The number of the run."""
    steps: int
    """The number of steps up to the violation."""
    action: int
    """The index of the last step's action; -1 if there was no step."""
    state: int
    """The index of the first invariant or lemma that fails; -1 if none does."""
    steps_failing: int
    """Bit mask of the step properties that fail; -1 if the idempotence of the last step's action fails."""
    witness: int
    """Bit mask of the witnesses that hold in the state before the last step."""
    premises: int
    """Bit mask of the invariants and lemmas whose premise holds in the state before the last step."""


@attrs.define
class WalkSample:
    """The counts over a range of runs, which a violation does not end."""

    tally: WalkTally
    violating: Numbers
    """A row for each run that violates something: the fields of ``ViolatingRun``."""
    decisive: dict[tuple[str, str], int]
    """How often a rule was decisive, by action and label."""
    pairs: Numbers
    """``pairs[a, b]`` counts how often action b was taken right after action a."""
    met: bytes
    """A bit for each signature of a state, set if a run met such a state; little-endian words of 64 bits."""


class Walks:
    """The compiled runs of an interpreter's system and scope. ``sampled`` runs count more, and take longer.

    For ``quick`` see ``build``. Raises UsageError for a state that takes too many words, and for more than
    ``MOST_BITS`` properties of one kind.
    """

    def __init__(
        self,
        machine: Interpreter,
        plan: WalkPlan,
        *,
        witnesses: Sequence[Property] = (),
        finals: Sequence[Property] = (),
        idempotent: Sequence[Action] = (),
        sampled: bool = False,
        quick: bool = False,
    ) -> None:
        self.machine = machine
        self.plan = plan
        self._sizes = (len(machine.checked_steps), len(machine.checked), len(witnesses))
        most = max(*self._sizes, len(finals))
        if most > MOST_BITS:
            raise UsageError(
                f"{machine.system.name} has {most} properties of one kind, and a walk checks at most "
                f"{MOST_BITS} at once; choose some of them with --property"
            )
        packing = Packing(machine.layout, MOST_RUN_WORDS)
        self._statistics = Statistics()
        source = WalkSource(
            packing,
            self._statistics,
            None,
            checked=machine.checked,
            steps=machine.checked_steps,
            witnesses=witnesses,
            finals=finals,
            idempotent=idempotent,
            sampled=sampled,
        )
        self.sampled = sampled
        self._module: Any = build(source.text(), "walk_driver.py", quick=quick)
        self._most_instances, self._words = source.most_instances, packing.words
        self._starts = np.array([packing.row(state) for state in plan.starts], np.int64)

    def runs(self, first: int, last: int, after: WalkTally | None = None) -> WalkTally:
        """Make the runs from ``first`` to one before ``last``, or up to the first that violates something; count them.

        ``after`` is the tally of earlier runs: the premises and witnesses that they met are not waited for again.
        Looking for those takes as long as everything else together. May be called from several threads at once.
        """
        block = self._block(after, room=1)
        self._walk(block, first, last, self.plan.seed)
        tally = self._tally(block)
        if tally.stops[VIOLATED].runs:
            tally.violation = int(block.found[0, 0])
        return tally

    def sample(self, first: int, last: int, seed: int | None = None) -> WalkSample:
        """Make all runs from ``first`` to one before ``last``, with the plan's seed or another one; count them."""
        assert self.sampled, "these runs count less than a sample needs"
        seed = self.plan.seed if seed is None else seed
        block = self._block(None, room=min(ROOM, max(1, last - first)))
        # An empty piece first, so that there is something to concatenate when no run violates anything.
        violating = [block.found[:0]]
        while first < last:
            before = int(block.stops[VIOLATED, 0])
            first = self._walk(block, first, last, seed)
            violating.append(block.found[: int(block.stops[VIOLATED, 0]) - before].copy())
        actions = len(self.machine.system.actions)
        more = block.counts[self._module.PAIRS :]
        hits = block.seen[self._module.HITS : self._module.CELL].tolist()
        return WalkSample(
            tally=self._tally(block),
            violating=np.concatenate(violating),
            decisive=self._statistics.counted(hits),
            pairs=more[: actions * actions].reshape(actions, actions),
            met=more[actions * actions :].astype("<i8").tobytes(),
        )

    def _walk(self, block: _Block, first: int, last: int, seed: int) -> int:
        """Make runs, at most until ``found`` is full of violating ones; returns the first run that was not made."""
        made: int = self._module.walk(
            first,
            last,
            np.uint64(seed),
            self.plan.depth,
            self._starts,
            block.work,
            block.counts,
            block.reached,
            block.stops,
            block.seen,
            block.found,
        )
        return made

    def _block(self, after: WalkTally | None, room: int) -> _Block:
        """Memory in which nothing has been counted yet, with room for ``room`` violating runs."""
        actions = len(self.machine.system.actions)
        # A sample has the pairs of actions, and one bit for each of 2^STATE_BITS signatures, 64 = 2^6 bits a word.
        more = actions * actions + (1 << STATE_BITS - 6) if self.sampled else 0
        return _Block(
            work=self._work(),
            counts=np.array([*self._pending(after), 0, *[0] * (2 * actions + more)], np.int64),
            reached=np.full((self._sizes[2], 2), -1, np.int64),
            stops=np.zeros((len(STOPS), 4), np.int64),
            seen=np.zeros(self._module.LISTED + self._most_instances * (1 + self._words), np.int64),
            found=np.zeros((room, len(attrs.fields(ViolatingRun))), np.int64),
        )

    def _tally(self, block: _Block) -> WalkTally:
        actions, module = len(self.machine.system.actions), self._module
        # In the order of ``WalkSource.places``. The mask of unreached witnesses is dropped: ``reached`` says more.
        silent_steps, silent_states, _, unshown, *by_action = block.counts[: module.PAIRS].tolist()
        statistics = self._statistics.blank()
        # A sample counts decisive rules, the statistics only note them: at most 1.
        statistics.note(
            np.minimum(block.seen[module.HITS : module.CELL], 1).tolist(), block.seen[: module.HITS].tolist()
        )
        return WalkTally(
            taken=by_action[actions:],
            repeats=by_action[:actions],
            silent_steps=silent_steps,
            silent_states=silent_states,
            reached=[None if run < 0 else (run, steps) for run, steps in block.reached.tolist()],
            statistics=statistics,
            stops=[Stops(*row) for row in block.stops.tolist()],
            unshown_repeats=unshown,
        )

    def _pending(self, after: WalkTally | None) -> tuple[int, ...]:
        """Bit masks of the step properties, the invariants and lemmas, and the witnesses that are still waited for."""
        if after is None:
            return tuple((1 << size) - 1 for size in self._sizes)
        unreached = sum(1 << index for index, reached in enumerate(after.reached) if reached is None)
        return after.silent_steps, after.silent_states, unreached

    def _work(self) -> Numbers:
        """The scratch memory of a run, with the schedule filled in: see ``WalkSource.places``."""
        module, schedule = self._module, self.plan.schedule
        work = np.zeros(module.ORDER + schedule.processes + schedule.points, np.int64)
        work[module.PROCESSES], work[module.POINTS] = schedule.processes, schedule.points
        work[module.PRIORITISED] = schedule.prioritised
        work[module.SWARM] = self.plan.swarm
        work[module.STRIDES : module.STRIDES + len(schedule.strides)] = schedule.strides
        return work


@attrs.define(eq=False)
class _Block:
    """The memory of a call of ``walk``: see ``walk_driver.py``.

    ``reached`` has a row for each witness: the first run that reached it, and its number of steps then; -1 for none. A
    row of ``stops`` has the fields of ``Stops``, a row of ``found`` those of ``ViolatingRun``.
    """

    work: Numbers
    counts: Numbers
    reached: Numbers
    stops: Numbers
    seen: Numbers
    found: Numbers
