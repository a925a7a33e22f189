"""The controller's stream table and its operations, legacy rules (streams.md 2.1, 3, 5).

The helpers hold the rows that speak of streams; CK-01 stands in `nodes.py`, and a model's action calls both in the
order of the table. Objects are abstract: `covered` says which offsets some committed WAL upload contains. Of the
ranges the table keeps what INV-03 needs, the start of the current range and the sealed end of the one before it; the
current range's epoch is always the stream's, and its node is the stream's `owner`.
"""

from __future__ import annotations

from typing import Self

from holdfast.lang import Map, Model, Nat, Rel, Sort, init, invariant, require, rule, step
from models.parts.errors import E
from models.parts.nodes import Node


class Stream(Sort):
    """A stream. Its id is never reused (ID-01), so a deleted one stays missing."""


class Epoch(Nat):
    """A stream epoch. 0 stands for the -1 of a fresh stream; brokers open with 1 and above."""


class Offset(Nat):
    """A position in a stream."""


class StreamTable(Model):
    """Who may write a stream, and up to where it is committed."""

    exists: Rel[Stream]
    opened: Rel[Stream]
    epoch: Map[Stream, Epoch]
    owner: Map[Stream, Node | None]
    """The node of the current range; None while there is no range."""
    start_offset: Map[Stream, Offset]
    end_offset: Map[Stream, Offset]
    range_start: Map[Stream, Offset]
    """Where the current range starts."""
    sealed_end: Map[Stream, Offset | None]
    """Where the range before the current one ends; None if there is none, or trim has removed it."""
    covered: Rel[Stream, Offset]
    """Some committed WAL upload contains the offset."""

    @init
    def start_streams(self) -> None:
        """Every stream has been created (ST-02): epoch -1, CLOSED, empty, without a range."""
        self.exists.fill(True)
        self.opened.fill(False)
        self.epoch.fill(Epoch(0))
        self.owner.fill(None)
        self.start_offset.fill(Offset(0))
        self.end_offset.fill(Offset(0))
        self.range_start.fill(Offset(0))
        self.sealed_end.fill(None)
        self.covered.fill(False)

    # What properties and checks ask ---------------------------------------------------------------------------

    def owned_by(self, s: Stream, n: Node) -> bool:
        """Whether the current range of s is on n."""
        owner = self.owner[s]
        return owner is not None and owner == n

    def ranges_meet(self, s: Stream) -> bool:
        """Whether the range before the current one, if one is kept, ends where the current one starts."""
        sealed = self.sealed_end[s]
        return sealed is None or sealed == self.range_start[s]

    def check_ownership(self, s: Stream, e: Epoch, n: Node) -> None:
        """CK-02. The state is not looked at."""
        require(self.exists[s], "CK-02.missing", error=E.STREAM_NOT_EXIST)
        require(self.epoch[s] <= e, "CK-02.epoch_old", error=E.STREAM_FENCED)  # G-12
        require(self.epoch[s] >= e, "CK-02.epoch_new", error=E.STREAM_INNER_ERROR)  # G-12
        require(self.owner[s] is not None, "CK-02.no_range", error=E.STREAM_INNER_ERROR)
        require(self.owned_by(s, n), "CK-02.node", error=E.STREAM_FENCED)  # G-13

    # Operations -----------------------------------------------------------------------------------------------

    def open_stream(self, s: Stream, e: Epoch, n: Node) -> None:
        """ST-11 to ST-17, and ST-20 to ST-24 for an equal epoch. Fast close and locks (ST-15, 16, 22) are left out."""
        self.check_exists(s)
        require(self.epoch[s] <= e, "ST-12", error=E.STREAM_FENCED)  # G-01
        if rule("ST-13", self.epoch[s] == e):
            require(self.owner[s] is not None, "ST-20", error=E.STREAM_INNER_ERROR)
            require(self.owned_by(s, n), "ST-21", error=E.STREAM_FENCED)  # G-03
            self.opened[s] = True  # ST-24; an OPENED stream stays as it is, ST-23.
        else:
            self.open_anew(s, e, n)

    def check_exists(self, s: Stream) -> None:
        """ST-11. The first row of an open."""
        require(self.exists[s], "ST-11", error=E.STREAM_NOT_EXIST)

    def open_anew(self, s: Stream, e: Epoch, n: Node) -> None:
        """ST-14 and ST-17: an open with an epoch above the stream's."""
        require(not self.opened[s], "ST-14", error=E.STREAM_NOT_CLOSED)  # G-02
        self.begin_range(s, e, n)

    def begin_range(self, s: Stream, e: Epoch, n: Node) -> None:
        """ST-17. The new range is empty at the stream's end; the old one is sealed there.

        A range is recorded empty and its end is not rewritten by commits: unless it is sealed it still ends where it
        starts. No range is removed here, for ST-18 never removes the range that was current before the open.
        """
        if self.owner[s] is not None:
            self.sealed_end[s] = self.range_start[s]
            if rule("ST-17.seal"):  # G-06
                self.sealed_end[s] = self.end_offset[s]
        self.epoch[s] = e
        self.opened[s] = True
        self.owner[s] = n
        self.range_start[s] = self.end_offset[s]

    def close_stream(self, s: Stream) -> None:
        """ST-33, ST-36. The range is not sealed now but by the next open."""
        self.opened[s] = False

    def trim_stream(self, s: Stream, q: Offset) -> None:
        """ST-41 to ST-44. The new start may lie beyond the end, which it then lifts; an equal start changes nothing."""
        require(self.opened[s], "ST-41", error=E.STREAM_NOT_OPENED)  # G-18
        require(q >= self.start_offset[s], "ST-42", error=E.OFFSET_NOT_MATCHED)  # G-18
        if self.start_offset[s] != q:
            self.start_offset[s] = q
            if rule("ST-44.lift", q > self.end_offset[s]):  # G-19
                self.end_offset[s] = q
            # The range before goes if it ends here. (An empty one would stay; INV-03 reads the same.)
            sealed = self.sealed_end[s]
            if sealed is not None and sealed <= q:
                self.sealed_end[s] = None
            if self.range_start[s] < q:
                self.range_start[s] = q
            # No rule and no property looks at coverage below the start again.
            for o in Offset:
                if o < q:
                    self.covered[s, o] = False

    def delete_stream(self, s: Stream) -> None:
        """ST-50 to ST-52: neither node, epoch nor owner is checked. A missing stream is CLOSED, and stays missing."""
        require(not self.opened[s], "ST-51", error=E.STREAM_NOT_CLOSED)  # G-20
        self.exists[s] = False
        self.opened[s] = False
        self.epoch[s] = Epoch(0)
        self.owner[s] = None
        self.start_offset[s] = Offset(0)
        self.end_offset[s] = Offset(0)
        self.range_start[s] = Offset(0)
        self.sealed_end[s] = None
        for o in Offset:
            self.covered[s, o] = False

    def commit_range(self, s: Stream, a: Offset, b: Offset, n: Node) -> None:
        """CS-20, 21, 26 to 29b for the one range [a, b) of a WAL upload. That a < b is not checked (AM-06)."""
        if rule("CS-20", not self.exists[s]):
            return
        if rule("CS-21", b <= self.start_offset[s]):
            return
        require(self.opened[s], "CS-26", error=E.STREAM_NOT_OPENED)  # G-25
        require(self.owner[s] is not None, "CS-27", error=E.STREAM_INNER_ERROR)
        require(self.owned_by(s, n), "CS-28", error=E.STREAM_FENCED)  # G-26
        if self.end_offset[s] > self.start_offset[s]:
            require(a == self.end_offset[s], "CS-29a", error=E.OFFSET_NOT_MATCHED)  # G-27
        else:
            require(a <= self.start_offset[s], "CS-29b", error=E.OFFSET_NOT_MATCHED)
        for o in Offset:
            if a <= o and o < b and self.start_offset[s] <= o:
                self.covered[s, o] = True
        if b > self.end_offset[s]:  # ID-05
            self.end_offset[s] = b

    # Properties of the table itself ---------------------------------------------------------------------------

    @invariant
    def opened_has_range(self) -> bool:
        """INV-01. An OPENED stream exists and has a current range."""
        return all(self.exists[s] and self.owner[s] is not None for s in Stream if self.opened[s])

    @invariant
    def ranges_are_continuous(self) -> bool:
        """INV-03. A sealed range ends where the next one starts, and that is not beyond the stream's end."""
        return all(self.ranges_meet(s) and self.range_start[s] <= self.end_offset[s] for s in Stream)

    @step
    def epochs_grow(self, old: Self) -> bool:
        """INV-04. The epoch of a stream never decreases, and a change of owner increases it."""
        return all(
            self.epoch[s] >= old.epoch[s]
            and all(self.owned_by(s, n) or self.epoch[s] > old.epoch[s] for n in Node if old.owned_by(s, n))
            for s in Stream
            if self.exists[s]
        )

    @step
    def offsets_grow(self, old: Self) -> bool:
        """INV-05. Start and end of a stream never decrease."""
        return all(
            self.start_offset[s] >= old.start_offset[s] and self.end_offset[s] >= old.end_offset[s]
            for s in Stream
            if self.exists[s]
        )

    @invariant
    def start_within_end(self) -> bool:
        """INV-05. No stream starts above its end."""
        return all(self.start_offset[s] <= self.end_offset[s] for s in Stream)

    @invariant
    def no_hole(self) -> bool:
        """INV-07. Every offset from start to end is covered; fast close is left out."""
        return all(
            all(self.covered[s, o] for o in Offset if self.start_offset[s] <= o and o < self.end_offset[s])
            for s in Stream
        )

    @step
    def stands_still_when_closed(self, old: Self) -> bool:
        """ST-41, CS-26. Start and end of a CLOSED stream do not move; streams.md 20 has no invariant for it."""
        return all(
            self.start_offset[s] == old.start_offset[s] and self.end_offset[s] == old.end_offset[s]
            for s in Stream
            if self.exists[s] and not old.opened[s]
        )
