"""Brokers that may host one partition: what runs on each, what it holds, and how its streams are recovered.

Facts: reassignment.md 3 and 3.3, streams.md 7 to 9 as far as a move needs them. A broker runs one process at a time.
A request names its node epoch, so that a restart voids whatever the process before it has sent; which is all that
CK-01 does here besides the failover flag, and `ownership` shows it in full. The WAL is taken to keep what was acked
and to be closed to a process by a newer reservation (`stream_log`, `wal`). One failover or restart recovers a stream at
a time, as FO-02 says. All streams of the partition, the meta stream too, are treated alike, and opened in any order.
"""

from __future__ import annotations

from enum import Enum

from holdfast.lang import Flag, Ghost, Map, Rel, init, require, rule
from models.parts.errors import E
from models.parts.nodes import Node
from models.parts.registration import Registration
from models.parts.streams import Epoch, Offset, Stream, StreamTable


class Phase(Enum):
    """What runs on a broker."""

    DOWN = "down"
    RECOVERING = "recovering"
    UP = "up"


class Brokers(Registration, StreamTable):
    """The controller's tables, and the brokers."""

    log_grain: Flag
    """The steps of a move are those of a log (`log_grain.py`), and nothing is open at the start."""

    phase: Map[Node, Phase]
    failover_mode: Rel[Node]
    """The controller's flag: the worker of a failover has registered (FO-07)."""
    taken_over: Rel[Node]
    """A worker, or the next process, has the WAL reservation of the process that has served last."""
    replay_from: Map[Stream, Offset]
    """The end that it has read behind its barrier (ND-02); 0 when nothing is recovered."""

    queued_close: Rel[Node]
    """A close of the partition waits until the operation that runs has ended."""
    queued_open: Map[Node, Epoch]
    """An open waits, under this epoch; 0 if none does."""
    tried: Map[Node, Epoch]
    """The epoch of the newest attempt to open, and so of an open log."""
    opening: Rel[Node]
    """This attempt goes on."""
    handle: Rel[Node, Stream]
    """The stream was granted to the broker, which has not sent its close yet."""
    frozen: Rel[Node]
    """The log is being closed, or an attempt to open it ended; this goes on until all closes are answered."""
    pending: Rel[Node, Stream]
    """One record is accepted, and is on its way into the WAL."""
    wal: Map[tuple[Node, Stream], Offset]
    """Where the broker's records of the stream end; 0 when that no longer matters."""
    closing: Rel[Node, Stream]
    """The broker waits for the answer to its close of the stream."""
    close_sent: Map[tuple[Node, Stream], Epoch]
    """The newest epoch that it has sent a close for. An older one is refused anyway, epochs being monotone."""
    clean: bool
    """The clean-shutdown flag, in the latest `PARTITION` value of the meta stream."""

    indexed: Ghost[Map[Stream, Offset]]
    """Up to where indexes and producer snapshots are durable."""
    closed_under: Ghost[Map[Stream, Epoch]]
    """The epoch under which the stream was last closed by request."""
    acked_by: Ghost[Map[tuple[Stream, Offset], Node | None]]
    """Who was last acked for an offset."""

    @init
    def start_brokers(self, first: Node) -> None:
        """All run. The first has the log open, in a range of epoch 1."""
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
        """Whether a request under e is answered with 503 or 599: owner or epoch of the stream is another."""
        return self.epoch[s] != e or not self.owned_by(s, n)

    def holds_any(self, n: Node) -> bool:
        """Whether n has a handle of the partition."""
        return any(self.handle[n, s] for s in Stream)

    def serves(self, n: Node) -> bool:
        """Whether n has the log open, and does not close it."""
        return not self.opening[n] and not self.frozen[n] and all(self.handle[n, s] for s in Stream)

    def is_acked_by(self, n: Node, s: Stream, o: Offset) -> bool:
        """Whether n was the last to be acked for o."""
        by = self.acked_by[s, o]
        return by is not None and by == n

    def can_ack(self, n: Node, s: Stream) -> bool:
        """Whether n would ack a record that it has accepted, or may accept."""
        return self.handle[n, s] and not self.taken_over[n]

    def check_failover(self, n: Node) -> None:
        """CK-01, for the operations with checkFailover."""
        require(not self.failover_mode[n], "CK-01.flag", error=E.NODE_FENCED)

    # What a broker does with the partition --------------------------------------------------------------------

    def see_image(self, n: Node) -> None:
        """What the newest image changes for n is queued (RA-11). While something is queued, images coalesce (RA-13)."""
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
        """What is queued begins when the operation before it has ended, whatever its outcome."""
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
        """A stream is granted. With the last one the log is recovered: indexed again, unless its flag says clean."""
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
        """Step 3. Indexes and a producer snapshot are written, and then the flag."""
        if rule("SP-09.flush"):
            for s in Stream:
                self.indexed[s] = self.wal[n, s]
        self.clean = True

    def ask_to_close(self, n: Node, s: Stream) -> None:
        """Step 4. The stream's close is sent."""
        self.close_sent[n, s] = self.tried[n]
        self.closing[n, s] = True
        self.handle[n, s] = False
        if not self.pending[n, s]:
            self.wal[n, s] = Offset(0)

    def hear_of_close(self, n: Node, s: Stream) -> None:
        """The close of the stream is answered. With the last answer the partition is closed."""
        self.closing[n, s] = False
        if all(not self.handle[n, x] and not self.closing[n, x] for x in Stream):
            self.frozen[n] = False

    def abandon(self, n: Node) -> None:
        """An attempt ends. What it may have opened is closed again; nothing has been appended to it."""
        self.opening[n] = False
        self.frozen[n] = True
        for s in Stream:
            self.ask_to_close(n, s)

    # The end of a process, and recovery -----------------------------------------------------------------------

    def end_process(self, n: Node, phase: Phase) -> None:
        """The memory of a process is gone. Of its WAL that stays which is still to be recovered."""
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
        """The reservation is overwritten, and the barrier registered; then the ends are read (FO-06)."""
        self.taken_over[n] = True
        self.failover_mode[n] = failover
        for s in Stream:
            if self.leased(n, s):
                self.replay_from[s] = self.end_offset[s]

    def start_process(self, n: Node) -> None:
        """A new process recovers first. Its node epoch refuses what the process before it has sent (510)."""
        self.end_process(n, Phase.RECOVERING)
        self.take_wal(n, False)
        if rule("CK-01.expired"):
            self.tried[n] = Epoch(0)
            for s in Stream:
                self.close_sent[n, s] = Epoch(0)

    def begin_serving(self, n: Node) -> None:
        """What a process begins with, once it has recovered: a new WAL, which is empty (WL-10)."""
        self.phase[n] = Phase.UP
        self.taken_over[n] = False
        for s in Stream:
            self.wal[n, s] = Offset(0)

    def recover_stream(self, n: Node, s: Stream) -> None:
        """What the WAL has beyond the end is uploaded, and then the stream is closed, as by its owner (FO-09)."""
        if rule("RC-05", self.wal[n, s] > self.replay_from[s]):
            self.commit_range(s, self.replay_from[s], self.wal[n, s], n)
        self.close_stream(s)
        self.replay_from[s] = Offset(0)
        if not self.handle[n, s]:
            self.wal[n, s] = Offset(0)
