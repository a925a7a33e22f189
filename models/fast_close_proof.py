"""Lemmas for the proof of `fast_close`, beside its invariants. Every step keeps each of them. They show in turn:

- As in `stream_log`: the reservation and the registration of a node only pass on to later processes. So at most one
  process of a node is not barred, and that process has the streams of the node.
- An entry lies below the end of its stream and apart from all other entries, and none of its offsets is covered.
- Each record in a WAL is covered, or its node has to commit it.
"""

from __future__ import annotations

from holdfast.lang import lemma
from models.fast_close import FastClose
from models.parts.fast_brokers import Mode
from models.parts.nodes import Node, Proc
from models.parts.processes import Phase
from models.parts.processes_proof import ProcessTableProof
from models.parts.streams import Epoch, Offset, Stream


class FastCloseProof(ProcessTableProof, FastClose):
    """FastClose with the lemmas that make its invariants inductive."""

    def opener(self, p: Proc, s: Stream) -> bool:
        """Whether p has opened s under the newest epoch."""
        return self.handle[p, s] == self.epoch[s] and self.handle[p, s] > Epoch(0) and not self.recovers(p, s)

    def has(self, p: Proc, s: Stream, o: Offset) -> bool:
        """Whether the WAL of p's node has a record at o."""
        return self.wal[self.node_of[p], s, o]

    def in_entry(self, n: Node, s: Stream, o: Offset) -> bool:
        """Whether o is part of an entry of n."""
        return self.effective_from(n, s) <= o and o < self.entry_to[n, s]

    # Handles --------------------------------------------------------------------------------------------------

    @lemma
    def no_handle_is_blank(self) -> bool:
        """A process without a handle on a stream does nothing with it, and owes nothing to it."""
        return all(
            self.mode[p, s] == Mode.SHUT
            and not self.close_sent[p, s]
            and not self.waits(p, s)
            and self.confirm_offset[p, s] == self.next_offset[p, s]
            for p in Proc
            for s in Stream
            if self.handle[p, s] == Epoch(0)
        )

    @lemma
    def phases_have_their_handles(self) -> bool:
        """Only a process that serves has an open handle. A recovery has those that it recovers; others have none."""
        return all(
            (self.mode[p, s] != Mode.OPEN or self.phase[p] == Phase.READY)
            and (self.handle[p, s] == Epoch(0) or self.phase[p] != Phase.RESERVED)
            and (self.handle[p, s] == Epoch(0) or self.recovers(p, s) or self.phase[p] != Phase.RECOVERING)
            for p in Proc
            for s in Stream
        )

    @lemma
    def closes_when_idle(self) -> bool:
        """A process that waits to close, or has sent the close, takes no append; it confirms only what it appended."""
        return all(
            (self.mode[p, s] == Mode.SHUT or not self.close_sent[p, s])
            and (not self.waits(p, s) or (self.mode[p, s] == Mode.SHUT and not self.close_sent[p, s]))
            and self.confirm_offset[p, s] <= self.next_offset[p, s]
            for p in Proc
            for s in Stream
        )

    @lemma
    def serving_is_idle_when_shut(self) -> bool:
        """A process that serves or recovers has confirmed all its appends, unless the handle is open."""
        return all(
            self.confirm_offset[p, s] == self.next_offset[p, s]
            for p in Proc
            for s in Stream
            if self.recovers(p, s) or (self.phase[p] == Phase.READY and self.mode[p, s] == Mode.SHUT)
        )

    # Handles and the table ------------------------------------------------------------------------------------

    @lemma
    def streams_exist(self) -> bool:
        """No stream is deleted."""
        return all(self.exists[s] for s in Stream)

    @lemma
    def owned_has_epoch(self) -> bool:
        """A stream with a range has an epoch that a handle can have."""
        return all(self.epoch[s] > Epoch(0) for s in Stream if self.owner[s] is not None)

    @lemma
    def entry_has_epoch(self) -> bool:
        """The range that an entry seals has an epoch that a handle can have."""
        return all(self.entry_epoch[n, s] > Epoch(0) for n in Node for s in Stream if self.has_entry(n, s))

    @lemma
    def entry_epochs_come_from_the_table(self) -> bool:
        """No entry has an epoch that the stream has not had."""
        return all(self.entry_epoch[n, s] <= self.epoch[s] for n in Node for s in Stream)

    @lemma
    def epochs_come_from_the_table(self) -> bool:
        """No handle has an epoch that the stream has not had."""
        return all(all(self.handle[p, s] <= self.epoch[s] for p in Proc) for s in Stream)

    @lemma
    def one_opener(self) -> bool:
        """No two processes have opened a stream under its newest epoch."""
        return all(q == p for p in Proc for q in Proc for s in Stream if self.opener(p, s) and self.opener(q, s))

    @lemma
    def opener_is_owner(self) -> bool:
        """If a process has opened a stream under its newest epoch, its node owns the current range."""
        return all(self.owned_by(s, self.node_of[p]) for p in Proc for s in Stream if self.opener(p, s))

    @lemma
    def serving_is_opener(self) -> bool:
        """If a process that is not barred takes appends, or will, it has opened the stream under its newest epoch.

        The stream is then OPENED.
        """
        return all(
            self.opener(p, s) and self.opened[s]
            for p in Proc
            for s in Stream
            if (self.mode[p, s] == Mode.OPEN or self.waits(p, s)) and not self.barred(p)
        )

    @lemma
    def recovered_is_listed(self) -> bool:
        """A stream in recovery is OPENED on the node, under the epoch of the handle; a stream that drains is not."""
        return all(
            self.lists(self.node_of[p], s) and self.handle[p, s] == self.epoch[s]
            if self.mode[p, s] == Mode.RECOVERING
            else not self.lists(self.node_of[p], s)
            for p in Proc
            for s in Stream
            if self.recovers(p, s) and not self.barred(p)
        )

    # Entries --------------------------------------------------------------------------------------------------

    @lemma
    def entry_lies_below_end(self) -> bool:
        """No entry ends above the end of its stream."""
        return all(self.entry_to[n, s] <= self.end_offset[s] for n in Node for s in Stream)

    @lemma
    def entry_is_uncovered(self) -> bool:
        """Nothing of an entry is covered."""
        return all(not self.covered[s, o] for n in Node for s in Stream for o in Offset if self.in_entry(n, s, o))

    @lemma
    def entries_are_apart(self) -> bool:
        """No offset is part of two entries."""
        return all(
            m == n
            for m in Node
            for n in Node
            for s in Stream
            for o in Offset
            if self.in_entry(m, s, o) and self.in_entry(n, s, o)
        )

    # Offsets and WALs -----------------------------------------------------------------------------------------

    @lemma
    def confirmed_above_end(self) -> bool:
        """Nobody but the opener has committed, and that only what it has acked."""
        return all(
            self.end_offset[s] <= self.confirm_offset[p, s]
            for p in Proc
            for s in Stream
            if self.opener(p, s) and self.opened[s] and not self.barred(p)
        )

    @lemma
    def opener_has_acked(self) -> bool:
        """The opener has confirmed every acked offset."""
        return all(
            o < self.confirm_offset[p, s]
            for p in Proc
            for s in Stream
            for o in Offset
            if self.opener(p, s) and self.acked_by[s, o] is not None
        )

    @lemma
    def closed_has_acked(self) -> bool:
        """Every acked offset of a CLOSED stream lies below its end."""
        return all(
            o < self.end_offset[s]
            for s in Stream
            for o in Offset
            if not self.opened[s] and self.acked_by[s, o] is not None
        )

    @lemma
    def acked_is_durable(self) -> bool:
        """From the end up to what the opener has acked, its WAL has everything."""
        return all(
            self.has(p, s, o)
            for p in Proc
            for s in Stream
            for o in Offset
            if self.opener(p, s) and self.opened[s] and not self.barred(p)
            if self.end_offset[s] <= o and o < self.confirm_offset[p, s]
        )

    @lemma
    def nothing_is_written_ahead(self) -> bool:
        """The opener's WAL has no offset that the opener has not appended yet."""
        return all(
            o < self.next_offset[p, s]
            for p in Proc
            for s in Stream
            for o in Offset
            if self.opener(p, s) and self.opened[s] and not self.barred(p) and self.has(p, s, o)
        )

    @lemma
    def ready_has_its_own(self) -> bool:
        """Every offset in the WAL of a process that serves is covered, or its node has to commit it."""
        return all(
            self.covered[s, o] or self.owes(self.node_of[p], s, o)
            for p in Proc
            for s in Stream
            for o in Offset
            if self.phase[p] == Phase.READY and not self.barred(p) and self.has(p, s, o) and self.start_offset[s] <= o
        )

    @lemma
    def open_below_end_is_covered(self) -> bool:
        """Every offset below the end in the WAL of the owner of an OPENED stream is covered."""
        return all(
            self.covered[s, o]
            for n in Node
            for s in Stream
            for o in Offset
            if self.lists(n, s) and self.wal[n, s, o] and self.start_offset[s] <= o and o < self.end_offset[s]
        )

    @lemma
    def below_an_entry_is_covered(self) -> bool:
        """Every offset of a WAL below the end of the entry is covered, or part of the entry."""
        return all(
            self.covered[s, o] or self.in_entry(n, s, o)
            for n in Node
            for s in Stream
            for o in Offset
            if self.has_entry(n, s) and self.wal[n, s, o] and self.start_offset[s] <= o and o < self.entry_to[n, s]
        )
