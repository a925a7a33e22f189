"""Who may write a stream: the controller under an arbitrary environment, with honest handles above it.

The model has the controller's stream table and node epochs (`parts/`: streams.md 2, 3, 5, 6, legacy rules), and above
them the beliefs of every process. An action is a request that reaches the controller (`register` is getOpeningStreams),
or a step of a process: `reserve` stands for the PUT of the WAL reservation, `append` for the PUT of a WAL object and
the GET of the reservation after it.

Messages need no state: a stale or repeated request is one more request, at any time and any number of times. A process
hears an answer at once or never; with `late_answers`, in a step of its own (`hear`) or never.

The properties rely on two kinds of rules:

- Any process may send `register`, `open`, `trim`, `delete` and `commit`, with any epoch and any offsets. The controller
  alone guarantees INV-01 (of `open` and `trim`), INV-03 to INV-07, INV-10 and INV-15.
- Two properties also rely on honest processes: an offset is acked once, and no acked offset is lost. The rules labelled
  CL, FO, PT, RC and WL say what an honest process believes and acks, and when it closes a lease of its own node: it
  must have sent such a close, which may be late and repeated (`close_sent` never shrinks). All of these rules except
  CL-07 are needed.

Left out: creation (streams exist at the start); objects, and so their contents and the repetition of a commit (CS-03);
ST-18, fast close, locks, compaction, the controller's own failover, and a worker that is late for the reservation.

Where this differs from streams.md 19:

- G-25: without CS-26 neither INV-03 nor INV-06 breaks, since the next open seals the range at the end of that moment.
  Only `stands_still_when_closed` is violated, as for ST-41 (G-18).
- `mutants` lists the rules whose removal violates no safety property.
"""

from __future__ import annotations

from typing import Self

from holdfast.lang import (
    Flag,
    Ghost,
    Map,
    Rel,
    Scope,
    action,
    equivalent,
    init,
    invariant,
    missing,
    outcomes,
    require,
    rule,
    sound,
    step,
    witness,
)
from models.parts.nodes import Node, NodeEpoch, NodeTable, Proc
from models.parts.streams import Epoch, Offset, Stream, StreamTable


