"""Lemmas for the proof of `metadata_quorum`, beside its invariants."""

from __future__ import annotations

from holdfast.lang import lemma
from models.metadata_quorum import MetadataQuorum, Phase, Reply, Table
from models.parts.nodes import Node
from models.parts.streams import Epoch


class MetadataQuorumProof(MetadataQuorum):
    """MetadataQuorum with the lemmas that make its invariants inductive."""

    @lemma
    def tried_was_assigned(self) -> bool:
        """Nobody tries an epoch above the newest leader epoch."""
        return all(self.tried[n] <= self.leader_epoch for n in Node)

    @lemma
    def tried_by_one(self) -> bool:
        """PT-01. No two brokers try one epoch."""
        return all(m == n or self.tried[m] != self.tried[n] for n in Node for m in Node if self.tried[n] > Epoch(0))

    @lemma
    def epoch_was_assigned(self) -> bool:
        """No table has an epoch above the newest leader epoch."""
        return all(self.epoch[t] <= self.leader_epoch for t in Table)

    @lemma
    def memory_is_ahead(self) -> bool:
        """The memory has the committed epoch, or a later one."""
        return self.epoch[Table.COMMITTED] <= self.epoch[Table.MEMORY]

    @lemma
    def epoch_has_one_owner(self) -> bool:
        """Tables with one epoch have one owner."""
        return self.epoch[Table.MEMORY] != self.epoch[Table.COMMITTED] or (
            self.owner[Table.MEMORY] == self.owner[Table.COMMITTED]
        )

    @lemma
    def answer_is_awaited(self) -> bool:
        """The controller has an answer only for a broker that waits for one."""
        return all(self.phase[n] in (Phase.OPENING, Phase.CLOSING) for n in Node if self.answer[n] != Reply.NONE)

    @lemma
    def handle_is_committed(self) -> bool:
        """EX-01. The open of a broker with a handle is committed."""
        return all(self.leased(Table.COMMITTED, n) for n in Node if self.phase[n] == Phase.OPEN)

    @lemma
    def opener_has_the_epoch(self) -> bool:
        """While a broker opens, its epoch is in a table only if the stream is OPENED by it there."""
        return all(
            self.leased(t, n)
            for t in Table
            for n in Node
            if self.phase[n] == Phase.OPENING and self.epoch[t] == self.tried[n]
        )

    @lemma
    def answered_open_is_granted(self) -> bool:
        """An open with an answer is granted, and committed if the answer is sent."""
        return all(
            self.leased(Table.MEMORY, n) and (self.answer[n] == Reply.WAITING or self.leased(Table.COMMITTED, n))
            for n in Node
            if self.phase[n] == Phase.OPENING and self.answer[n] != Reply.NONE
        )

    @lemma
    def answered_close_is_done(self) -> bool:
        """A close with an answer is done, and committed if the answer is sent."""
        return all(
            not self.leased(Table.MEMORY, n)
            and (self.answer[n] == Reply.WAITING or not self.leased(Table.COMMITTED, n))
            for n in Node
            if self.phase[n] == Phase.CLOSING and self.answer[n] != Reply.NONE
        )
