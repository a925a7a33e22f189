"""Lemmas for the proof of `sealed_ranges`, beside its invariants. Every step keeps each of them."""

from __future__ import annotations

from holdfast.lang import lemma
from models.parts.nodes import Node
from models.parts.streams import Offset
from models.sealed_ranges import RangeIndex, SealedRanges


class SealedRangesProof(SealedRanges):
    """The ranges of a stream with the lemmas that make their invariants inductive."""

    @lemma
    def current_is_newest(self) -> bool:
        """The current range exists, and no range has a larger index."""
        return self.kept[self.current] and all(not self.kept[r] for r in RangeIndex if r > self.current)

    @lemma
    def ranges_lie_in_the_stream(self) -> bool:
        """No range starts above its end, or ends above the end of the stream."""
        return all(
            self.range_start[r] <= self.range_end[r] and self.range_end[r] <= self.end_offset
            for r in RangeIndex
            if self.kept[r]
        )

    @lemma
    def nothing_above_the_end(self) -> bool:
        """No object contains, and no node has to upload, an offset above the end of the stream."""
        return all(
            ((not self.in_set[n, x] and not self.in_object[x]) or x < self.end_offset)
            and self.entry_to[n] <= self.end_offset
            for n in Node
            for x in Offset
        )

    @lemma
    def owed_is_not_uploaded(self) -> bool:
        """What a node has to upload is in no object."""
        return all(
            not self.in_object[x] and not self.in_set[m, x]
            for n in Node
            for m in Node
            for x in Offset
            if self.owes(n, x)
        )

    @lemma
    def last_owners_entry_ends_the_stream(self) -> bool:
        """If the last owner has an active entry, it ends where the stream ends, and where the current range ends."""
        return all(
            self.entry_to[n] == self.end_offset and self.range_end[self.current] == self.end_offset
            for n in Node
            if self.has_entry(n) and self.owner[self.current] == n
        )

    @lemma
    def owner_of_open_stream_has_no_entry(self) -> bool:
        """The owner of an OPENED stream has no active entry."""
        return not self.opened or not self.has_entry(self.owner[self.current])
