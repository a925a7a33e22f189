"""Messages of which few are under way: every operation of pools."""

from __future__ import annotations

from typing import Self

from holdfast.lang import (
    Model,
    Nat,
    Pool,
    Record,
    Rel,
    Scope,
    Sort,
    action,
    count,
    final,
    init,
    invariant,
    leads_to,
    require,
    rule,
    step,
    witness,
)


class Node(Sort):
    """Who sends and receives."""


class Term(Nat):
    """A time with one leader."""


class Requests(Nat):
    """How many requests there may be at once."""


class Locks(Nat):
    """How many locks there may be at once."""


class Ask(Record):
    """A request."""

    src: Node
    dst: Node
    term: Term


class Pools(Model):
    """Requests arrive in any order, and are lost."""

    sent: Pool[Ask, Requests]
    held: Pool[tuple[Node, Term], Locks]
    down: Pool[Node, Locks]
    known: Rel[Node]
    term: Term

    tiny = Scope({Node: 2, Term: 1, Requests: 1, Locks: 1})
    default = Scope({Node: 3, Term: 1, Requests: 2, Locks: 1})
    wide = Scope({Node: 6, Term: 1, Requests: 2, Locks: 2})

    @init
    def begin(self, n: Node) -> None:
        """Someone is down, and nothing is sent."""
        self.sent.fill(False)
        self.held.fill(False)
        self.down.fill(False)
        self.down[n] = True
        self.known.fill(False)
        self.term = Term(0)

    @action
    def ask(self, m: Ask) -> None:
        """One request more."""
        require(m.src != m.dst and m.src not in self.down and m not in self.sent, "PO-01")
        self.sent[m] = True
        self.known[m.src] = True

    @action
    def ask_all(self, n: Node) -> None:
        """A request to everybody; more than the bound between the first write and the last one."""
        require(n not in self.down, "PO-02")
        for k in Node:
            if k != n:
                self.sent[Ask(n, k, self.term)] = True
        if rule("PO-03", n in self.known):
            for k in Node:
                if k != n:
                    self.sent[Ask(k, n, self.term)] = False

    @action(fair="weak", per=("m",))
    def receive(self, m: Ask) -> None:
        """A request arrives, and its receiver takes a lock of the next term."""
        require(m in self.sent, "PO-04")
        self.sent[m] = False
        self.held[m.dst, self.term + 1] = True
        self.term = m.term

    @action
    def swap(self, m: Ask, k: Node) -> None:
        """A request goes to another node: one comes, one goes."""
        require(m in self.sent and m.dst != k and m.src != k, "PO-05")
        self.sent[Ask(m.src, k, m.term)] = True
        self.sent[m] = False

    @action
    def free(self, n: Node, t: Term) -> None:
        """A lock is free again, and the node may have failed."""
        require((n, t) in self.held, "PO-06")
        self.held[n, t] = False
        self.down[n] = not self.known[n]

    @action
    def repair(self) -> None:
        """All nodes are up; the bound does not matter, for nothing is added."""
        require(any(n in self.down for n in Node), "PO-07")
        for n in self.down:
            self.down[n] = False

    @action
    def storm(self, lost: Rel[Node]) -> None:
        """All requests at once are more than the bound, unless it has room for them."""
        require(count(n in lost for n in Node) == 0 and self.term == 1, "PO-08")
        self.sent.fill(True)

    @invariant
    def few(self) -> bool:
        """PO-09. No pool has more members than its bound."""
        return count((n, t) in self.held for n in Node for t in Term) <= 1 and count(m in self.sent for m in Ask) <= 2

    @invariant
    def no_request_to_oneself(self) -> bool:
        """PO-10. Nobody asks itself."""
        return all(m.src != m.dst for m in self.sent)

    @step
    def one_by_one(self, old: Self) -> bool:
        """PO-11. A lock is not taken while another one is freed."""
        return all(
            (n, t) in old.held or (n, t) not in self.held or not any((k, u) in old.held for k in Node for u in Term)
            for n in Node
            for t in Term
        )

    @witness
    def two(self) -> bool:
        """Two requests at once."""
        return any(m != k for m in self.sent for k in self.sent)

    @final
    def quiet(self) -> bool:
        """Nothing is under way."""
        return not any(m in self.sent for m in Ask)

    @leads_to
    def arrives(self, m: Ask) -> tuple[bool, bool]:
        """PO-12. A request does not stay for ever."""
        return m in self.sent, m not in self.sent
