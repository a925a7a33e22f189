"""Messages that are sent and lost in copies: every operation of bags, and `in` for relations, bags and parameters."""

from __future__ import annotations

from typing import Self

from holdfast.lang import (
    Bag,
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
    require,
    rule,
    step,
    witness,
)


class Node(Sort):
    """Who sends and receives."""


class Term(Nat):
    """A time with one leader."""


class Copies(Nat):
    """How many copies of a message there may be."""


class Ask(Record):
    """A request."""

    src: Node
    term: Term


class Bags(Model):
    """Requests may be sent twice, arrive in any order, and be lost."""

    sent: Bag[Ask, Copies]
    owed: Bag[tuple[Node, Term], Copies]
    waiting: Bag[Node, Copies]
    answered: Rel[Ask]
    known: Rel[Node, Term]
    up: Rel[Node]
    term: Term

    tiny = Scope({Node: 2, Term: 1, Copies: 1})
    default = Scope({Node: 2, Term: 1, Copies: 2})

    @init
    def begin(self, n: Node) -> None:
        """Someone waits, and nothing is sent."""
        self.sent.clear()
        self.owed.fill(Copies(0))
        self.waiting.clear()
        self.waiting.add(n)
        self.answered.fill(False)
        self.known.fill(False)
        self.up.fill(True)
        self.term = Term(0)

    @action
    def ask(self, n: Node, t: Term) -> None:
        """One copy more; the term may lie beyond its bound."""
        require(n in self.up and (n, t) not in self.known, "BA-01")
        self.sent.add(Ask(n, t))
        if rule("BA-02", n in self.waiting):
            self.owed.add((n, self.term + 1))

    @action
    def receive(self, m: Ask) -> None:
        """A copy arrives."""
        require(m in self.sent, "BA-03")
        self.sent.remove(m)
        self.answered[m] = m not in self.answered and self.sent[m] == 0
        self.known[m.src, m.term] = True
        self.term = m.term

    @action
    def pay(self, n: Node, t: Term) -> None:
        """What is owed is paid; nothing owed is fewer than none."""
        self.owed.remove((n, t))
        self.waiting.add(n)

    @action
    def lose(self, lost: Rel[Node], n: Node) -> None:
        """Copies of the nodes that are lost, and of those who wait, are gone."""
        require(n in lost and n not in self.up, "BA-04")
        for k in self.waiting:
            self.waiting.remove(k)
        for m in self.sent:
            if m.src in lost:
                self.sent[m] = Copies(0)
        self.up[n] = True

    @action
    def fail(self, n: Node) -> None:
        """A node is down, and all that waits is forgotten."""
        require(any(k in self.up for k in Node if k != n), "BA-05")
        self.up[n] = False
        if self.waiting[n] == 1:
            self.waiting.clear()

    @invariant
    def few(self) -> bool:
        """BA-06. There are few copies, counted and summed."""
        return sum(self.sent[m] for m in Ask) <= 8 and count(k in self.up for k in Node) > 0

    @invariant
    def answered_are_known(self) -> bool:
        """BA-07. What is answered is known."""
        return all((m.src, m.term) in self.known for m in self.answered) and all(m.term <= 1 for m in self.sent)

    @step
    def copies_change_one_by_one(self, old: Self) -> bool:
        """BA-08. A step adds no two copies."""
        return all(self.sent[m] <= old.sent[m] + 1 or m in old.sent for m in Ask)

    @witness
    def twice(self) -> bool:
        """Two requests at once."""
        return any(m != k for m in self.sent for k in self.sent)
