"""A stream table under epochs: who may open, and what a process believes."""

from __future__ import annotations

from enum import Enum
from typing import Self

from holdfast.lang import (
    Ghost,
    Map,
    Model,
    Nat,
    Rel,
    Scope,
    Sort,
    action,
    init,
    invariant,
    lemma,
    require,
    step,
    witness,
)


class E(Enum):
    """What a refused request is told."""

    STREAM_FENCED = 503
    STREAM_NOT_CLOSED = 506


class Node(Sort):
    """A machine."""


class Proc(Sort):
    """A process of a node."""


class Stream(Sort):
    """A stream."""


class Epoch(Nat):
    """How often a stream was opened."""


class Table(Model):
    """The controller's table, and the handles of processes."""

    node_of: Map[Proc, Node]
    opened: Rel[Stream]
    owner: Map[Stream, Node | None]
    epoch: Map[Stream, Epoch]
    handle: Map[tuple[Proc, Stream], Epoch]
    used: Rel[Proc, Stream, Epoch]
    last_opener: Ghost[Map[Stream, Proc | None]]
    unread: Ghost[Rel[Stream]]

    tiny = Scope({Node: 2, Proc: 2, Stream: 1, Epoch: 2}, given={"node_of": (0, 1)})
    default = Scope({Node: 2, Proc: 3, Stream: 1, Epoch: 3}, given={"node_of": (0, 0, 1)})

    @init
    def start_empty(self) -> None:
        """Nothing is open."""
        self.opened.fill(False)
        self.owner.fill(None)
        self.epoch.fill(Epoch(0))
        self.handle.fill(Epoch(0))
        self.used.fill(False)
        self.last_opener.fill(None)
        self.unread.fill(False)

    @action
    def open(self, p: Proc, s: Stream, e: Epoch) -> None:
        """A process opens the stream and believes it."""
        require(e > self.epoch[s], "ST-12", error=E.STREAM_FENCED)
        require(not self.opened[s], "ST-14", error=E.STREAM_NOT_CLOSED)
        self.opened[s] = True
        self.owner[s] = self.node_of[p]
        self.epoch[s] = e
        self.handle[p, s] = e
        self.used[p, s, e] = True
        self.last_opener[s] = p
        self.unread[s] = True

    @action(idempotent="INV-15")
    def close(self, p: Proc, s: Stream, e: Epoch) -> None:
        """A process closes with its own epoch."""
        require(e > Epoch(0) and self.epoch[s] == e and self.used[p, s, e], "CK-02.epoch")
        self.opened[s] = False
        self.handle[p, s] = Epoch(0)

    @invariant
    def one_handle(self) -> bool:
        """INV-01. At most one process holds a stream."""
        return all(
            p == q
            for s in Stream
            for p in Proc
            for q in Proc
            if self.handle[p, s] > Epoch(0) and self.handle[q, s] > Epoch(0)
        )

    @lemma
    def holder_opened_last(self) -> bool:
        """INV-02. Whoever holds a stream opened it last."""
        return all(
            self.last_opener[s] is not None and self.last_opener[s] == p
            for s in Stream
            for p in Proc
            if self.handle[p, s] > Epoch(0)
        )

    @step
    def epochs_grow(self, old: Self) -> bool:
        """INV-04. A stream's epoch never decreases."""
        return all(self.epoch[s] >= old.epoch[s] for s in Stream)

    @step(of="open")
    def closed_before(self, old: Self, s: Stream) -> bool:
        """INV-01. An open finds the stream closed."""
        return not old.opened[s]

    @witness
    def handed_over(self) -> bool:
        """A stream has been opened under its second epoch, from another node."""
        return any(
            self.used[p, s, e] and self.handle[q, s] > e and self.node_of[p] != self.node_of[q]
            for s in Stream
            for e in Epoch
            for p in Proc
            for q in Proc
        )
