"""The benchmark's model: nodes take over streams under epochs, and requests may arrive late and several times.

The controller stores which node has opened a stream, and under which epoch (streams.md 3). A node asks to open a stream
that is assigned to it, under a larger epoch; a node that has lost a stream closes it first. A sent request never leaves
the network: ``open_sent`` and ``close_sent`` only grow, and their requests may arrive at any time, any number of times.
In a crash, a node loses its beliefs about all streams at once; its next incarnation closes the streams that it left
open (FO-08).

``Takeover.tla`` is the same protocol, written by hand, with the same step property and invariants, so both checkers do
equal work. CK-02.node is never decisive here, because no two nodes open a stream under the same epoch. Scopes ``small``
and ``wide`` are for tests; a state of ``wide`` has two streams and takes two words.
"""

from __future__ import annotations

from typing import Self

from holdfast.lang import Map, Model, Nat, Rel, Scope, Sort, action, init, invariant, require, rule, step


class Node(Sort):
    """A broker."""


class Stream(Sort):
    """A stream."""


class Epoch(Nat):
    """A stream epoch. 0 stands for none."""


class Takeover(Model):
    """The controller's stream table, what every node believes, and every request under way."""

    opened: Rel[Stream]
    epoch: Map[Stream, Epoch]
    owner: Map[Stream, Node | None]
    """The node of the current range."""
    assigned: Map[Stream, Node | None]
    """Who is to have the stream."""
    open_sent: Map[tuple[Node, Stream], Epoch]
    """The newest open that the node has sent."""
    close_sent: Map[tuple[Node, Stream], Epoch]
    """The newest close that the node has sent."""
    handle: Map[tuple[Node, Stream], Epoch]
    """The epoch of the node's open handle; 0 if it has none."""

    small = Scope({Node: 3, Stream: 1, Epoch: 2}, budgets={"move": 4})
    wide = Scope({Node: 4, Stream: 2, Epoch: 2}, budgets={"move": 2})
    one_word = Scope({Node: 3, Stream: 2, Epoch: 3}, budgets={"move": 4})
    two_words = Scope({Node: 4, Stream: 2, Epoch: 2}, budgets={"move": 4})

    @init
    def start_streams(self) -> None:
        """No stream has been opened or assigned, and nothing was sent."""
        self.opened.fill(False)
        self.epoch.fill(Epoch(0))
        self.owner.fill(None)
        self.assigned.fill(None)
        self.open_sent.fill(Epoch(0))
        self.close_sent.fill(Epoch(0))
        self.handle.fill(Epoch(0))

    def owned_by(self, s: Stream, n: Node) -> bool:
        """Whether the current range of s is on n."""
        owner = self.owner[s]
        return owner is not None and owner == n

    def assigned_to(self, s: Stream, n: Node) -> bool:
        """Whether n is to have s."""
        target = self.assigned[s]
        return target is not None and target == n

    def owns(self, n: Node, s: Stream, e: Epoch) -> bool:
        """Whether s is open on n under e."""
        return self.opened[s] and self.owned_by(s, n) and self.epoch[s] == e

    @action
    def move(self, s: Stream, n: Node) -> None:
        """The stream is assigned to another node."""
        require(not self.assigned_to(s, n), "RA-03")
        self.assigned[s] = n

    @action
    def send_open(self, n: Node, s: Stream, e: Epoch) -> None:
        """A node that is to have the stream asks for it, under an epoch larger than any it knows of."""
        require(self.assigned_to(s, n), "PT-04.assigned")
        require(self.handle[n, s] == Epoch(0), "PT-05")
        require(e > self.epoch[s] and e > self.open_sent[n, s], "PT-04.epoch")
        self.open_sent[n, s] = e

    @action
    def receive_open(self, n: Node, s: Stream, heard: bool) -> None:
        """An openStream arrives. If the node hears the answer, it believes it unless it has closed that epoch."""
        e = self.open_sent[n, s]
        require(e > Epoch(0), "EX-07.open")
        require(self.epoch[s] <= e, "ST-12")
        if heard:
            require(e > self.close_sent[n, s], "PT-04.closed")
            require(self.handle[n, s] == Epoch(0), "PT-05.heard")
        if rule("ST-13", self.epoch[s] == e):
            require(self.owned_by(s, n), "ST-21")
        else:
            require(not self.opened[s], "ST-14")
            self.epoch[s] = e
            self.owner[s] = n
        self.opened[s] = True
        if heard:
            self.handle[n, s] = e

    @action
    def send_close(self, n: Node, s: Stream) -> None:
        """A node that the stream was taken from gives up its handle, and asks the controller to close."""
        require(self.handle[n, s] > Epoch(0), "CL-07")
        require(not self.assigned_to(s, n), "PT-02")
        self.close_sent[n, s] = self.handle[n, s]
        self.handle[n, s] = Epoch(0)

    @action
    def receive_close(self, n: Node, s: Stream) -> None:
        """A closeStream arrives."""
        e = self.close_sent[n, s]
        require(e > Epoch(0), "EX-07.close")
        require(self.epoch[s] == e, "CK-02.epoch")
        require(self.owned_by(s, n), "CK-02.node")
        self.opened[s] = False

    @action
    def crash(self, n: Node) -> None:
        """A node loses what it believes, on all streams."""
        require(any(self.handle[n, s] > Epoch(0) for s in Stream), "CL-02")
        for s in Stream:
            self.handle[n, s] = Epoch(0)

    @action
    def recover(self, n: Node, s: Stream) -> None:
        """A node that has started again closes what it finds open under its name."""
        require(self.opened[s] and self.owned_by(s, n), "FO-09")
        require(self.handle[n, s] == Epoch(0), "FO-08")
        require(self.epoch[s] > self.close_sent[n, s], "FO-08.again")
        self.close_sent[n, s] = self.epoch[s]

    @invariant
    def one_writer(self) -> bool:
        """INV-01. No two nodes have an open handle on one stream."""
        return all(
            all(
                all(n == m or self.handle[m, s] == Epoch(0) for m in Node) for n in Node if self.handle[n, s] > Epoch(0)
            )
            for s in Stream
        )

    @invariant
    def handles_are_current(self) -> bool:
        """INV-01. Who has an open handle has the stream open under its epoch."""
        return all(
            all(self.owns(n, s, self.handle[n, s]) for n in Node if self.handle[n, s] > Epoch(0)) for s in Stream
        )

    @invariant
    def opened_has_owner(self) -> bool:
        """INV-01. An OPENED stream has a current range."""
        return all(self.owner[s] is not None for s in Stream if self.opened[s])

    @invariant
    def closes_follow_opens(self) -> bool:
        """CL-07. A node closes what it has opened, and under no epoch that the controller has not seen."""
        return all(
            all(self.close_sent[n, s] <= self.open_sent[n, s] and self.close_sent[n, s] <= self.epoch[s] for n in Node)
            for s in Stream
        )

    @step
    def epochs_grow(self, old: Self) -> bool:
        """INV-04. The epoch of a stream never decreases."""
        return all(self.epoch[s] >= old.epoch[s] for s in Stream)
