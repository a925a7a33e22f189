"""Close before upload: a stream moves at once, and its old node still has to commit what is in its WAL.

The model has the rows of V6 (streams.md 3, 5, 6) over the controller's stream table and node epochs (`parts/`), and
honest brokers above them (streams.md 8, 9, 9.1). A fast close seals the range at an offset that the broker names. The
offsets below it that are not committed become an *entry* of the node: its historical responsibility. The entry drains
as the node, its next incarnation or a failover worker uploads. Until it has drained the node cannot open the stream
again; other nodes can.

- A crash is not a step: a process that takes no more steps has crashed. Each incarnation and each worker is a process.
- A commit carries any part of the records that its sender holds (design.md 2). The model relies neither on the order of
  uploads (PL-22) nor on what a process knows to be committed.
- A repeated commit (CS-03) and lost answers are modelled in `stream_log`. With `late_answers` a process hears the
  answer to an open in a step of its own (`hear`).
- Each open has a new epoch (PT-01). The model keeps the end and the epoch of an entry's range (G-07, G-34).

Left out: deleted streams, compaction, node locks, objects of several streams, batches that are trimmed apart (AM-08).

Where this differs from streams.md:

- CL-08: the close names the end of the confirmed offsets. As built (`close_at_next`, AM-01) it names the end of the
  appended offsets. After a failed append nobody holds the rest, and the entry never drains.
- ND-03.end: a WAL may thus hold more than was sealed, so a replay stops at the end of the entry. The answer of ND-03
  does not contain that end. With the change of CL-08 alone (`uncapped_replay`), a worker uploads a record that failed
  but landed, and CS-22 refuses it for ever.
- ST-31: the failover flag bars a close, as in `stream_log`. As built (`late_close`, AM-11) the late close seals a range
  that its worker replays to the end of the WAL. ST-34, ST-35 and CS-26 are needed only then (G-14, G-15, G-25).
"""

from __future__ import annotations

from typing import Self

from holdfast.lang import (
    Scope,
    action,
    equivalent,
    liveness,
    missing,
    outcomes,
    redundant,
    require,
    rule,
    sound,
    step,
)
from models.parts.errors import E
from models.parts.fast_brokers import FastBrokers, Mode
from models.parts.nodes import Node, NodeEpoch, Proc
from models.parts.processes import Phase
from models.parts.streams import Epoch, Offset, Stream


