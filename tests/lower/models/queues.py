"""Replicas with logs of records, a wire and a ring of requests: every operation of sequences, records and members."""

from __future__ import annotations

from typing import Self

from holdfast.lang import (
    Map,
    Model,
    Nat,
    Record,
    Rel,
    Scope,
    Seq,
    Sort,
    action,
    count,
    init,
    invariant,
    require,
    rule,
    step,
    witness,
)


class Node(Sort):
    """A replica."""


class Index(Nat):
    """A place in a sequence."""


class Term(Nat):
    """A time with one leader."""


class Entry(Record):
    """What a log holds."""

    term: Term
    owner: Node


class Ask(Record):
    """A request for a vote."""

    src: Node
    term: Term


class Queues(Model):
    """Replicas append, copy, truncate, send and ask."""

    log: Map[Node, Seq[Entry, Index]]
    wire: Seq[Entry, Index]
    lengths: Seq[Index, Index]
    rows: Map[Index, Seq[Node, Index]]
    asks: Rel[Ask]
    marks: Map[Ask, Term]
    up: Rel[Node]
    term: Term

    tiny = Scope({Node: 2, Index: 1, Term: 1})
    default = Scope({Node: 2, Index: 2, Term: 2})

    @init
    def start_queues(self, n: Node) -> None:
        """One replica is up, and each row has one entry."""
        self.log.clear()
        self.wire.clear()
        self.lengths.clear()
        for i in Index:
            self.rows[i].clear()
            self.rows[i].append(n)
        self.asks.fill(False)
        self.marks.fill(Term(0))
        for k in Node:
            self.up[k] = k == n
        self.term = Term(0)

    def newest(self, n: Node) -> Term:
        """The term of the last entry of a replica."""
        last = self.log[n].last
        return last.term if last is not None else Term(0)

    def is_late(self, m: Ask) -> bool:
        """Whether a request is older than the term."""
        return m.term < self.term

    @action
    def append(self, n: Node) -> None:
        """An entry goes to a log and onto the wire."""
        entry = Entry(self.term, n)
        require(entry not in self.log[n] and self.newest(n) <= self.term, "QU-01")
        self.log[n].append(entry)
        if rule("QU-02"):
            self.wire.append(Entry(owner=n, term=self.newest(n)))

    @action
    def append_later(self, n: Node, t: Term) -> None:
        """A part of an entry may lie beyond its bound."""
        self.log[n].append(Entry(t + 1, n))

    @action
    def receive(self, n: Node) -> None:
        """The first entry of the wire goes to a log."""
        first = self.wire.first
        if first is not None and first != self.log[n].last:
            self.log[n].append(first)
        if rule("QU-03", first == self.log[n][len(self.log[n]) - 2]):
            return
        self.wire.pop_first()

    @action
    def truncate(self, n: Node, i: Index) -> None:
        """A log loses its end."""
        require(self.log[n][i] is not None, "QU-04")
        self.log[n].truncate(i - 1 if self.log[n][i - 1] == self.log[n][i] else i)

    @action
    def follow(self, n: Node, m: Node) -> None:
        """A log becomes that of another replica."""
        require(self.log[n] != self.log[m], "QU-05")
        require(self.log[m].starts_with(self.log[n]) or self.log[n].starts_with(self.log[m]), "QU-06")
        self.log[n] = self.log[m]
        self.lengths.append(Index(len(self.log[n])))

    @action
    def measure(self, i: Index) -> None:
        """Lengths are numbers, and may be lengths again."""
        length = self.lengths[i]
        require(length is not None and i + 1 not in self.lengths, "QU-07")
        self.lengths.truncate(len(self.lengths) - 1)
        if length is not None and length < 1:
            self.lengths.append(length + 1)

    @action
    def move(self, n: Node, i: Index) -> None:
        """Rows at computed keys."""
        if self.rows[i + 1].first == n:
            self.rows[i + 1] = self.rows[i]
        else:
            self.rows[i - 1].append(n)
        self.rows[i].pop_first()

    @action
    def forget(self, n: Node) -> None:
        """Everything that a replica knows of others is gone."""
        require(n in self.rows[Index(0)] or any(k != n for k in self.up), "QU-08")
        self.wire.clear()
        for k in self.up:
            if k != n:
                self.log[k].clear()
        for m in self.asks:
            if m.src == n:
                self.asks[m] = False
        for m in Ask:
            self.marks[m] = m.term if m.src == n else self.marks[m]

    @action
    def ask(self, n: Node, t: Term) -> None:
        """A replica asks; the term of the request may lie beyond its bound."""
        m = Ask(n, term=t + 1)
        require(not self.asks[m] or m != Ask(n, self.term), "QU-09")
        self.asks[m] = True

    @action
    def vote(self, m: Ask, n: Node) -> None:
        """A request is answered."""
        require(self.asks[m] and not self.is_late(m), "QU-10")
        self.up[n] = m.src != n
        self.term = m.term
        self.asks[m] = all(self.is_late(k) or k == m for k in self.asks)

    @invariant
    def entries_are_packed(self) -> bool:
        """QU-11. An entry stands at each index below the length."""
        return all((self.log[n][i] is not None) == (i < len(self.log[n])) for n in Node for i in Index)

    @invariant
    def terms_grow(self) -> bool:
        """QU-12. The terms of a log do not fall."""
        return all(self.grows(n, i) for n in Node for i in Index)

    def grows(self, n: Node, i: Index) -> bool:
        """Whether an entry has no greater term than the next one."""
        one = self.log[n][i]
        two = self.log[n][i + 1]
        return one is None or two is None or one.term <= two.term

    @step
    def one_end(self, old: Self) -> bool:
        """QU-13. The wire changes at one end."""
        same = self.wire.starts_with(old.wire) or old.wire.starts_with(self.wire)
        return same or self.wire.first == old.wire[1]

    @step(of="vote")
    def voted(self, old: Self, m: Ask) -> bool:
        """QU-14. A vote is of the term of its request."""
        return old.asks[m] and self.term == m.term

    @invariant
    def few(self) -> bool:
        """QU-15. Requests of one replica, counted."""
        return all(count(m.src == n for m in self.asks) <= self.term + 1 for n in Node)

    @witness
    def mixed(self) -> bool:
        """Two entries of one owner in two logs."""
        return any(
            self.log[n].last == self.log[m].first and n != m and self.log[n].last is not None
            for n in Node
            for m in Node
        )
