"""The log of a stream under honest brokers: append, WAL, ack, upload, commit, trim, crash, recovery and failover.

The model has the controller's stream table and node epochs (`parts/`: streams.md 2, 3, 5, 6, legacy rules), and honest
brokers above them (streams.md 8, 9, 9.1). An action is a step of a process, or a request of a process that reaches the
controller.

- A crash is not a step. A process that takes no more steps has crashed, wherever it was. If it wakes up it is a zombie;
  its requests were under way at the crash. Each next incarnation, and each failover worker, is a process of its own.
- A commit carries records that its sender holds. They start where the sender knows the log to be committed, and end at
  the end of any batch. The sender may be barred by now.
- The answers of a commit and of a close may be lost; the sender repeats the request. A process hears all other answers
  (`ownership` loses those).
- A WAL keeps all records that were PUT before the next process took the reservation, without holes. The model `wal`
  shows this, and that all acked records are among them.

Left out: requests that no honest process sends (`ownership`); fast close; objects that several streams share, and so
the order of two streams in a WAL; a second worker of one incarnation; the limits of the cache.

Where this differs from streams.md 3 and 19:

- ST-31: the failover flag bars a close, unless a worker sends it. As built (`late_close`) it bars no close, and that is
  not harmless (AM-11). A PUT of the old process lands, but its append fails. The process closes the stream, since it
  has uploaded all that it acked, and its close overtakes the worker. The controller then refuses the worker's commit of
  the unacked record for ever, and with it all other data of the worker.
- CS-20, CS-21, CS-26 and CS-28 (G-25, G-26, G-28, G-29) are needed only with `late_close`, or with fast close.
- AM-19: a worker of an incarnation that has yet to register (FO-01 forbids it) would recover beside that incarnation.
  The late registration clears the flag, both commit, and one of them is refused for ever.
- G-39: with one stream, CS-29 refuses the commits that PL-22 forbids; progress ends.
- G-33, G-47 and G-48: the mutants violate `recovery_is_accepted`.
"""

from __future__ import annotations

from typing import Self

from holdfast.lang import Flag, Scope, action, equivalent, liveness, outcomes, require, rule, step, witness
from models.parts.handles import HandleTable, Mode
from models.parts.nodes import Node, NodeEpoch, Proc
from models.parts.processes import Phase
from models.parts.streams import Epoch, Offset, Stream


