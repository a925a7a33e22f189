"""What an honest process does with a stream, and what its node's WAL holds (streams.md 7 to 9.1).

From `committed_to` over `confirm_offset` to `next_offset` lies what a process holds: acked and to be uploaded, then the
append in flight. A recovery holds what it has replayed, as if it had acked it. A WAL is what the next replay will find,
batch by batch: its objects, with holes and late PUTs, are the matter of `models/wal.py`.
"""

from __future__ import annotations

from enum import Enum
from typing import Self

from holdfast.lang import Ghost, Map, Rel, init, invariant, leads_to, rule, step
from models.parts.nodes import Node, Proc
from models.parts.processes import Phase, ProcessTable
from models.parts.streams import Epoch, Offset, Stream


class Mode(Enum):
    """What a process does with a stream. SHUT takes no append (the flags FENCED and CLOSED), and is no handle too."""

    SHUT = "shut"
    OPEN = "open"
    RECOVERING = "recovering"


class HandleTable(ProcessTable):
    """The processes' side of the log."""

    mode: Map[tuple[Proc, Stream], Mode]
    next_offset: Map[tuple[Proc, Stream], Offset]
    confirm_offset: Map[tuple[Proc, Stream], Offset]
    committed_to: Map[tuple[Proc, Stream], Offset]
    """Up to where p knows that the controller has committed."""
    durable: Rel[Proc, Stream]
    """The append in flight has been PUT."""
    unheard: Rel[Proc, Stream]
    """The controller has taken a commit of p, and p has not heard it."""
    close_sent: Rel[Proc, Stream]
    """p has asked to close s under the epoch of its handle."""
    wal: Map[tuple[Node, Stream, Offset], Offset | None]
    """The first offset of the batch that holds the offset; None if no batch of the WAL does."""
    acked_by: Ghost[Map[tuple[Stream, Offset], Node | None]]
    """Whose process has acked the offset; None again once it is trimmed."""

    @init
    def start_handles(self) -> None:
        """Nothing is under way, and every WAL is empty."""
        self.mode.fill(Mode.SHUT)
        self.next_offset.fill(Offset(0))
        self.confirm_offset.fill(Offset(0))
        self.committed_to.fill(Offset(0))
        self.durable.fill(False)
        self.unheard.fill(False)
        self.close_sent.fill(False)
        self.wal.fill(None)
        self.acked_by.fill(None)

    # What actions and properties ask --------------------------------------------------------------------------

    def in_flight(self, p: Proc, s: Stream, o: Offset) -> bool:
        """Whether o lies in the append that p has in flight."""
        return self.confirm_offset[p, s] <= o and o < self.next_offset[p, s]

    def lists(self, n: Node, s: Stream) -> bool:
        """ND-02. Whether s is OPENED and its current range on n."""
        return self.opened[s] and self.owned_by(s, n)

    def to_commit(self, n: Node, s: Stream, o: Offset) -> bool:
        """Whether o is n's to commit, if n's WAL has it."""
        return self.lists(n, s) and self.end_offset[s] <= o

    def is_batch_start(self, n: Node, s: Stream, o: Offset) -> bool:
        """Whether a batch of n's WAL begins at o."""
        base = self.wal[n, s, o]
        return base is not None and base == o

    def is_inside_batch(self, n: Node, s: Stream, o: Offset) -> bool:
        """Whether o lies in a batch of n's WAL that begins below o."""
        base = self.wal[n, s, o]
        return base is not None and base != o

    def ends_replay(self, n: Node, s: Stream, a: Offset, o: Offset) -> bool:
        """RC-02, RC-03. Whether a replay of n's WAL that expects a drops o: no batch begins at a, or there is a gap."""
        return a <= o and (not self.is_batch_start(n, s, a) or self.wal[n, s, o] is None)

    def uploaded(self, p: Proc) -> bool:
        """Whether all that p has acked or replayed is committed, and p knows it."""
        return all(self.committed_to[p, s] == self.confirm_offset[p, s] for s in Stream)

    def comes_next(self, p: Proc, s: Stream, a: Offset, b: Offset) -> bool:
        """Whether [a, b) is the next object of p, or the one before it that p has not heard of."""
        # If the stream is trimmed to its end, any end is as good: what the object held is trimmed too.
        answered = not self.unheard[p, s] or b == self.end_offset[s] or self.start_offset[s] == self.end_offset[s]
        return a == self.committed_to[p, s] and answered

    def repeats(self, p: Proc, s: Stream, b: Offset) -> bool:
        """Whether the object of p that ends at b was committed before: then the stream ends there too."""
        return self.unheard[p, s] and b == self.end_offset[s]

    def waits(self, p: Proc, s: Stream, o: Offset) -> bool:
        """Whether p serves, has acked o, and does not know it committed."""
        serves = self.reserved[p] and self.phase[p] == Phase.READY
        return serves and self.committed_to[p, s] <= o and o < self.confirm_offset[p, s]

    def recovers(self, p: Proc, s: Stream) -> bool:
        """Whether p is the newest process of its node, and recovers s."""
        return self.reserved[p] and self.mode[p, s] == Mode.RECOVERING

    def left_open(self, p: Proc, s: Stream) -> bool:
        """Whether p has taken over a node that has s open."""
        starts = self.reserved[p] and self.phase[p] == Phase.RESERVED
        return (starts or self.recovers(p, s)) and self.lists(self.node_of[p], s)

    def is_gone(self, p: Proc, s: Stream) -> bool:
        """Whether nobody can read any more what p has of s: it is deleted, or trimmed that far."""
        return not self.exists[s] or self.confirm_offset[p, s] <= self.start_offset[s]

    # Effects --------------------------------------------------------------------------------------------------

    def begin(self, p: Proc, s: Stream, mode: Mode, a: Offset, b: Offset) -> None:
        """A handle on s, under the stream's epoch, with [a, b) to be uploaded."""
        self.handle[p, s] = self.epoch[s]
        self.mode[p, s] = mode
        self.committed_to[p, s] = a
        self.confirm_offset[p, s] = b
        self.next_offset[p, s] = b

    def forget(self, p: Proc, s: Stream) -> None:
        """Process p has nothing to do with s any more."""
        self.handle[p, s] = Epoch(0)
        self.mode[p, s] = Mode.SHUT
        self.committed_to[p, s] = Offset(0)
        self.confirm_offset[p, s] = Offset(0)
        self.next_offset[p, s] = Offset(0)
        self.durable[p, s] = False
        self.unheard[p, s] = False
        self.close_sent[p, s] = False

    def replay(self, p: Proc, s: Stream) -> None:
        """RC-01 to RC-03: p recovers from the end that the barrier has answered, as far as its node's WAL goes on.

        Without RC-02 the replay begins with the first record, and without ND-02 at an end that was read long ago.
        """
        n = self.node_of[p]
        end = self.end_offset[s]
        self.committed_to[p, s] = min((o for o in Offset if self.wal[n, s, o] is not None), default=end)
        if rule("RC-02.base"):  # G-48
            self.committed_to[p, s] = Offset(0)
            if rule("ND-02"):  # G-33
                self.committed_to[p, s] = end
        a = self.committed_to[p, s]
        b = min((o for o in Offset if self.ends_replay(n, s, a, o)), default=a)
        self.begin(p, s, Mode.RECOVERING, a, b)

    def write(self, p: Proc, s: Stream) -> None:
        """The batch in flight is in the node's WAL."""
        for o in Offset:
            if self.in_flight(p, s, o):
                self.wal[self.node_of[p], s, o] = self.confirm_offset[p, s]

    def confirm(self, p: Proc, s: Stream) -> None:
        """The batch in flight is acked."""
        for o in Offset:
            if self.in_flight(p, s, o):
                self.acked_by[s, o] = self.node_of[p]
        self.confirm_offset[p, s] = self.next_offset[p, s]
        self.durable[p, s] = False

    def fence(self, p: Proc, s: Stream) -> None:
        """CL-04. The batch in flight fails, and the handle takes no other. Otherwise the next one leaves a hole."""
        acked = self.confirm_offset[p, s]
        self.durable[p, s] = False
        self.confirm_offset[p, s] = self.next_offset[p, s]
        if rule("CL-04"):  # G-42
            self.mode[p, s] = Mode.SHUT
            self.confirm_offset[p, s] = acked
            self.next_offset[p, s] = acked

    def cut_wal(self, n: Node, s: Stream, q: Offset) -> None:
        """What n's WAL holds of s below q is gone."""
        for o in Offset:
            if o < q:
                self.wal[n, s, o] = None

    def empty_wal(self, n: Node, s: Stream) -> None:
        """All that n's WAL holds of s is gone."""
        for o in Offset:
            self.wal[n, s, o] = None

    def take_reservation(self, p: Proc) -> None:
        """The reservation object of p's node names p, and no one else."""
        for q in Proc:
            if self.are_peers(q, p):
                self.reserved[q] = False
        self.reserved[p] = True

    # Properties -----------------------------------------------------------------------------------------------

    def is_safe(self, s: Stream, o: Offset) -> bool:
        """Whether o, if it was acked, is covered, or durable and still to be committed."""
        n = self.acked_by[s, o]
        if n is None or self.covered[s, o]:
            return True
        return self.to_commit(n, s, o) and self.wal[n, s, o] is not None

    @invariant
    def no_acked_loss(self) -> bool:
        """INV-02. What was acked and not trimmed is covered, or in the WAL of the node that has to commit it."""
        return all(
            all(self.is_safe(s, o) for o in Offset if o >= self.start_offset[s]) for s in Stream if self.exists[s]
        )

    @step
    def wal_is_kept(self, old: Self) -> bool:
        """INV-11. A record leaves a WAL when it is covered or trimmed, or its stream not open on the node."""
        return all(
            self.covered[s, o] or o < self.start_offset[s] or not self.lists(n, s)
            for n in Node
            for s in Stream
            for o in Offset
            if old.wal[n, s, o] is not None and self.wal[n, s, o] is None
        )

    @invariant
    def recovery_is_accepted(self) -> bool:
        """LV-01, LV-03. What the newest process of a node has to recover is its own, and begins at the stream's end.

        Otherwise its commit is refused, and repeated for ever (AM-10).
        """
        return all(
            self.to_commit(self.node_of[p], s, self.committed_to[p, s]) or self.unheard[p, s]
            for p in Proc
            for s in Stream
            if self.mode[p, s] == Mode.RECOVERING and self.committed_to[p, s] < self.confirm_offset[p, s]
            if not self.barred(p)
        )

    @leads_to
    def crashed_streams_close(self, p: Proc, s: Stream) -> tuple[bool, bool]:
        """LV-01. What a node had open when a process takes over is CLOSED, unless yet another takes over."""
        return self.left_open(p, s), not self.left_open(p, s)

    @leads_to
    def recovery_ends(self, p: Proc, s: Stream) -> tuple[bool, bool]:
        """LV-01. Who recovers a stream uploads what it has replayed, closes the stream, and is done with it."""
        return self.recovers(p, s), not self.recovers(p, s)

    @leads_to
    def acked_is_committed(self, p: Proc, s: Stream, o: Offset) -> tuple[bool, bool]:
        """LV-03. What a process has acked is committed, and it hears so, unless it halts or another takes over."""
        return self.waits(p, s, o), not self.waits(p, s, o)

    @leads_to
    def gone_is_accepted(self, p: Proc, s: Stream) -> tuple[bool, bool]:
        """LV-03. What a process recovers and nobody can read any more is committed, whoever owns the stream by now."""
        return self.recovers(p, s) and self.is_gone(p, s), not self.recovers(p, s) or self.unheard[p, s]
