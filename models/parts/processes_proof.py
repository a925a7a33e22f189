"""Lemmas about processes, for the proofs of `stream_log` and `fast_close`. Every step keeps each of them.

The reservation and the registration of a node only pass on to later processes. So at most one process of a node is not
barred.
"""

from __future__ import annotations

from holdfast.lang import lemma
from models.parts.nodes import Proc
from models.parts.processes import Phase, ProcessTable
from models.parts.streams import Epoch, Stream
from models.parts.streams_proof import StreamTableProof


class ProcessTableProof(ProcessTable, StreamTableProof):
    """The processes and their lemmas."""

    def registered(self, p: Proc) -> bool:
        """Whether p was the last process to register for its node."""
        n = self.node_of[p]
        return self.node_epoch[n] == self.incarnation[p] and self.failover_mode[n] == self.failover[p]

    def succeeded(self, p: Proc) -> bool:
        """Whether a process of p's node that starts after p has the reservation."""
        return any(self.reserved[q] and self.starts_before(p, q) for q in Proc)

    @lemma
    def one_reservation(self) -> bool:
        """A node's reservation names one process."""
        return all(all(not self.reserved[q] for q in Proc if self.are_peers(q, p)) for p in Proc if self.reserved[p])

    @lemma
    def started_has_reserved(self) -> bool:
        """A process that has started has held the reservation: now it is its own, or a later process's."""
        return all(self.reserved[p] or self.succeeded(p) for p in Proc if self.phase[p] != Phase.OFF)

    @lemma
    def handle_has_reserved(self) -> bool:
        """A process with a handle has held the reservation: now it is its own, or a later process's."""
        return all(self.reserved[p] or self.succeeded(p) for p in Proc for s in Stream if self.handle[p, s] > Epoch(0))

    @lemma
    def barred_is_succeeded(self) -> bool:
        """A barred process does not hold the reservation: a later process does."""
        return all(self.succeeded(p) for p in Proc if self.barred(p))

    @lemma
    def known_has_reserved(self) -> bool:
        """An incarnation that the controller knows has held the reservation."""
        return all(
            self.reserved[p] or self.succeeded(p)
            for p in Proc
            if not self.failover[p] and self.node_epoch[self.node_of[p]] == self.incarnation[p]
        )

    @lemma
    def registers_once(self) -> bool:
        """A process that is yet to register is not known; a worker's incarnation is, or a newer one."""
        return all(
            self.node_epoch[self.node_of[p]] >= self.incarnation[p]
            if self.failover[p]
            else self.node_epoch[self.node_of[p]] != self.incarnation[p]
            for p in Proc
            if self.phase[p] == Phase.RESERVED
        )

    @lemma
    def past_barrier_is_registered(self) -> bool:
        """A process that has passed the barrier is registered, or barred."""
        return all(
            self.registered(p) or self.barred(p)
            for p in Proc
            if self.phase[p] == Phase.RECOVERING or self.phase[p] == Phase.READY
        )

    @lemma
    def handle_is_registered(self) -> bool:
        """A process that has a handle is registered, or barred."""
        return all(self.registered(p) or self.barred(p) for p in Proc for s in Stream if self.handle[p, s] > Epoch(0))
