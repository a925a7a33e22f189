"""The lemma for the proof of `reassignment_batch`, beside its invariants. Every step keeps it."""

from __future__ import annotations

from holdfast.lang import lemma
from models.parts.partitions import Partition
from models.reassignment_batch import Plan, ReassignmentBatch, Row


class ReassignmentBatchProof(ReassignmentBatch):
    """Plans with the lemma that makes their invariant inductive."""

    @lemma
    def rows_wait_together(self) -> bool:
        """While one row of a plan has not been handled, none has, and none is lost."""
        return all(
            self.row[r, q] in (Row.NONE, Row.SENT)
            for r in Plan
            for p in Partition
            for q in Partition
            if self.row[r, p] == Row.SENT
        )
