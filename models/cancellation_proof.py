"""Lemmas about the marker of a move, for the proof of `cancellation`, beside the lemmas of `reassignment`."""

from __future__ import annotations

from holdfast.lang import lemma
from models.cancellation import Cancellation
from models.reassignment_proof import ReassignmentProof


class CancellationProof(Cancellation, ReassignmentProof):
    """Cancellation with the lemmas that make its invariants inductive."""

    @lemma
    def marker_is_of_a_start(self) -> bool:
        """No marker is of a leader epoch that there was not."""
        return self.moved_under <= self.leader_epoch

    @lemma
    def record_of_a_start_elects_nobody(self) -> bool:
        """Nobody leads under the leader epoch of a start."""
        return self.moved_under != self.leader_epoch or self.leader is None
