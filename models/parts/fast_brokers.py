"""Brokers of fast close: the handles of their processes, their WALs, and the properties that must hold.

This part has the state of `fast_close`, its properties that name no action, and its witnesses.
"""

from __future__ import annotations

from enum import Enum
from typing import Self

from holdfast.lang import Flag, Ghost, Map, Rel, init, invariant, leads_to, step, witness
from models.parts.entries import EntryTable
from models.parts.nodes import Node, Proc
from models.parts.processes import Phase, ProcessTable
from models.parts.streams import Offset, Stream


class Mode(Enum):
    """What a process does with a stream. SHUT: it takes no append, with a handle or without one."""

    SHUT = "shut"
    OPEN = "open"
    RECOVERING = "recovering"
    """The barrier has listed the stream, as OPENED on the node (ND-02)."""
    DRAINING = "draining"
    """The barrier has listed the stream, for an entry of the node (ND-03)."""


class FastBrokers(ProcessTable, EntryTable):
    """Processes that close before they upload, and the WALs of their nodes."""

    close_at_next: Flag
    """As built: a close seals all appended offsets, those of a failed append too (AM-01)."""
    uncapped_replay: Flag
    """A replay for an entry goes on beyond the end of the entry, as far as the WAL has records."""
    late_close: Flag
    """As built: the failover flag does not bar a close (AM-11)."""
    late_answers: Flag
    """A process hears the answer to its open in a later step, as in the log of a system. Other steps lie between."""

    mode: Map[tuple[Proc, Stream], Mode]
    """What p does with s: nothing, appending, or one of the two kinds of recovery."""
    next_offset: Map[tuple[Proc, Stream], Offset]
    """The end of what p has appended to s; its append in flight, or a failed one, begins at `confirm_offset`."""
    confirm_offset: Map[tuple[Proc, Stream], Offset]
    """The end of what p has acked in s. In a recovery for an entry, the end of that entry."""
    close_sent: Rel[Proc, Stream]
    """p has sent a close of s, under the epoch of its handle and with the end offset `close_end`."""
    awaits: Rel[Proc, Stream]
    """The answer to p's open of s is on its way. p has handle and offsets from the answer. Only with late answers."""
    wal: Rel[Node, Stream, Offset]
    """The node's WAL has a record of the stream at the offset, and the next replay will find it."""
    acked_by: Ghost[Map[tuple[Stream, Offset], Node | None]]
    """The node whose process has acked the offset; None before the ack, and again once the offset is trimmed."""

    @init
    def start_handles(self) -> None:
        """Nothing is under way, and every WAL is empty."""
        self.mode.fill(Mode.SHUT)
        self.next_offset.fill(Offset(0))
        self.confirm_offset.fill(Offset(0))
        self.close_sent.fill(False)
        self.wal.fill(False)
        self.acked_by.fill(None)
        if self.late_answers:
            self.awaits.fill(False)

    # What actions and properties ask --------------------------------------------------------------------------

    def in_flight(self, p: Proc, s: Stream, o: Offset) -> bool:
        """Whether o lies in the append that p has in flight, or in its failed append."""
        return self.confirm_offset[p, s] <= o and o < self.next_offset[p, s]

    def recovers(self, p: Proc, s: Stream) -> bool:
        """Whether p replays the records of s in its node's WAL."""
        return self.mode[p, s] in (Mode.RECOVERING, Mode.DRAINING)

    def waits(self, p: Proc, s: Stream) -> bool:
        """Whether p has yet to hear the answer to its open of s."""
        return self.late_answers and self.awaits[p, s]

    def close_end(self, p: Proc, s: Stream) -> Offset:
        """The end offset that a close of p carries."""
        return self.next_offset[p, s] if self.close_at_next else self.confirm_offset[p, s]

    def uploaded(self, n: Node, s: Stream) -> bool:
        """Whether n has committed all records of s in its WAL that it has to commit."""
        return not any(self.wal[n, s, o] and self.owes(n, s, o) for o in Offset)

    # Properties -----------------------------------------------------------------------------------------------

    def is_safe(self, s: Stream, o: Offset) -> bool:
        """Whether o is not acked, or covered, or in the WAL of a node that has to commit it."""
        return (
            self.acked_by[s, o] is None
            or self.covered[s, o]
            or any(self.wal[n, s, o] and self.owes(n, s, o) for n in Node)
        )

    @invariant
    def no_acked_loss(self) -> bool:
        """INV-02. What was acked and not trimmed is covered, or in the WAL of the node that has to commit it."""
        return all(all(self.is_safe(s, o) for o in Offset if o >= self.start_offset[s]) for s in Stream)

    @invariant
    def entry_is_durable(self) -> bool:
        """LV-01, LV-04. What an entry owes is in the WAL of its node: otherwise it never drains."""
        return all(
            self.wal[n, s, o]
            for n in Node
            for s in Stream
            for o in Offset
            if self.effective_from(n, s) <= o and o < self.entry_to[n, s]
        )

    @step
    def wal_is_kept(self, old: Self) -> bool:
        """INV-11. A record leaves a WAL when its node has it not to commit."""
        return all(
            not self.owes(n, s, o)
            for n in Node
            for s in Stream
            for o in Offset
            if old.wal[n, s, o] and not self.wal[n, s, o]
        )

    def replays(self, p: Proc, s: Stream, o: Offset) -> bool:
        """Whether the recovery of s by p uploads o. A recovery for an entry stops at the end of the entry."""
        ends = self.mode[p, s] == Mode.DRAINING and not self.uncapped_replay
        return self.wal[self.node_of[p], s, o] and (not ends or o < self.confirm_offset[p, s])

    @invariant
    def recovery_is_accepted(self) -> bool:
        """LV-01, LV-03. What a recovery has to upload is its node's to commit; otherwise it is refused for ever."""
        return all(
            self.covered[s, o] or self.owes(self.node_of[p], s, o)
            for p in Proc
            for s in Stream
            for o in Offset
            if self.recovers(p, s) and not self.barred(p) and self.replays(p, s, o) and self.start_offset[s] <= o
        )

    def serves(self, p: Proc) -> bool:
        """Whether p is the newest process of its node, and runs."""
        return self.reserved[p] and self.phase[p] != Phase.OFF

    def left_open(self, p: Proc, s: Stream) -> bool:
        """Whether p has taken over a node that has s open."""
        return (
            self.serves(p)
            and (self.phase[p] in (Phase.RESERVED, Phase.RECOVERING) or self.recovers(p, s))
            and self.lists(self.node_of[p], s)
        )

    @leads_to
    def crashed_streams_close(self, p: Proc, s: Stream) -> tuple[bool, bool]:
        """LV-01. What a node had open when a process takes over is CLOSED, unless yet another takes over."""
        return self.left_open(p, s), not self.left_open(p, s)

    @leads_to
    def entry_drains(self, p: Proc, s: Stream) -> tuple[bool, bool]:
        """LV-01, LV-04. What a node owes is committed or trimmed, unless its process halts or another takes over."""
        return self.serves(p) and self.has_entry(self.node_of[p], s), not (
            self.serves(p) and self.has_entry(self.node_of[p], s)
        )

    @leads_to
    def recovery_ends(self, p: Proc, s: Stream) -> tuple[bool, bool]:
        """LV-01. A process that recovers a stream finishes the recovery, unless another takes over."""
        return self.serves(p) and self.recovers(p, s), not self.serves(p) or not self.recovers(p, s)

    def acked(self, n: Node, s: Stream, o: Offset) -> bool:
        """Whether a process of n has acked o, and o is not trimmed."""
        return self.acked_by[s, o] == n

    # Witnesses ------------------------------------------------------------------------------------------------

    @witness
    def open_before_upload(self) -> bool:
        """The next owner has acked a record while the one before still has some to upload."""
        return any(
            self.acked(m, s, o) and self.end_offset[s] <= o and self.has_entry(n, s) and self.lists(m, s)
            for n in Node
            for m in Node
            for s in Stream
            for o in Offset
        )

    @witness
    def two_entries(self) -> bool:
        """Two nodes have entries on one stream."""
        return any(m != n and self.has_entry(n, s) and self.has_entry(m, s) for n in Node for m in Node for s in Stream)

    @witness
    def drained_out_of_order(self) -> bool:
        """What lies above an entry is committed before it."""
        return any(
            self.has_entry(n, s) and self.covered[s, o] and self.entry_to[n, s] <= o
            for n in Node
            for s in Stream
            for o in Offset
        )

    @witness
    def partly_drained(self) -> bool:
        """An entry is committed in part."""
        return any(
            self.has_entry(n, s) and self.covered[s, o] and o < self.entry_from[n, s]
            for n in Node
            for s in Stream
            for o in Offset
        )

    @witness
    def trimmed_into_an_entry(self) -> bool:
        """The new owner has trimmed away a part of an entry."""
        return any(self.has_entry(n, s) and self.entry_from[n, s] < self.start_offset[s] for n in Node for s in Stream)

    @witness
    def returned(self) -> bool:
        """A node that had an entry has it no more, and has the stream again."""
        return any(
            self.lists(n, s)
            and self.acked(n, s, o)
            and self.acked(n, s, x)
            and o < self.range_start[s]
            and self.range_start[s] <= x
            for n in Node
            for s in Stream
            for o in Offset
            for x in Offset
        )

    @witness
    def drained_by_a_worker(self) -> bool:
        """A worker has drained an entry while another node has the stream open."""
        return any(
            self.mode[p, s] == Mode.DRAINING and self.opened[s] and not self.has_entry(self.node_of[p], s)
            for p in Proc
            for s in Stream
        )
