"""Lemmas about the leader and the followers of a partition, for the proofs of `replica_reassignment` and `kip_236`.

Every step of both models keeps each of them.
"""

from __future__ import annotations

from holdfast.lang import lemma
from models.parts.replicas import Broker, Replicas


class ReplicasProof(Replicas):
    """A partition with several replicas, and its lemmas."""

    @lemma
    def followers_have_a_leader(self) -> bool:
        """While a partition has no leader, no broker fetches, unless an unclean election could choose it."""
        return self.leader is not None or self.unclean or not any(self.fetches[n] for n in Broker)

    @lemma
    def followers_are_complete(self) -> bool:
        """A follower that has caught up, and goes on fetching, has all that was acked."""
        return all(self.complete[n] for n in Broker if self.fetches[n])

    @lemma
    def followers_are_replicas(self) -> bool:
        """Only replicas fetch. Without RA-47.replicas the proof needs this."""
        return all(self.replica[n] for n in Broker if self.fetches[n])

    @lemma
    def leader_is_active(self) -> bool:
        """A fenced broker does not lead."""
        return all(self.active[n] for n in Broker if self.led_by(n))

    @lemma
    def leaderless_is_fenced(self) -> bool:
        """While a partition has no leader, the ISR is one broker, and that broker is fenced."""
        return self.leader is not None or all(
            not self.active[n] and all(n == m for m in Broker if self.isr[m]) for n in Broker if self.isr[n]
        )
