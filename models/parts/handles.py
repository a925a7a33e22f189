"""An honest process, its handles, and the WAL of its node (streams.md 7 to 9.1).

A handle has three offsets. The process has acked what lies between `committed_to` and `confirm_offset`, and still has
to upload it. Between `confirm_offset` and `next_offset` lies its append in flight. A recovery holds the records that it
has replayed as if it had acked them.

A WAL is modelled as the batches that the next replay will find. `models/wal.py` models its objects, with holes and late
PUTs.
"""

from __future__ import annotations

from enum import Enum
from typing import Self

from holdfast.lang import Ghost, Map, Rel, init, invariant, leads_to, rule, step
from models.parts.nodes import Node, Proc
from models.parts.processes import Phase, ProcessTable
from models.parts.streams import Epoch, Offset, Stream


class Mode(Enum):
    """What a process does with a stream. SHUT: it has no handle, or one that takes no append (FENCED or CLOSED)."""

    SHUT = "shut"
    OPEN = "open"
    RECOVERING = "recovering"


class HandleTable(ProcessTable):
    """The handles of all processes, the WALs of all nodes, and the acks."""

    mode: Map[tuple[Proc, Stream], Mode]
    """What p does with s: nothing, appending, or recovering."""
    next_offset: Map[tuple[Proc, Stream], Offset]
    """The end of what p has appended to s, acked or in flight; in a recovery, the end of the replay."""
    confirm_offset: Map[tuple[Proc, Stream], Offset]
    """The end of what p has acked in s; in a recovery, the end of the replay."""
    committed_to: Map[tuple[Proc, Stream], Offset]
    """The end of what p knows to be committed; in a recovery, first the start of the replay."""
    durable: Rel[Proc, Stream]
    """The PUT of p's append in flight has succeeded."""
    unheard: Rel[Proc, Stream]
    """The controller has accepted p's latest commit of s, and p has not heard the answer."""
    close_sent: Rel[Proc, Stream]
    """p has sent a close of s under the epoch of its handle."""
    wal: Map[tuple[Node, Stream, Offset], Offset | None]
    """The first offset of the batch in the node's WAL that holds the offset; None if no batch holds it."""
    acked_by: Ghost[Map[tuple[Stream, Offset], Node | None]]
    """The node whose process has acked the offset; None before the ack, and again once the offset is trimmed."""

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
        """ND-02. Whether s is OPENED and its current range is on n."""
        return self.opened[s] and self.owned_by(s, n)

    def to_commit(self, n: Node, s: Stream, o: Offset) -> bool:
        """Whether n has to commit o if its WAL has it: n owns the OPENED stream, which ends at or below o."""
        return self.lists(n, s) and self.end_offset[s] <= o

    def is_batch_start(self, n: Node, s: Stream, o: Offset) -> bool:
        """Whether a batch of n's WAL begins at o."""
        return self.wal[n, s, o] == o

    def is_inside_batch(self, n: Node, s: Stream, o: Offset) -> bool:
        """Whether o lies in a batch of n's WAL that begins below o."""
        base = self.wal[n, s, o]
        return base is not None and base != o

    def ends_replay(self, n: Node, s: Stream, a: Offset, o: Offset) -> bool:
        """RC-02, RC-03. Whether a replay of n's WAL that starts at a stops at o: no batch starts at a, or o is free."""
        return a <= o and (not self.is_batch_start(n, s, a) or self.wal[n, s, o] is None)

    def uploaded(self, p: Proc) -> bool:
        """Whether p knows that all it has acked or replayed is committed."""
        return all(self.committed_to[p, s] == self.confirm_offset[p, s] for s in Stream)

    def comes_next(self, p: Proc, s: Stream, a: Offset, b: Offset) -> bool:
        """Whether [a, b) is the next object of p, or the previous object if p has not heard that it is committed."""
        # If the stream is trimmed to its end, the end of the repeated object does not matter: all of it is trimmed.
        answered = not self.unheard[p, s] or b == self.end_offset[s] or self.start_offset[s] == self.end_offset[s]
        return a == self.committed_to[p, s] and answered

    def repeats(self, p: Proc, s: Stream, b: Offset) -> bool:
        """Whether the object of p that ends at b is committed already: then the stream ends at b too."""
        return self.unheard[p, s] and b == self.end_offset[s]

    def waits(self, p: Proc, s: Stream, o: Offset) -> bool:
        """Whether p serves, has acked o, and does not know that o is committed."""
        serves = self.reserved[p] and self.phase[p] == Phase.READY
        return serves and self.committed_to[p, s] <= o and o < self.confirm_offset[p, s]

    def recovers(self, p: Proc, s: Stream) -> bool:
        """Whether p is the newest process of its node, and recovers s."""
        return self.reserved[p] and self.mode[p, s] == Mode.RECOVERING

    def left_open(self, p: Proc, s: Stream) -> bool:
        """Whether p has taken over a node that has s open, and has not closed s yet."""
        starts = self.reserved[p] and self.phase[p] == Phase.RESERVED
        return (starts or self.recovers(p, s)) and self.lists(self.node_of[p], s)

    def is_gone(self, p: Proc, s: Stream) -> bool:
        """Whether nobody can read the records of s that p holds: s is deleted, or trimmed beyond them."""
        return not self.exists[s] or self.confirm_offset[p, s] <= self.start_offset[s]

    # Effects --------------------------------------------------------------------------------------------------

    def begin(self, p: Proc, s: Stream, mode: Mode, a: Offset, b: Offset) -> None:
        """Process p gets a handle on s under the stream's epoch, and has to upload [a, b)."""
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
        """Process p replays its node's WAL, from the stream's end to the first gap (RC-01 to RC-03).

        The end is the one in the answer of the barrier. Without RC-02 the replay begins with the first record; without
        ND-02, at an end that was read long ago.
        """
        n = self.node_of[p]
        end = self.end_offset[s]
        # With both rules in force, `end` replaces the two values before it.
        self.committed_to[p, s] = min((o for o in Offset if self.wal[n, s, o] is not None), default=end)
        if rule("RC-02.base"):  # G-48
            self.committed_to[p, s] = Offset(0)
            if rule("ND-02"):  # G-33
                self.committed_to[p, s] = end
        a = self.committed_to[p, s]
        b = min((o for o in Offset if self.ends_replay(n, s, a, o)), default=a)
        self.begin(p, s, Mode.RECOVERING, a, b)

    def write(self, p: Proc, s: Stream) -> None:
        """The batch in flight becomes part of the node's WAL."""
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
        """The batch in flight fails, and the handle takes no other batch (CL-04).

        Another batch would leave a hole where the failed one was.
        """
        # Without CL-04 the handle goes on behind the failed batch, as if that was acked.
        acked = self.confirm_offset[p, s]
        self.durable[p, s] = False
        self.confirm_offset[p, s] = self.next_offset[p, s]
        if rule("CL-04"):  # G-42
            self.mode[p, s] = Mode.SHUT
            self.confirm_offset[p, s] = acked
            self.next_offset[p, s] = acked

    def cut_wal(self, n: Node, s: Stream, q: Offset) -> None:
        """The WAL of n loses all records of s below q."""
        for o in Offset:
            if o < q:
                self.wal[n, s, o] = None

    def empty_wal(self, n: Node, s: Stream) -> None:
        """The WAL of n loses all records of s."""
        for o in Offset:
            self.wal[n, s, o] = None

    def take_reservation(self, p: Proc) -> None:
        """Process p overwrites the reservation object of its node, which now names p alone."""
        for q in Proc:
            if self.are_peers(q, p):
                self.reserved[q] = False
        self.reserved[p] = True

    # Properties -----------------------------------------------------------------------------------------------

    def is_safe(self, s: Stream, o: Offset) -> bool:
        """Whether o is not acked, or covered, or in the WAL of the node that has to commit it."""
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
        """LV-01. A process that recovers a stream uploads the replayed records, closes it, and is done with it."""
        return self.recovers(p, s), not self.recovers(p, s)

    @leads_to
    def acked_is_committed(self, p: Proc, s: Stream, o: Offset) -> tuple[bool, bool]:
        """LV-03. What a process has acked is committed, and it hears so, unless it halts or another takes over."""
        return self.waits(p, s, o), not self.waits(p, s, o)

    @leads_to
    def gone_is_accepted(self, p: Proc, s: Stream) -> tuple[bool, bool]:
        """LV-03. Recovered records that nobody can read any more are committed, whoever owns the stream by now."""
        return self.recovers(p, s) and self.is_gone(p, s), not self.recovers(p, s) or self.unheard[p, s]