class FastClose(FastBrokers):
    """Fast close: the next owner need not wait until the owner before it has uploaded."""

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
        # A process that has failed stays away.
        budgets={"fail": 2},
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
        """A process that serves opens a stream, once its node has committed all older data of the stream (CL-01)."""
        n = self.node_of[p]
        require(self.phase[p] == Phase.READY and self.mode[p, s] == Mode.SHUT and not self.waits(p, s), "FO-08")
        require(self.uploaded(n, s), "CL-01")  # G-46
        self.check_node_epoch(p)
        self.check_failover_flag(p)
        require(not self.opened[s], "ST-14", error=E.STREAM_NOT_CLOSED)  # G-02
        require(not self.has_entry(n, s), "ST-15", error=E.STREAM_NOT_CLOSED)  # G-04
        self.open_range(s, self.epoch[s] + 1, n)
        self.handle[p, s] = self.epoch[s]
        if self.late_answers:
            self.awaits[p, s] = True
        else:
            self.mode[p, s] = Mode.OPEN
        self.next_offset[p, s] = self.end_offset[s]
        self.confirm_offset[p, s] = self.end_offset[s]
        self.close_sent[p, s] = False

    @action(fair="weak", per=("p", "s"), variant="late_answers")
    def hear(self, p: Proc, s: Stream) -> None:
        """Process p hears the answer to its open. Its handle has the offsets of the time when the open was granted."""
        require(self.awaits[p, s] and self.phase[p] == Phase.READY, "CL-01.answer")
        self.awaits[p, s] = False
        self.mode[p, s] = Mode.OPEN

    @action
    def append(self, p: Proc, s: Stream, b: Offset) -> None:
        """A process accepts a batch that ends at b, if its last batch is acked: one batch is in flight at a time."""
        require(self.mode[p, s] == Mode.OPEN, "CL-02")
        if self.next_offset[p, s] == self.confirm_offset[p, s] and self.next_offset[p, s] < b:
            self.next_offset[p, s] = b

    @action
    def put(self, p: Proc, s: Stream) -> None:
        """The PUT of the batch in flight succeeds.

        If another process has the reservation, no replay will find the batch (WL-09). Such a PUT is left out.
        """
        pending = self.mode[p, s] == Mode.OPEN and self.confirm_offset[p, s] < self.next_offset[p, s]
        require(pending and self.reserved[p], "WL-09")
        for o in Offset:
            if self.in_flight(p, s, o):
                self.wal[self.node_of[p], s, o] = True

    @action
    def ack(self, p: Proc, s: Stream) -> None:
        """A process acks its batch: the PUT has succeeded, and after that the reservation still names the process."""
        require(self.mode[p, s] == Mode.OPEN and self.confirm_offset[p, s] < self.next_offset[p, s], "CL-03")
        require(all(self.wal[self.node_of[p], s, o] for o in Offset if self.in_flight(p, s, o)), "PL-03")  # G-41
        require(self.reserved[p], "WL-05")  # G-36
        for o in Offset:
            if self.in_flight(p, s, o):
                self.acked_by[s, o] = self.node_of[p]
        self.confirm_offset[p, s] = self.next_offset[p, s]

    @action
    def fail(self, p: Proc) -> None:
        """The storage of p fails. Each append in flight fails, whether its PUT has landed or not.

        All handles of p are fenced (CL-04), and p halts (PL-04).
        """
        for s in Stream:
            if self.mode[p, s] == Mode.OPEN:
                # CL-04. The offsets of the failed append stay: with `close_at_next` the close still names them.
                self.mode[p, s] = Mode.SHUT
        if rule("PL-04", self.phase[p] == Phase.READY):
            self.phase[p] = Phase.OFF

    @action
    def trim(self, p: Proc, s: Stream, q: Offset) -> None:
        """A trimStream of p arrives, to an offset within what p has acked. It rewrites no entry (ST-45)."""
        require(not self.recovers(p, s) and not self.waits(p, s) and q <= self.confirm_offset[p, s], "CL-06")
        self.check_node_epoch(p)
        self.check_failover_flag(p)
        self.check_ownership(s, self.handle[p, s], self.node_of[p])
        self.trim_range(s, q)
        for o in Offset:
            if o < q:
                self.acked_by[s, o] = None

    @action
    def send_close(self, p: Proc, s: Stream) -> None:
        """An owner closes its handle, and sends the close before it has uploaded.

        No append is in flight, except a failed one, and the handle takes no more (CL-07).
        """
        require(self.handle[p, s] > Epoch(0) and not self.recovers(p, s) and not self.waits(p, s), "CL-07")
        idle = self.next_offset[p, s] == self.confirm_offset[p, s]
        require(idle or self.mode[p, s] == Mode.SHUT, "CL-07.wait")  # G-44
        self.close_sent[p, s] = True
        if rule("CL-07.flag"):  # G-43
            self.mode[p, s] = Mode.SHUT

    def check_close(self, p: Proc) -> None:
        """CK-01 for a close: the failover flag bars the old process, and not the worker (ST-31)."""
        self.check_node_epoch(p)
        if rule("ST-31", self.failover[p] or self.late_close):  # G-11
            pass
        else:
            self.check_failover_flag(p)

    @action(idempotent="INV-15", fair="weak", per=("p", "s"))
    def close(self, p: Proc, s: Stream) -> None:
        """A fast close that p has sent arrives, perhaps again."""
        require(self.close_sent[p, s], "CL-07.sent")
        n = self.node_of[p]
        end = self.close_end(p, s)
        self.check_close(p)
        self.check_ownership(s, self.handle[p, s], n)
        self.seal(s, end, n)

    # Upload ---------------------------------------------------------------------------------------------------

    @action(fair="weak", per=("p", "s"))
    def commit(self, p: Proc, s: Stream, a: Offset, b: Offset) -> None:
        """A WAL upload of p with the offsets [a, b) of s arrives: records that p has acked, or replays."""
        n = self.node_of[p]
        held = all(self.wal[n, s, o] for o in Offset if a <= o and o < b)
        require(self.handle[p, s] > Epoch(0) and a < b and held, "PL-20")
        require(self.recovers(p, s) or b <= self.confirm_offset[p, s], "PL-03.upload")
        self.check_node_epoch(p)
        # The flag bars the old process, and not the worker that has set it.
        if rule("CS-01", self.failover[p]):  # G-10
            pass
        else:
            self.check_failover_flag(p)
        capped = self.mode[p, s] == Mode.DRAINING and not self.uncapped_replay
        require(not capped or b <= self.confirm_offset[p, s], "ND-03.end")
        self.commit_range(s, a, b, n)

    @action
    def trim_wal(self, p: Proc, s: Stream, q: Offset) -> None:
        """A process trims its WAL below q, once its node has to commit none of these records any more."""
        n = self.node_of[p]
        owed = any(self.wal[n, s, o] and self.owes(n, s, o) for o in Offset if o < q)
        require(self.phase[p] == Phase.READY and self.reserved[p] and not owed, "PL-25")  # G-40
        for o in Offset:
            if o < q:
                self.wal[n, s, o] = False

    # Recovery, by the node's next incarnation (FO-08) or by a worker on another node (FO-06) ---------------------

    @action
    def reserve(self, p: Proc) -> None:
        """A process starts: it takes its node's WAL reservation, unless a later process holds it.

        A failover worker starts only for the incarnation that is registered (FO-01).
        """
        holders_before = all(self.starts_before(q, p) for q in Proc if self.reserved[q] and self.are_peers(q, p))
        follows = not self.failover[p] or self.node_epoch[self.node_of[p]] == self.incarnation[p]
        require(self.phase[p] == Phase.OFF and not self.reserved[p] and holders_before and follows, "FO-06.newer")
        for q in Proc:
            if self.are_peers(q, p):
                self.reserved[q] = False
        self.reserved[p] = True
        self.phase[p] = Phase.RESERVED

    @action(fair="weak", per=("p",))
    def register(self, p: Proc) -> None:
        """A process registers with getOpeningStreams, the barrier, and replays the streams in the answer.

        It has listed the WAL before. The answer has the streams that are OPENED on the node (ND-02), and the streams on
        which the node has an entry (ND-03).
        """
        require(self.phase[p] == Phase.RESERVED, "FO-06")  # G-35
        self.register_node_epoch(p)
        self.phase[p] = Phase.RECOVERING
        n = self.node_of[p]
        for s in Stream:
            if rule("ND-02", self.lists(n, s)):
                self.mode[p, s] = Mode.RECOVERING
                self.handle[p, s] = self.epoch[s]
            elif rule("ND-03", self.has_entry(n, s)):
                self.mode[p, s] = Mode.DRAINING
                self.handle[p, s] = self.entry_epoch[n, s]
                # The replay stops at the end of the entry (ND-03.end).
                self.confirm_offset[p, s] = self.entry_to[n, s]
                self.next_offset[p, s] = self.entry_to[n, s]

    @action(fair="weak", per=("p",))
    def reset_wal(self, p: Proc) -> None:
        """A recovery has committed all that it replayed. It empties the WAL, and the process is ready to serve."""
        n = self.node_of[p]
        uploaded = all(self.uploaded(n, s) for s in Stream)
        require(self.phase[p] == Phase.RECOVERING and self.reserved[p] and uploaded, "RC-05.reset")
        self.phase[p] = Phase.READY
        for s in Stream:
            for o in Offset:
                self.wal[n, s, o] = False

    @action(fair="weak", per=("p", "s"))
    def end_recovery(self, p: Proc, s: Stream) -> None:
        """A recovery has committed all records of a stream, and closes it with a legacy close (RC-05).

        The answer STREAM_FENCED ends the recovery too (RC-06): the stream has a new owner already.
        """
        require(self.recovers(p, s) and self.uploaded(self.node_of[p], s), "RC-05")  # G-49
        self.check_close(p)
        if self.epoch[s] == self.handle[p, s] and self.owned_by(s, self.node_of[p]):
            self.close_stream(s)
        self.handle[p, s] = Epoch(0)
        self.mode[p, s] = Mode.SHUT
        self.next_offset[p, s] = Offset(0)
        self.confirm_offset[p, s] = Offset(0)

    # Properties -----------------------------------------------------------------------------------------------

    @step(of="commit")
    def covered_from_wal(self, old: Self, p: Proc, s: Stream, a: Offset, b: Offset) -> bool:
        """INV-07. Nothing is committed but what the WAL of the sender's node has."""
        return all(old.wal[self.node_of[p], s, o] for o in Offset if a <= o and o < b)

    @step(of="commit")
    def stale_entries_go(self, old: Self, p: Proc) -> bool:
        """LV-04. After a node has committed, it has no inactive entry."""
        return all(self.entry_to[self.node_of[p], s] == Offset(0) or self.has_entry(self.node_of[p], s) for s in Stream)

    @step(of="commit")
    def covered_once(self, old: Self, p: Proc, s: Stream, a: Offset, b: Offset) -> bool:
        """INV-06. No offset is committed twice, and each by the node that has it to commit; trimmed ones excepted."""
        return all(
            not old.covered[s, o] and old.owes(self.node_of[p], s, o)
            for o in Offset
            if old.start_offset[s] <= o and a <= o and o < b
        )

    @step(of="open")
    def open_respects_barrier(self, old: Self, p: Proc) -> bool:
        """INV-10. No process opens once a newer incarnation, or its own worker, is registered."""
        return not old.barred(p)

    @step(of="commit")
    def commit_respects_barrier(self, old: Self, p: Proc) -> bool:
        """INV-10. No process commits once a newer incarnation, or its own worker, is registered."""
        return not old.barred(p)

    @step(of="end_recovery")
    def recovery_respects_barrier(self, old: Self, p: Proc) -> bool:
        """INV-10. No process ends a recovery once a newer incarnation, or its own worker, is registered."""
        return not old.barred(p)

    @step(of="trim")
    def trimmed_by_its_owner(self, old: Self, p: Proc, s: Stream) -> bool:
        """INV-01, INV-10. Only the owner trims, with its epoch, and not when it is barred."""
        return old.owned_by(s, self.node_of[p]) and old.epoch[s] == old.handle[p, s] and not old.barred(p)

    @step(of="ack")
    def acked_once(self, old: Self, p: Proc, s: Stream) -> bool:
        """INV-01, INV-13. No offset is acked twice, nor after something was committed there."""
        return all(old.acked_by[s, o] is None and not old.covered[s, o] for o in Offset if old.in_flight(p, s, o))

    # Mutants that no safety property kills, and why -----------------------------------------------------------

    mutants = outcomes({
        "CK-01.unknown": equivalent("every node is registered at the start"),
        "CL-01": redundant(with_="ST-15"),
        "ST-15": redundant(with_="CL-01"),
        "CK-02.missing": equivalent("no stream is deleted"),
        "CK-01.flag@end_recovery": equivalent("a worker of a restarted process is in no scope that is compared"),
        "CK-02.epoch_old@close": equivalent("an older handle is of another node (CK-02.node) or barred"),
        "CK-02.epoch_new": equivalent("nobody has a newer epoch than the stream"),
        "CK-02.no_range": equivalent("a stream without a range is not on the sender's node, so CK-02.node refuses too"),
        "CK-02.node": equivalent("no two nodes open a stream under one epoch"),
        "CL-02": redundant(with_="WL-09"),
        "WL-09": redundant(with_="CL-02"),
        "CL-06": redundant(with_="ST-35"),
        "PL-04": liveness("crashed_streams_close", "what has failed is appended again behind what was sealed"),
        "ST-31": liveness("crashed_streams_close", "a worker could never close (G-11)"),
        "ST-34": equivalent("whoever closes a CLOSED stream again names the same end; but see late_close"),
        "ST-35": equivalent("nobody but the owner commits, and that only what it has acked; but see late_close"),
        "CS-21": missing("objects that several streams share: one that is trimmed would block the others"),
        "CS-22": redundant(with_="ND-03.end"),
        "ND-03.end": redundant(with_="CS-22"),
        "CL-07.wait": liveness("crashed_streams_close", "what is in flight lands behind what was sealed"),
        "CS-01": liveness("crashed_streams_close", "a worker could never commit (G-10)"),
        "ND-02": liveness("crashed_streams_close", "nobody would recover what is OPENED"),
        "CS-26": equivalent("who may commit has the stream OPENED, or an entry; but see late_close"),
        "CS-28": equivalent("who may commit has the stream OPENED, or an entry; but see late_close"),
        "CS-27": equivalent("who may commit has the stream OPENED, with a range"),
        "late_answers": sound("no fault: a process that awaits an answer does less than one that has heard it"),
    })  # fmt: skip
