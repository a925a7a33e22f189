"""Random runs in machine code: a campaign's runs from one number to another, and what was counted over them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.ir.errors import UsageError
from holdfast.ir.system import Action, Property
from holdfast.lower.interpreter import Interpreter
from holdfast.lower.kernel.build import build
from holdfast.lower.kernel.packing import Packing
from holdfast.lower.kernel.walk_source import WalkSource
from holdfast.lower.statistics import Statistics
from holdfast.lower.walking import STOPS, Plan, Stops, Tally

Numbers = NDArray[np.int64]

MOST_BITS = 63
"""How many properties of a kind one word of flags has room for."""


class Walks:
    """The compiled runs of an interpreter's system and scope.

    Raises UsageError for a state that takes too many words, and for more properties of one kind than a word has bits.
    """

    def __init__(
        self,
        machine: Interpreter,
        plan: Plan,
        *,
        witnesses: Sequence[Property] = (),
        finals: Sequence[Property] = (),
        idempotent: Sequence[Action] = (),
    ) -> None:
        self.machine = machine
        self.plan = plan
        self._sizes = (len(machine.checked_steps), len(machine.checked), len(witnesses))
        if max(self._sizes) > MOST_BITS:
            raise UsageError(
                f"{machine.system.name} has {max(self._sizes)} properties of one kind, and a walk checks at most "
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
        )
        self._module: Any = build(source.text(), "walk_driver.py")
        self._most_instances, self._words = source.most_instances, packing.words
        self._starts = np.array([packing.pack(state) for state in plan.starts], np.int64)

    def compile(self) -> None:
        """Have the machine code ready, so that the first runs are as fast as all others."""
        self.runs(0, 0)

    def runs(self, first: int, last: int, after: Tally | None = None) -> Tally:
        """The runs from ``first`` to one before ``last``, or up to the first of them that violates something.

        What earlier runs have shown, as ``after`` tells, is not looked for again: to look at the premises of properties
        and at witnesses takes as long as all else together. May be called from several threads at once.
        """
        actions = len(self.machine.system.actions)
        counts = _row([*self._pending(after), 0, *[0] * (2 * actions)])
        reached = np.full((self._sizes[2], 2), -1, np.int64)
        stops = np.zeros((len(STOPS), 4), np.int64)
        seen = np.zeros(self._module.LISTED + self._most_instances * (1 + self._words), np.int64)
        violation = self._module.walk(
            first,
            last,
            np.uint64(self.plan.seed),
            self.plan.depth,
            self._starts,
            self._work(),
            counts,
            reached,
            stops,
            seen,
        )
        silent_steps, silent_states, _, unshown, *by_action = counts.tolist()
        statistics = self._statistics.blank()
        bounds = self._module.HITS
        statistics.note(seen[bounds : self._module.LISTED].tolist(), seen[:bounds].tolist())
        return Tally(
            taken=by_action[actions:],
            repeats=by_action[:actions],
            silent_steps=silent_steps,
            silent_states=silent_states,
            reached=[None if run < 0 else (run, steps) for run, steps in reached.tolist()],
            statistics=statistics,
            stops=[Stops(*row) for row in stops.tolist()],
            unshown_repeats=unshown,
            violation=None if violation < 0 else int(violation),
        )

    def _pending(self, after: Tally | None) -> tuple[int, ...]:
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
        work[module.STRIDES : module.STRIDES + len(schedule.strides)] = schedule.strides
        return work


def _row(values: Sequence[int]) -> Numbers:
    return np.array(values, np.int64)
