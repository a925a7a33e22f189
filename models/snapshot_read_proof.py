"""Lemmas for the proof of `snapshot_read`, beside its invariants. Every step keeps each of them."""

from __future__ import annotations

from holdfast.lang import lemma
from models.parts.channels import Main
from models.parts.streams import Offset
from models.snapshot_read import Poll, SnapshotRead


class SnapshotReadProof(SnapshotRead):
    """The read path with the lemmas that make its invariants inductive."""

    @lemma
    def log_in_order(self) -> bool:
        """What is uploaded was in the log cache, what is there was confirmed, and what is confirmed was appended."""
        return self.uploaded <= self.cached and self.cached <= self.confirmed and self.confirmed <= self.appended

    @lemma
    def cached_is_confirmed(self) -> bool:
        """Outside ZG-7 the log cache has all that is confirmed."""
        return self.cached == self.confirmed

    @lemma
    def replays_what_is_confirmed(self) -> bool:
        """The reader replays up to the end in the last answer, and that is confirmed."""
        return all(self.position[m] <= self.wal_end[m] and self.wal_end[m] <= self.confirmed for m in Main)

    @lemma
    def answered_is_confirmed(self) -> bool:
        """The end in an answer is confirmed, and no snapshot reaches beyond the log."""
        return all(
            self.snapshot_end[m] <= (self.confirmed if self.poll[m] == Poll.ANSWERED else self.appended) for m in Main
        )

    @lemma
    def waiting_has_no_snapshot(self) -> bool:
        """While its request waits, a main holds no snapshot, and the reader has replayed all."""
        return all(
            self.snapshot_epoch[m] is None and self.snapshot_end[m] == Offset(0)
            for m in Main
            if self.poll[m] == Poll.WAITING
        )
