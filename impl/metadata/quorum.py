"""The quorum that keeps the metadata log, as a modelled service: one leader, commits that take time, no Raft.

The service holds the batches of the leader. It commits a batch ``delay`` milliseconds after the append. A change of
leader commits a prefix of the pending batches and loses the others; the caller decides how many are kept.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

import msgspec

from impl.metadata.log import MetadataBatch


class Leader(msgspec.Struct, frozen=True, gc=False):
    """The controller that may append, and the term in which it may."""

    controller: int
    term: int


class Quorum:
    """The log of a cluster. Its first ``committed`` batches are never lost. ``begin``: batches that it starts with."""

    def __init__(self, delay: int = 0, begin: Iterable[MetadataBatch] = ()) -> None:
        self.delay = delay
        self.leader: Leader | None = None
        self.term = 0
        self.batches: list[MetadataBatch] = list(begin)
        self.committed = len(self.batches)
        self._due: deque[int] = deque()
        """For each pending batch, the time of its commit."""

    def append(self, term: int, index: int, batch: MetadataBatch, now: int) -> bool:
        """Keep a batch as pending. Returns False if ``term`` is over: the batch is lost.

        Raises ValueError if the leader leaves out an index or writes one again.
        """
        if self.leader is None or term != self.leader.term:
            return False
        if index != len(self.batches):
            raise ValueError(f"the leader appends batch {index}, but the log ends at {len(self.batches)}")
        self.batches.append(batch)
        self._due.append(now + self.delay)
        return True

    def next_commit(self) -> int | None:
        """The time at which the next pending batch is committed; None if none is pending."""
        return self._due[0] if self._due else None

    def commit_due(self, now: int) -> int:
        """Commit the batches whose time has come; returns the number of committed batches."""
        while self._due and self._due[0] <= now:
            self._due.popleft()
            self.committed += 1
        return self.committed

    def resign(self, kept: int = 0) -> tuple[MetadataBatch, ...]:
        """End the term of the leader; the first ``kept`` pending batches are committed. Returns the lost ones.

        Raises ValueError if fewer batches are pending.
        """
        if not 0 <= kept <= len(self._due):
            raise ValueError(f"{kept} pending batches are to be kept, but {len(self._due)} are pending")
        self.leader = None
        # Only a prefix can be kept, since a batch builds on the ones before it.
        self.committed += kept
        lost = tuple(self.batches[self.committed :])
        del self.batches[self.committed :]
        self._due.clear()
        return lost

    def elect(self, controller: int, kept: int = 0) -> Leader:
        """Make a controller the leader in a new term. Pending batches are handled as in ``resign``."""
        self.resign(kept)
        self.term += 1
        self.leader = Leader(controller, self.term)
        return self.leader

    def learned(self, begin: int) -> tuple[MetadataBatch, ...]:
        """The committed batches from index ``begin`` on, for a controller whose log ends there."""
        return tuple(self.batches[begin : self.committed])
