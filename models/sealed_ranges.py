"""The sealed ranges of one stream, and how a reader finds data by them.

A range names a node (streams.md 1, 3, 6, 12). A reader looks for an offset in the stream objects, and else asks the
range that contains it for a node, and looks in the objects of that node. A node may own several ranges, one after the
other. It may close the stream above its committed data (a fast close); it has an entry then, for what it still has to
upload. If the node crashes, a recovery uploads that part of its WAL, and drops the rest.

While a node is locked (ND-20), nothing is uploaded from its WAL.

Left out: trims and deletes; epochs and late requests (`ownership`); WALs, and the recovery of an OPENED stream
(`stream_log`); that the objects which cover a removed range follow the first one without a gap (ST-18).

Where this differs from streams.md:

- G-05: ST-16 looks at the current owner alone. If an earlier owner is locked and has an entry, the next open succeeds,
  and its data is not readable while the node is locked (`locked_behind`).
"""

from __future__ import annotations

from typing import Self

from holdfast.lang import Map, Model, Nat, Rel, Scope, action, init, invariant, require, rule, step, witness
from models.parts.errors import E
from models.parts.nodes import Node
from models.parts.streams import Offset


class RangeIndex(Nat):
    """The number of a range. Each open counts one up."""


class SealedRanges(Model):
    """The ranges of one stream, and the places of its data."""

    opened: bool
    """The stream is OPENED; otherwise it is CLOSED."""
    end_offset: Offset
    """The end of the stream."""
    current: RangeIndex
    """The index of the current range."""
    kept: Rel[RangeIndex]
    """The range exists, and has not been removed."""
    owner: Map[RangeIndex, Node]
    """The node of the range."""
    range_start: Map[RangeIndex, Offset]
    """Where the range starts."""
    range_end: Map[RangeIndex, Offset]
    """Where the record of the range says that it ends: at its start, until a fast close or the next open seals it."""
    entry_from: Map[Node, Offset]
    """Where the entry of the node starts."""
    entry_to: Map[Node, Offset]
    """Where the entry of the node ends. The entry is active while this lies above its start."""
    in_set: Rel[Node, Offset]
    """A stream set object of the node contains the offset."""
    in_object: Rel[Offset]
    """A stream object contains the offset."""
    locked: Rel[Node]
    """The node is locked."""

    tiny = Scope({Node: 2, RangeIndex: 2, Offset: 2}, budgets={"lock": 2})
    default = Scope({Node: 2, RangeIndex: 3, Offset: 3}, budgets={"lock": 2})
    deep = Scope({Node: 3, RangeIndex: 24, Offset: 32}, depth=200)

    @init
    def start_opened(self, n: Node) -> None:
        """A node has opened the stream for the first time, and has written nothing."""
        self.opened = True
        self.end_offset = Offset(0)
        self.current = RangeIndex(0)
        for r in RangeIndex:
            self.kept[r] = r == RangeIndex(0)
        self.owner.fill(n)
        self.range_start.fill(Offset(0))
        self.range_end.fill(Offset(0))
        self.entry_from.fill(Offset(0))
        self.entry_to.fill(Offset(0))
        self.in_set.fill(False)
        self.in_object.fill(False)
        self.locked.fill(False)

    # What properties and checks ask ---------------------------------------------------------------------------

    def has_entry(self, n: Node) -> bool:
        """CK-03. Whether the node has an active entry."""
        return self.entry_from[n] < self.entry_to[n]

    def owes(self, n: Node, x: Offset) -> bool:
        """Whether the node still has to upload the offset."""
        return self.entry_from[n] <= x and x < self.entry_to[n]

    def readable(self, x: Offset) -> bool:
        """MD-01. Whether a reader finds the offset. The current range has no end for a reader."""
        return self.in_object[x] or any(
            self.kept[r]
            and self.range_start[r] <= x
            and (x < self.range_end[r] or r == self.current)
            and self.in_set[self.owner[r], x]
            for r in RangeIndex
        )

    def matches(self, n: Node, r: RangeIndex) -> bool:
        """ND-03. Whether the range is the one of the node's entry."""
        inside = self.range_start[r] <= self.entry_from[n] and self.entry_from[n] < self.range_end[r]
        return self.kept[r] and self.owner[r] == n and inside and self.range_end[r] == self.entry_to[n]

    def spare(self, r: RangeIndex) -> bool:
        """ST-18. Whether stream objects contain all of the range, as far as its record says; an empty one is spare."""
        return all(self.in_object[x] for x in Offset if self.range_start[r] <= x and x < self.range_end[r])

    @action
    def commit(self, n: Node, b: Offset) -> None:
        """The node uploads up to b what it owes, or else what it has appended as the owner (CS-22 to CS-33)."""
        if self.locked[n]:
            return
        first = self.entry_from[n] if self.has_entry(n) else self.end_offset
        require(first < b, "AM-06")
        if self.has_entry(n):
            require(b <= self.entry_to[n], "CS-22", error=E.OFFSET_NOT_MATCHED)
            self.entry_from[n] = b
        else:
            require(self.opened and self.owner[self.current] == n, "CS-28", error=E.STREAM_FENCED)
            self.end_offset = b
        for x in Offset:
            if first <= x and x < b:
                self.in_set[n, x] = True

    @action
    def split(self, n: Node, x: Offset) -> None:
        """A compaction of the node moves the data at x to a stream object (CP-01)."""
        if self.in_set[n, x]:
            self.in_set[n, x] = False
            self.in_object[x] = True

    @action
    def close(self, b: Offset, fast: bool) -> None:
        """The owner closes the stream: at its end without a record of the range (ST-36), or at b (ST-37)."""
        require(self.opened, "ST-33")
        self.opened = False
        if fast and self.end_offset <= b:
            self.range_end[self.current] = b
            self.entry_from[self.owner[self.current]] = self.end_offset
            self.entry_to[self.owner[self.current]] = b
            self.end_offset = b

    @action
    def recover(self, n: Node, r: RangeIndex) -> None:
        """The node crashes. Its recovery uploads the rest of the sealed range r, and drops the rest of the WAL."""
        if self.locked[n]:
            return
        require(self.matches(n, r), "ND-03", error=E.STREAM_INNER_ERROR)  # G-34
        for x in Offset:
            if self.owes(n, x) and x < self.range_end[r]:
                self.in_set[n, x] = True
        self.entry_from[n] = Offset(0)
        self.entry_to[n] = Offset(0)

    @action
    def open(self, n: Node, r: RangeIndex) -> None:
        """A node opens the CLOSED stream, with the next range r (ST-14 to ST-18)."""
        require(not self.opened, "ST-14", error=E.STREAM_NOT_CLOSED)
        require(not self.has_entry(n), "ST-15", error=E.STREAM_NOT_CLOSED)
        require(not self.locked[self.owner[self.current]] or self.owner[self.current] == n, "ST-16")  # G-05
        require(r == self.current + 1, "ST-17.next")
        # Which ranges go is judged by their records, before the current one is sealed.
        for q in RangeIndex:
            if rule("ST-18.current", q == self.current):  # G-07
                pass
            elif rule("ST-18.covered", not self.spare(q)):
                pass
            else:
                self.kept[q] = False
        if rule("ST-17.seal"):
            self.range_end[self.current] = self.end_offset
        self.kept[r] = True
        self.owner[r] = n
        self.range_start[r] = self.end_offset
        self.range_end[r] = self.end_offset
        self.current = r
        self.opened = True

    @action
    def lock(self, n: Node, trips: bool) -> None:
        """The circuit breaker of a node trips and locks it, or it closes again."""
        self.locked[n] = trips

    # Properties -----------------------------------------------------------------------------------------------

    @invariant
    def no_hole(self) -> bool:
        """INV-07. A reader finds each offset of the stream, or some node still has to upload it."""
        return all(self.readable(x) or any(self.owes(n, x) for n in Node) for x in Offset if x < self.end_offset)

    @invariant
    def entry_matches_one_range(self) -> bool:
        """INV-08. An active entry matches exactly one range of its node."""
        return all(
            any(self.matches(n, r) and not any(self.matches(n, q) for q in RangeIndex if q != r) for r in RangeIndex)
            for n in Node
            if self.has_entry(n)
        )

    @invariant
    def ranges_are_apart(self) -> bool:
        """INV-03. A range ends where a later one starts, or below."""
        return all(
            self.range_end[q] <= self.range_start[r] or not self.kept[q] or not self.kept[r]
            for r in RangeIndex
            for q in RangeIndex
            if q < r
        )

    @step(of="open")
    def opened_when_closed(self, old: Self) -> bool:
        """INV-01. An open finds the stream CLOSED."""
        return not old.opened

    @step(of="open")
    def opens_readable(self, old: Self) -> bool:
        """LV-07. When a node opens, the data of the owner before it does not wait for a locked node."""
        before = old.owner[old.current]
        return not old.locked[before] or not old.has_entry(before)

    # Witnesses ------------------------------------------------------------------------------------------------

    @witness
    def two_sealed_ranges(self) -> bool:
        """A node has an entry on one range, and data in an earlier one that is kept."""
        return any(
            self.has_entry(n)
            and self.kept[q]
            and self.owner[q] == n
            and self.range_start[q] < self.range_end[q]
            and self.range_end[q] <= self.entry_from[n]
            for n in Node
            for q in RangeIndex
        )

    @witness
    def removed(self) -> bool:
        """A range with data has been removed."""
        return any(
            not self.kept[q] and q < self.current and self.range_start[q] < self.range_end[q] for q in RangeIndex
        )

    @witness
    def locked_behind(self) -> bool:
        """ST-16. A locked node has an entry on a CLOSED stream, and anybody may open it: another node owned it last."""
        last = self.owner[self.current]
        return not self.opened and not self.locked[last] and any(self.locked[n] and self.has_entry(n) for n in Node)
