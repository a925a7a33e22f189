"""Lemmas for the proof of `stream_log`, beside its invariants. Every step keeps each of them. They show in turn:

- The reservation and the registration of a node only pass on to later processes. So at most one process of a node is
  not barred.
- The fields of a handle agree with each other.
- A process that serves or recovers, and is not barred, has handles of the newest epoch on the streams of its node.
- The WAL of its node then has all its records that are not committed.
"""

from __future__ import annotations

from holdfast.lang import lemma
from models.parts.handles import Mode
from models.parts.nodes import Node, Proc
from models.parts.processes import Phase
from models.parts.processes_proof import ProcessTableProof
from models.parts.streams import Epoch, Offset, Stream
from models.stream_log import StreamLog


class StreamLogProof(ProcessTableProof, StreamLog):
    """StreamLog with the lemmas that make its invariants inductive."""

    def current(self, p: Proc, s: Stream) -> bool:
        """Whether the stream exists, and p has a handle of its newest epoch."""
        return self.exists[s] and self.handle[p, s] == self.epoch[s] and self.handle[p, s] > Epoch(0)

    def serves(self, p: Proc, s: Stream) -> bool:
        """Whether p takes appends to s and is not barred."""
        return self.mode[p, s] == Mode.OPEN and not self.barred(p)

    def has(self, p: Proc, s: Stream, o: Offset) -> bool:
        """Whether the WAL of p's node has a record at o."""
        return self.wal[self.node_of[p], s, o] is not None

    # Handles --------------------------------------------------------------------------------------------------

    @lemma
    def no_handle_is_blank(self) -> bool:
        """Without a handle there is nothing else."""
        return all(
            self.mode[p, s] == Mode.SHUT
            and self.next_offset[p, s] == Offset(0)
            and not self.unheard[p, s]
            and not self.close_sent[p, s]
            for p in Proc
            for s in Stream
            if self.handle[p, s] == Epoch(0)
        )

    @lemma
    def shut_has_nothing_in_flight(self) -> bool:
        """Only an open handle has an append in flight, and only what is in flight is durable and not acked."""
        return all(
            (self.mode[p, s] == Mode.OPEN or self.confirm_offset[p, s] == self.next_offset[p, s])
            and (not self.durable[p, s] or self.confirm_offset[p, s] < self.next_offset[p, s])
            for p in Proc
            for s in Stream
        )

    @lemma
    def open_is_ready(self) -> bool:
        """Only a process that serves has an open handle; one that has not registered has no handle of any kind."""
        return all(
            (self.mode[p, s] != Mode.OPEN or self.phase[p] == Phase.READY)
            and (self.handle[p, s] == Epoch(0) or self.phase[p] != Phase.RESERVED)
            for p in Proc
            for s in Stream
        )

    @lemma
    def closes_when_uploaded(self) -> bool:
        """A process that has sent a close takes no append, and all its records are committed."""
        return all(
            self.mode[p, s] != Mode.OPEN and self.committed_to[p, s] == self.confirm_offset[p, s]
            for p in Proc
            for s in Stream
            if self.close_sent[p, s]
        )

    # Handles and the table ------------------------------------------------------------------------------------

    @lemma
    def owned_has_epoch(self) -> bool:
        """A stream with a range has an epoch that a handle can have."""
        return all(self.epoch[s] > Epoch(0) for s in Stream if self.owner[s] is not None)

    @lemma
    def epochs_come_from_the_table(self) -> bool:
        """No handle has an epoch that an existing stream has not had."""
        return all(all(self.handle[p, s] <= self.epoch[s] for p in Proc) for s in Stream if self.exists[s])

    @lemma
    def one_opens_an_epoch(self) -> bool:
        """No two processes have opened a stream under one epoch."""
        return all(
            q == p
            for p in Proc
            for q in Proc
            for s in Stream
            if self.handle[p, s] > Epoch(0) and self.handle[q, s] == self.handle[p, s]
            if self.mode[p, s] != Mode.RECOVERING and self.mode[q, s] != Mode.RECOVERING
        )

    @lemma
    def current_handle_is_owners(self) -> bool:
        """A handle of the newest epoch is of the owner's node."""
        return all(self.owned_by(s, self.node_of[p]) for p in Proc for s in Stream if self.current(p, s))

    @lemma
    def serving_is_current(self) -> bool:
        """A process that serves has a handle of the newest epoch, and the stream is OPENED."""
        return all(self.current(p, s) and self.opened[s] for p in Proc for s in Stream if self.serves(p, s))

    @lemma
    def recovery_has_all(self) -> bool:
        """A process that recovers a node recovers each stream that is open on it."""
        return all(
            self.mode[p, s] == Mode.RECOVERING and self.current(p, s)
            for p in Proc
            for s in Stream
            if self.phase[p] == Phase.RECOVERING and not self.barred(p) and self.lists(self.node_of[p], s)
        )

    # Offsets --------------------------------------------------------------------------------------------------

    @lemma
    def known_is_committed(self) -> bool:
        """Each offset that a process knows to be committed is committed."""
        return all(all(self.committed_to[p, s] <= self.end_offset[s] for p in Proc) for s in Stream if self.exists[s])

    @lemma
    def confirmed_above_end(self) -> bool:
        """Nobody but who serves has committed, and that only what it has acked."""
        return all(self.end_offset[s] <= self.confirm_offset[p, s] for p in Proc for s in Stream if self.serves(p, s))

    @lemma
    def unheard_is_committed(self) -> bool:
        """A recovery that has not heard of its commit has committed above what it knows, and nothing is trimmed."""
        return all(
            self.lists(self.node_of[p], s)
            and self.start_offset[s] <= self.committed_to[p, s]
            and self.committed_to[p, s] < self.end_offset[s]
            for p in Proc
            for s in Stream
            if self.mode[p, s] == Mode.RECOVERING and self.unheard[p, s] and not self.barred(p)
            if self.committed_to[p, s] < self.confirm_offset[p, s]
        )

    @lemma
    def opener_has_acked(self) -> bool:
        """The process with the newest epoch has confirmed every acked offset, once its recovery is over."""
        return all(
            all(o < self.confirm_offset[p, s] for o in Offset if self.acked_by[s, o] is not None)
            for p in Proc
            for s in Stream
            if self.current(p, s) and self.mode[p, s] != Mode.RECOVERING
        )

    @lemma
    def acked_without_gap(self) -> bool:
        """A process that serves has acked all of its range that is not trimmed."""
        return all(
            self.acked_by[s, o] is not None
            for p in Proc
            for s in Stream
            for o in Offset
            if self.serves(p, s) and self.range_start[s] <= o and self.start_offset[s] <= o
            if o < self.confirm_offset[p, s]
        )

    # WALs -----------------------------------------------------------------------------------------------------

    @lemma
    def batch_begins_at_end(self) -> bool:
        """The end of a stream is not inside a batch that its node has to commit."""
        return all(not self.is_inside_batch(n, s, self.end_offset[s]) for n in Node for s in Stream if self.lists(n, s))

    @lemma
    def wal_has_no_gap(self) -> bool:
        """Above the end of a stream there is no gap in the WAL of the node that has to commit there."""
        return all(
            all(self.wal[n, s, x] is not None for x in Offset if self.end_offset[s] <= x and x < o)
            for n in Node
            for s in Stream
            for o in Offset
            if self.lists(n, s) and self.wal[n, s, o] is not None
        )

    @lemma
    def replay_ends(self) -> bool:
        """At the end of a stream, or somewhere above it, there is no record, so that a replay comes to an end."""
        return all(
            self.wal[n, s, self.end_offset[s]] is None
            or any(self.end_offset[s] < o and self.wal[n, s, o] is None for o in Offset)
            for n in Node
            for s in Stream
            if self.lists(n, s)
        )

    @lemma
    def durable_is_written(self) -> bool:
        """Every offset of a finished PUT is in the WAL, if the process still has the reservation."""
        return all(
            self.has(p, s, o)
            for p in Proc
            for s in Stream
            for o in Offset
            if self.reserved[p] and self.durable[p, s] and self.in_flight(p, s, o)
        )

    @lemma
    def nothing_is_written_ahead(self) -> bool:
        """Above what who serves has acked, or appended, its WAL is empty."""
        return all(
            o < self.confirm_offset[p, s] or (self.durable[p, s] and o < self.next_offset[p, s])
            for p in Proc
            for s in Stream
            for o in Offset
            if self.serves(p, s) and self.has(p, s, o)
        )

    @lemma
    def closed_has_no_more(self) -> bool:
        """The WAL of a node that serves has nothing above the end of a stream that it has not open."""
        return all(
            o < self.end_offset[s]
            for p in Proc
            for s in Stream
            for o in Offset
            if self.phase[p] == Phase.READY and not self.barred(p) and self.mode[p, s] != Mode.OPEN
            if self.has(p, s, o)
        )

    @lemma
    def replay_has_all(self) -> bool:
        """A recovery has replayed every offset that its WAL has from the end on."""
        return all(
            o < self.confirm_offset[p, s]
            for p in Proc
            for s in Stream
            for o in Offset
            if self.mode[p, s] == Mode.RECOVERING and not self.barred(p) and self.current(p, s)
            if self.end_offset[s] <= o and self.has(p, s, o)
        )
