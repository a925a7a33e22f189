"""Chain replication: updates go down a chain of nodes, acknowledgements come back up, and queries ask the tail.

R. van Renesse and F. B. Schneider, *Chain replication for supporting high throughput and availability* (OSDI 2004).
The head takes an update, and each node hands its log to the next one. What the tail has is acknowledged up the chain;
what is not, a node keeps, because a failure behind it may force it to send that again. A failed node is cut out of the
chain in the step in which it fails. Left out: how failures are noticed, and nodes that join.
"""

from __future__ import annotations

from holdfast.lang import (
    Ghost,
    Map,
    Model,
    Nat,
    Rel,
    Scope,
    Seq,
    Sort,
    action,
    init,
    invariant,
    leads_to,
    require,
    rule,
    variant,
    witness,
)


class Node(Nat): ...


class Index(Nat): ...


class Update(Sort): ...


class ChainReplication(Model):
    """The nodes from head to tail, and what each one knows."""

    up: Rel[Node]
    log: Map[Node, Seq[Update, Index]]
    passed: Map[Node, Index]
    """How many updates a node has handed to its successor."""
    acked: Map[Node, Index]
    """How many updates the tail has, as the node knows; the node has forgotten how to send those again."""
    seen: Ghost[Rel[Index, Update]]
    """What queries have answered."""

    tiny = Scope({Node: 2, Index: 2, Update: 2})
    default = Scope({Node: 3, Index: 2, Update: 2})
    deep = Scope({Node: 5, Index: 9, Update: 3}, depth=200)

    @init
    def start_empty(self) -> None:
        """Every node is up and has nothing."""
        self.up.fill(True)
        self.log.clear()
        self.passed.fill(Index(0))
        self.acked.fill(Index(0))
        self.seen.fill(False)

    @action
    def update(self, u: Update) -> None:
        """A client sends an update to the head."""
        self.log[self.head()].append(u)

    @action(fair="weak", per=("n",))
    def forward(self, n: Node) -> None:
        """A node hands its next update to its successor."""
        update = self.log[n][self.passed[n]]
        require(self.up[n] and n != self.tail() and update is not None)
        if update is not None:
            self.log[self.after(n)].append(update)
            self.passed[n] += 1

    @action(fair="weak", per=("n",))
    def acknowledge(self, n: Node) -> None:
        """A node learns how much the tail has: from its successor, if it is not the tail itself."""
        require(self.up[n])
        self.acked[n] = Index(len(self.log[n])) if n == self.tail() else self.acked[self.after(n)]

    @variant("next_acknowledges", replaces="acknowledge")
    def acknowledge_next(self, n: Node) -> None:
        """A node takes for acknowledged what its successor has."""
        require(self.up[n])
        self.acked[n] = Index(len(self.log[n])) if n == self.tail() else self.passed[n]

    @action
    def query(self) -> None:
        """A client asks the tail."""
        for i in Index:
            for u in Update:
                if self.log[self.tail()][i] == u:
                    self.seen[i, u] = True

    @variant("query_anywhere", replaces="query")
    def query_any(self, n: Node) -> None:
        """A client asks whatever node is near."""
        require(self.up[n])
        for i in Index:
            for u in Update:
                if self.log[n][i] == u:
                    self.seen[i, u] = True

    @action
    def fail(self, n: Node) -> None:
        """A node fails, though not the last one; its predecessor goes on with what its successor lacks."""
        before, after = self.before(n), self.after(n)
        require(self.up[n] and before != after)
        self.up[n] = False
        if rule("resend", n != before and n != after):
            self.passed[before] = max(self.acked[before], Index(len(self.log[after])))

    @invariant
    def prefixes(self) -> bool:
        """CR-01. What a node has, every node before it has in the same places."""
        return all(
            self.log[m].starts_with(self.log[n]) for m in Node for n in Node if m < n and self.up[m] and self.up[n]
        )

    @invariant
    def answers_last(self) -> bool:
        """CR-02. What a query has answered, every later tail has."""
        return all(self.log[self.tail()][i] == u for i in Index for u in Update if self.seen[i, u])

    @leads_to
    def acknowledged(self, n: Node, k: Index) -> tuple[bool, bool]:
        """CR-03. A node learns that the tail has what it has, or it fails."""
        return self.up[n] and len(self.log[n]) == k, self.acked[n] >= k or not self.up[n]

    def head(self) -> Node:
        """The first node of the chain."""
        return min((n for n in Node if self.up[n]), default=Node(0))

    def tail(self) -> Node:
        """The last node of the chain."""
        return max((n for n in Node if self.up[n]), default=Node(0))

    def after(self, n: Node) -> Node:
        """The successor of a node in the chain; the tail itself if there is none."""
        return min((m for m in Node if m > n and self.up[m]), default=n)

    def before(self, n: Node) -> Node:
        """The predecessor of a node in the chain; the head itself if there is none."""
        return max((m for m in Node if m < n and self.up[m]), default=n)

    @witness
    def acknowledged_after_failure(self) -> bool:
        """A node has failed, and the head of the others knows that the tail has as many updates as a log takes."""
        mended = self.head() != self.tail() and not all(self.up[n] for n in Node)
        return mended and self.acked[self.head()] == Index.last

    @witness
    def failed_with_more(self) -> bool:
        """A node in the middle has failed, and with it what it had and the tail lacks."""
        return self.tail() == Node.last and any(
            not self.up[n] and n > self.head() and len(self.log[n]) > len(self.log[self.tail()]) for n in Node
        )
