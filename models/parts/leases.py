"""The properties of leases: SP-01 to SP-09, SP-16 and LP-01 to LP-04 of reassignment.md, if they name no action."""

from __future__ import annotations

from typing import Self

from holdfast.lang import invariant, leads_to, step
from models.parts.brokers import Brokers, Phase
from models.parts.nodes import Node
from models.parts.streams import Offset, Stream


class Leases(Brokers):
    """Properties of brokers and streams together. A property of a table alone stands with the table."""

    # Safety ---------------------------------------------------------------------------------------------------

    @invariant
    def one_lease(self) -> bool:
        """SP-01. At most one broker can ack: the one by which the stream is OPENED, under its epoch."""
        return all(
            all(self.leased(n, s) and self.epoch[s] == self.tried[n] for s in Stream if self.can_ack(n, s))
            for n in Node
        )

    @step
    def grants_what_is_closed(self, old: Self) -> bool:
        """SP-02. A broker is granted a stream that is CLOSED, or its own already."""
        return all(all(not old.opened[s] or old.leased(n, s) for n in Node if self.leased(n, s)) for s in Stream)

    @invariant
    def stream_epoch_within_leader_epoch(self) -> bool:
        """SP-03. No stream epoch is above the leader epoch."""
        return all(self.epoch[s] <= self.leader_epoch for s in Stream)

    def is_safe(self, s: Stream, o: Offset) -> bool:
        """Whether o is not acked, or committed, or in the WAL of the broker that has the stream OPENED."""
        n = self.acked_by[s, o]
        return n is None or self.covered[s, o] or (self.leased(n, s) and o < self.wal[n, s])

    @invariant
    def no_acked_loss(self) -> bool:
        """SP-05. What was acked is committed, or its WAL is that of the owner, and the stream OPENED."""
        return all(all(self.is_safe(s, o) for o in Offset) for s in Stream)

    @invariant
    def committed_was_acked(self) -> bool:
        """SP-06. An offset that is committed was acked: none is given to a record that nobody has."""
        return all(all(self.acked_by[s, o] is not None for o in Offset if self.covered[s, o]) for s in Stream)

    @step
    def closes_what_is_committed(self, old: Self) -> bool:
        """SP-07. All that was acked is committed when a stream becomes CLOSED."""
        return all(
            all(old.acked_by[s, o] is None or self.covered[s, o] for o in Offset)
            for s in Stream
            if old.opened[s] and not self.opened[s]
        )

    @step
    def nothing_after_freeze(self, old: Self) -> bool:
        """SP-08. A log that is being closed takes no record."""
        return all(not old.frozen[n] for n in Node if any(self.pending[n, s] and not old.pending[n, s] for s in Stream))

    @invariant
    def clean_is_true(self) -> bool:
        """SP-09. Where the flag says clean, the indexes cover all that was acked."""
        return all(
            all(self.acked_by[s, o] is None or o < self.indexed[s] for o in Offset) for s in Stream if self.clean
        )

    @step
    def taken_over_has_no_effect(self, old: Self) -> bool:
        """SP-16. A process that was taken over gets no lease and moves no end. Its recovery moves ends, and closes."""
        return all(
            all(not self.leased(n, s) or (old.leased(n, s) and self.end_offset[s] == old.end_offset[s]) for s in Stream)
            for n in Node
            if old.taken_over[n]
        )

    @invariant
    def active_is_up(self) -> bool:
        """FO-08. An active broker runs, and nobody has taken over from it."""
        return all(
            self.phase[n] == Phase.UP and not self.taken_over[n] and not self.failover_mode[n]
            for n in Node
            if self.active[n]
        )

    @invariant
    def nobody_gives_up(self) -> bool:
        """LP-04. A broker that has begun to open under the present epoch goes on, or holds what it has opened."""
        return all(
            self.opening[n] or self.holds_any(n) for n in Node if self.active[n] and self.tried[n] == self.leader_epoch
        )

    # Liveness -------------------------------------------------------------------------------------------------

    @leads_to
    def move_ends(self, n: Node) -> tuple[bool, bool]:
        """LP-01. A partition given to n is led and served by n some time, or given to another."""
        return self.replica == n and self.leader is None, (self.led_by(n) and self.serves(n)) or self.replica != n

    @leads_to
    def close_ends(self, n: Node, s: Stream) -> tuple[bool, bool]:
        """LP-03. A close that has begun ends the broker's lease some time."""
        return self.frozen[n] and self.handle[n, s], not self.leased(n, s)

    @leads_to
    def wait_ends(self, n: Node) -> tuple[bool, bool]:
        """LP-04. A broker that waits for streams gets them some time, or stops to wait."""
        return self.opening[n], not self.opening[n]
