"""Nodes that hold a record: fields and maps whose values are records, which may be None."""

from __future__ import annotations

from typing import Self

from holdfast.lang import (
    Flag,
    Ghost,
    Map,
    Model,
    Nat,
    Record,
    Rel,
    Scope,
    Sort,
    action,
    count,
    init,
    invariant,
    leads_to,
    require,
    rule,
    step,
    witness,
)


class Node(Sort):
    """Who votes."""


class Term(Nat):
    """A time with one leader."""


class Vote(Record):
    """A vote, or its refusal."""

    src: Node
    granted: bool
    term: Term


class Seat(Record):
    """Who sits where."""

    node: Node


class Holders(Model):
    """Votes are held, passed on, swapped and forgotten."""

    last: Vote
    held: Map[Node, Vote | None]
    first: Ghost[Vote | None]
    seat: Map[tuple[Seat, Term], Seat]
    known: Rel[Vote]

    generous: Flag
    """Every vote is granted."""

    tiny = Scope({Node: 2, Term: 0})
    default = Scope({Node: 2, Term: 1})

    @init
    def begin(self, first: Seat) -> None:
        """One node has voted, and it sits everywhere."""
        self.last = Vote(first.node, False, Term(0))
        self.held.fill(None)
        self.first = None
        self.seat.fill(first)
        self.known.fill(False)

    def is_own(self, v: Vote, n: Node) -> bool:
        """Whether a vote is that of a node."""
        return v.src == n

    def refused(self, n: Node) -> Vote:
        """The next vote of a node, which is none of a later term."""
        return Vote(n, granted=False, term=self.last.term + 1)

    def own(self, n: Node) -> Vote | None:
        """The vote that a node holds, if it is its own."""
        vote = self.held[n]
        if vote is None or not self.is_own(vote, n):
            return None
        return vote

    @action
    def vote(self, n: Node, t: Term) -> None:
        """A record of values that it replaces, and of a computed one."""
        require(t >= self.last.term and not self.is_own(self.last, n), "HO-01")
        self.last = Vote(n, self.generous or self.last.granted != (self.last.term == t), t)
        if self.first is None:
            self.first = self.last
        self.known[self.last] = True

    @action
    def hold(self, n: Node) -> None:
        """The key reads what is written, and so does the value."""
        require(self.held[n] is None, "HO-02")
        self.held[self.last.src] = self.last
        if self.last.granted:
            self.last = self.refused(n)

    @action
    def swap(self, n: Node, k: Node) -> None:
        """Whole records under a name, or of a helper, which may be None."""
        require(n != k, "HO-03")
        mine = self.held[n]
        self.held[n] = self.own(k)
        self.held[k] = mine

    @action
    def drop(self, v: Vote) -> None:
        """A record that a parameter equals."""
        require(self.held[v.src] == v, "HO-04")
        self.held[v.src] = None
        if rule("HO-05", v.granted):
            self.seat[Seat(v.src), v.term] = Seat(self.last.src)

    @action
    def sit(self, s: Seat, t: Term) -> None:
        """A cell that another cell of the same field names."""
        require(self.seat[s, t] != s, "HO-06")
        self.seat[self.seat[s, t], t] = self.seat[s, t]
        for n in Node:
            if self.held[n] is None and self.last.term == t:
                self.held[n] = Vote(n, n == self.last.src, t)

    @invariant
    def in_time(self) -> bool:
        """HO-07. Nobody holds a vote of a later term."""
        return all(self.held[n] is None or self.held[n].term <= self.last.term for n in Node)

    @invariant
    def few(self) -> bool:
        """HO-08. At most one node holds a vote; two may."""
        return count(self.held[n] is not None for n in Node) <= 1

    @step
    def first_stays(self, old: Self) -> bool:
        """HO-09. The first vote stays the first."""
        return old.first is None or self.first == old.first

    @step(of="vote")
    def new(self, old: Self, n: Node) -> bool:
        """HO-10. A vote is another one than the last."""
        return self.last != old.last and self.last.src == n

    @step(of="drop")
    def own_is_dropped(self, old: Self, v: Vote) -> bool:
        """HO-12. Who drops its own vote has none of its own then."""
        mine = old.own(v.src)
        return mine is None or self.own(v.src) is None

    @witness
    def same(self) -> bool:
        """Two nodes hold one vote."""
        return any(n != k and self.held[n] is not None and self.held[n] == self.held[k] for n in Node for k in Node)

    @leads_to
    def released(self, v: Vote) -> tuple[bool, bool]:
        """HO-11. A node lets its vote go."""
        return self.held[v.src] == v, self.held[v.src] is None
