"""What the models of these tests are written with: a few types, and a small stream table to extend."""

from __future__ import annotations

from enum import Enum

from holdfast.lang import Ghost, Int, Map, Model, Nat, Rel, Scope, Sort, init


class E(Enum):
    """What a refused request is answered."""

    FENCED = 503
    NOT_CLOSED = 506


class Phase(Enum):
    """A step on the way."""

    IDLE = "idle"
    BUSY = "busy"


class Node(Sort):
    """A broker."""


class Stream(Sort):
    """A stream."""


class Epoch(Nat):
    """How often a stream has been opened."""


class Gap(Int, lo=-2, hi=2):
    """A small difference."""


class Table(Model):
    """Streams with owners, and a leader."""

    opened: Rel[Stream]
    owner: Map[Stream, Node | None]
    epoch: Map[Stream, Epoch]
    leader: Node | None
    clock: Epoch
    phase: Phase
    gap: Gap
    seen: Ghost[Rel[Stream]]

    tiny = Scope({Node: 2, Stream: 2, Epoch: 2})

    @init
    def start_table(self) -> None:
        """Nothing has happened."""
        self.opened.fill(False)
        self.owner.fill(None)
        self.epoch.fill(Epoch(0))
        self.leader = None
        self.clock = Epoch(0)
        self.phase = Phase.IDLE
        self.gap = Gap(0)
        self.seen.fill(False)
