"""A small stream table: who may open a stream, and under which epoch."""

from __future__ import annotations

from enum import Enum
from typing import Self

from holdfast.lang import Map, Model, Nat, Rel, Scope, Sort, action, init, invariant, require, step, witness


class E(Enum):
    """What the table answers."""

    STREAM_FENCED = 503
    STREAM_NOT_CLOSED = 506


class Node(Sort):
    """A broker."""


class Stream(Sort):
    """A stream."""


class Epoch(Nat):
    """A stream's epoch."""


class StreamTable(Model):
    """Who may open."""

    opened: Rel[Stream]
    owner: Map[Stream, Node | None]
    epoch: Map[Stream, Epoch]

    tiny = Scope({Node: 2, Stream: 1, Epoch: 3})
    default = Scope({Node: 3, Stream: 2, Epoch: 4})

    @init
    def start_streams(self) -> None:
        """All streams are fresh."""
        self.opened.fill(False)
        for s in Stream:
            self.owner[s] = None
            self.epoch[s] = Epoch(0)

    @action
    def open(self, n: Node, s: Stream, e: Epoch) -> None:
        """Open a closed stream under a larger epoch."""
        require(e > self.epoch[s], "ST-12", error=E.STREAM_FENCED)
        require(not self.opened[s], "ST-14", error=E.STREAM_NOT_CLOSED)
        self.opened[s] = True
        self.owner[s] = n
        self.epoch[s] = e

    @action(idempotent="INV-15")
    def close(self, n: Node, s: Stream, e: Epoch) -> None:
        """Close a stream; a repeated close succeeds."""
        o = self.owner[s]
        require(o is not None and o == n, "CK-02.node")
        require(self.epoch[s] == e, "CK-02.epoch")
        self.opened[s] = False

    @invariant
    def owned(self) -> bool:
        """INV-01. An opened stream has an owner."""
        return all(self.owner[s] is not None for s in Stream if self.opened[s])

    @step
    def epochs_grow(self, old: Self) -> bool:
        """INV-04. A stream's epoch never decreases."""
        return all(self.epoch[s] >= old.epoch[s] for s in Stream)

    @step(of="open")
    def closed_before(self, old: Self, s: Stream) -> bool:
        """INV-01. An open finds the stream closed."""
        return not old.opened[s]

    @witness
    def twice(self) -> bool:
        """A stream has been opened in its second epoch."""
        return any(self.epoch[s] >= Epoch(2) and self.opened[s] for s in Stream)
