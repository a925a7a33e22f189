"""Lemmas about the stream table, for the proofs of all models that have one. Every operation keeps each of them."""

from __future__ import annotations

from holdfast.lang import lemma
from models.parts.streams import Offset, Stream, StreamTable


class StreamTableProof(StreamTable):
    """The stream table and its lemmas."""

    @lemma
    def unowned_is_unsealed(self) -> bool:
        """No range was sealed before the first one."""
        return all(self.sealed_end[s] is None for s in Stream if self.owner[s] is None)

    @lemma
    def covered_below_end(self) -> bool:
        """Nothing at or above the end of a stream is covered."""
        return all(all(o < self.end_offset[s] for o in Offset if self.covered[s, o]) for s in Stream)
