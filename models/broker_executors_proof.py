"""The lemma for the proof of `broker_executors`, beside its invariants. Every step keeps it."""

from __future__ import annotations

from holdfast.lang import lemma
from models.broker_executors import BrokerExecutors
from models.parts.nodes import Node
from models.parts.partitions import Partition
from models.parts.threads import Thread


class BrokerExecutorsProof(BrokerExecutors):
    """Brokers and their threads, with the lemma that makes RA-11 inductive."""

    @lemma
    def one_thread_a_broker(self) -> bool:
        """No two threads of a broker work on one partition."""
        return all(
            not self.does(n, u, p) or u == t
            for n in Node
            for t in Thread
            for u in Thread
            for p in Partition
            if self.does(n, t, p)
        )
