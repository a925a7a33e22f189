"""Lists of steps by bit masks: they are the lists that a loop over each parameter makes, with the same counts."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from holdfast.ir.expr import MIRRORED
from holdfast.ir.system import System
from holdfast.lower.kernel import masks
from holdfast.lower.kernel.masks import ArgumentMask, MaskEmitter
from holdfast.lower.kernel.walks import WalkSample
from tests.check.walking import WalkPair, noted

Compiled = Callable[[str], System]

COUNTERS = """
    top: Map[Node, N]
    low: Map[Node, N]
    chosen: N | None
    wide: Map[tuple[Node, N], N]
    limit: N
    tiny = Scope({Node: 3, N: 11}, budgets={"lose": 40}, given={"limit": 3})
    @init
    def begin(self, b: bool) -> None:
        self.top.fill(N(3))
        self.low.fill(N(2))
        self.chosen = None
        self.wide.fill(N(1))
        if b:
            self.chosen = N(5)
    @action
    def raise_top(self, n: Node, e: N) -> None:
        require(self.top[n] < N(10), "MA-20")
        require(e <= N(11), "MA-22")
        require(e != N(7), "MA-1")
        require(self.top[n] < e, "MA-2")
        require(not all(self.top[m] == e for m in Node if m != n), "MA-3")
        self.top[n] = e
    @action
    def lower_top(self, n: Node, e: N) -> None:
        taken = any(self.top[m] == e or e == self.top[m] + 2 for m in Node if m != n)
        require(self.top[n] > N(1), "MA-4")
        require(e >= self.low[n] and e <= self.top[n] or e > N(10) or taken, "MA-5")
        require(N(11) > e, "MA-6")
        require(not (N(2) >= e), "MA-7")
        if taken:
            self.top[n] = self.top[n] - 1
        else:
            self.top[n] = e
            self.low[n] = N(0)
    @action
    def choose(self, n: Node, e: N) -> None:
        chosen = self.chosen
        require(chosen is None or chosen <= e or any(self.wide[m, chosen] == N(2) for m in Node), "MA-8")
        if rule("MA-9", e < N(4)):
            self.chosen = None
        else:
            if rule("MA-10", self.low[n] > N(3)):
                self.low[n] = N(0)
            require(not (N(9) <= e), "MA-11")
            self.chosen = e
    @action
    def widen(self, n: Node, e: N, k: N) -> None:
        require(self.wide[n, e] != N(2), "MA-12")
        require(self.low[n] == k or k < self.wide[n, e], "MA-13")
        above = self.step_of(n)
        require(k < above, "MA-14")
        if rule("MA-15", k == self.low[n]):
            self.wide[n, e] = self.wide[n, e] + 1
        else:
            self.wide[n, e] = k
    def step_of(self, n: Node) -> N:
        if rule("MA-16", self.low[n] < N(3)):
            return N(3)
        return self.low[n]
    @action
    def lift(self, n: Node, k: N) -> None:
        even = k == N(2) or k == N(4)
        require(self.low[n] <= k and self.low[n] != N(5), "MA-17")
        self.low[n] = self.low[n] + (2 if even else 1)
    @action
    def lose(self, n: Node, k: N) -> None:
        require(self.low[n] > N(0), "MA-21")
        require(not (k > N(2)), "MA-18")
        require(self.low[n] >= k, "MA-19")
        if k == N(1):
            pass
        else:
            self.low[n] = k
    @action
    def swap(self, n: Node, e: N) -> None:
        equal = e == self.top[n] or e == self.low[n]
        require(e > self.low[n] or equal, "MA-23")
        if self.limit > N(2):
            require(e != N(8), "MA-24")
        else:
            require(e > N(8), "MA-25")
        if rule("MA-26", self.top[n] > N(5)):
            require(e < N(9), "MA-27")
            self.low[n] = N(1)
        else:
            require(not equal, "MA-28")
            self.top[n] = e
    @action
    def turn(self, n: Node, e: N) -> None:
        require(e != N(6), "MA-32")
        if e > N(3):
            require(self.top[n] > e, "MA-33")
        else:
            require(self.low[n] != e, "MA-34")
        self.top[n] = e
    @action
    def halt(self, n: Node, e: N) -> None:
        require(self.top[n] > N(2), "MA-29")
        require(e < self.top[n], "MA-30")
        require(self.limit > N(5), "MA-31")
        self.top[n] = e
    @invariant
    def stays_low(self) -> bool:
        return all(self.low[n] <= N(5) for n in Node)
    @witness
    def high(self) -> bool:
        \"\"\"A top is high.\"\"\"
        return any(self.top[n] > N(9) for n in Node)
