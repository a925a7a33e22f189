"""Lemmas for the proof of `reassignment`, beside its invariants. Every step keeps each of them. They show in turn:

- Each epoch is given to one broker, which owns the streams that have this epoch.
- What a process may hold in each phase.
- A handle is newer than the closes before it.
- The log of a broker that can ack is whole, and its clean flag is right.
- The end of a WAL, compared with the end of what is committed.
"""

from __future__ import annotations

from holdfast.lang import lemma
from models.parts.brokers import Phase
from models.parts.nodes import Node
from models.parts.streams import Epoch, Offset, Stream
from models.parts.streams_proof import StreamTableProof
from models.reassignment import Reassignment


class ReassignmentProof(Reassignment, StreamTableProof):
    """Reassignment with the lemmas that make its invariants inductive."""

    # The table ------------------------------------------------------------------------------------------------

    @lemma
    def streams_stay(self) -> bool:
        """Every stream exists, has been opened, and is not trimmed."""
        return all(self.exists[s] and self.epoch[s] > Epoch(0) and self.start_offset[s] == Offset(0) for s in Stream)

    # Epochs ---------------------------------------------------------------------------------------------------

    @lemma
    def epochs_come_from_the_controller(self) -> bool:
        """No broker knows a leader epoch that there was not; what is queued is newer than what was tried."""
        return all(
            self.tried[n] <= self.leader_epoch
            and self.queued_open[n] <= self.leader_epoch
            and (self.queued_open[n] == Epoch(0) or self.queued_open[n] > self.tried[n])
            for n in Node
        )

    @lemma
    def closes_come_from_attempts(self) -> bool:
        """A broker sends closes for epochs that it has tried."""
        return all(all(self.close_sent[n, s] <= self.tried[n] for s in Stream) for n in Node)

    @lemma
    def present_epoch_is_the_replicas(self) -> bool:
        """A broker that knows the present leader epoch is the replica."""
        return self.leader_epoch > Epoch(0) and all(
            self.tried[n] < self.leader_epoch and self.queued_open[n] < self.leader_epoch
            for n in Node
            if n != self.replica
        )

    @lemma
    def present_stream_is_the_replicas(self) -> bool:
        """A stream that has the present leader epoch is the replica's."""
        return all(self.owned_by(s, self.replica) for s in Stream if self.epoch[s] == self.leader_epoch)

    @lemma
    def brokers_differ_in_epochs(self) -> bool:
        """No two brokers know one epoch."""
        return all(
            all(
                (self.tried[n] == Epoch(0) or self.tried[n] != self.tried[m])
                and (self.tried[n] == Epoch(0) or self.tried[n] != self.queued_open[m])
                and (self.queued_open[n] == Epoch(0) or self.queued_open[n] != self.queued_open[m])
                for m in Node
                if m != n
            )
            for n in Node
        )

    @lemma
    def epoch_is_the_owners(self) -> bool:
        """A broker that knows the epoch of a stream is its owner."""
        return all(
            all(
                self.owned_by(s, n)
                for s in Stream
                if self.tried[n] == self.epoch[s] or self.queued_open[n] == self.epoch[s]
            )
            for n in Node
        )

    @lemma
    def closes_differ_in_epochs(self) -> bool:
        """No broker has sent a close for an epoch that another one knows. Without CK-02.node the proof needs this."""
        return all(
            all(
                self.tried[m] != self.close_sent[n, s] and self.queued_open[m] != self.close_sent[n, s]
                for m in Node
                if m != n
            )
            for n in Node
            for s in Stream
            if self.close_sent[n, s] > Epoch(0)
        )

    @lemma
    def closed_epoch_is_the_owners(self) -> bool:
        """A node that has sent a close for the epoch of a stream owns it. Without CK-02.node the proof needs this."""
        return all(self.owned_by(s, n) for n in Node for s in Stream if self.close_sent[n, s] == self.epoch[s])

    # Processes ------------------------------------------------------------------------------------------------

    @lemma
    def nothing_runs_unless_up(self) -> bool:
        """Where no broker process serves, none holds or does anything."""
        return all(
            not self.opening[n]
            and not self.frozen[n]
            and not self.queued_close[n]
            and self.queued_open[n] == Epoch(0)
            and all(not self.handle[n, s] and not self.closing[n, s] and not self.pending[n, s] for s in Stream)
            for n in Node
            if self.phase[n] != Phase.UP
        )

    @lemma
    def taken_over_is_barred(self) -> bool:
        """The worker's flag bars a node that was taken over, unless the node is not up and has tried nothing."""
        return all(
            self.failover_mode[n] or (self.tried[n] == Epoch(0) and self.phase[n] != Phase.UP)
            for n in Node
            if self.taken_over[n]
        )

    @lemma
    def flag_is_a_takeover(self) -> bool:
        """The flag is that of a worker that has the WAL; a process that recovers has it too, without the flag."""
        return all(
            (self.taken_over[n] or not self.failover_mode[n])
            and (self.phase[n] != Phase.RECOVERING or (self.taken_over[n] and not self.failover_mode[n]))
            for n in Node
        )

    # Handles --------------------------------------------------------------------------------------------------

    @lemma
    def handle_above_own_close(self) -> bool:
        """A broker opens, and has handles, only above the epochs that it has closed."""
        return all(
            all(self.close_sent[n, s] < self.tried[n] for s in Stream if self.opening[n] or self.handle[n, s])
            for n in Node
        )

    @lemma
    def one_operation_at_a_time(self) -> bool:
        """A broker that closes the log, until the last answer, does not open it, or hold what it waits for."""
        return all(
            (not self.opening[n] or not self.frozen[n])
            and all(self.frozen[n] and not self.handle[n, s] for s in Stream if self.closing[n, s])
            for n in Node
        )

    @lemma
    def log_is_whole(self) -> bool:
        """A broker that neither opens nor closes the log has all of it, or nothing."""
        return all(
            all(self.handle[n, s] for s in Stream) or not self.holds_any(n)
            for n in Node
            if not self.opening[n] and not self.frozen[n]
        )

    @lemma
    def closes_what_is_older(self) -> bool:
        """A broker closes what it has under an epoch that has passed."""
        return all(self.tried[n] < self.leader_epoch for n in Node if self.queued_close[n] or self.frozen[n])

    @lemma
    def goes_on_under_present_epoch(self) -> bool:
        """A process that has begun to open under the present epoch goes on, or holds what it has opened."""
        return all(
            self.opening[n] or self.holds_any(n)
            for n in Node
            if self.phase[n] == Phase.UP and self.tried[n] == self.leader_epoch
        )

    # The clean flag -------------------------------------------------------------------------------------------

    @lemma
    def log_is_whole_until_clean(self) -> bool:
        """A broker that may ack has the whole log, until its flag says clean."""
        return all(
            all(self.handle[n, s] for s in Stream)
            for n in Node
            if not self.clean and not self.opening[n] and not self.taken_over[n] and self.holds_any(n)
        )

    @lemma
    def clean_is_not_served(self) -> bool:
        """While the flag says clean, nobody who might ack serves."""
        return all(
            self.opening[n] or self.frozen[n] or not self.holds_any(n)
            for n in Node
            if self.clean and not self.taken_over[n]
        )

    @lemma
    def pending_is_held(self) -> bool:
        """A record that may still be acked is one of an open log, of which the flag does not say clean."""
        return all(
            all(self.handle[n, s] and not self.opening[n] and not self.clean for s in Stream if self.pending[n, s])
            for n in Node
            if not self.taken_over[n]
        )

    # The WAL, and what is committed ---------------------------------------------------------------------------

    @lemma
    def wal_is_committed(self) -> bool:
        """Of a stream that a broker does not own, has not granted yet, or has closed, all is committed."""
        return all(
            all(
                self.wal[n, s] <= self.end_offset[s]
                for s in Stream
                if not self.leased(n, s)
                or self.close_sent[n, s] == self.epoch[s]
                or (self.phase[n] == Phase.UP and (self.opening[n] or not self.handle[n, s]))
            )
            for n in Node
        )

    @lemma
    def wal_holds_what_was_acked(self) -> bool:
        """Every offset of the owner's WAL from the end on was acked."""
        return all(
            all(
                all(self.acked_by[s, o] is not None for o in Offset if self.end_offset[s] <= o and o < self.wal[n, s])
                for s in Stream
                if self.leased(n, s)
            )
            for n in Node
        )

    @lemma
    def acked_below_live_wal(self) -> bool:
        """All that was acked lies below the end of the WAL of who may ack."""
        return all(
            all(
                all(o < self.wal[n, s] for o in Offset if self.acked_by[s, o] is not None)
                for s in Stream
                if self.can_ack(n, s)
            )
            for n in Node
        )

    @lemma
    def recovery_begins_at_end(self) -> bool:
        """A recovery replays a stream from its end on."""
        return all(
            all(self.replay_from[s] == self.end_offset[s] for s in Stream if self.leased(n, s))
            for n in Node
            if self.taken_over[n]
        )
