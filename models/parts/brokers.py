"""Brokers that may host one partition: their processes, their handles and WALs, and how their streams are recovered.

Facts: reassignment.md 3 and 3.3, and streams.md 7 to 9 as far as a move needs them. Assumptions:

- A broker runs one process at a time. A request names the node epoch of its process, so a restart voids all requests
  of the process before it. CK-01 does only this here, besides the failover flag; `ownership` models it in full.
- The WAL keeps all that was acked, and a newer reservation closes it to a process (`stream_log` and `wal` show this).
- One failover or restart recovers a stream at a time, as FO-02 says.
- All streams of the partition, the meta stream too, are treated alike, and are opened in any order.
"""

from __future__ import annotations

from enum import Enum

from holdfast.lang import Flag, Ghost, Map, Rel, init, require, rule
from models.parts.errors import E
from models.parts.nodes import Node
from models.parts.registration import Registration
from models.parts.streams import Epoch, Offset, Stream, StreamTable


class Phase(Enum):
    """The process of a broker: none runs, it recovers what the one before it has left, or it is up."""

    DOWN = "down"
    RECOVERING = "recovering"
    UP = "up"


class Brokers(Registration, StreamTable):
    """The controller's tables, and the brokers that may host the partition."""

    log_grain: Flag
    """The steps of a move are those of a log (`log_grain.py`), and nothing is open at the start."""

    phase: Map[Node, Phase]
    """Whether a process of the broker runs, and whether it has recovered."""
    failover_mode: Rel[Node]
    """The controller's failover flag: a failover worker has registered for the node (FO-07)."""
    taken_over: Rel[Node]
    """A failover worker, or the next process, has taken the WAL reservation of the process that served last."""
    replay_from: Map[Stream, Offset]
    """Where the recovery of the stream starts: the end that it has read after its barrier (ND-02); 0 without one."""

    queued_close: Rel[Node]
    """A close of the partition is queued, until the running operation has ended."""
    queued_open: Map[Node, Epoch]
    """The leader epoch of the queued open of the partition; 0 if no open is queued."""
    tried: Map[Node, Epoch]
    """The epoch of the broker's newest attempt to open the partition. An open log has this epoch."""
    opening: Rel[Node]
    """The attempt to open goes on: the broker still waits for some stream."""
    handle: Rel[Node, Stream]
    """The broker has a handle: the stream was granted to it, and it has not sent its close yet."""
    frozen: Rel[Node]
    """The broker closes the log, or gives up an attempt to open it, until all its closes are answered."""
    pending: Rel[Node, Stream]
    """The broker has accepted one record of the stream, and the record is on its way into the WAL."""
    wal: Map[tuple[Node, Stream], Offset]
    """The end of the broker's records of the stream in its WAL; 0 when they no longer matter."""
    closing: Rel[Node, Stream]
    """The broker waits for the answer to its close of the stream."""
    close_sent: Map[tuple[Node, Stream], Epoch]
    """The newest epoch for which the broker has sent a close. A close of an older epoch is refused anyway."""
    clean: bool
    """The clean-shutdown flag, in the latest `PARTITION` value of the meta stream."""

    indexed: Ghost[Map[Stream, Offset]]
    """The offset up to which the stream's indexes and producer snapshots are durable."""
    closed_under: Ghost[Map[Stream, Epoch]]
    """The epoch of the latest closeStream that closed the stream; 0 if none has. Closes of a recovery do not count."""
    acked_by: Ghost[Map[tuple[Stream, Offset], Node | None]]
    """The broker that has acked the offset last; None if nobody has."""

    @init
    def start_brokers(self, first: Node) -> None:
        """All brokers run, and one has the log open, in a range of epoch 1. In `log_grain` nothing is open."""
        self.phase.fill(Phase.UP)
        self.failover_mode.fill(False)
        self.taken_over.fill(False)
        self.replay_from.fill(Offset(0))
        self.queued_close.fill(False)
        self.queued_open.fill(Epoch(0))
        self.tried.fill(Epoch(0))
        self.tried[first] = Epoch(1)
        self.opening.fill(False)
        self.handle.fill(False)
        for s in Stream:
            self.handle[first, s] = True
        self.frozen.fill(False)
        self.pending.fill(False)
        self.wal.fill(Offset(0))
        self.closing.fill(False)
        self.close_sent.fill(Epoch(0))
        self.clean = False
        self.indexed.fill(Offset(0))
        self.closed_under.fill(Epoch(0))
        self.acked_by.fill(None)
        self.opened.fill(True)
        self.epoch.fill(Epoch(1))
        self.owner.fill(first)
        if self.log_grain:
            self.tried[first] = Epoch(0)
            self.handle.fill(False)
            self.opened.fill(False)
            self.epoch.fill(Epoch(0))
            self.owner.fill(None)

    # What a broker holds --------------------------------------------------------------------------------------

    def leased(self, n: Node, s: Stream) -> bool:
        """Whether the stream is OPENED by n."""
        return self.opened[s] and self.owned_by(s, n)

    def is_refused(self, n: Node, s: Stream, e: Epoch) -> bool:
        """Whether a request of n under e is answered with 503 or 599: the stream has another owner or epoch."""
        return self.epoch[s] != e or not self.owned_by(s, n)

    def holds_any(self, n: Node) -> bool:
        """Whether n has a handle of the partition."""
        return any(self.handle[n, s] for s in Stream)

    def serves(self, n: Node) -> bool:
        """Whether n has the whole log open, and does not close it."""
        return not self.opening[n] and not self.frozen[n] and all(self.handle[n, s] for s in Stream)

    def is_acked_by(self, n: Node, s: Stream, o: Offset) -> bool:
        """Whether n was the last broker that acked o."""
        return self.acked_by[s, o] == n

    def can_ack(self, n: Node, s: Stream) -> bool:
        """Whether n would ack a record that it has accepted, or may accept."""
        return self.handle[n, s] and not self.taken_over[n]

    def check_failover(self, n: Node) -> None:
        """A broker that a worker recovers is refused (CK-01, for the operations with checkFailover)."""
        require(not self.failover_mode[n], "CK-01.flag", error=E.NODE_FENCED)

    # What a broker does with the partition --------------------------------------------------------------------

    def see_image(self, n: Node) -> None:
        """Broker n sees the newest image, and queues a close or an open if the image asks for one (RA-11).

        While an operation is queued, later images coalesce (RA-13).
        """
        named = self.replica == n and (self.G1 or self.leader is not None)  # RA-14: in G0, leaders only.
        gone = self.replica != n and (self.serves(n) or self.opening[n])
        news = named and self.leader_epoch > self.tried[n] and not self.serves(n)
        queues = self.queued_close[n] or self.queued_open[n] > Epoch(0)
        seen = (gone or news) and not self.log_grain
        require(self.phase[n] == Phase.UP and not queues and seen, "RA-13")
        if gone:
            self.queued_close[n] = True
        else:
            self.queued_open[n] = self.leader_epoch

    def begin_next(self, n: Node) -> None:
        """The queued close or open begins once the operation before it has ended, whatever its outcome (RA-11)."""
        ended = not self.opening[n] and not self.frozen[n]
        require(ended and (self.queued_close[n] or self.queued_open[n] > Epoch(0)), "RA-11")
        if self.queued_close[n]:
            self.frozen[n] = self.holds_any(n)
        elif self.queued_open[n] > Epoch(0) and not self.serves(n):
            self.opening[n] = True
            self.tried[n] = self.queued_open[n]
        self.queued_close[n] = False
        self.queued_open[n] = Epoch(0)

    def take_handle(self, n: Node, s: Stream) -> None:
        """Broker n gets a stream. With the last one it recovers the log, and indexes it unless the flag is clean."""
        self.handle[n, s] = True
        self.wal[n, s] = self.end_offset[s]
        if all(self.handle[n, x] for x in Stream):
            self.opening[n] = False
            for x in Stream:
                if not self.clean:
                    self.indexed[x] = self.end_offset[x]
            if rule("SP-09.reset"):
                self.clean = False

    def flush(self, n: Node) -> None:
        """Step 3. The broker writes indexes and a producer snapshot, and after them the clean flag."""
        if rule("SP-09.flush"):
            for s in Stream:
                self.indexed[s] = self.wal[n, s]
        self.clean = True

    def ask_to_close(self, n: Node, s: Stream) -> None:
        """Step 4. The broker sends the close of the stream, and gives up its handle."""
        self.close_sent[n, s] = self.tried[n]
        self.closing[n, s] = True
        self.handle[n, s] = False
        # A record is pending here only without RA-16.drain; its ack then needs the end of the WAL.
        if not self.pending[n, s]:
            self.wal[n, s] = Offset(0)

    def hear_of_close(self, n: Node, s: Stream) -> None:
        """Broker n hears the answer to a close. With the last answer the partition is closed."""
        self.closing[n, s] = False
        if all(not self.handle[n, x] and not self.closing[n, x] for x in Stream):
            self.frozen[n] = False

    def abandon(self, n: Node) -> None:
        """Broker n gives up its attempt to open. It closes all streams, since it may have opened any of them.

        Nothing has been appended to them.
        """
        self.opening[n] = False
        self.frozen[n] = True
        for s in Stream:
            self.ask_to_close(n, s)

    # The end of a process, and recovery -----------------------------------------------------------------------

    def end_process(self, n: Node, phase: Phase) -> None:
        """The process of n ends, and its memory is lost. The WAL keeps the streams that are still to be recovered."""
        self.phase[n] = phase
        self.queued_close[n] = False
        self.queued_open[n] = Epoch(0)
        self.opening[n] = False
        self.frozen[n] = False
        for s in Stream:
            self.handle[n, s] = False
            self.closing[n, s] = False
            self.pending[n, s] = False
            if not self.leased(n, s):
                self.wal[n, s] = Offset(0)

    def take_wal(self, n: Node, failover: bool) -> None:
        """A recovery of n begins: it takes the reservation, registers the barrier, and then reads the ends (FO-06)."""
        self.taken_over[n] = True
        self.failover_mode[n] = failover
        for s in Stream:
            if self.leased(n, s):
                self.replay_from[s] = self.end_offset[s]

    def start_process(self, n: Node) -> None:
        """The next process of n starts, and recovers first. Its node epoch voids older requests of the node (510)."""
        self.end_process(n, Phase.RECOVERING)
        self.take_wal(n, False)
        # `late_open` and `late_close` send these epochs. Late requests of the process before are refused: forget them.
        if rule("CK-01.expired"):
            self.tried[n] = Epoch(0)
            for s in Stream:
                self.close_sent[n, s] = Epoch(0)

    def begin_serving(self, n: Node) -> None:
        """A process that has recovered begins to serve, with a new and empty WAL (WL-10)."""
        self.phase[n] = Phase.UP
        self.taken_over[n] = False
        for s in Stream:
            self.wal[n, s] = Offset(0)

    def recover_stream(self, n: Node, s: Stream) -> None:
        """A recovery uploads the records beyond the stream's end, and closes the stream as its owner would (FO-09)."""
        if rule("RC-05", self.wal[n, s] > self.replay_from[s]):
            self.commit_range(s, self.replay_from[s], self.wal[n, s], n)
        self.close_stream(s)
        self.replay_from[s] = Offset(0)
        if not self.handle[n, s]:
            self.wal[n, s] = Offset(0)
