"""Close before upload: a stream moves at once, and the node that had it answers for what is in its WAL still.

The rows of V6 (streams.md 3, 5, 6) over the controller's stream table and node epochs (`parts/`), and above them a
broker that is honest (8, 9, 9.1). A fast close seals the range at an offset that the broker names. What lies below it
and is not committed becomes an *entry* of the node: its historical responsibility. The entry drains as the node, its
next incarnation or a failover worker uploads; until then the node cannot open the stream again, and others can.

- A crash is no step: a process that takes no more steps has crashed. Each incarnation and worker is a process.
- A commit carries any part of what its sender holds (design.md 2): the order of uploads (PL-22) is not relied on, nor
  what a process knows committed. A repeated commit (CS-03) and lost answers are the matter of `stream_log`. With
  `late_answers` the answer to an open is heard in a step of its own (`hear`).
- Each open has a new epoch (PT-01). Of the range of an entry its end and its epoch are kept (G-07, G-34).

Left out: deleted streams, compaction, node locks, objects of several streams, batches that are trimmed apart (AM-08).

Where this differs from streams.md.
CL-08: the close names what was confirmed. As built (`close_at_next`, AM-01) it names what was appended: after a failed
append nobody holds the rest, and the entry never drains. Then a WAL may hold more than was sealed, so a replay stops
at the end of the entry (ND-03.end). ND-03 does not answer it: with the first change alone (`uncapped_replay`) a worker
uploads a record that failed but landed, and CS-22 refuses that for ever.
ST-31: the flag bars a close, as in `stream_log`. As built (`late_close`, AM-11) the late close seals a range that its
worker replays to the end of the WAL. ST-34, ST-35 and CS-26 are needed only then (G-14, G-15, G-25).
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
    """Fast close: the next owner need not wait until the last one has uploaded."""

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

    # A handle -------------------------------------------------------------------------------------------------

    @action
    def open(self, p: Proc, s: Stream) -> None:
        """An openStream is answered. What p had of the stream before is uploaded by now."""
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
        """The answer to an open reaches p: it has a handle, as of the time when the controller took the open."""
        require(self.awaits[p, s] and self.phase[p] == Phase.READY, "CL-01.answer")
        self.awaits[p, s] = False
        self.mode[p, s] = Mode.OPEN

    @action
    def append(self, p: Proc, s: Stream, b: Offset) -> None:
        """A batch that ends at b is accepted; one is in flight at a time."""
        require(self.mode[p, s] == Mode.OPEN, "CL-02")
        if self.next_offset[p, s] == self.confirm_offset[p, s] and self.next_offset[p, s] < b:
            self.next_offset[p, s] = b

    @action
    def put(self, p: Proc, s: Stream) -> None:
        """Its PUT succeeds. Once another process has the reservation, no replay will find it (WL-09)."""
        pending = self.mode[p, s] == Mode.OPEN and self.confirm_offset[p, s] < self.next_offset[p, s]
        require(pending and self.reserved[p], "WL-09")
        for o in Offset:
            if self.in_flight(p, s, o):
                self.wal[self.node_of[p], s, o] = True

    @action
    def ack(self, p: Proc, s: Stream) -> None:
        """It is acked: the PUT has succeeded, and the reservation names p after that."""
        require(self.mode[p, s] == Mode.OPEN and self.confirm_offset[p, s] < self.next_offset[p, s], "CL-03")
        require(all(self.wal[self.node_of[p], s, o] for o in Offset if self.in_flight(p, s, o)), "PL-03")  # G-41
        require(self.reserved[p], "WL-05")  # G-36
        for o in Offset:
            if self.in_flight(p, s, o):
                self.acked_by[s, o] = self.node_of[p]
        self.confirm_offset[p, s] = self.next_offset[p, s]

    @action
    def fail(self, p: Proc) -> None:
        """The storage of p fails, and each append in flight, PUT or not. All handles are fenced, and p halts."""
        for s in Stream:
            if self.mode[p, s] == Mode.OPEN:
                self.mode[p, s] = Mode.SHUT  # CL-04
        if rule("PL-04", self.phase[p] == Phase.READY):
            self.phase[p] = Phase.OFF

    @action
    def trim(self, p: Proc, s: Stream, q: Offset) -> None:
        """A trimStream arrives, within what p has acked. It rewrites no entry (ST-45)."""
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
        """An owner closes: no append from now on, and none in flight but one that has failed."""
        require(self.handle[p, s] > Epoch(0) and not self.recovers(p, s) and not self.waits(p, s), "CL-07")
        idle = self.next_offset[p, s] == self.confirm_offset[p, s]
        require(idle or self.mode[p, s] == Mode.SHUT, "CL-07.wait")  # G-44
        self.close_sent[p, s] = True
        if rule("CL-07.flag"):  # G-43
            self.mode[p, s] = Mode.SHUT

    def check_close(self, p: Proc) -> None:
        """CK-01 of a close."""
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
        """A WAL upload with [a, b) of s arrives: of what p has acked, or replays."""
        n = self.node_of[p]
        held = all(self.wal[n, s, o] for o in Offset if a <= o and o < b)
        require(self.handle[p, s] > Epoch(0) and a < b and held, "PL-20")
        require(self.recovers(p, s) or b <= self.confirm_offset[p, s], "PL-03.upload")
        self.check_node_epoch(p)
        if rule("CS-01", self.failover[p]):  # G-10
            pass
        else:
            self.check_failover_flag(p)
        capped = self.mode[p, s] == Mode.DRAINING and not self.uncapped_replay
        require(not capped or b <= self.confirm_offset[p, s], "ND-03.end")
        self.commit_range(s, a, b, n)

    @action
    def trim_wal(self, p: Proc, s: Stream, q: Offset) -> None:
        """The WAL is trimmed, of what is committed, or nobody's to commit."""
        n = self.node_of[p]
        owed = any(self.wal[n, s, o] and self.owes(n, s, o) for o in Offset if o < q)
        require(self.phase[p] == Phase.READY and self.reserved[p] and not owed, "PL-25")  # G-40
        for o in Offset:
            if o < q:
                self.wal[n, s, o] = False

    # Recovery, by the node's next incarnation (FO-08) or by a worker on another node (FO-06) ---------------------

    @action
    def reserve(self, p: Proc) -> None:
        """A process starts, or the worker of a registered one (FO-01): it takes the reservation, if no newer has it."""
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
        """A getOpeningStreams, the barrier: p, which has listed the WAL by now, replays what it is answered."""
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
                self.confirm_offset[p, s] = self.entry_to[n, s]
                self.next_offset[p, s] = self.entry_to[n, s]

    @action(fair="weak", per=("p",))
    def reset_wal(self, p: Proc) -> None:
        """All that was replayed is committed: the WAL is emptied, and a next incarnation begins to serve."""
        n = self.node_of[p]
        uploaded = all(self.uploaded(n, s) for s in Stream)
        require(self.phase[p] == Phase.RECOVERING and self.reserved[p] and uploaded, "RC-05.reset")
        self.phase[p] = Phase.READY
        for s in Stream:
            for o in Offset:
                self.wal[n, s, o] = False

    @action(fair="weak", per=("p", "s"))
    def end_recovery(self, p: Proc, s: Stream) -> None:
        """A legacy close of what was replayed, all being committed. STREAM_FENCED ends the recovery too (RC-06)."""
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
        """LV-04. A commit of a node leaves it no inactive entry."""
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
        """INV-10. Nor does it commit."""
        return not old.barred(p)

    @step(of="end_recovery")
    def recovery_respects_barrier(self, old: Self, p: Proc) -> bool:
        """INV-10. Nor does it end a recovery."""
        return not old.barred(p)

    @step(of="trim")
    def trimmed_by_its_owner(self, old: Self, p: Proc, s: Stream) -> bool:
        """INV-01, INV-10. Only the owner trims, with its epoch, and not when it is barred."""
        return old.owned_by(s, self.node_of[p]) and old.epoch[s] == old.handle[p, s] and not old.barred(p)

    @step(of="ack")
    def acked_once(self, old: Self, p: Proc, s: Stream) -> bool:
        """INV-01, INV-13. No offset is acked twice, nor after something was committed there."""
        return all(old.acked_by[s, o] is None and not old.covered[s, o] for o in Offset if old.in_flight(p, s, o))
