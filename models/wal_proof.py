"""Lemmas for the proof of `wal`, beside its invariants. Every step keeps each of them. They show in turn:

- An incarnation reserves, lists and replays in this order, and does each once.
- The objects that an incarnation has sent fill its slots in order, and their headers grow.
- New objects lie above all slots that older incarnations have acked.
- An acked object that is not stored any more is trimmed by the last acked object, which is still stored.
"""

from __future__ import annotations

from holdfast.lang import lemma
from models.parts.wal_objects import Incarnation, Slot
from models.wal import Wal


class WalProof(Wal):
    """The WAL with the lemmas that make its invariants inductive."""

    def sent(self, p: Incarnation, k: Slot) -> bool:
        """Whether p has sent an object for the slot."""
        return self.trim[p, k] is not None

    def durable(self, p: Incarnation, k: Slot) -> bool:
        """Whether p has acked what it has sent for the slot."""
        return self.trim[p, k] is not None and k < self.confirmed[p]

    # Incarnations ---------------------------------------------------------------------------------------------

    @lemma
    def steps_in_order(self) -> bool:
        """An incarnation that has replayed has listed, and one that has listed has asked for the reservation."""
        return self.asked[self.reserved] and all(
            (self.listed[p] or not self.replayed[p]) and (self.asked[p] or not self.listed[p]) for p in Incarnation
        )

    @lemma
    def older_has_lost_reservation(self) -> bool:
        """Once a newer incarnation has replayed, none that replayed before it has the reservation."""
        return all(
            all(self.reserved != p or not self.replayed[p] for p in Incarnation if p < q)
            for q in Incarnation
            if self.replayed[q]
        )

    @lemma
    def acker_has_replayed(self) -> bool:
        """The incarnation that acked last has replayed."""
        return self.replayed[self.last_acker]

    # Objects --------------------------------------------------------------------------------------------------

    @lemma
    def objects_are_sent(self) -> bool:
        """A stored object was sent by an incarnation that had replayed, for a slot that it has passed."""
        return all(
            (self.sent(p, k) or not self.stored[p, k])
            and (not self.sent(p, k) or (self.replayed[p] and k < self.next_slot[p]))
            for p in Incarnation
            for k in Slot
        )

    @lemma
    def slots_in_order(self) -> bool:
        """An incarnation sends a slot before it acks it; until it sends the first object, both counts are equal."""
        return all(
            self.confirmed[p] <= self.next_slot[p]
            and (self.confirmed[p] == self.next_slot[p] or any(self.sent(p, k) for k in Slot))
            for p in Incarnation
        )

    @lemma
    def slots_are_filled(self) -> bool:
        """From the first object on, an incarnation has sent one for each slot."""
        return all(
            self.sent(p, k)
            for p in Incarnation
            for j in Slot
            for k in Slot
            if self.sent(p, j) and j <= k and k < self.next_slot[p]
        )

    @lemma
    def headers_trim_what_is_acked(self) -> bool:
        """A header trims what its incarnation has acked or replayed, and so nothing at or above its own slot."""
        return all(
            self.header(p, k) <= k and self.header(p, k) <= self.confirmed[p]
            for p in Incarnation
            for k in Slot
            if self.sent(p, k)
        )

    @lemma
    def headers_grow(self) -> bool:
        """A later object of an incarnation trims no less."""
        return all(
            self.header(p, j) <= self.header(p, k)
            for p in Incarnation
            for j in Slot
            for k in Slot
            if j <= k and self.sent(p, j) and self.sent(p, k)
        )

    @lemma
    def headers_trim_what_was_replayed(self) -> bool:
        """Each object trims all slots below its own for which its incarnation has sent nothing."""
        return all(
            self.sent(p, j) or j < self.header(p, k)
            for p in Incarnation
            for j in Slot
            for k in Slot
            if j < k and self.sent(p, k)
        )

    # What is acked --------------------------------------------------------------------------------------------

    @lemma
    def newest_acker_is_last(self) -> bool:
        """No incarnation newer than the last one that acked has acked anything."""
        return all(p <= self.last_acker for p in Incarnation for k in Slot if self.durable(p, k))

    @lemma
    def acked_is_newest(self) -> bool:
        """An acked slot that nobody replayed is stored, not trimmed, and of the newest incarnation that replayed."""
        return all(
            self.stored[p, k]
            and k < self.confirmed[p]
            and p == self.last_acker
            and not any(self.replayed[q] for q in Incarnation if p < q)
            and all(self.header(p, j) <= k for j in Slot)
            for p in Incarnation
            for k in Slot
            if self.acked[p, k]
        )

    @lemma
    def newer_lies_above(self) -> bool:
        """An incarnation that replays, or still may, writes above all that older ones have acked."""
        return all(
            k < self.next_slot[q] and all(k < j for j in Slot if self.sent(q, j))
            for q in Incarnation
            for p in Incarnation
            for k in Slot
            if p < q and (self.replayed[q] or (self.listed[q] and self.reserved == q)) and self.durable(p, k)
        )

    @lemma
    def last_acked_is_stored(self) -> bool:
        """If anything was acked, the last object that the last acker acked is there: nothing acked trims it."""
        return all(
            any(self.stored[self.last_acker, j] and j + 1 == self.confirmed[self.last_acker] for j in Slot)
            for p in Incarnation
            for k in Slot
            if self.durable(p, k)
        )

    # What is trimmed ------------------------------------------------------------------------------------------

    @lemma
    def gone_is_trimmed(self) -> bool:
        """An object of the last acker that is gone was trimmed by the last one that it acked, and by each later one."""
        return all(
            k < self.header(p, j)
            for p in Incarnation
            for k in Slot
            for j in Slot
            if p == self.last_acker
            and self.durable(p, k)
            and not self.stored[p, k]
            and self.sent(p, j)
            and self.confirmed[p] <= j + 1
        )

    @lemma
    def gap_is_trimmed(self) -> bool:
        """Just before each slot that it acked there is an object of the last acker, or that slot is trimmed as well."""
        return all(
            k <= self.header(p, j) or any(self.stored[p, i] and i + 1 == k for i in Slot)
            for p in Incarnation
            for k in Slot
            for j in Slot
            if p == self.last_acker and self.durable(p, k) and self.sent(p, j) and self.confirmed[p] <= j + 1
        )

    @lemma
    def older_is_overlapped(self) -> bool:
        """In the slot of an older object a newer incarnation has sent one, or all its later ones trim it.

        It follows from `headers_trim_what_was_replayed`; said of the older object, Z3 finds it where it is needed.
        """
        return all(
            self.sent(q, k) or k < self.header(q, j)
            for q in Incarnation
            for j in Slot
            for p in Incarnation
            for k in Slot
            if p < q and k < j and self.sent(q, j) and self.stored[p, k]
        )
