"""Lemmas for the proof of `replica_reassignment`, beside its invariants. Every step keeps each of them.

They show that a list of replicas has a first member, an order and a length. `parts/replicas_proof.py` has the lemmas
about leaders and followers. With both, every safety property holds for any number of brokers and of overlapping starts.
A list in a request has one broker or two, as in the model; the union of overlapping lists may have any length.
"""

from __future__ import annotations

from holdfast.lang import count, lemma
from models.parts.replicas import Broker
from models.parts.replicas_proof import ReplicasProof
from models.replica_reassignment import ReplicaReassignment


class ReplicaReassignmentProof(ReplicaReassignment, ReplicasProof):
    """Replica reassignment with the lemmas that make its invariants inductive."""

    @lemma
    def list_has_head(self) -> bool:
        """One replica is the first, and is not being removed."""
        return any(self.is_first(n) and not self.removing[n] for n in Broker)

    @lemma
    def originals_have_head(self) -> bool:
        """CA-27. While a reassignment is running, one of the originals is the first."""
        return not self.in_progress() or any(
            self.original[n] and all(n == m or self.original_before[n, m] for m in Broker if self.original[m])
            for n in Broker
        )

    @lemma
    def orders_are_strict(self) -> bool:
        """Of two brokers, one precedes the other, not both."""
        return all(
            not (self.before[m, n] and self.before[n, m])
            and not (self.original_before[m, n] and self.original_before[n, m])
            for m in Broker
            for n in Broker
        )

    @lemma
    def leaderless_has_no_candidate(self) -> bool:
        """While a partition has no leader though unclean elections are allowed, no replica is active."""
        return (
            self.leader is not None or not self.unclean or not any(self.replica[n] and self.active[n] for n in Broker)
        )

    @lemma
    def lists_are_short(self) -> bool:
        """At most two replicas stay; at most two are originals. Without SP-12.unclean_order the proof needs this."""
        return (
            count(self.replica[n] and not self.removing[n] for n in Broker) <= 2
            and count(self.original[n] for n in Broker) <= 2
        )
