"""Logs of two replicas, with computed keys in each place where a key may stand, and a ring of seats."""

from __future__ import annotations

from typing import Self

from holdfast.lang import (
    Ghost,
    Int,
    Map,
    Model,
    Nat,
    Rel,
    Ring,
    Scope,
    Sort,
    action,
    count,
    init,
    invariant,
    require,
    rule,
    step,
    variant,
    witness,
)


class Node(Sort):
    """A replica."""


class Index(Nat):
    """A place in a log."""


class Term(Nat):
    """A time with one leader."""


class Shift(Int, lo=-1, hi=2):
    """A small difference."""


class Seat(Ring):
    """A place at a table."""


class Logs(Model):
    """Two replicas append, truncate and compare."""

    length: Map[Node, Index]
    term: Map[tuple[Node, Index], Term]
    held: Map[Index, Node | None]
    spot: Map[Node, Index | None]
    tried: Rel[Node, Index]
    now: Term
    shift: Shift
    seat: Seat
    ever: Ghost[Rel[Node]]

    tiny = Scope({Node: 2, Index: 2, Term: 2, Seat: 2})
    default = Scope({Node: 2, Index: 3, Term: 1, Seat: 1}, budgets={"append": 3})

    @init
    def begin(self, i: Index) -> None:
        """The first cell beyond the log of one replica is taken, if there is one."""
        self.length.fill(Index(0))
        self.term.fill(Term(0))
        self.held.fill(None)
        self.spot.fill(None)
        self.tried.fill(False)
        self.now = Term(0)
        self.shift = Shift.first + 1
        self.seat = Seat.last
        self.ever.fill(False)
        require(i < Index(1), "LO-01")
        self.held[i + 1] = None

    def last(self, n: Node) -> Term:
        """The last term of a log."""
        return self.term[n, self.length[n] - 1] if self.length[n] > 0 else Term(0)

    def put(self, n: Node, t: Term) -> None:
        """Append a term."""
        end = self.length[n]
        self.term[n, end + 0] = t
        self.length[n] = end + 1

    @action
    def append(self, n: Node) -> None:
        """The end of the log is a computed key behind a helper."""
        require(self.last(n) <= self.now, "LO-02")
        self.put(n, self.now)
        self.ever[n] = True

    @action
    def skip(self, n: Node, e: Index) -> None:
        """A sum of two, which may lie far beyond the bound, read under a guard and then written."""
        require(not self.tried[n, self.length[n] + e], "LO-03")
        self.tried[n, self.length[n] + e] = True

    @action
    def back(self, n: Node) -> None:
        """A difference that may be negative: the rest of an ``and`` does not compute it."""
        require(self.length[n] > 0 and self.term[n, self.length[n] - 1] <= self.now, "LO-04")
        self.length[n] -= 1
        self.term[n, self.length[n]] = Term(0)

    @action
    def reach(self, n: Node) -> None:
        """The same without a guard: an empty log cuts the step."""
        if self.term[n, self.length[n] - 1] == self.now:
            self.now += 1
        else:
            self.tried[n, self.length[n] - 1] = False

    @action
    def agree(self) -> None:
        """A quantifier looks at the keys of all replicas, also after a decision; so does a count."""
        require(all(self.term[n, self.length[n] - 1] == self.now for n in Node), "LO-05")
        if rule("LO-06", count(self.tried[n, self.length[n] + 1] for n in Node if self.length[n] < 2) > 0):
            self.now = Term(0)
        elif any(self.held[self.length[n] + 1] is None for n in Node):
            self.shift = self.shift + 1
        else:
            self.shift = Shift(0)

    @action
    def swing(self, i: Index) -> None:
        """A key that is a choice, an Optional at a computed key, and a least key."""
        owner = self.held[i + (1 if any(self.tried[n, i] for n in Node) else 0)]
        require(owner is None or self.length[owner] <= i, "LO-07")
        least = min((self.length[n] for n in Node if self.length[n] > 0), default=Index(0))
        self.held[least - 1] = owner

    @action
    def mark(self, n: Node, i: Index) -> None:
        """A loop that writes at a computed second key; an Optional key that was computed."""
        place: Index | None = self.length[n] + i
        for m in Node:
            self.tried[m, self.length[m] + 1] = m == n
        spot = self.spot[n]
        if spot is not None:
            self.held[spot] = n
        elif place is not None:
            self.held[place] = n
        if i > self.length[n]:
            self.spot[n] = i - 1
        else:
            self.spot[n] = None

    @action
    def choose(self, n: Node, up: bool) -> None:
        """A choice of two keys, of which one may be beyond the bound; a literal that a small scope lacks."""
        self.tried[n, self.length[n] + 1 if up else self.length[n] - 1] = up
        self.held[Index(2) if up else Index(0)] = n

    @action
    def turn(self, s: Seat, back: bool) -> None:
        """Neighbours in a ring, rests of numbers that may be negative, the number of elements, and ends."""
        require(s == self.seat.next or (back and s == self.seat.previous.previous), "LO-09")
        self.seat = s.previous if back else s
        if s != Seat.last and self.now % 2 == len(Index) % 2:
            self.shift = (self.shift - 3) % 4 - 1
        elif self.now < Term.last:
            self.now = (self.now * 3 - len(Index)) % 2

    @variant("far", replaces="back")
    def back_far(self, n: Node) -> None:
        """An ``or`` computes its second part only if the first is false."""
        require(self.length[n] == 0 or self.tried[n, self.length[n] - 1], "LO-08")
        self.length[n] = Index(0)

    @invariant
    def no_gap(self) -> bool:
        """LI-01. An entry is at most as new as the one after it; beyond the last key this is false."""
        return all(self.term[n, i] <= self.term[n, i + 1] for n in Node for i in Index if i + 1 < self.length[n])

    @invariant
    def last_is_newest(self) -> bool:
        """LI-02. False where a log is empty and something is tried."""
        return all(self.term[n, self.length[n] - 1] >= self.now for n in Node if any(self.tried[n, i] for i in Index))

    @invariant
    def some_free(self) -> bool:
        """LI-03. ``any`` looks at all keys, and so does ``or`` only up to a true part."""
        return self.now == 0 or any(not self.tried[n, self.length[n] + 1] for n in Node)

    @step
    def grows(self, old: Self) -> bool:
        """LI-04. The last entry stays, unless a log is empty."""
        return all(old.length[n] == 0 or self.term[n, old.length[n] - 1] == old.last(n) for n in Node)

    @step(of="back")
    def back_clears(self, old: Self, n: Node) -> bool:
        """LI-05. The entry is gone."""
        return self.term[n, old.length[n] - 1] == 0

    @invariant
    def never_last(self) -> bool:
        """LI-06. Nobody sits on the last seat when the last term begins."""
        return self.seat != Seat.last or self.now < Term.last or len(Seat) > len(Term) + 1 or len(Node) == 1

    @witness
    def full(self) -> bool:
        """A log ends with a newer term than the one before, whose key is computed from a sum."""
        return any(
            self.length[n] >= 2 and self.term[n, self.length[n] - 1] > self.term[n, self.length[n] - 2] for n in Node
        )
