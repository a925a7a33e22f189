"""Helpers that make the same runs on the kernel and on the interpreter."""

from __future__ import annotations

import attrs

from holdfast.check.walk.walker import Walker
from holdfast.ir.system import Scope, System
from holdfast.lower.kernel.walks import Walks
from holdfast.lower.python.interpreter import Interpreter
from holdfast.lower.random_runs.plan import WalkPlan, WalkTally, by_priority, no_schedule
from holdfast.runs.selection import select


@attrs.frozen
class WalkPair:
    """The random runs of the kernel and of the interpreter, side by side."""

    walker: Walker
    walks: Walks

    @classmethod
    def of(
        cls,
        system: System,
        scope: Scope,
        seed: int,
        depth: int,
        pct: int | None = None,
        *,
        sampled: bool = False,
        swarm: bool = True,
    ) -> WalkPair:
        """Both, with all properties of the system."""
        selection = select(system, None)
        machine = Interpreter(system, scope, ghosts=selection.ghosts, properties=selection.properties)
        schedule = no_schedule(system) if pct is None else by_priority(machine.layout, None, pct, depth)
        plan = WalkPlan(seed, depth, tuple(machine.initial()), schedule, swarm)
        machine.statistics.reset()
        walker = Walker(machine, selection, plan)
        return cls(
            walker,
            Walks(
                machine,
                plan,
                witnesses=walker.witnesses,
                finals=walker.finals,
                idempotent=selection.idempotent,
                sampled=sampled,
            ),
        )

    def interpreted(self, runs: int) -> WalkTally:
        """The interpreter's runs, up to the first that violates something."""
        tally = self.walker.tally()
        for number in range(runs):
            self.walker.run(number, tally)
            if tally.violation is not None:
                break
        tally.statistics.add(self.walker.machine.statistics)
        return tally


def noted(tally: WalkTally) -> tuple[WalkTally, object, object]:
    """A tally as a value that compares with its statistics, whose objects have no equality of their own."""
    return tally, tally.statistics.cuts, tally.statistics.decisive_in