"""
"""Rules that compare the innermost parameter in every way, from either side, with locals, tests and noted rules."""


def sampled(system: System) -> WalkSample:
    """The sample of some runs."""
    both = WalkPair.of(system, system.scopes["tiny"], 4, 40, sampled=True)
    return both.walks.sample(0, 60)


def counts(sample: WalkSample) -> tuple[object, ...]:
    """All counts of a sample, as a value that compares."""
    return noted(sample.tally), sample.decisive, sample.pairs.tolist(), sample.met


def loops_only(system: System, monkeypatch: pytest.MonkeyPatch) -> WalkSample:
    """The sample without masks."""
    with monkeypatch.context() as patched:
        patched.setattr(masks, "FEWEST", masks.MOST + 1)
        return sampled(system)


def test_masks_give_the_runs_and_counts_of_loops(compiled: Compiled, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each rule is noted as often as a loop would note it, and the runs are the same.

    MA-22 refuses nothing, the scope has no use for MA-25, and MA-31 refuses all of `halt`.
    """
    system = compiled(COUNTERS)
    looped = loops_only(system, monkeypatch)
    assert counts(sampled(system)) == counts(looped)
    *taken, halted = looped.tally.taken
    assert (all(taken), halted) == (True, 0)
    assert {label for _, label in looped.decisive} == {f"MA-{n}" for n in range(1, 35)} - {"MA-22", "MA-25"}


@pytest.mark.parametrize("pct", [None, 3])
def test_kernel_and_interpreter_make_the_same_runs(compiled: Compiled, pct: int | None) -> None:
    """The runs by masks are those of the interpreter, which has none. Neither notes a rule that refuses nothing."""
    system = compiled(COUNTERS)
    both = WalkPair.of(system, system.scopes["tiny"], 4, 40, pct)
    interpreted = both.interpreted(60)
    assert noted(both.walks.runs(0, 60)) == noted(interpreted)
    assert ("raise_top", "MA-22") not in interpreted.statistics.decisive_in


def test_rules_are_masked(compiled: Compiled, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every comparison of the model becomes a mask, from either side."""
    found = set()
    compared = MaskEmitter._compared

    def noting(self: MaskEmitter, op: str, other: object, mask: ArgumentMask) -> str | None:
        text = compared(self, op, other, mask)
        found.add(op if text is not None else "none")
        return text

    monkeypatch.setattr(MaskEmitter, "_compared", noting)
    system = compiled(COUNTERS)
    WalkPair.of(system, system.scopes["tiny"], 4, 40)
    assert found >= set(masks.SHIFTED)


FAULTY = {
    "==": "(2 << {})",
    "!=": "(-1 << {})",
    "<": "((2 << {}) - 1)",
    ">=": "(-2 << {})",
    "<=": "((1 << {}) - 1)",
    ">": "(-1 << {})",
}
"""A wrong mask for each comparison."""


@pytest.mark.parametrize("op", masks.SHIFTED)
def test_a_wrong_mask_is_noticed(compiled: Compiled, monkeypatch: pytest.MonkeyPatch, op: str) -> None:
    """A comparison that is off by one, or its opposite, gives other runs or counts."""
    system = compiled(COUNTERS)
    looped = counts(loops_only(system, monkeypatch))
    monkeypatch.setitem(masks.SHIFTED, op, FAULTY[op])
    assert counts(sampled(system)) != looped


@pytest.mark.parametrize("op", ["<", ">", "<=", ">="])
def test_a_comparison_from_the_wrong_side_is_noticed(
    compiled: Compiled, monkeypatch: pytest.MonkeyPatch, op: str
) -> None:
    """A comparison that is not mirrored where the parameter stands on its right gives other runs or counts."""
    system = compiled(COUNTERS)
    looped = counts(loops_only(system, monkeypatch))
    monkeypatch.setitem(MIRRORED, op, op)
    assert counts(sampled(system)) != looped


def test_a_rule_inside_a_condition_is_noted_for_each_argument(
    compiled: Compiled, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If a condition with a rule inside became a mask, the rule would be noted too seldom."""
    system = compiled(COUNTERS)
    looped = counts(loops_only(system, monkeypatch))
    monkeypatch.setattr(masks, "_notes", lambda node: False)
    assert counts(sampled(system)) != looped
