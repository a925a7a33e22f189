"""Lemmas for the proof of `routed_produce`, beside its invariants. Every step keeps each of them. They show in turn:

- The write context of a thread is set only while the append of its record occupies this thread.
- The records of one connection leave each stage before the append in the order in which the proxy received them.
- A batch has a second attempt only after the proxy has given up the first one.
"""

from __future__ import annotations

from holdfast.lang import lemma
from models.parts.produce_requests import Answer, Phase, Producer, Record
from models.parts.threads import Thread
from models.routed_produce import RoutedProduce


class RoutedProduceProof(RoutedProduce):
    """RoutedProduce with the lemmas that make its invariants inductive."""

    # Threads --------------------------------------------------------------------------------------------------

    @lemma
    def thread_runs_an_append(self) -> bool:
        """A thread is occupied by an append that has begun and does not wait for a check."""
        return all(
            self.phase[r] in (Phase.STARTED, Phase.RESUMED, Phase.APPENDED)
            for r in Record
            for t in Thread
            if self.is_run_by(r, t)
        )

    @lemma
    def one_thread(self) -> bool:
        """An append occupies one thread at most."""
        return all(
            t == u for r in Record for t in Thread for u in Thread if self.is_run_by(r, t) and self.is_run_by(r, u)
        )

    @lemma
    def context_is_of_its_append(self) -> bool:
        """A write context is that of the append on its thread, which has not appended the batch yet."""
        return all(
            self.runs[t] == self.context[t]
            and any(self.is_run_by(r, t) and self.phase[r] != Phase.APPENDED for r in Record)
            for t in Thread
            if self.context[t] is not None
        )

    # Order ----------------------------------------------------------------------------------------------------

    @lemma
    def free_has_no_place(self) -> bool:
        """A free record has no place in the order of a connection."""
        return all(
            not self.ahead[r, q] and not self.ahead[q, r] for r in Record for q in Record if self.phase[r] == Phase.FREE
        )

    @lemma
    def order_is_of_a_connection(self) -> bool:
        """Only records of one connection have an order."""
        return all(self.connection[r] == self.connection[q] for r in Record for q in Record if self.ahead[r, q])

    @lemma
    def started_on_its_loop(self) -> bool:
        """An append that has begun occupies the append loop of its order hint, until it waits or has appended."""
        return all(
            any(self.is_run_by(r, t) and self.is_loop_of(self.connection[r], t) for t in Thread)
            for r in Record
            if self.phase[r] == Phase.STARTED
        )

    @lemma
    def arrives_in_order(self) -> bool:
        """Behind a record that has not arrived no record has arrived."""
        return all(
            self.phase[q] == Phase.SENT
            for r in Record
            for q in Record
            if self.ahead[r, q] and self.phase[r] == Phase.SENT
        )

    @lemma
    def starts_in_order(self) -> bool:
        """Behind a record in its stripe, or on its append loop, no append has begun."""
        return all(
            self.phase[q] == Phase.SENT or self.is_in_stripe(q)
            for r in Record
            for q in Record
            if self.ahead[r, q] and (self.is_in_stripe(r) or self.phase[r] == Phase.STARTED)
        )

    @lemma
    def checked_is_idempotent(self) -> bool:
        """Only batches of idempotent producers wait for checks."""
        return all(self.is_idempotent(r) for r in Record if self.phase[r] in (Phase.CHECKED, Phase.RESUMED))

    # Attempts -------------------------------------------------------------------------------------------------

    @lemma
    def producer_is_known(self) -> bool:
        """The kind of a producer is known once it has sent a batch."""
        return all(self.producer[self.connection[r]] != Producer.UNKNOWN for r in Record if self.phase[r] != Phase.FREE)

    @lemma
    def producer_waits_with_the_proxy(self) -> bool:
        """A producer waits for the answer for which the proxy waits."""
        return all(
            self.answer[self.connection[r], self.sequence[r]] == Answer.AWAITED for r in Record if self.awaited[r]
        )

    @lemma
    def one_is_awaited(self) -> bool:
        """The proxy waits for the answer to one attempt of a batch at most."""
        return all(
            r == q
            for r in Record
            for q in Record
            if self.awaited[r] and self.awaited[q] and self.is_attempt(q, self.connection[r], self.sequence[r])
        )

    @lemma
    def given_up_is_lost(self) -> bool:
        """If the proxy does not wait for the answer to a record, the batch is acked, or an answer was lost."""
        return all(
            self.lost[self.connection[r], self.sequence[r]]
            or self.answer[self.connection[r], self.sequence[r]] == Answer.NONE
            for r in Record
            if self.phase[r] != Phase.FREE and not self.awaited[r]
        )

    @lemma
    def second_attempt_after_loss(self) -> bool:
        """If two records are attempts of one batch, an answer was lost."""
        return all(
            self.lost[self.connection[r], self.sequence[r]]
            for r in Record
            for q in Record
            if r != q
            and self.phase[r] != Phase.FREE
            and self.phase[q] != Phase.FREE
            and self.is_attempt(q, self.connection[r], self.sequence[r])
        )

    @lemma
    def appended_is_in_log(self) -> bool:
        """The batch of a record that was appended is in the log."""
        return all(self.in_log[self.connection[r], self.sequence[r]] for r in Record if self.phase[r] == Phase.APPENDED)
