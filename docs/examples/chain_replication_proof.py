"""The lemmas that prove chain replication, for any number of nodes and updates and logs of any length."""

from __future__ import annotations

from chain_replication import ChainReplication, Node

from holdfast.lang import lemma


class Lemmas(ChainReplication):
    """Chain replication with its lemmas."""

    @lemma
    def passed_is_had(self) -> bool:
        """What a node has handed on is what its successor has."""
        return all(
            self.passed[m] == len(self.log[n])
            for m in Node for n in Node if self.up[m] and self.up[n] and m < n and self.after(m) == n
        )  # fmt: skip

    @lemma
    def acknowledged_is_had(self) -> bool:
        """A node knows no more acknowledged than a later node does, and than what it has."""
        return all(self.acked[n] <= len(self.log[n]) for n in Node if self.up[n]) and all(
            self.acked[m] <= self.acked[n] for m in Node for n in Node if m < n and self.up[m] and self.up[n]
        )
