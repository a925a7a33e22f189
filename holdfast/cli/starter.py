"""A lease: one client at a time may write a file.

A client acquires the lease of a file under a new, larger epoch and writes with that epoch. A client may sleep for as
long as it likes; meanwhile its lease expires, another client acquires it, and the sleeper wakes up and writes on.

Exercise. `holdfast check` finds a run in which a file goes back to an older epoch. One guard is missing: the storage
takes every write. Add one `require` to `write`, and the check ends with 0. (Storage knows only what it has stored.)
"""

from __future__ import annotations

from enum import Enum
from typing import Self

from holdfast.lang import Map, Model, Nat, Scope, Sort, action, init, invariant, require, step, witness


class Client(Sort): ...


class File(Sort): ...


class Epoch(Nat): ...


class E(Enum):
    """What a refused client is told."""

    HELD = "held"
    STALE = "stale"


class Lease(Model):
    """The lease service, the storage, and what each client believes."""

    holder: Map[File, Client | None]
    epoch: Map[File, Epoch]  # of the latest lease; Epoch(0) is none
    believed: Map[tuple[Client, File], Epoch]  # the epoch under which a client believes it may write
    stored: Map[File, Epoch]  # the epoch of the last write

    # How many there are of each: `tiny` is checked in no time, `default` in seconds.
    tiny = Scope({Client: 2, File: 1, Epoch: 2})
    default = Scope({Client: 2, File: 2, Epoch: 2})

    @init
    def all_free(self) -> None:
        self.holder.fill(None)
        self.epoch.fill(Epoch(0))
        self.believed.fill(Epoch(0))
        self.stored.fill(Epoch(0))

    @action
    def acquire(self, c: Client, f: File, e: Epoch) -> None:
        """The service grants the lease under a new epoch."""
        require(self.holder[f] is None, "LS-01", error=E.HELD)
        require(e > self.epoch[f], "LS-02", error=E.STALE)
        self.holder[f] = c
        self.epoch[f] = e
        self.believed[c, f] = e

    @action
    def expire(self, f: File) -> None:
        """The lease runs out, and its holder is not told."""
        require(self.holder[f] is not None, "LS-03")
        self.holder[f] = None

    @action
    def write(self, c: Client, f: File) -> None:
        """A client writes, with the epoch it believes in."""
        require(self.believed[c, f] > Epoch(0), "LS-04")
        # The exercise: which writes should the storage refuse?
        self.stored[f] = self.believed[c, f]

    @action
    def release(self, c: Client, f: File) -> None:
        """A client gives the lease back."""
        holder = self.holder[f]
        require(holder is not None and holder == c, "LS-05")
        self.holder[f] = None
        self.believed[c, f] = Epoch(0)

    @invariant
    def holder_knows(self) -> bool:
        """LS-10. The holder of a lease knows its epoch."""
        return all(
            self.believed[c, f] == self.epoch[f]
            for f in File
            for c in Client
            if self.holder[f] is not None and self.holder[f] == c
        )

    @step
    def no_way_back(self, old: Self) -> bool:
        """LS-11. A file never goes back to an older epoch."""
        return all(self.stored[f] >= old.stored[f] for f in File)

    @witness
    def handed_over(self) -> bool:
        """A file has been written under its second lease."""
        return any(self.stored[f] >= Epoch(2) for f in File)
