"""Lemmas for the proof of `ownership`, beside its invariants. Every step keeps each of them. They show in turn:

- The reservation of a node only passes on to later processes.
- A handle and a close belong to the range that has their epoch.
- A process that can still ack has the newest handle, and no close of that handle is under way.
- The acked offsets lie below the handles that acked them.

With late answers, a lemma about a handle also covers the answer that will give the handle.
"""

from __future__ import annotations

from holdfast.lang import lemma
from models.ownership import Ownership
from models.parts.nodes import Proc
from models.parts.streams import Epoch, Offset, Stream
from models.parts.streams_proof import StreamTableProof


class OwnershipProof(StreamTableProof, Ownership):
    """Ownership with the lemmas that make its invariants inductive."""

    def current(self, p: Proc, s: Stream) -> bool:
        """Whether the stream exists, and p has a handle of its newest epoch."""
        return self.exists[s] and self.handle[p, s] == self.epoch[s] and self.handle[p, s] > Epoch(0)

    def awaits_current(self, p: Proc, s: Stream) -> bool:
        """Whether p awaits the answer to an open with the newest epoch of an existing stream."""
        return self.awaits(p, s) and self.exists[s] and self.answer_epoch[p, s] == self.epoch[s]

    def could_ack(self, p: Proc, s: Stream) -> bool:
        """Whether p will be able to ack appends to s once it hears the answer on its way."""
        return self.awaits(p, s) and self.reserved[p]

    def all_acked_below(self, s: Stream, end: Offset) -> bool:
        """Whether every acked offset of s lies below `end`."""
        return all(o < end for o in Offset if self.acked_by[s, o] is not None)

    # Reservations ---------------------------------------------------------------------------------------------

    @lemma
    def one_reservation(self) -> bool:
        """A node's reservation names one process."""
        return all(all(not self.reserved[q] for q in Proc if self.are_peers(q, p)) for p in Proc if self.reserved[p])

    @lemma
    def reservation_moves_on(self) -> bool:
        """If a process has a handle or has sent a close, it has the reservation, or a later process has it."""
        return all(
            all(
                any(self.reserved[q] and (q == p or self.starts_before(p, q)) for q in Proc)
                for p in Proc
                if self.handle[p, s] > Epoch(0) or self.close_sent[p, s] > Epoch(0) or self.awaits(p, s)
            )
            for s in Stream
        )

    # Handles and closes ---------------------------------------------------------------------------------------

    @lemma
    def epochs_come_from_the_table(self) -> bool:
        """No handle and no close has an epoch that an existing stream has not had."""
        return all(
            all(
                self.handle[p, s] <= self.epoch[s]
                and self.close_sent[p, s] <= self.epoch[s]
                and (not self.awaits(p, s) or self.is_of_the_past(p, s))
                for p in Proc
            )
            for s in Stream
            if self.exists[s]
        )

    def is_of_the_past(self, p: Proc, s: Stream) -> bool:
        """Whether neither the epoch nor the end in the answer on its way to p is above those of the stream."""
        return self.answer_epoch[p, s] <= self.epoch[s] and self.answer_offset[p, s] <= self.end_offset[s]

    @lemma
    def newest_handle_is_owners(self) -> bool:
        """A handle of the newest epoch is the owner's."""
        return all(
            all(self.owned_by(s, self.node_of[p]) for p in Proc if self.current(p, s) or self.awaits_current(p, s))
            for s in Stream
        )

    @lemma
    def live_handle_is_newest(self) -> bool:
        """A process that can ack has a handle of the newest epoch, and the stream is OPENED."""
        return all(
            all(self.current(p, s) and self.opened[s] for p in Proc if self.can_ack(p, s))
            and (not self.late_answers or self.live_answer_is_newest(s))
            for s in Stream
        )

    def live_answer_is_newest(self, s: Stream) -> bool:
        """`live_handle_is_newest` for the handles that the answers on their way will give."""
        return all(self.awaits_current(p, s) and self.opened[s] for p in Proc if self.could_ack(p, s))

    @lemma
    def handle_above_own_close(self) -> bool:
        """A process has an open handle only above the epochs that it has closed."""
        return all(
            all(self.close_sent[p, s] < self.handle[p, s] for p in Proc if self.handle[p, s] > Epoch(0))
            and (not self.late_answers or self.answer_above_handle_and_close(s))
            for s in Stream
        )

    def answer_above_handle_and_close(self, s: Stream) -> bool:
        """A process awaits the answer to an open above its handle and above the epochs that it has closed."""
        return all(
            self.close_sent[p, s] < self.answer_epoch[p, s] and self.handle[p, s] < self.answer_epoch[p, s]
            for p in Proc
            if self.awaits(p, s)
        )

    @lemma
    def peers_differ_in_handles(self) -> bool:
        """No two processes of a node have handles of one epoch."""
        return all(
            all(
                all(self.handle[q, s] != self.handle[p, s] for q in Proc if self.are_peers(q, p))
                for p in Proc
                if self.handle[p, s] > Epoch(0)
            )
            and (not self.late_answers or self.peers_differ_in_answers(s))
            for s in Stream
        )

    def peers_differ_in_answers(self, s: Stream) -> bool:
        """`peers_differ_in_handles` for awaited handles: no peer has or awaits a handle of an epoch that p awaits."""
        return all(
            all(
                self.handle[q, s] != self.answer_epoch[p, s] and self.answer_epoch[q, s] != self.answer_epoch[p, s]
                for q in Proc
                if self.are_peers(q, p)
            )
            for p in Proc
            if self.awaits(p, s)
        )

    @lemma
    def no_peer_closes_live_handle(self) -> bool:
        """Nobody of the node has sent a close for the handle of one who can ack."""
        return all(
            all(
                all(self.close_sent[q, s] != self.handle[p, s] for q in Proc if self.are_peers(q, p))
                for p in Proc
                if self.can_ack(p, s)
            )
            and (not self.late_answers or self.no_peer_closes_live_answer(s))
            for s in Stream
        )

    def no_peer_closes_live_answer(self, s: Stream) -> bool:
        """`no_peer_closes_live_handle` for the handles that processes await."""
        return all(
            all(self.close_sent[q, s] != self.answer_epoch[p, s] for q in Proc if self.are_peers(q, p))
            for p in Proc
            if self.could_ack(p, s)
        )

    # Acked offsets --------------------------------------------------------------------------------------------

    @lemma
    def acked_above_end_is_believed(self) -> bool:
        """Every acked offset from the end on was acked under a current handle."""
        return all(all(self.acked_under_handle(s, o) for o in Offset if o >= self.end_offset[s]) for s in Stream)

    def acked_under_handle(self, s: Stream, o: Offset) -> bool:
        """Whether o is not acked, or its process has a current handle that appends above o."""
        p = self.acked_by[s, o]
        return p is None or (self.current(p, s) and o < self.next_offset[p, s])

    @lemma
    def closed_when_uploaded(self) -> bool:
        """When the owner's node has sent the newest close, all that was acked under a handle of it is committed."""
        return all(
            all(
                all(self.next_offset[p, s] <= self.end_offset[s] for p in Proc if self.current(p, s))
                for q in Proc
                if self.close_sent[q, s] == self.epoch[s] and self.owned_by(s, self.node_of[q])
            )
            for s in Stream
        )

    @lemma
    def live_handle_is_above_acked(self) -> bool:
        """A process that can ack appends above all acked offsets."""
        return all(
            all(self.all_acked_below(s, self.next_offset[p, s]) for p in Proc if self.can_ack(p, s))
            and (not self.late_answers or self.live_answer_is_above_acked(s))
            for s in Stream
        )

    def live_answer_is_above_acked(self, s: Stream) -> bool:
        """`live_handle_is_above_acked` for the handles that the answers on their way will give."""
        return all(self.all_acked_below(s, self.answer_offset[p, s]) for p in Proc if self.could_ack(p, s))

    @lemma
    def live_handle_is_in_range(self) -> bool:
        """A process that can ack appends into the current range, unless trim has moved that up to the start."""
        return all(
            all(
                self.next_offset[p, s] >= self.range_start[s] or self.range_start[s] <= self.start_offset[s]
                for p in Proc
                if self.can_ack(p, s)
            )
            and (not self.late_answers or self.live_answer_is_in_range(s))
            for s in Stream
        )

    def live_answer_is_in_range(self, s: Stream) -> bool:
        """`live_handle_is_in_range` for the handles that the answers on their way will give."""
        return all(
            self.answer_offset[p, s] >= self.range_start[s] or self.range_start[s] <= self.start_offset[s]
            for p in Proc
            if self.could_ack(p, s)
        )
