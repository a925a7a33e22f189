"""The controller's stream table and its operations, by the legacy rules (streams.md 2.1, 3, 5).

A helper holds the rows of a rule table that concern streams. CK-01 concerns node epochs and stands in `nodes.py`. An
action of a model calls both, in the order of the rule table.

The table abstracts from two things:

- Objects: `covered` says which offsets some committed WAL upload contains.
- Ranges: the table keeps only what INV-03 needs, which is the start of the current range and the sealed end of the
  range before it. The epoch of the current range is always the stream's epoch, and its node is the stream's `owner`.
"""

from __future__ import annotations

from typing import Self

from holdfast.lang import Map, Model, Nat, Rel, Sort, init, invariant, require, rule, step
from models.parts.errors import E
from models.parts.nodes import Node


class Stream(Sort):
    """A stream. Its id is never reused (ID-01), so a deleted stream stays missing."""


class Epoch(Nat):
    """A stream epoch. 0 stands for the -1 of a fresh stream; brokers open with 1 and above."""


class Offset(Nat):
    """A position in a stream."""


class StreamTable(Model):
    """Who may write a stream, and up to where it is committed."""

    exists: Rel[Stream]
    """The stream has been created, and has not been deleted."""
    opened: Rel[Stream]
    """The stream is OPENED: its owner may commit to it and trim it. Otherwise it is CLOSED."""
    epoch: Map[Stream, Epoch]
    """The epoch of the newest open; 0 for a stream that nobody has opened."""
    owner: Map[Stream, Node | None]
    """The node of the current range; None while there is no range."""
    start_offset: Map[Stream, Offset]
    """The first offset that is not trimmed."""
    end_offset: Map[Stream, Offset]
    """The logical end (ID-04): the owner's next commit starts here, and so do the appends of the next owner."""
    range_start: Map[Stream, Offset]
    """Where the current range starts."""
    sealed_end: Map[Stream, Offset | None]
    """Where the range before the current one ends; None if there is none, or trim has removed it."""
    covered: Rel[Stream, Offset]
    """Some committed WAL upload contains the offset."""

    @init
    def start_streams(self) -> None:
        """Every stream has just been created (ST-02): it has epoch -1, is CLOSED and empty, and has no range."""
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
        return self.owner[s] == n

    def ranges_meet(self, s: Stream) -> bool:
        """Whether the range before the current one, if one is kept, ends where the current one starts."""
        sealed = self.sealed_end[s]
        return sealed is None or sealed == self.range_start[s]

    def check_ownership(self, s: Stream, e: Epoch, n: Node) -> None:
        """CK-02. Only the owner may change the stream, under its epoch, whether the stream is OPENED or CLOSED."""
        require(self.exists[s], "CK-02.missing", error=E.STREAM_NOT_EXIST)
        require(self.epoch[s] <= e, "CK-02.epoch_old", error=E.STREAM_FENCED)  # G-12
        require(self.epoch[s] >= e, "CK-02.epoch_new", error=E.STREAM_INNER_ERROR)  # G-12
        require(self.owner[s] is not None, "CK-02.no_range", error=E.STREAM_INNER_ERROR)
        require(self.owned_by(s, n), "CK-02.node", error=E.STREAM_FENCED)  # G-13

    # Operations -----------------------------------------------------------------------------------------------

    def open_stream(self, s: Stream, e: Epoch, n: Node) -> None:
        """Node n asks to open s under epoch e: ST-11 to ST-17, and ST-20 to ST-24 for an equal epoch.

        Fast close and node locks (ST-15, ST-16, ST-22) are left out.
        """
        self.check_exists(s)
        require(self.epoch[s] <= e, "ST-12", error=E.STREAM_FENCED)  # G-01
        if rule("ST-13", self.epoch[s] == e):
            require(self.owner[s] is not None, "ST-20", error=E.STREAM_INNER_ERROR)
            require(self.owned_by(s, n), "ST-21", error=E.STREAM_FENCED)  # G-03
            self.opened[s] = True  # ST-24; an OPENED stream stays as it is, ST-23.
        else:
            self.open_anew(s, e, n)

    def check_exists(self, s: Stream) -> None:
        """ST-11. Nobody opens a stream that does not exist."""
        require(self.exists[s], "ST-11", error=E.STREAM_NOT_EXIST)

    def open_anew(self, s: Stream, e: Epoch, n: Node) -> None:
        """A new owner gets the stream under a higher epoch, once it is CLOSED (ST-14, ST-17)."""
        require(not self.opened[s], "ST-14", error=E.STREAM_NOT_CLOSED)  # G-02
        self.begin_range(s, e, n)

    def begin_range(self, s: Stream, e: Epoch, n: Node) -> None:
        """ST-17. The new range starts at the stream's end, and is empty. The old range is sealed there.

        The record of a new range says that it is empty, and no commit rewrites its end. So a range that is not sealed
        still ends where it starts. ST-18 removes no range here: it never removes the one before the new range.
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
        """The owner gives the stream up (ST-33, ST-36). Its range is not sealed now; the next open seals it (ST-17)."""
        self.opened[s] = False

    def trim_stream(self, s: Stream, q: Offset) -> None:
        """Offsets below q are given up (ST-41 to ST-44). An equal start changes nothing; one above the end lifts it."""
        require(self.opened[s], "ST-41", error=E.STREAM_NOT_OPENED)  # G-18
        require(q >= self.start_offset[s], "ST-42", error=E.OFFSET_NOT_MATCHED)  # G-18
        if self.start_offset[s] != q:
            self.start_offset[s] = q
            if rule("ST-44.lift", q > self.end_offset[s]):  # G-19
                self.end_offset[s] = q
            # The range before the current one is removed if it ends at q or below. (The controller would keep an
            # empty one; INV-03 has the same value either way.)
            sealed = self.sealed_end[s]
            if sealed is not None and sealed <= q:
                self.sealed_end[s] = None
            if self.range_start[s] < q:
                self.range_start[s] = q
            # No rule and no property reads coverage below the start again. Clearing it merges equal states.
            for o in Offset:
                if o < q:
                    self.covered[s, o] = False

    def delete_stream(self, s: Stream) -> None:
        """Anybody may delete a CLOSED stream: no node, epoch or owner is checked (ST-50 to ST-52).

        A missing stream is CLOSED, so that its deletion succeeds and changes nothing (ST-50).
        """
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
        """A WAL upload of n commits the offsets [a, b) of s (CS-20, CS-21, CS-26 to CS-29b).

        The controller does not check that a < b (AM-06).
        """
        # Data that nobody can read any more is accepted without effect. Otherwise it would be refused for ever, and
        # with it the whole object.
        if rule("CS-20", not self.exists[s]):
            return
        if rule("CS-21", b <= self.start_offset[s]):
            return
        require(self.opened[s], "CS-26", error=E.STREAM_NOT_OPENED)  # G-25
        require(self.owner[s] is not None, "CS-27", error=E.STREAM_INNER_ERROR)
        require(self.owned_by(s, n), "CS-28", error=E.STREAM_FENCED)  # G-26
        # An empty stream may have been trimmed into the middle of this object: then the object may start below.
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
