"""Helpers that make the same runs on the kernel and on the interpreter, and models for random runs."""

from __future__ import annotations

import attrs

from holdfast.check.walk.walker import RandomRun, Walker
from holdfast.ir.system import Scope, System
from holdfast.lower.kernel.walks import Walks
from holdfast.lower.python.interpreter import Interpreter
from holdfast.lower.random_runs.plan import WalkPlan, WalkTally, by_priority, no_schedule
from holdfast.runs.selection import select

LADDER = """
    held: Rel[Node]
    rung: Map[Node, N]
    tiny = Scope({Node: 3, N: 3}, budgets={"slip": 2})
    @init
    def ground(self, n: Node) -> None:
        self.held.fill(False)
        self.rung.fill(N(0))
        self.held[n] = True
    @action
    def climb(self, n: Node) -> None:
        require(self.held[n], "LA-1")
        self.rung[n] = self.rung[n] + 1
    @action
    def hand_over(self, up: bool, n: Node, m: Node) -> None:
        require(self.held[m] and n != m, "LA-2")
        require(not up or self.rung[n] >= self.rung[m], "LA-3")
        self.held[m] = False
        self.held[n] = True
    @action(idempotent="LA-9")
    def slip(self, n: Node) -> None:
        if rule("LA-4", self.rung[n] > N(1)):
            self.rung[n] = N(0)
    @action
    def knock(self, n: Node) -> None:
        if self.rung[n] == N(1):
            self.rung[n] = N(0)
    @invariant
    def one_holds(self) -> bool:
        \"\"\"LA-10. One holds the ladder.\"\"\"
        return count(self.held[n] for n in Node) == 1
    @step(of="climb")
    def climbs_by_one(self, old: Self, n: Node) -> bool:
        \"\"\"LA-11. A climb is one rung.\"\"\"
        return self.rung[n] > old.rung[n]
    @witness
    def all_up(self) -> bool:
        \"\"\"Everybody stands on the second rung.\"\"\"
        return all(self.rung[n] >= N(2) for n in Node)
"""
"""Parameters needed in another order than declared, a budget, a bound that cuts, and steps that change nothing."""

ENDS = """
    n: N
    up: bool
    tiny = Scope({N: 6}, budgets={"once": 1})
    @init
    def anywhere(self, k: N) -> None:
        self.n = k
        self.up = False
    @action
    def wait(self) -> None:
        require(self.n == N(0), "E-0")
        self.n = self.n
    @action
    def leave(self) -> None:
        require(self.n == N(1), "E-1")
        self.n = N(2)
    @action
    def flip(self) -> None:
        require(self.n == N(3), "E-3")
        self.up = not self.up
    @action
    def once(self) -> None:
        require(self.n == N(4), "E-4")
        self.up = not self.up
    @action
    def beyond(self) -> None:
        require(self.n == N(6), "E-6")
        self.n = self.n + 1
"""
"""The initial state decides how a run can end: at 2 and 5 without a step, at 4 by a budget, and at 6 by a bound."""

FINAL_AT_TWO = """
    @final
    def done(self) -> bool:
        return self.n == N(2)
"""

MANY_DOORS = """
    n: N
    tiny = Scope({N: 2})
    @init
    def zero(self) -> None:
        self.n = N(0)
    @action
    def one(self) -> None:
        require(self.n == N(0), "DO-1")
        self.n = N(1)
    @action
    def other(self) -> None:
        require(self.n == N(0), "DO-2")
        self.n = N(1)
    @action
    def third(self) -> None:
        require(self.n == N(0), "DO-3")
        self.n = N(1)
    @action
    def last(self) -> None:
        require(self.n == N(1), "DO-4")
        self.n = N(2)
    @action
    def knock(self) -> None:
        require(self.n == N(0), "DO-5")
        self.n = N(0)
    @action
    def rest(self) -> None:
        self.n = self.n
"""
"""Three ways lead from 0 to 1 and one from there to 2; two actions change nothing."""

GATES = """
    place: Map[Node, N]
    second: Rel[Node]
    tiny = Scope({Node: 2, N: 15}, given={"second": (False, True)})
    @init
    def begin(self) -> None:
        self.place.fill(N(0))
    @action
    def jump(self, to: N, m: Node, key: N) -> None:
        require(self.place[m] == N(0) and to > N(0), "GA-1")
        require(GATE, "GA-2")
        self.place[m] = to
    @witness
    def second_has_jumped(self) -> bool:
        \"\"\"The second node has jumped.\"\"\"
        return any(self.place[m] > N(0) for m in Node if self.second[m])
"""
"""An action of 512 instances, so 8 are tried. GATE decides how many of them are steps."""

REST = """
    n: N
    tiny = Scope({N: 3})
    @init
    def zero(self) -> None:
        self.n = N(0)
    @action
    def step_on(self, a: N, b: N) -> None:
        if a == N(3) and b == N(3):
            self.n = self.n + 1
"""
"""An action of 16 instances, of which one changes the state."""


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


def runs_of(system: System, number: int, *, depth: int = 20, seed: int = 0) -> list[RandomRun]:
    """The interpreter's first N runs in scope tiny."""
    walker = WalkPair.of(system, system.scopes["tiny"], seed, depth).walker
    return [walker.run(run) for run in range(number)]
