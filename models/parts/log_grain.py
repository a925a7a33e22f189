"""The steps of a move as the log of a system shows them, where its lines are not the steps of the model.

Variant `log_grain`. A system has one line for the end of a process and another for the fencing of its broker; a process
may start again before its broker is fenced, and a broker in controlled shutdown is alive and not active. What a broker
has learned and queued is in no line: a line says when an operation begins, whatever images it rests on. And a broker
may close a log without its flag: its log could not be flushed, or an attempt to open it has ended.
"""

from __future__ import annotations

from holdfast.lang import action, require
from models.parts.brokers import Phase
from models.parts.leases import Leases
from models.parts.nodes import Node
from models.parts.streams import Epoch, Stream


class LogGrain(Leases):
    """The lines of a log that no other action has."""

    # The controller ---------------------------------------------------------------------------------------------

    @action(variant="log_grain")
    def reassign_to_leaving(self, t: Node) -> None:
        """In G1 a broker that shuts down is a target as any other, and its process may have ended."""
        require(self.G1 and not self.active[t] and t != self.replica, "RA-02.leaving")
        self.assign(t)
        self.leader = None

    @action(variant="log_grain")
    def leave(self, n: Node) -> None:
        """A broker says that it shuts down. It keeps its partition until it is drained or fenced."""
        self.active[n] = False

    @action(variant="log_grain")
    def drain(self, n: Node, x: Node) -> None:
        """A broker that shuts down gives its partition to x, any active one, or else keeps it, without a leader."""
        require(not self.active[n] and self.replica == n, "PT-06")
        self.fence(n, x)

    @action(variant="log_grain")
    def heal_late(self, n: Node) -> None:
        """A broker is active again whose process has ended, or was taken over from, since it asked."""
        require(not self.active[n], "FO-07")
        self.unfence(n)

    @action(variant="log_grain")
    def renew(self, n: Node) -> None:
        """The replica asks for the next leader epoch, since it may not open under the present one (CA-47)."""
        require(self.replica == n, "CA-47.replica")
        self.leader_epoch = self.leader_epoch + 1

    @action(variant="log_grain")
    def take_back(self, t: Node, direct: bool) -> None:
        """A cancel, which `cancellation` judges: a record gives the partition to t, to lead it at once or later."""
        self.assign(t)
        self.leader = t if direct else None
        if not direct and not self.G1:
            self.timer = True

    # Processes --------------------------------------------------------------------------------------------------

    @action(variant="log_grain")
    def end_broker(self, n: Node) -> None:
        """A process ends. Its broker may still be active."""
        self.end_process(n, Phase.DOWN)

    @action(variant="log_grain")
    def start_again(self, n: Node) -> None:
        """The next process registers (ND-01), fenced or not. It recovers what the one before it has left."""
        self.start_process(n)

    @action(variant="log_grain")
    def stand_for(self, n: Node) -> None:
        """A worker registers for a broker that may be active again: it was fenced when the worker was told so.

        A process of that broker that recovers by then has the same epoch (ND-01).
        """
        require(any(self.leased(n, s) for s in Stream), "FO-01.stand")
        self.take_wal(n, True)

    @action(variant="log_grain")
    def finish_recovery(self, n: Node) -> None:
        """It has closed all that was left open (FO-08)."""
        require(self.phase[n] == Phase.RECOVERING and not any(self.leased(n, s) for s in Stream), "FO-08.ready")
        self.begin_serving(n)

    # Brokers ----------------------------------------------------------------------------------------------------

    @action(variant="log_grain")
    def begin_open(self, n: Node, e: Epoch) -> None:
        """The operations before have ended (RA-11), and a broker opens the log under an epoch of an image."""
        ended = not self.opening[n] and not self.frozen[n] and not self.holds_any(n)
        require(self.phase[n] == Phase.UP and ended, "RA-11.open")
        require(e > self.tried[n], "CA-47")
        require(e <= self.leader_epoch, "RA-24")
        # What an older image has said is gone; what the newest one says is known (RA-14).
        named = self.replica == n and (self.G1 or self.leader is not None)
        require(e < self.leader_epoch or named, "RA-14")
        self.opening[n] = True
        self.tried[n] = e

    @action(variant="log_grain")
    def serve(self, n: Node, e: Epoch) -> None:
        """The log is recovered, and takes records."""
        require(self.serves(n) and self.tried[n] == e, "RA-20")

    @action(variant="log_grain")
    def freeze(self, n: Node) -> None:
        """Step 2. A log takes no records any more, or an attempt to open it has ended."""
        has_it = self.opening[n] or self.holds_any(n)
        require(self.phase[n] == Phase.UP and not self.frozen[n] and has_it, "RA-16")
        self.opening[n] = False
        self.frozen[n] = True

    @action(variant="log_grain")
    def close_unflagged(self, n: Node, s: Stream) -> None:
        """Step 4, of a log that was not flushed, or was never whole. The flag is as the last owner has left it."""
        require(self.frozen[n] and self.handle[n, s], "CL-07.unflagged")
        require(not self.pending[n, s] and self.wal[n, s] <= self.end_offset[s], "RA-17.unflagged")
        self.ask_to_close(n, s)

    @action(variant="log_grain")
    def close_stray(self, n: Node, s: Stream) -> None:
        """A process closes a stream that is OPENED by its broker, and that it has no handle of (EX-07)."""
        require(self.phase[n] == Phase.UP and self.leased(n, s) and not self.handle[n, s], "EX-07")
        self.close_stream(s)

    @action(variant="log_grain")
    def end_close(self, n: Node) -> None:
        """All closes of the partition are answered: no lease is left for which a close was sent."""
        require(not self.opening[n] and not self.holds_any(n), "RA-16.handles")
        left = any(self.leased(n, s) and self.epoch[s] == self.close_sent[n, s] for s in Stream)
        require(not left, "RA-18.closed")
        self.frozen[n] = False
        for s in Stream:
            self.closing[n, s] = False
