"""Fast close at the controller: the stream table with entries, and the V6 rows of close and commit (streams.md 3, 5).

A fast close seals a range before all its data is uploaded. The node then gets an entry: it still has to commit the
offsets from `entry_from` to `entry_to` out of its WAL.

Commits of the node drain the entry, and so do trims. A trim does not rewrite the entry (ST-45); an entry whose offsets
are all trimmed is inactive, and the node's next commit removes it (CS-30).
"""

from __future__ import annotations

from typing import Self

from holdfast.lang import Map, init, invariant, require, rule, step
from models.parts.errors import E
from models.parts.nodes import Node
from models.parts.streams import Epoch, Offset, Stream, StreamTable


class EntryTable(StreamTable):
    """Who may write a stream, up to where it is sealed, and which nodes still have to commit sealed data."""

    entry_from: Map[tuple[Node, Stream], Offset]
    """The first offset that the node's entry on the stream has to commit; 0 if there is no entry (CS-34)."""
    entry_to: Map[tuple[Node, Stream], Offset]
    """The sealed end up to which the entry has to commit; 0 if there is no entry (CS-34)."""
    entry_epoch: Map[tuple[Node, Stream], Epoch]
    """The epoch of the range that was sealed with the entry; 0 if there is no entry."""
    range_end: Map[Stream, Offset]
    """The end in the record of the current range. Opens, trims and fast closes write it; commits do not."""

    @init
    def start_entries(self) -> None:
        """Nobody has an entry."""
        self.entry_epoch.fill(Epoch(0))
        self.range_end.fill(Offset(0))
        self.entry_from.fill(Offset(0))
        self.entry_to.fill(Offset(0))

    # What properties and checks ask ---------------------------------------------------------------------------

    def effective_from(self, n: Node, s: Stream) -> Offset:
        """The first offset that n's entry on s still has to commit. Trimmed offsets need no commit."""
        if self.entry_from[n, s] < self.start_offset[s]:
            return self.start_offset[s]
        return self.entry_from[n, s]

    def has_entry(self, n: Node, s: Stream) -> bool:
        """CK-03. Whether n has an active entry on s."""
        return self.effective_from(n, s) < self.entry_to[n, s]

    def lists(self, n: Node, s: Stream) -> bool:
        """ND-02. Whether s is OPENED and its current range is on n."""
        return self.opened[s] and self.owned_by(s, n)

    def owes(self, n: Node, s: Stream, o: Offset) -> bool:
        """Whether n has to commit o: by its entry, or as the owner of an OPENED stream that ends at or below o."""
        entry = self.effective_from(n, s) <= o and o < self.entry_to[n, s]
        return entry or (self.lists(n, s) and self.end_offset[s] <= o)

    # Operations -----------------------------------------------------------------------------------------------

    def open_range(self, s: Stream, e: Epoch, n: Node) -> None:
        """A new owner begins a range (ST-17). The record of the range says that it is empty, at the stream's end."""
        self.begin_range(s, e, n)
        self.range_end[s] = self.end_offset[s]

    def trim_range(self, s: Stream, q: Offset) -> None:
        """Offsets below q are given up (ST-41 to ST-44). If that cuts the current range, its record is rewritten.

        The new record ends at the stream's end.
        """
        moves = self.range_start[s] < q
        self.trim_stream(s, q)
        if moves:
            self.range_end[s] = self.end_offset[s]

    def seal(self, s: Stream, end: Offset, n: Node) -> None:
        """The owner n seals its range at `end` and gives the stream up, before it has uploaded all (ST-33 to ST-37).

        State, end, range and entry change in one atomic batch of records.
        """
        if rule("ST-33", not self.opened[s] and self.range_end[s] == end):  # G-16
            return
        require(self.opened[s], "ST-34", error=E.OFFSET_NOT_MATCHED)  # G-15
        require(self.end_offset[s] <= end, "ST-35", error=E.OFFSET_NOT_MATCHED)  # G-14
        self.opened[s] = False
        if rule("ST-37.entry", self.end_offset[s] < end):  # G-17
            self.entry_from[n, s] = self.end_offset[s]
            self.entry_to[n, s] = end
            self.entry_epoch[n, s] = self.epoch[s]
        if rule("ST-37.end"):  # G-17
            self.end_offset[s] = end
            self.range_end[s] = end

    def commit_range(self, s: Stream, a: Offset, b: Offset, n: Node) -> None:
        """A WAL upload of n commits [a, b) of s: as its entry owes it, or as the stream's owner (CS-21 to CS-29b).

        Then the entries of n are updated (CS-30 to CS-35).
        """
        start = self.start_offset[s]
        end = self.end_offset[s]
        first = self.effective_from(n, s)
        historical = self.has_entry(n, s)
        if rule("CS-21", b <= start):  # G-28
            pass
        elif historical:
            require(b <= self.entry_to[n, s], "CS-22", error=E.OFFSET_NOT_MATCHED)  # G-23
            # CS-24: the node formed the object before a trim moved the start into the entry.
            before_trim = self.entry_from[n, s] <= start and a < start
            require(a == first or before_trim, "CS-25", error=E.OFFSET_NOT_MATCHED)  # G-24
        else:
            require(self.opened[s], "CS-26", error=E.STREAM_NOT_OPENED)  # G-25
            require(self.owner[s] is not None, "CS-27", error=E.STREAM_INNER_ERROR)
            require(self.owned_by(s, n), "CS-28", error=E.STREAM_FENCED)  # G-26
            if end > start:
                require(a == end, "CS-29a", error=E.OFFSET_NOT_MATCHED)  # G-27
            else:
                require(a <= start, "CS-29b", error=E.OFFSET_NOT_MATCHED)
        for o in Offset:
            if a <= o and o < b and start <= o:
                self.covered[s, o] = True
        # A commit for an entry never moves the stream's end (CS-35): that is the new owner's.
        if historical and b > start:
            if rule("CS-33"):
                self.entry_from[n, s] = b  # If b is the entry's end, the entry is inactive now: CS-32 is CS-30.
        elif b > end:  # CS-06, CS-35
            self.end_offset[s] = b
        self.drop_inactive_entries(n)

    def drop_inactive_entries(self, n: Node) -> None:
        """CS-30. A WAL commit of n removes the inactive entries of n on all streams."""
        for t in Stream:
            if rule("CS-30", not self.has_entry(n, t)):  # G-31
                self.entry_from[n, t] = Offset(0)
                self.entry_to[n, t] = Offset(0)
                self.entry_epoch[n, t] = Epoch(0)

    # Properties -----------------------------------------------------------------------------------------------

    @invariant
    def no_hole(self) -> bool:
        """INV-07. Every offset from start to end is covered, or some node's entry has it."""
        return all(
            self.covered[s, o] or any(self.effective_from(n, s) <= o and o < self.entry_to[n, s] for n in Node)
            for s in Stream
            for o in Offset
            if self.start_offset[s] <= o and o < self.end_offset[s]
        )

    @invariant
    def entry_is_no_lease(self) -> bool:
        """INV-09. A node with an active entry on a stream is not the owner of it while it is OPENED."""
        return all(not self.lists(n, s) for n in Node for s in Stream if self.has_entry(n, s))

    @step
    def entries_only_drain(self, old: Self) -> bool:
        """INV-08. The end of an entry never changes, its start never decreases, and no close makes another of it."""
        return all(
            self.entry_to[n, s] == Offset(0)
            or (self.entry_to[n, s] == old.entry_to[n, s] and self.entry_from[n, s] >= old.entry_from[n, s])
            for n in Node
            for s in Stream
            if old.has_entry(n, s)
        )
