"""A model without a meaning, which uses every part of the language that a lowering can get wrong."""

from __future__ import annotations

from enum import Enum
from typing import Self

from holdfast.lang import (
    Flag,
    Ghost,
    Int,
    Map,
    Model,
    Nat,
    Rel,
    Scope,
    Sort,
    action,
    always_eventually,
    assume,
    count,
    eventually_always,
    final,
    init,
    invariant,
    leads_to,
    lemma,
    require,
    rule,
    step,
    variant,
    witness,
)


class E(Enum):
    """What a refusal answers."""

    TOO_LATE = 1
    TOO_FAR = 2


class Mode(Enum):
    """What a node is doing."""

    IDLE = "idle"
    BUSY = "busy"
    LOST = "lost"


class Node(Sort):
    """Shares the first letter of Nest."""


class Nest(Sort):
    """Shares the first letter of Node."""


class Proc(Sort, prefix="proc"):
    """A process of a node."""


class Tick(Nat):
    """A time."""


class Gap(Int, lo=-2, hi=2):
    """A signed distance."""


class Gauges(Model):
    """Nodes with gauges, seen from nests."""

    node_of: Map[Proc, Node]
    limit: Tick
    home: Map[Mode, Nest | None]

    mode: Map[Node, Mode]
    gap: Map[Node, Gap]
    seen: Map[tuple[Node, Nest], Tick | None]
    near: Rel[Node, Nest]
    marked: Map[Tick, bool]
    clock: Tick
    best: Gap | None
    leader: Node | None
    lenient: Flag
    heard: Ghost[Rel[Nest]]
    echoes: Ghost[Tick]

    tiny = Scope(
        {Node: 2, Nest: 2, Proc: 3, Tick: 2},
        budgets={"drift": 2, "pulse": 1},
        given={"node_of": (0, 1, 1), "limit": 1, "home": (0, None, 1)},
    )
    default = Scope(
        {Node: 3, Nest: 2, Proc: 2, Tick: 3},
        budgets={"drift": 3},
        given={"node_of": (0, 1), "limit": 2, "home": (None, None, None)},
    )

    @init
    def begin(self, first: Node, low: Gap) -> None:
        """Any node may lead, at any gap but the largest ones."""
        require(low < 1, "GA-01")
        self.mode.fill(Mode.IDLE)
        self.gap.fill(low)
        self.seen.fill(None)
        self.near.fill(False)
        self.marked.fill(False)
        self.clock = Tick(0)
        self.best = None
        self.leader = first
        self.heard.fill(False)
        self.echoes = Tick(0)

    @action
    def drift(self, n: Node, by: Gap, twice: bool) -> None:
        """Move a gauge; beyond its ends the step is cut."""
        if rule("GA-02", self.mode[n] == Mode.LOST):
            return
        if twice:
            self.gap[n] = self.gap[n] + 2 * by
            return
        self.gap[n] = self.gap[n] + by
        if self.gap[n] == Gap(2):
            self.mode[n] = Mode.BUSY
        elif self.gap[n] < Gap(-1):
            self.mode[n] = Mode.LOST
            if self.leader is not None and self.leader == n:
                self.leader = None

    @action
    def pulse(self) -> None:
        """Let time pass."""
        self.clock = self.clock + 1
        self.marked[self.clock] = True

    @action
    def look(self, p: Proc, w: Nest, back: bool) -> None:
        """A process looks at a nest; looking back from time 0 is cut."""
        n = self.node_of[p]
        require(self.mode[n] != Mode.LOST, "GA-03", error=E.TOO_LATE)
        require(self.reach(n, w) <= 3, "GA-04", error=E.TOO_FAR)
        if back:
            self.seen[n, w] = self.clock - 1
            require(not self.near[n, w], "GA-05")
            return
        if rule("GA-06"):
            self.near[n, w] = True
        self.note(n, w)

    def reach(self, n: Node, w: Nest) -> int:
        """A number with a labelled condition within."""
        if rule("GA-07", self.near[n, w]):
            return 2 * count(self.near[n, v] for v in Nest)
        return count(self.near[m, w] for m in Node if m != n) + max(self.clock, Tick(1))

    def note(self, n: Node, w: Nest) -> None:
        """Remember when, and for the record that."""
        self.seen[n, w] = self.clock
        if self.heard[w] and self.clock > self.echoes:
            self.echoes = self.clock
        self.heard[w] = True

    @action
    def advance(self, n: Node, w: Nest) -> None:
        """Optionals of computed numbers, which may lie beyond what a cell holds."""
        require(self.seen[n, w] is not None or self.clock > Tick(0), "GA-08")
        past = self.previous()
        ahead: Tick | None = self.clock + 1
        behind: Tick | None = self.clock - 2
        if ahead is not None and behind is not None and behind < Tick(0):
            self.seen[n, w] = ahead
        elif past is not None and past > self.limit - 1:
            self.seen[n, w] = past
        else:
            self.seen[n, w] = behind

    def previous(self) -> Tick | None:
        """One less than the time; before time 0 no cell could hold it."""
        return self.clock - 1

    @action
    def settle(self, t: Tick) -> None:
        """Loops over maps, folds, and a copy from one cell to the next."""
        require(t <= self.limit or self.lenient, "GA-09")
        require(self.marked[t], "GA-10")
        self.best = min((self.gap[n] for n in Node if self.mode[n] != Mode.LOST), default=Gap(0))
        for n in Node:
            if all(self.near[n, w] for w in Nest):
                self.gap[n] = min(self.gap[n] + 1, 2)
            else:
                for w in Nest:
                    self.near[n, w] = self.seen[n, w] is not None and not self.near[n, w]
            old_mode = self.mode[n]
            self.mode[n] = Mode.BUSY if old_mode == Mode.IDLE else Mode.IDLE
        self.marked.fill(self.clock == t)

    @action
    def elect(self, n: Node, m: Mode) -> None:
        """A mode with a home brings a leader."""
        require(m in (Mode.IDLE, Mode.BUSY), "GA-11")
        w = self.home[m]
        if w is not None and self.near[n, w]:
            self.leader = n
        else:
            require(self.mode[n] == m, "GA-12")
            self.leader = None

    @variant("keep_leader", replaces="elect")
    def elect_and_keep(self, n: Node, m: Mode) -> None:
        """The leader is never given up."""
        require(m != Mode.LOST, "GA-13")
        if self.leader is None:
            self.leader = n

    @invariant
    def bounded(self) -> bool:
        """GA-20. The sum of all gauges stays small."""
        return sum(self.gap[n] for n in Node) <= 4 and max((self.gap[n] for n in Node), default=Gap(0)) >= -2

    @invariant
    def best_is_real(self) -> bool:
        """GA-21. The best gap is no larger than the largest."""
        b = self.best
        return b is None or any(b <= self.gap[n] for n in Node) or b == Gap(0)

    @lemma
    def alone(self) -> bool:
        """GA-22. The leader is not lost."""
        o = self.leader
        return o is None or self.mode[o] != Mode.LOST

    @step
    def time_passes(self, old: Self) -> bool:
        """GA-24. Time does not run back."""
        return self.clock >= old.clock

    @step(of="look")
    def looks_once(self, old: Self, w: Nest, back: bool) -> bool:
        """GA-25. Looking ahead is recorded."""
        return back or self.heard[w] or old.heard[w]

    @step
    def echoes_grow(self, old: Self) -> bool:
        """GA-26. Echoes do not fade."""
        return self.echoes >= old.echoes

    @leads_to
    def seen_again(self, n: Node, g: Gap) -> tuple[bool, bool]:
        """GA-27. A gauge moves on, and a nest sees it."""
        return self.gap[n] == g, any(self.seen[n, w] is not None for w in Nest) or self.gap[n] != g

    @always_eventually
    def moves_again(self, n: Node, g: Gap) -> bool:
        """GA-28. A gauge is elsewhere again and again."""
        if all(self.seen[n, w] is None for w in Nest):
            return self.gap[n] != g
        return self.gap[n] > g

    @eventually_always
    def rests(self, w: Nest) -> bool:
        """GA-29. A nest that hears has been seen, for good at last."""
        return not self.heard[w] or any(self.seen[n, w] is not None for n in Node)

    @assume
    def some_process(self) -> bool:
        """Some node has two processes, or none."""
        return any(count(self.node_of[p] == n for p in Proc) != 1 for n in Node)

    @witness
    def marked_late(self) -> bool:
        """A late time is marked."""
        return any(self.marked[t] and t > self.limit for t in Tick)

    @final
    def spent(self) -> bool:
        """Time is over."""
        return all(self.clock >= t for t in Tick)