class Ownership(NodeTable, StreamTable):
    """The controller, and the beliefs of every process about its handles."""

    reopen_same_epoch: Flag
    """PT-04 as built: after a failed open a process closes all and opens again under an unchanged epoch (AM-20)."""
    late_answers: Flag
    """A process hears the answer to its open in a later step, as in the log of a system. Other steps lie between."""

    reserved: Rel[Proc]
    """The reservation object of p's node names p (WL-01)."""
    handle: Map[tuple[Proc, Stream], Epoch]
    """The epoch of p's open handle; 0 if it has none."""
    next_offset: Map[tuple[Proc, Stream], Offset]
    """The offset of the open handle's next append, and also its confirm offset; 0 without a handle."""
    answer_epoch: Map[tuple[Proc, Stream], Epoch]
    """The epoch of the open whose answer is on its way to p; 0 if no answer is. Only with late answers."""
    answer_offset: Map[tuple[Proc, Stream], Offset]
    """The next offset in that answer: the end of the stream when the controller took the open."""
    close_sent: Map[tuple[Proc, Stream], Epoch]
    """The newest epoch for which p has ever sent a close. A close of an older epoch is refused anyway."""
    acked_by: Ghost[Map[tuple[Stream, Offset], Proc | None]]
    """The process that has acked the offset last; None if nobody has."""

    tiny = Scope(
        {Node: 2, Proc: 4, Stream: 1, NodeEpoch: 1, Epoch: 2, Offset: 2},
        given={"node_of": (0, 0, 1, 1), "incarnation": (1, 1, 1, 1), "failover": (False, True, False, True)},
    )
    default = Scope(
        {Node: 2, Proc: 4, Stream: 1, NodeEpoch: 2, Epoch: 2, Offset: 2},
        given={"node_of": (0, 0, 0, 1), "incarnation": (1, 1, 2, 1), "failover": (False, True, False, False)},
    )
    large = Scope(
        {Node: 2, Proc: 6, Stream: 1, NodeEpoch: 2, Epoch: 3, Offset: 2},
        given={
            "node_of": (0, 0, 0, 1, 1, 1),
            "incarnation": (1, 1, 2, 1, 1, 2),
            "failover": (False, True, False, False, True, False),
        },
    )
    deep = Scope(
        {Node: 3, Proc: 6, Stream: 4, NodeEpoch: 2, Epoch: 24, Offset: 8},
        # A deleted stream stays away, and registrations that alternate would fill the runs.
        budgets={"register": 30, "delete": 2},
        given={
            "node_of": (0, 0, 1, 1, 2, 2),
            "incarnation": (1, 2, 1, 2, 1, 1),
            "failover": (False, False, False, False, False, True),
        },
        depth=200,
    )

    @init
    def start_processes(self) -> None:
        """No handle is open. If a node is registered, its first process holds the reservation."""
        for p in Proc:
            self.reserved[p] = self.incarnation[p] == self.node_epoch[self.node_of[p]] and not self.failover[p]
        self.handle.fill(Epoch(0))
        self.next_offset.fill(Offset(0))
        self.close_sent.fill(Epoch(0))
        self.acked_by.fill(None)
        if self.late_answers:
            self.answer_epoch.fill(Epoch(0))
            self.answer_offset.fill(Offset(0))

    def owns(self, p: Proc, s: Stream, e: Epoch) -> bool:
        """Whether the current range of s is on p's node and has epoch e: CK-02 would pass."""
        return self.owned_by(s, self.node_of[p]) and self.epoch[s] == e

    def can_ack(self, p: Proc, s: Stream) -> bool:
        """Whether p would ack an append to s now."""
        return self.handle[p, s] > Epoch(0) and self.reserved[p]

    def awaits(self, p: Proc, s: Stream) -> bool:
        """Whether the answer to an open of s is on its way to p."""
        return self.late_answers and self.answer_epoch[p, s] > Epoch(0)

    def awaits_epoch(self, p: Proc, s: Stream, e: Epoch) -> bool:
        """Whether the answer to an open of s with epoch e is on its way to p."""
        return self.late_answers and self.answer_epoch[p, s] == e

    # Processes ------------------------------------------------------------------------------------------------

    @action
    def reserve(self, p: Proc) -> None:
        """A process or worker starts: it takes its node's WAL reservation, unless a later process holds it."""
        holders_before = all(self.starts_before(q, p) for q in Proc if self.reserved[q] and self.are_peers(q, p))
        require(holders_before, "FO-06.newer")
        for q in Proc:
            if self.are_peers(q, p):
                self.reserved[q] = False
        self.reserved[p] = True

    @action
    def append(self, p: Proc, s: Stream) -> None:
        """A process acks one record, which is durable in the WAL. The reservation still names it after that."""
        require(self.handle[p, s] > Epoch(0), "CL-02")
        require(self.reserved[p], "WL-05")
        self.acked_by[s, self.next_offset[p, s]] = p
        self.next_offset[p, s] = self.next_offset[p, s] + 1

    @action
    def send_close(self, p: Proc, s: Stream) -> None:
        """An owner closes its handle, and sends the close once all it has acked is uploaded (CL-07, CL-08)."""
        require(self.handle[p, s] > Epoch(0), "CL-07")
        require(self.next_offset[p, s] <= self.end_offset[s], "CL-08")
        if self.handle[p, s] > self.close_sent[p, s]:
            self.close_sent[p, s] = self.handle[p, s]
        self.handle[p, s] = Epoch(0)
        self.next_offset[p, s] = Offset(0)

    @action
    def recover(self, p: Proc, s: Stream) -> None:
        """A worker or next incarnation has replayed and uploaded its node's WAL, and closes a stream left open.

        Uploaded means: all that peers have acked under the newest epoch lies below the stream's end (RC-05).
        """
        e = self.epoch[s]
        end = self.end_offset[s]
        uploaded = all(self.next_offset[q, s] <= end for q in Proc if self.are_peers(q, p) and self.handle[q, s] == e)
        others_before = any(self.starts_before(q, p) for q in Proc)
        require(self.reserved[p] and others_before and self.owned_by(s, self.node_of[p]), "FO-09")
        require(self.handle[p, s] == Epoch(0) and not self.awaits(p, s), "FO-08.first")
        require(uploaded, "RC-05")
        if e > self.close_sent[p, s]:
            self.close_sent[p, s] = e

    # Requests at the controller -------------------------------------------------------------------------------

    @action(idempotent="INV-15")
    def register(self, p: Proc) -> None:
        """A getOpeningStreams arrives. A late one of a process may clear the flag that its worker has set (AM-19)."""
        self.register_node_epoch(p)

    @action(idempotent="INV-15")
    def open(self, p: Proc, s: Stream, e: Epoch, heard: bool) -> None:
        """An openStream arrives. `heard`: p hears the answer, and has a handle from then on.

        A process that hears an answer is honest: the first guards bind it. If nobody hears the answer, the request may
        have any epoch. The answer to a repeated request changes nothing for p.
        """
        if heard:
            others_used = any(
                self.handle[q, s] == e or self.close_sent[q, s] == e or self.awaits_epoch(q, s, e)
                for q in Proc
                if self.are_peers(q, p)
            )
            # The variant uses an epoch again, once its close is answered.
            fresh = e > self.close_sent[p, s] or (self.reopen_same_epoch and not self.opened[s])
            require(any(self.reserved[q] and (q == p or self.starts_before(p, q)) for q in Proc), "FO-08")
            require(not others_used, "PT-01")
            require(fresh or self.handle[p, s] == e, "PT-04.fresh_epoch")
        self.check_node_epoch(p)
        self.check_failover_flag(p)
        self.open_stream(s, e, self.node_of[p])
        if heard and self.handle[p, s] != e:
            if self.late_answers:
                self.answer_epoch[p, s] = e
                self.answer_offset[p, s] = self.end_offset[s]
            else:
                self.handle[p, s] = e
                self.next_offset[p, s] = self.end_offset[s]

    @action(variant="late_answers")
    def hear(self, p: Proc, s: Stream) -> None:
        """Process p hears the answer to its open. Its handle has the offset of the time when the open was granted."""
        require(self.answer_epoch[p, s] > Epoch(0), "CL-01.answer")
        self.handle[p, s] = self.answer_epoch[p, s]
        self.next_offset[p, s] = self.answer_offset[p, s]
        self.answer_epoch[p, s] = Epoch(0)
        self.answer_offset[p, s] = Offset(0)

    @action(idempotent="INV-15")
    def close(self, p: Proc, s: Stream, e: Epoch) -> None:
        """A closeStream arrives: one that p has sent, or one that is not of the owner and so must be refused."""
        require(self.close_sent[p, s] == e or not self.owns(p, s, e), "CL-07.sent")
        self.check_node_epoch(p)
        self.check_ownership(s, e, self.node_of[p])
        self.close_stream(s)

    @action(idempotent="INV-15")
    def trim(self, p: Proc, s: Stream, e: Epoch, q: Offset) -> None:
        """A trimStream arrives, from any process, with any epoch and any offset."""
        self.check_node_epoch(p)
        self.check_failover_flag(p)
        self.check_ownership(s, e, self.node_of[p])
        self.trim_stream(s, q)

    @action(idempotent="INV-15")
    def delete(self, s: Stream) -> None:
        """A deleteStream arrives, from anybody."""
        self.delete_stream(s)
        for o in Offset:
            self.acked_by[s, o] = None

    @action
    def commit(self, p: Proc, s: Stream, a: Offset, b: Offset) -> None:
        """A WAL upload with the offsets [a, b) of s arrives. The flag does not bar a failover worker (CS-01)."""
        self.check_node_epoch(p)
        if rule("CS-01", self.failover[p]):
            pass
        else:
            self.check_failover_flag(p)
        self.commit_range(s, a, b, self.node_of[p])

    # Properties (INV-03, 04, 05 and 07 are the tables' own and stand in the parts) ------------------------------

    @invariant
    def one_owner(self) -> bool:
        """INV-01. No two processes can ack appends to one stream."""
        return all(
            all(all(q == p or not self.can_ack(q, s) for q in Proc) for p in Proc if self.can_ack(p, s)) for s in Stream
        )

    @step(of="append")
    def acked_once(self, old: Self, p: Proc, s: Stream) -> bool:
        """INV-01. No offset is acked twice, to two processes or to one."""
        return old.acked_by[s, old.next_offset[p, s]] is None

    @step(of="append")
    def acked_in_own_range(self, old: Self, p: Proc, s: Stream) -> bool:
        """INV-01. An acked offset is trimmed, or lies in a range of the process's node with its handle's epoch."""
        o = old.next_offset[p, s]
        return old.owns(p, s, old.handle[p, s]) and (o >= old.range_start[s] or o < old.start_offset[s])

    @step(of="open")
    def opened_by_its_owner(self, old: Self, p: Proc, s: Stream, e: Epoch) -> bool:
        """INV-01. An open finds the stream CLOSED, or OPENED by the same node and epoch; then it is theirs."""
        return (not old.opened[s] or old.owns(p, s, e)) and self.owns(p, s, e)

    @step(of="trim")
    def trimmed_by_its_owner(self, old: Self, p: Proc, s: Stream, e: Epoch) -> bool:
        """INV-01. Only the owner trims, with its epoch."""
        return old.owns(p, s, e)

    def is_safe(self, s: Stream, o: Offset) -> bool:
        """Whether o is not acked, or covered, or still to be committed by the node whose WAL has it."""
        p = self.acked_by[s, o]
        if p is None or self.covered[s, o]:
            return True
        return self.opened[s] and self.owned_by(s, self.node_of[p]) and o >= self.end_offset[s]

    @invariant
    def no_acked_loss(self) -> bool:
        """INV-02. What was acked and not trimmed is covered, or above the end of a stream OPENED by its node."""
        return all(
            all(self.is_safe(s, o) for o in Offset if o >= self.start_offset[s]) for s in Stream if self.exists[s]
        )

    @step(of="commit")
    def covered_once(self, old: Self, p: Proc, s: Stream, a: Offset, b: Offset) -> bool:
        """INV-06. No offset is committed twice, and each by the node of its range; trimmed ones excepted."""
        return all(
            not old.covered[s, o] and old.owned_by(s, self.node_of[p]) and o >= old.range_start[s]
            for o in Offset
            if old.exists[s] and a <= o and o < b and o >= old.start_offset[s]
        )

    @step(of="open")
    def open_respects_barrier(self, old: Self, p: Proc) -> bool:
        """INV-10. No process opens once a newer incarnation, or its own worker, is registered."""
        return not old.barred(p)

    @step(of="trim")
    def trim_respects_barrier(self, old: Self, p: Proc) -> bool:
        """INV-10. No process trims once a newer incarnation, or its own worker, is registered."""
        return not old.barred(p)

    @step(of="commit")
    def commit_respects_barrier(self, old: Self, p: Proc) -> bool:
        """INV-10. No process commits once a newer incarnation, or its own worker, is registered."""
        return not old.barred(p)

    # Witnesses ------------------------------------------------------------------------------------------------

    @witness
    def handed_over(self) -> bool:
        """A new owner has acked above data that the one before it has left."""
        return any(
            any(self.can_ack(p, s) and self.next_offset[p, s] > self.range_start[s] for p in Proc)
            for s in Stream
            if self.range_start[s] > self.start_offset[s]
        )

    @witness
    def zombie(self) -> bool:
        """A barred process has an open handle."""
        return any(any(self.handle[p, s] > Epoch(0) for s in Stream) for p in Proc if self.barred(p))

    @witness
    def recovered(self) -> bool:
        """A stream with data was closed, and a process still believes that it has the stream open."""
        return any(
            any(self.owns(q, s, self.handle[q, s]) for q in Proc)
            for s in Stream
            if not self.opened[s] and self.end_offset[s] > self.start_offset[s]
        )

    @witness
    def late_close(self) -> bool:
        """A close may still arrive although the stream is OPENED under a newer epoch."""
        return any(
            any(self.close_sent[p, s] > Epoch(0) and self.close_sent[p, s] < self.epoch[s] for p in Proc)
            for s in Stream
            if self.opened[s]
        )

    @witness
    def trimmed_past_owner(self) -> bool:
        """The start lies above all that a live owner has appended."""
        return any(
            any(self.can_ack(p, s) and self.next_offset[p, s] < self.start_offset[s] for p in Proc) for s in Stream
        )

    @witness
    def deleted(self) -> bool:
        """A stream is gone."""
        return any(not self.exists[s] for s in Stream)

    # Mutants that no safety property kills, and why -----------------------------------------------------------

    mutants = outcomes({
        "CL-07": missing("appends that are pending while a handle closes (G-43, G-44): here an append is one step"),
        "CK-01.unknown": missing("failover by age: who never registered is no candidate for it after a crash (FO-01)"),
        "CK-01.expired@close": missing("a recovery in flight, which a close of the one before it would disturb"),
        "ST-20": equivalent("a stream without a range is not on the sender's node, so ST-21 refuses too"),
        "CK-02.missing": equivalent("a missing stream has no range, so CK-02.node refuses too"),
        "CK-02.no_range": equivalent("a stream without a range is not on the sender's node, so CK-02.node refuses too"),
        "CS-01": missing("progress: a worker's own barrier would refuse its commits for ever (stream_log: G-10)"),
        "CS-20": missing("progress: what holds data of a deleted stream is never committed (stream_log: G-29)"),
        "CS-21": missing("progress: what holds trimmed data is never committed (stream_log: G-28)"),
        "CS-27": equivalent("a stream without a range is CLOSED, so CS-26 refuses already"),
        "late_answers": sound("no fault: a process that awaits an answer does less than one that has heard it"),
    })  # fmt: skip
