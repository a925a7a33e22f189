"""Random runs of wide states, whose cells a kernel keeps in memory, and actions whose loops open on the way."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest

from holdfast.ir.system import System
from holdfast.lower.kernel import walk_source
from holdfast.lower.kernel.packing import MOST_WORDS, Packing
from holdfast.lower.outcome import Taken
from tests.check.walking import WalkPair, noted

Compiled = Callable[[str], System]

SHELVES = """
    held: Map[tuple[Node, N], N]
    open: Rel[Node]
    tiny = Scope({Node: 5, N: 15}, budgets={"clear": 3})
    @init
    def begin(self) -> None:
        self.held.fill(N(1))
        self.open.fill(True)
    @action
    def shift(self, k: N, n: Node, up: bool, m: Node) -> None:
        before = self.held[n, k]
        above = before + 1
        same = before == self.held[m, k]
        if up:
            require(self.open[m], "SH-1")
            if rule("SH-2", same):
                pass
            else:
                require(k > N(9), "SH-3")
        else:
            require(any(self.held[n, j] > N(2) for j in N), "SH-4")
            require(not same, "SH-5")
        require(before <= self.held[n, N(0)] + 1, "SH-6")
        if up:
            self.held[n, k] = above
        else:
            self.held[n, k] = self.held[m, k]
    @action
    def turn(self, n: Node) -> None:
        others = any(self.open[m] for m in Node if m != n)
        require(others, "SH-7")
        self.open[n] = not self.open[n]
    @action
    def clear(self, k: N, n: Node) -> None:
        was = self.held[n, k]
        self.held[n, k] = N(0)
        require(was > N(3), "SH-8")
    @invariant
    def some_open(self) -> bool:
        return any(self.open[n] for n in Node)
    @witness
    def high(self) -> bool:
        \"\"\"A shelf holds seven.\"\"\"
        return any(self.held[n, k] >= N(7) for n in Node for k in N)
"""
"""A field over several words. ``shift`` forks before all its loops are open, and so lists steps out of order."""


@pytest.mark.parametrize("pct", [None, 3])
@pytest.mark.parametrize("sampled", [False, True])
def test_kernel_and_interpreter_make_the_same_runs(compiled: Compiled, pct: int | None, sampled: bool) -> None:
    """The runs of a wide state are equal, with their counts of cuts and decisive rules."""
    system = compiled(SHELVES)
    both = WalkPair.of(system, system.scopes["tiny"], 5, 60, pct, sampled=sampled)

    assert Packing(both.walker.machine.layout, 16).words > MOST_WORDS
    interpreted = both.interpreted(40)
    assert noted(both.walks.runs(0, 40)) == noted(interpreted)
    assert all(interpreted.taken)


def test_a_stale_cell_is_noticed(compiled: Compiled, monkeypatch: pytest.MonkeyPatch) -> None:
    """If a cell were not written again after each step, the runs would differ."""
    spread = walk_source.WalkSource._spread

    def without_the_last(self: walk_source.WalkSource) -> str:
        return "\n".join(spread(self).splitlines()[:-12]) + "\n"

    monkeypatch.setattr(walk_source.WalkSource, "_spread", without_the_last)
    system = compiled(SHELVES)
    both = WalkPair.of(system, system.scopes["tiny"], 5, 60)
    assert noted(both.walks.runs(0, 40)) != noted(both.interpreted(40))


def test_a_forked_action_has_the_steps_of_its_instances(compiled: Compiled) -> None:
    """The steps that are listed are those of all instances, tried one by one, in states all along some runs."""
    system = compiled(SHELVES)
    machine = WalkPair.of(system, system.scopes["tiny"], 3, 40).walker.machine
    walker = WalkPair.of(system, system.scopes["tiny"], 3, 40).walker
    states = {edge[0] for number in range(3) for edge in walker.run(number).edges[::10]}
    for state in sorted(states):
        for number, action in enumerate(system.actions):
            codes = [range(machine.layout.codes(param.type)) for param in action.params]
            tried = {args: machine.step(state, action.name, args) for args in itertools.product(*codes)}
            steps = {(found.state, args) for args, found in tried.items() if isinstance(found, Taken)}
            listed = machine.successors[number](state)
            assert len(listed) == len(steps)
            assert set(listed) == steps
