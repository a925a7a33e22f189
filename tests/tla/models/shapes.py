"""Shapes of bodies and expressions that no other model here has: writes one after another, bounds, loops, choices."""

from __future__ import annotations

from typing import Self

from holdfast.lang import (
    Int,
    Map,
    Model,
    Nat,
    Rel,
    Scope,
    Sort,
    action,
    assume,
    count,
    init,
    invariant,
    require,
    rule,
    step,
)


class Node(Sort):
    """Anything."""


class Tick(Nat):
    """A time."""


class Gap(Int, lo=-2, hi=2):
    """A signed number."""


class Shapes(Model):
    """Values without a meaning."""

    near: Rel[Node, Node]
    far: Rel[Node, Node]
    gap: Map[Node, Gap]
    seen: Map[Node, Tick | None]
    first: Node | None
    clock: Tick
    low: Gap
    kept: Tick

    tiny = Scope({Node: 2, Tick: 1})

    @init
    def begin(self, n: Node) -> None:
        """One state, whatever the node: what it holds in between is read, and written again."""
        self.near.fill(False)
        self.far.fill(False)
        self.gap.fill(Gap(0))
        self.seen.fill(None)
        self.first = None
        self.clock = Tick(0)
        self.low = Gap(0)
        self.kept = Tick(1)
        self.gap[n] = Gap(1)
        self.low = self.gap[n] - 1
        self.gap[n] = Gap(0)

    @action
    def pair(self, n: Node, m: Node) -> None:
        """Two cells with the same first key, and the second one again: the last write of each cell stays."""
        require(n != m, "SH-01")
        self.near[n, m] = True
        self.near[n, n] = self.near[n, m] and not self.near[m, n]
        self.near[n, n] = not self.near[n, n]
        self.far[n, m] = True
        self.far[n, n] = True
        self.far[n, n] = self.near[m, m]

    @action
    def choose(self, n: Node, late: bool) -> None:
        """Sides that write the same, read what the other wrote before, and leave a cell as it is."""
        if late:
            self.first = n
            self.gap[n] = Gap(1)
        elif rule("SH-02", self.first is not None):
            self.first = None
            self.gap[n] = Gap(-1)
        self.low = self.gap[n]
        if self.low > 0 and (self.first is None or self.near[n, n]):
            require(self.clock < 1 or late, "SH-03")
            self.seen[n] = self.clock

    @action
    def count_on(self, n: Node, by: Gap) -> None:
        """Computed numbers in cells of several bounds."""
        half = min(self.gap[n], by, Gap(1))
        wide = max(self.low, by - 1)
        self.low = max(half, -1 * by)
        self.gap[n] = min(wide, 2) if by > 0 else abs(by) - 1 - (self.low - 1)
        self.clock = self.clock + count(self.near[n, m] for m in Node if m != n)
        self.seen[n] = Tick(1)

    @action
    def spread(self, t: Tick) -> None:
        """A loop whose turns write a cell twice, under conditions, and within one another."""
        for n in Node:
            if self.gap[n] > 0:
                self.gap[n] = self.gap[n] - 1
                if self.near[n, n]:
                    self.gap[n] = self.gap[n] * 2
            else:
                self.gap[n] = self.gap[n] + sum(1 for m in Node if self.far[m, n])
            for m in Node:
                if self.near[n, m] and not self.far[m, n]:
                    self.near[n, m] = self.far[n, m]
            self.seen[n] = t if self.gap[n] == 0 else None

    @action(idempotent="SH-10")
    def mark(self, n: Node) -> None:
        """What may be cut on one side, and goes on after it."""
        known = any(self.near[n, m] for m in Node)
        require(all(self.near[m, n] or self.far[m, m] for m in Node) or known, "SH-04")
        require(known, "SH-05")
        if self.first is None:
            self.first = n
        else:
            self.gap[n] = self.gap[n] + 0
            require(self.first == n, "SH-06")
        self.low = self.low + 0

    @action
    def hand_over(self, n: Node, late: bool) -> None:
        """An effect with a choice in it, and a line behind it that reads what that writes."""
        if rule("SH-07"):
            self.low = Gap(0)
            if late:
                self.first = n
                self.clock = Tick(1)
        self.low = Gap(1) if self.first is None else self.low

    @assume
    def quiet(self) -> bool:
        """SH-20. Of a field that the start alone writes."""
        return self.kept >= 0

    @invariant
    def small(self) -> bool:
        """SH-21. Differences, and what is nested."""
        differ = self.low - (self.low - 1) == 1 and 2 * (self.low + 1) >= -2
        return differ and all(any(self.near[n, m] or n == m for m in Node) for n in Node)

    @step(of="pair")
    def pairs_stay(self, old: Self, n: Node) -> bool:
        """SH-22. Of one action."""
        return self.near[n, n] != old.near[n, n] or old.far[n, n]

    @step
    def counts(self, old: Self) -> bool:
        """SH-23. Of all."""
        return max((self.gap[n] for n in Node if self.far[n, n]), default=Gap(2)) >= min(old.low, Gap(-1))
