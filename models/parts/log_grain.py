"""The steps of a move as the log of a system shows them, where its lines are not the steps of the model.

The variant `log_grain` has these actions. They are needed since a log differs from the model in these points:

- A log has one line for the end of a process and another for the fencing of its broker.
- A process may start again before its broker is fenced.
- A broker in controlled shutdown is alive, and is not active.
- No line shows what a broker has learned and queued. A line shows when an operation begins, whatever images caused it.
- A broker may close a log without its clean flag: its log could not be flushed, or an attempt to open it has ended.
"""

from __future__ import annotations

from holdfast.lang import action, require
from models.parts.brokers import Phase
from models.parts.leases import Leases
from models.parts.nodes import Node
from models.parts.streams import Epoch, Stream


class LogGrain(Leases):
    """The actions for lines of a log that match no other action."""

    # The controller ---------------------------------------------------------------------------------------------

    @action(variant="log_grain")
    def reassign_to_leaving(self, t: Node) -> None:
        """In G1 a move may target a broker that shuts down. Its process may have ended already."""
        require(self.G1 and not self.active[t] and t != self.replica, "RA-02.leaving")
        self.assign(t)
        self.leader = None

    @action(variant="log_grain")
    def leave(self, n: Node) -> None:
        """A broker announces that it shuts down. It keeps its partition until it is drained or fenced."""
        self.active[n] = False

    @action(variant="log_grain")
    def drain(self, n: Node, x: Node) -> None:
        """A broker that shuts down gives its partition to an active broker x. If there is none, it keeps it."""
        require(not self.active[n] and self.replica == n, "PT-06")
        self.fence(n, x)

    @action(variant="log_grain")
    def heal_late(self, n: Node) -> None:
        """A broker is unfenced late: since it asked, its process has ended or was taken over from."""
        require(not self.active[n], "FO-07")
        self.unfence(n)

    @action(variant="log_grain")
    def renew(self, n: Node) -> None:
        """The replica asks for the next leader epoch, since it may not open under the present one again (CA-47)."""
        require(self.replica == n, "CA-47.replica")
        self.leader_epoch = self.leader_epoch + 1

    @action(variant="log_grain")
    def take_back(self, t: Node, direct: bool) -> None:
        """A cancel's record gives the partition to t. `direct`: t leads at once; otherwise an election follows.

        `cancellation` models the rules of a cancel.
        """
        self.assign(t)
        self.leader = t if direct else None
        if not direct and not self.G1:
            self.timer = True

    # Processes --------------------------------------------------------------------------------------------------

    @action(variant="log_grain")
    def end_broker(self, n: Node) -> None:
        """A process ends. Its broker may still count as active."""
        self.end_process(n, Phase.DOWN)

    @action(variant="log_grain")
    def start_again(self, n: Node) -> None:
        """The next process of a broker registers (ND-01), whether the broker is fenced or not. It recovers first."""
        self.start_process(n)

    @action(variant="log_grain")
    def stand_for(self, n: Node) -> None:
        """A failover worker registers for a broker that was fenced when the worker was told, and may be active again.

        If a process of that broker already recovers, it has the same epoch as the worker (ND-01).
        """
        require(any(self.leased(n, s) for s in Stream), "FO-01.stand")
        self.take_wal(n, True)

    @action(variant="log_grain")
    def finish_recovery(self, n: Node) -> None:
        """A process has closed all streams that the one before it had left open, and begins to serve (FO-08)."""
        require(self.phase[n] == Phase.RECOVERING and not any(self.leased(n, s) for s in Stream), "FO-08.ready")
        self.begin_serving(n)

    # Brokers ----------------------------------------------------------------------------------------------------

    @action(variant="log_grain")
    def begin_open(self, n: Node, e: Epoch) -> None:
        """A broker begins to open the log under e, an image's leader epoch. Older operations have ended (RA-11)."""
        ended = not self.opening[n] and not self.frozen[n] and not self.holds_any(n)
        require(self.phase[n] == Phase.UP and ended, "RA-11.open")
        require(e > self.tried[n], "CA-47")
        require(e <= self.leader_epoch, "RA-24")
        # RA-14: only brokers that the image names open. Of an older image the model does not know whom it named.
        named = self.replica == n and (self.G1 or self.leader is not None)
        require(e < self.leader_epoch or named, "RA-14")
        self.opening[n] = True
        self.tried[n] = e

    @action(variant="log_grain")
    def serve(self, n: Node, e: Epoch) -> None:
        """A broker has recovered the log, and now accepts records."""
        require(self.serves(n) and self.tried[n] == e, "RA-20")

    @action(variant="log_grain")
    def freeze(self, n: Node) -> None:
        """Step 2. A broker stops accepting records, or ends an attempt to open."""
        has_it = self.opening[n] or self.holds_any(n)
        require(self.phase[n] == Phase.UP and not self.frozen[n] and has_it, "RA-16")
        self.opening[n] = False
        self.frozen[n] = True

    @action(variant="log_grain")
    def close_unflagged(self, n: Node, s: Stream) -> None:
        """Step 4, for a log that was not flushed or not completely opened. The last owner's clean flag stays."""
        require(self.frozen[n] and self.handle[n, s], "CL-07.unflagged")
        require(not self.pending[n, s] and self.wal[n, s] <= self.end_offset[s], "RA-17.unflagged")
        self.ask_to_close(n, s)

    @action(variant="log_grain")
    def close_stray(self, n: Node, s: Stream) -> None:
        """A process closes a stream that its broker has OPENED, and for which it has no handle (EX-07)."""
        require(self.phase[n] == Phase.UP and self.leased(n, s) and not self.handle[n, s], "EX-07")
        self.close_stream(s)

    @action(variant="log_grain")
    def end_close(self, n: Node) -> None:
        """A broker has heard the answers to all its closes of the partition. No lease is left that it has closed."""
        require(not self.opening[n] and not self.holds_any(n), "RA-16.handles")
        left = any(self.leased(n, s) and self.epoch[s] == self.close_sent[n, s] for s in Stream)
        require(not left, "RA-18.closed")
        self.frozen[n] = False
        for s in Stream:
            self.closing[n, s] = False
