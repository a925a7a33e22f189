"""Lemmas for the proof of `kip_236`, beside its invariants. Every step keeps each of them.

They show that no unclean election is allowed, when originals are stored, and what holds after each step of a rollback.
`parts/replicas_proof.py` has the lemmas about leaders and followers. With both, every safety property holds for any
number of brokers, of lists in the queue, of rollbacks and of crashes. A list in a request has one broker or two, as in
the model.
"""

from __future__ import annotations

from holdfast.lang import lemma
from models.kip_236 import Kip236, Step
from models.parts.replicas import Broker
from models.parts.replicas_proof import ReplicasProof


class Kip236Proof(Kip236, ReplicasProof):
    """KIP-236 with the lemmas that make its invariants inductive."""

    @lemma
    def no_unclean_election(self) -> bool:
        """The topic allows no unclean election."""
        return not self.unclean

    @lemma
    def originals_have_an_entry(self) -> bool:
        """Originals are stored only as part of a pending entry."""
        return self.entry or not any(self.original[n] for n in Broker)

    @lemma
    def rollback_has_originals(self) -> bool:
        """During a rollback the entry is pending, and its originals are stored."""
        return self.done == Step.IDLE or (self.entry and any(self.original[n] for n in Broker))

    @lemma
    def original_stays_in_sync(self) -> bool:
        """After C1 an original is in the ISR, so that C3 does not empty the ISR."""
        return self.done != Step.LED or any(self.original[n] and self.isr[n] for n in Broker)

    @lemma
    def original_leads(self) -> bool:
        """During a rollback the leader, if any, is an original, and has heard that only originals are replicas."""
        return self.done == Step.IDLE or all(self.original[n] and self.told for n in Broker if self.led_by(n))

    @lemma
    def dropped_do_not_fetch(self) -> bool:
        """During a rollback only originals fetch."""
        return self.done == Step.IDLE or all(self.original[n] for n in Broker if self.fetches[n])

    @lemma
    def dropped_are_out_of_sync(self) -> bool:
        """After C3 the ISR has only originals."""
        return self.done in (Step.IDLE, Step.LED) or all(self.original[n] for n in Broker if self.isr[n])

    @lemma
    def originals_are_restored(self) -> bool:
        """After C5 the replicas are the originals, in their order."""
        return self.done != Step.STORED or (
            all(self.replica[n] == self.original[n] for n in Broker)
            and all(self.before[m, n] == self.original_before[m, n] for m in Broker for n in Broker)
        )
