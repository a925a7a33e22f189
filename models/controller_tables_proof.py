"""Lemmas for the proof of `controller_tables`. Every step keeps each of them.

A stream that does not exist has no data, and no entry before its creation. The entries of a stream have no offset in
common, do not go beyond the end of the stream, and contain no offset that a committed object covers.
"""

from __future__ import annotations

from holdfast.lang import lemma
from models.controller_tables import ControllerTables
from models.parts.nodes import Node
from models.parts.streams import Offset, Stream
from models.parts.streams_proof import StreamTableProof


class ControllerTablesProof(StreamTableProof, ControllerTables):
    """ControllerTables with the lemmas that make its invariants inductive."""

    def in_entry(self, n: Node, s: Stream, o: Offset) -> bool:
        """Whether o is part of an entry of n."""
        return self.effective_from(n, s) <= o and o < self.entry_to[n, s]

    @lemma
    def existing_is_created(self) -> bool:
        """Only a stream whose id was given out exists."""
        return all(self.created[s] for s in Stream if self.exists[s])

    @lemma
    def missing_is_blank(self) -> bool:
        """A missing stream has no range and no data, and ends at 0."""
        return all(self.owner[s] is None and self.end_offset[s] == Offset(0) for s in Stream if not self.exists[s])

    @lemma
    def uncreated_has_no_entry(self) -> bool:
        """Nobody has an entry on a stream before its creation."""
        return all(self.entry_to[n, s] == Offset(0) for n in Node for s in Stream if not self.created[s])

    @lemma
    def entry_lies_below_end(self) -> bool:
        """No entry ends above the end of its stream."""
        return all(self.entry_to[n, s] <= self.end_offset[s] for n in Node for s in Stream if self.exists[s])

    @lemma
    def entry_is_uncovered(self) -> bool:
        """Nothing of an entry is covered."""
        return all(
            not self.covered[s, o]
            for n in Node
            for s in Stream
            for o in Offset
            if self.exists[s] and self.in_entry(n, s, o)
        )

    @lemma
    def entries_are_apart(self) -> bool:
        """No offset of an existing stream is part of two entries."""
        return all(
            m == n
            for m in Node
            for n in Node
            for s in Stream
            for o in Offset
            if self.exists[s] and self.in_entry(m, s, o) and self.in_entry(n, s, o)
        )
