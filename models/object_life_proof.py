"""Lemmas for the proof of `object_life`, beside its invariants. Every step keeps each of them.

A committed WAL upload contains each offset below the next one to upload, and none above. The output of a compaction
contains all that its inputs contain.
"""

from __future__ import annotations

from holdfast.lang import lemma
from models.object_life import ObjectLife
from models.parts.objects import Life, Object
from models.parts.streams import Offset


class ObjectLifeProof(ObjectLife):
    """Objects with the lemmas that make their invariants inductive."""

    @lemma
    def entry_ends_the_stream(self) -> bool:
        """An active entry ends where the stream ends."""
        return not self.has_entry() or self.entry_to == self.end_offset

    @lemma
    def next_is_not_uploaded(self) -> bool:
        """No committed upload contains an offset that the node still has to upload."""
        return all(
            not self.uploaded[x] for x in Offset if self.end_offset <= x or (self.entry_from <= x and x < self.entry_to)
        )

    @lemma
    def output_contains_its_inputs(self) -> bool:
        """The output of a compaction contains what its inputs contain, and that is uploaded."""
        return all(
            (self.contains[o, x] or not self.contains[i, x]) and (self.uploaded[x] or not self.contains[o, x])
            for o in Object
            for i in Object
            for x in Offset
            if self.compacts[o, i]
        )

    @lemma
    def output_is_written(self) -> bool:
        """The output of a compaction has been written."""
        return all(self.end[o] > Offset(0) for o in Object if self.is_output(o))

    @lemma
    def input_was_committed(self) -> bool:
        """An input of a compaction is committed, or was so before it was marked destroyed."""
        return all(
            self.life[i] not in (Life.UNINITIALIZED, Life.PREPARED)
            for o in Object
            for i in Object
            if self.compacts[o, i]
        )

    @lemma
    def upload_is_not_empty(self) -> bool:
        """A WAL upload that has been written ends above its first offset."""
        return all(self.begin[o] < self.end[o] for o in Object if not self.is_output(o) and self.end[o] > Offset(0))

    @lemma
    def upload_is_an_interval(self) -> bool:
        """A WAL upload contains the offsets from its first one to its end."""
        return all(
            self.contains[o, x] == (self.begin[o] <= x and x < self.end[o])
            for o in Object
            for x in Offset
            if not self.is_output(o)
        )
