"""Random runs in machine code: a campaign's runs from one number to another, and what was counted over them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from holdfast.ir.errors import UsageError
from holdfast.ir.system import Action, Property
from holdfast.lower.kernel.build import build
from holdfast.lower.kernel.packing import Packing
from holdfast.lower.kernel.walk_source import WalkSource
from holdfast.lower.python.interpreter import Interpreter
from holdfast.lower.random_runs.plan import STATE_BITS, STOPS, VIOLATED, Stops, WalkPlan, WalkTally
from holdfast.lower.statistics import Statistics

Numbers = NDArray[np.int64]

MOST_BITS = 63
"""How many properties of a kind one word of flags has room for."""


ROOM = 4096
"""How many violating runs a sample gathers before they are looked at."""


@attrs.frozen
class Violating:
    """A run that violates something, after so many steps.

    ``action`` is the last one's index, -1 if there was none; ``state`` the index of the first invariant or lemma that
    fails, -1 if none does; ``steps_failing`` the step properties that do, one bit each, or -1 if it is the action's
    idempotence. If all hold it is a deadlock. ``witness`` and ``premises`` are the witnesses that the state before the
    last step is, and the invariants and lemmas that say something in it, one bit each.
    """

    run: int
    steps: int
    action: int
    state: int
    steps_failing: int
    witness: int
    premises: int


@attrs.define
class Sample:
    """What was counted over runs of which none ended the others.

    ``tally`` is as that of any runs. A row of ``violating`` has the fields of ``Violating``. ``decisive`` counts by
    action and rule how often a rule decided something. ``pairs[a, b]`` is how often action b was taken right after
    action a. ``met`` has a bit for each signature of a state that was met.
    """

    tally: WalkTally
    violating: Numbers
    decisive: dict[tuple[str, str], int]
    pairs: Numbers
    met: bytes


class Walks:
    """The compiled runs of an interpreter's system and scope; ``sampled`` ones count more, and take longer.

    Raises UsageError for a state that takes too many words, and for more properties of one kind than a word has bits.
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
        packing = Packing(machine.layout)
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
        self._module: Any = build(source.text(), "walk_driver.py")
        self._most_instances, self._words = source.most_instances, packing.words
        self._starts = np.array([packing.pack(state) for state in plan.starts], np.int64)

    def compile(self) -> None:
        """Have the machine code ready, so that the first runs are as fast as all others."""
        self.runs(0, 0)

    def runs(self, first: int, last: int, after: WalkTally | None = None) -> WalkTally:
        """The runs from ``first`` to one before ``last``, or up to the first of them that violates something.

        What earlier runs have shown, as ``after`` tells, is not looked for again: to look at the premises of properties
        and at witnesses takes as long as all else together. May be called from several threads at once.
        """
        block = self._block(after, room=1)
        self._walk(block, first, last, self.plan.seed)
        tally = self._tally(block)
        if tally.stops[VIOLATED].runs:
            tally.violation = int(block.found[0, 0])
        return tally

    def sample(self, first: int, last: int, seed: int | None = None) -> Sample:
        """All runs from ``first`` to one before ``last``, of the plan's seed or of another."""
        assert self.sampled, "these runs count less than a sample needs"
        seed = self.plan.seed if seed is None else seed
        block = self._block(None, room=min(ROOM, max(1, last - first)))
        violating = [block.found[:0]]
        while first < last:
            before = int(block.stops[VIOLATED, 0])
            first = self._walk(block, first, last, seed)
            violating.append(block.found[: int(block.stops[VIOLATED, 0]) - before].copy())
        actions = len(self.machine.system.actions)
        more = block.counts[self._module.PAIRS :]
        hits = block.seen[self._module.HITS : self._module.LISTED].tolist()
        return Sample(
            tally=self._tally(block),
            violating=np.concatenate(violating),
            decisive=self._statistics.counted(hits),
            pairs=more[: actions * actions].reshape(actions, actions),
            met=more[actions * actions :].astype("<i8").tobytes(),
        )

    def _walk(self, block: _Block, first: int, last: int, seed: int) -> int:
        """Make runs until ``found`` is full of violating ones; the number of the first that was not made."""
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
        """Memory in which nothing has been counted yet, with room for so many violating runs."""
        actions = len(self.machine.system.actions)
        more = actions * actions + (1 << STATE_BITS - 6) if self.sampled else 0
        return _Block(
            work=self._work(),
            counts=np.array([*self._pending(after), 0, *[0] * (2 * actions + more)], np.int64),
            reached=np.full((self._sizes[2], 2), -1, np.int64),
            stops=np.zeros((len(STOPS), 4), np.int64),
            seen=np.zeros(self._module.LISTED + self._most_instances * (1 + self._words), np.int64),
            found=np.zeros((room, len(attrs.fields(Violating))), np.int64),
        )

    def _tally(self, block: _Block) -> WalkTally:
        actions, module = len(self.machine.system.actions), self._module
        silent_steps, silent_states, _, unshown, *by_action = block.counts[: module.PAIRS].tolist()
        statistics = self._statistics.blank()
        statistics.note(
            np.minimum(block.seen[module.HITS : module.LISTED], 1).tolist(), block.seen[: module.HITS].tolist()
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
        """The properties to look out for, as bits: see ``WalkSource``."""
        if after is None:
            return tuple((1 << size) - 1 for size in self._sizes)
        unreached = sum(1 << index for index, reached in enumerate(after.reached) if reached is None)
        return after.silent_steps, after.silent_states, unreached

    def _work(self) -> Numbers:
        """What a run works with: its stream, the schedule, weights as drawn and as left in a state, the cuts so far, to
        be put back, priorities and change points.
        """
        module, schedule = self._module, self.plan.schedule
        work = np.zeros(module.ORDER + schedule.processes + schedule.points, np.int64)
        work[module.PROCESSES], work[module.POINTS] = schedule.processes, schedule.points
        work[module.PRIORITISED] = schedule.prioritised
        work[module.SWARM] = self.plan.swarm
        work[module.STRIDES : module.STRIDES + len(schedule.strides)] = schedule.strides
        return work


@attrs.define(eq=False)
class _Block:
    """The memory that runs work in; see ``WalkSource``. A row of ``found`` has the fields of ``Violating``."""

    work: Numbers
    counts: Numbers
    reached: Numbers
    stops: Numbers
    seen: Numbers
    found: Numbers