class StreamLog(HandleTable):
    """The log of a stream: append, WAL, ack, upload, commit, trim, recovery and failover."""

    split_trims: Flag
    """Trims may fall inside a batch that is not committed (AM-08)."""
    late_close: Flag
    """As built: the failover flag does not bar a close (AM-11)."""

    tiny = Scope(
        {Node: 2, Proc: 3, Stream: 1, NodeEpoch: 1, Epoch: 2, Offset: 2},
        given={"node_of": (0, 0, 1), "incarnation": (1, 1, 1), "failover": (False, True, False)},
    )
    default = Scope(
        {Node: 2, Proc: 4, Stream: 1, NodeEpoch: 2, Epoch: 2, Offset: 2},
        given={"node_of": (0, 0, 0, 1), "incarnation": (1, 1, 2, 1), "failover": (False, True, False, False)},
    )
    large = Scope(
        {Node: 2, Proc: 5, Stream: 1, NodeEpoch: 2, Epoch: 2, Offset: 2},
        given={
            "node_of": (0, 0, 0, 1, 1),
            "incarnation": (1, 1, 2, 1, 1),
            "failover": (False, True, False, False, True),
        },
    )
    deep = Scope(
        {Node: 2, Proc: 5, Stream: 3, NodeEpoch: 2, Epoch: 24, Offset: 8},
        # A process that has failed stays away, and so does a deleted stream.
        budgets={"fail": 2, "send_close": 20, "delete": 1},
        given={
            "node_of": (0, 0, 1, 1, 1),
            "incarnation": (1, 2, 1, 2, 1),
            "failover": (False, False, False, False, True),
        },
        depth=200,
    )

    # A handle -------------------------------------------------------------------------------------------------

    @action
    def open(self, p: Proc, s: Stream) -> None:
        """A process that serves opens a stream, and hears the answer.

        The epoch is new, since each assignment of a partition has its own epoch (PT-01).
        """
        require(self.phase[p] == Phase.READY and self.handle[p, s] == Epoch(0), "FO-08")
        self.check_node_epoch(p)
        self.check_failover_flag(p)
        self.check_exists(s)
        self.open_anew(s, self.epoch[s] + 1, self.node_of[p])
        self.begin(p, s, Mode.OPEN, self.end_offset[s], self.end_offset[s])

    @action
    def append(self, p: Proc, s: Stream, b: Offset) -> None:
        """A process accepts a batch that ends at b, if its last batch is acked: one batch is in flight at a time."""
        idle = self.next_offset[p, s] == self.confirm_offset[p, s]
        require(self.mode[p, s] == Mode.OPEN and idle and self.next_offset[p, s] < b, "CL-02")
        self.next_offset[p, s] = b

    @action
    def put(self, p: Proc, s: Stream) -> None:
        """The PUT of the batch in flight succeeds.

        If another process has the reservation by now, no replay will find the batch: the WAL is listed already (WL-09).
        """
        require(any(self.in_flight(p, s, o) for o in Offset) and not self.durable[p, s], "WL-04")
        self.durable[p, s] = True
        if self.reserved[p]:
            self.write(p, s)

    @action
    def ack(self, p: Proc, s: Stream) -> None:
        """A process acks its batch: the PUT has succeeded, and after that the reservation still names the process."""
        require(self.durable[p, s], "PL-03")  # G-41
        require(self.reserved[p], "WL-05")  # G-36
        self.confirm(p, s)

    @action
    def fail(self, p: Proc) -> None:
        """The storage of p fails. Each append in flight fails, whether its PUT has landed or not.

        All handles of p are fenced (CL-04), and p halts (PL-04).
        """
        for s in Stream:
            if self.mode[p, s] == Mode.OPEN:
                self.fence(p, s)
        if rule("PL-04", self.phase[p] == Phase.READY):
            self.phase[p] = Phase.OFF

    @action
    def trim(self, p: Proc, s: Stream, q: Offset) -> None:
        """A trimStream of p arrives, to an offset within what p has acked.

        If the batch at q is not committed, q must be the start of it: RC-03 relies on that (AM-08).
        """
        splits = self.is_inside_batch(self.node_of[p], s, q) and self.end_offset[s] <= q
        require(self.mode[p, s] != Mode.RECOVERING and q <= self.confirm_offset[p, s], "CL-06")
        require(self.split_trims or not splits, "AM-08")
        self.check_node_epoch(p)
        self.check_failover_flag(p)
        self.check_ownership(s, self.handle[p, s], self.node_of[p])
        self.trim_stream(s, q)
        for o in Offset:
            if o < q:
                self.acked_by[s, o] = None  # No property reads acks below the start again.

    @action
    def send_close(self, p: Proc, s: Stream) -> None:
        """An owner closes its handle and sends the close, once no append is in flight and all acked data is uploaded.

        From now on the handle takes no append (CL-07).
        """
        require(self.handle[p, s] > Epoch(0) and self.mode[p, s] != Mode.RECOVERING, "CL-07")
        require(self.next_offset[p, s] == self.confirm_offset[p, s], "CL-07.wait")  # G-44
        require(self.committed_to[p, s] == self.confirm_offset[p, s], "CL-08")  # G-45
        self.close_sent[p, s] = True
        if rule("CL-07.flag"):  # G-43
            self.mode[p, s] = Mode.SHUT

    # Upload ---------------------------------------------------------------------------------------------------

    @action(fair="weak", per=("p", "s", "heard"))
    def commit(self, p: Proc, s: Stream, a: Offset, b: Offset, heard: bool) -> None:
        """A WAL upload of p with the offsets [a, b) of s arrives: whole batches, in the order of the log.

        Until p has heard the answer, it sends the same object again. `heard`: p hears the answer of this request.
        """
        require(self.committed_to[p, s] <= a and a < b and b <= self.confirm_offset[p, s], "PL-20")
        require(not self.is_inside_batch(self.node_of[p], s, b), "PL-10")
        require(self.comes_next(p, s, a, b), "PL-22")  # G-39
        self.check_node_epoch(p)
        # The flag bars the old process, and not the worker that has set it.
        if rule("CS-01", self.failover[p]):  # G-10
            pass
        else:
            self.check_failover_flag(p)
        # A repeated commit of one object succeeds without effect.
        if rule("CS-03", self.repeats(p, s, b)):  # G-21
            pass
        else:
            self.commit_range(s, a, b, self.node_of[p])
        self.unheard[p, s] = not heard
        if heard:
            self.committed_to[p, s] = b

    @action
    def trim_wal(self, p: Proc, s: Stream, q: Offset) -> None:
        """A process trims its WAL, up to an offset that it knows to be committed."""
        require(q <= self.committed_to[p, s], "PL-25")  # G-40
        self.cut_wal(self.node_of[p], s, q)

    # Recovery, by the node's next incarnation (FO-08) or by a worker on another node (FO-06) ---------------------

    @action
    def reserve(self, p: Proc) -> None:
        """A process starts: it takes its node's WAL reservation, unless a later process holds it.

        A failover worker starts only for the incarnation that is registered (FO-01).
        """
        holders_before = all(self.starts_before(q, p) for q in Proc if self.reserved[q] and self.are_peers(q, p))
        follows = not self.failover[p] or self.node_epoch[self.node_of[p]] == self.incarnation[p]
        require(self.phase[p] == Phase.OFF and not self.reserved[p] and holders_before and follows, "FO-06.newer")
        self.take_reservation(p)
        self.phase[p] = Phase.RESERVED

    @action(fair="weak", per=("p",))
    def register(self, p: Proc) -> None:
        """A process registers with getOpeningStreams, the barrier, and replays the streams in the answer.

        It has listed the WAL before. A repeated request of it changes nothing.
        """
        if self.phase[p] == Phase.RECOVERING or self.phase[p] == Phase.READY:
            return
        require(self.phase[p] == Phase.RESERVED, "FO-06")  # G-35
        self.register_node_epoch(p)
        self.phase[p] = Phase.RECOVERING
        for s in Stream:
            # Records of streams that are not open on the node are dropped.
            if rule("RC-02.opening", not self.lists(self.node_of[p], s)):  # G-47
                pass
            else:
                self.replay(p, s)

    @action(fair="weak", per=("p",))
    def reset_wal(self, p: Proc) -> None:
        """A recovery has committed all that it replayed. It empties the WAL, and the process is ready to serve."""
        require(self.phase[p] == Phase.RECOVERING and self.reserved[p] and self.uploaded(p), "RC-05.reset")
        self.phase[p] = Phase.READY
        for s in Stream:
            if rule("FO-06.reset"):
                self.empty_wal(self.node_of[p], s)

    @action(fair="weak", per=("p", "s"))
    def end_recovery(self, p: Proc, s: Stream) -> None:
        """A recovery sends the close of a stream, once it has committed all that it replayed."""
        require(self.mode[p, s] == Mode.RECOVERING and self.uploaded(p), "RC-05")  # G-49
        self.close_sent[p, s] = True

    # Close and delete -----------------------------------------------------------------------------------------

    @action(fair="weak", per=("p", "s", "heard"))
    def close(self, p: Proc, s: Stream, heard: bool) -> None:
        """A closeStream that p has sent arrives, perhaps again. `heard`: p hears the answer."""
        require(self.close_sent[p, s], "CL-07.sent")
        self.check_node_epoch(p)
        if rule("ST-31", self.failover[p] or self.late_close):  # G-11
            pass
        else:
            self.check_failover_flag(p)
        # A recovery takes the answer STREAM_FENCED as success. If the stream is missing, the recovery starts again
        # without it.
        if rule("RC-06", self.mode[p, s] == Mode.RECOVERING and self.epoch[s] != self.handle[p, s]):  # G-50
            self.forget(p, s)
            return
        self.check_ownership(s, self.handle[p, s], self.node_of[p])
        self.close_stream(s)
        if heard:
            self.forget(p, s)

    @action
    def delete(self, s: Stream) -> None:
        """A deleteStream arrives, from anybody. No replay reads records of a deleted stream (RC-02)."""
        self.delete_stream(s)
        for o in Offset:
            self.acked_by[s, o] = None
        for n in Node:
            self.empty_wal(n, s)

    # Properties (INV-02 to 05, INV-07, INV-11 and all liveness properties stand in the parts) -----------------

    @step(of="commit")
    def covered_once(self, old: Self, p: Proc, s: Stream, a: Offset, b: Offset) -> bool:
        """INV-06. No offset is committed twice, and each by its owner; trimmed ones and a repeated request excepted."""
        return old.repeats(p, s, b) or all(
            not old.covered[s, o] and old.to_commit(self.node_of[p], s, o)
            for o in Offset
            if old.exists[s] and old.start_offset[s] <= o and a <= o and o < b
        )

    @step(of="open")
    def open_respects_barrier(self, old: Self, p: Proc) -> bool:
        """INV-10. No process opens once a newer incarnation, or its own worker, is registered."""
        return not old.barred(p)

    @step(of="commit")
    def commit_respects_barrier(self, old: Self, p: Proc) -> bool:
        """INV-10. No process commits once a newer incarnation, or its own worker, is registered."""
        return not old.barred(p)

    @step(of="trim")
    def trimmed_by_its_owner(self, old: Self, p: Proc, s: Stream) -> bool:
        """INV-01, INV-10. Only the owner trims, with its epoch, and not when it is barred."""
        return old.owned_by(s, self.node_of[p]) and old.epoch[s] == old.handle[p, s] and not old.barred(p)

    @step(of="ack")
    def acked_once(self, old: Self, p: Proc, s: Stream) -> bool:
        """INV-01, INV-13. No offset is acked twice, nor after something was committed there."""
        return all(old.acked_by[s, o] is None and not old.covered[s, o] for o in Offset if old.in_flight(p, s, o))

    @step(of="ack")
    def acked_in_order(self, old: Self, p: Proc, s: Stream) -> bool:
        """INV-13. What lies in the range below an acked offset was acked too, or is trimmed."""
        return all(
            old.acked_by[s, o] is not None
            for o in Offset
            if old.start_offset[s] <= o and old.range_start[s] <= o and o < old.confirm_offset[p, s]
        )

    @step(of="put")
    def written_once(self, old: Self, p: Proc, s: Stream) -> bool:
        """INV-13. No offset is written twice into one WAL, where a replay would keep the older record (RC-02)."""
        return all(old.wal[self.node_of[p], s, o] is None for o in Offset if old.reserved[p] and old.in_flight(p, s, o))

    # Witnesses ------------------------------------------------------------------------------------------------

    @witness
    def handed_over(self) -> bool:
        """A new owner has acked above what the one before it has left."""
        return any(
            self.waits(p, s, o) and self.start_offset[s] < self.range_start[s]
            for p in Proc
            for s in Stream
            for o in Offset
        )

    @witness
    def failed_over(self) -> bool:
        """A worker has uploaded a record that nobody had acked, and closed the stream."""
        return any(
            self.covered[s, o] and self.acked_by[s, o] is None and not self.opened[s]
            for p in Proc
            for s in Stream
            for o in Offset
            if self.failover[p] and self.recovers(p, s)
        )

    @witness
    def crossed_recovery(self) -> bool:
        """A recovery, not knowing that its close was taken, finds the stream open again under a newer epoch."""
        return any(
            self.opened[s] and self.epoch[s] > self.handle[p, s] for p in Proc for s in Stream if self.recovers(p, s)
        )

    @witness
    def answer_lost(self) -> bool:
        """A process that serves does not know that its commit was taken."""
        return any(self.unheard[p, s] for p in Proc for s in Stream if self.mode[p, s] == Mode.OPEN)

    @witness
    def trimmed_before_upload(self) -> bool:
        """The start lies above what an owner knows committed."""
        return any(
            self.committed_to[p, s] < self.start_offset[s] for p in Proc for s in Stream if self.mode[p, s] == Mode.OPEN
        )

    # Mutants that no safety property kills, and why -----------------------------------------------------------

    mutants = outcomes({
        "CK-01.unknown": equivalent("every node is registered at the start"),
        "CK-02.missing": equivalent("a missing stream has epoch 0 and no owner, so the rows below refuse too"),
        "CK-02.epoch_old@close": equivalent("an older handle is of another node (CK-02.node) or barred"),
        "CK-02.epoch_new": equivalent("nobody has a newer epoch than the stream"),
        "CK-02.no_range": equivalent("a stream without a range is not on the sender's node, so CK-02.node refuses too"),
        "CK-02.node": equivalent("no two nodes open a stream under one epoch"),
        "PL-22": liveness("acked_is_committed", "CS-29b refuses what is sent out of order, and it is never sent again"),
        "CS-03": liveness("acked_is_committed", "a commit whose answer was lost would be refused for ever (G-21)"),
        "CS-20": equivalent("nobody holds data of a deleted stream that it may still commit; but see late_close"),
        "CS-21": equivalent("the stream is trimmed to its end then, so CS-29b takes the range too; but see late_close"),
        "CS-26": equivalent("who may commit has the stream OPENED; but see late_close"),
        "CS-27": equivalent("who may commit has the stream OPENED, with a range"),
        "CS-28": equivalent("who may commit has the stream OPENED; but see late_close"),
        "CS-29a": equivalent("PL-22 and RC-02 send nothing but what begins at the end"),
        "CS-29b": equivalent("PL-22 and RC-02 send nothing but what begins at the end, or at what was the end"),
        "RC-06": liveness("recovery_ends", "a close whose answer was lost would be fenced for ever (G-50)"),
    })  # fmt: skip
