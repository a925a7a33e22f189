"""One node's WAL on object storage: who acks, and whether the next incarnation finds all that was acked.

The model follows streams.md 9.2, in the order of FO-06 and FO-08. The incarnations of the node run side by side.
Incarnation 0 starts as the owner of an empty WAL; the others start in any order. An incarnation that has crashed takes
no more steps. Its PUTs and DELETEs may still arrive, at any time and any number of times; only the PUT of its
reservation arrives at most once. `parts/wal_objects.py` judges a listing at the moment it is made.

`stream_log` relies on the result: the incarnation or worker that recovers next replays all that was acked. A replayed
record is safe from then on, since this model has no uploads. A record may be trimmed as soon as it is acked.

Left out: limits (WL-04), the second WAL of WL-10, CRC errors, and the failover worker. A worker is an incarnation that
appends nothing, except that it shares its object keys with the process that it stands for (AM-15).

Where this differs from streams.md:

- AM-03: one late PUT is enough to lose acked data, if a trimmed object is still stored and is listed first.
- WL-08: if it is read as "shares a slot with a newer object", acked data is lost too (`same_slot_only`). An old object
  beyond the newest one is listed before it, and makes a hole.
- WL-06: a header names slots here. If it names a record, a late object is replayed that fills the slot of a trimmed and
  deleted one, and takes the place of acked records (`trims_records`).
- FO-06 verifies the reservation only before the barrier. An older process that reserves late can then ack records that
  were not listed (`verified_early`).
- WL-01.once: a repeated PUT of the reservation would give the WAL back to an old process.
- G-38: ND-01 covers WL-03.newer.
- G-56: nothing is lost without WL-06.newest, since a trimmed object is always older than the object that trims it.
"""

from __future__ import annotations

from typing import Self

from holdfast.lang import (
    Flag,
    Ghost,
    Map,
    Rel,
    Scope,
    action,
    equivalent,
    init,
    invariant,
    leads_to,
    outcomes,
    redundant,
    require,
    step,
    witness,
)
from models.parts.wal_objects import Incarnation, Slot, WalObjects


class Wal(WalObjects):
    """The WAL of one node, and the incarnations that reserve, list, replay, write and trim it."""

    verified_early: Flag
    """FO-06 as built: after the controller's barrier nothing verifies the reservation again, except the trim of RC-05.

    The streams are closed at the time of that trim.
    """

    reserved: Incarnation
    """The incarnation that the reservation object names (WL-01)."""
    asked: Rel[Incarnation]
    """The PUT of p's reservation has arrived."""
    listed: Rel[Incarnation]
    """p has verified its reservation and listed the objects of the WAL."""
    replayed: Rel[Incarnation]
    """p has passed the controller's barrier and replayed what it listed; now it may append."""
    next_slot: Map[Incarnation, Slot]
    """The slot of p's next object. After the listing it is the end of the newest object (WL-03)."""
    confirmed: Map[Incarnation, Slot]
    """The first slot that p has not acked."""
    last_acker: Ghost[Incarnation]
    """The incarnation that has acked last; incarnation 0 before any ack."""

    tiny = Scope({Incarnation: 2, Slot: 3})
    default = Scope({Incarnation: 2, Slot: 4})
    large = Scope({Incarnation: 2, Slot: 5}, budgets={"put": 8})
    deep = Scope({Incarnation: 3, Slot: 10}, depth=200)

    @init
    def start_owner(self) -> None:
        """Incarnation 0 owns the empty WAL: it has reserved, listed and replayed it."""
        self.reserved = Incarnation(0)
        for p in Incarnation:
            self.asked[p] = p == Incarnation(0)
            self.listed[p] = p == Incarnation(0)
            self.replayed[p] = p == Incarnation(0)
        self.next_slot.fill(Slot(0))
        self.confirmed.fill(Slot(0))
        self.last_acker = Incarnation(0)

    # An incarnation starts ------------------------------------------------------------------------------------

    @action
    def reserve(self, p: Incarnation) -> None:
        """The PUT of p's reservation arrives, perhaps late, and overwrites any other reservation (WL-01)."""
        require(not self.asked[p], "WL-01.once")
        self.asked[p] = True
        self.reserved = p

    @action
    def list_objects(self, p: Incarnation, end: Slot, t: Slot) -> None:
        """An incarnation verifies its reservation, and lists the objects.

        ``end``: the end of the newest object. ``t``: the trim in its header.
        """
        require(not self.listed[p], "WL-03.once")
        require(self.reserved == p, "FO-06.reserve_first")  # G-35
        require(not any(self.stored[q, k] for q in Incarnation for k in Slot if q > p), "WL-03.newer")  # G-38
        require(self.list_ends(end, t), "WL-03.last")
        self.listed[p] = True
        self.next_slot[p] = end
        self.confirmed[p] = end
        self.judge_listing(p, t)

    @action
    def replay(self, p: Incarnation) -> None:
        """The controller accepts p as the newest incarnation (ND-01), and p replays and uploads what it has listed."""
        require(self.listed[p], "FO-06.list_first")
        require(not any(self.replayed[q] for q in Incarnation if q > p), "ND-01")
        require(self.verified_early or self.reserved == p, "FO-06.verify")
        self.replayed[p] = True
        # From here on p has the records of all others, and they need no WAL any more.
        for q in Incarnation:
            for k in Slot:
                if q != p:
                    self.acked[q, k] = False

    # An incarnation writes ------------------------------------------------------------------------------------

    @action
    def put(self, p: Incarnation, t: Slot) -> None:
        """An incarnation sends an object, whose header trims all slots below t.

        The first header trims all replayed slots (RC-05). Later headers trim acked slots too, and never less than an
        earlier one (WL-06.larger).
        """
        has_sent = any(self.trim[p, k] is not None for k in Slot)
        require(self.replayed[p], "WL-10")
        require(has_sent or t == self.confirmed[p], "RC-05")
        require(t <= self.confirmed[p], "PL-25")
        require(all(self.header(p, k) <= t for k in Slot), "WL-06.larger")
        self.trim[p, self.next_slot[p]] = t
        self.next_slot[p] = self.next_slot[p] + 1
        for q in Incarnation:
            for k in Slot:
                if k < t:
                    self.acked[q, k] = False

    @action(fair="weak", per=("p", "k"))
    def land(self, p: Incarnation, k: Slot) -> None:
        """A PUT arrives: soon, after its sender has crashed, or again after the object has been deleted."""
        require(self.trim[p, k] is not None, "WL-04.sent")
        self.stored[p, k] = True

    @action(fair="weak", per=("p", "k"))
    def ack(self, p: Incarnation, k: Slot) -> None:
        """An incarnation acks its oldest unacked object. The reservation has named it after the PUT was done."""
        require(self.stored[p, k], "WL-05.stored")
        require(self.confirmed[p] == k, "WL-05.in_order")  # G-37
        require(self.reserved == p, "WL-05.verify")  # G-36
        self.confirmed[p] = k + 1
        self.acked[p, k] = True
        self.last_acker = p

    @action
    def delete(self, p: Incarnation, j: Slot, q: Incarnation, k: Slot) -> None:
        """A DELETE of q's object at k arrives. p sent it once its own object at j was durable, whose header trims k."""
        require(self.header(p, j) > k, "WL-06.trimmed")
        require(self.confirmed[p] > j, "WL-06.durable")
        require(not self.is_newest(q, k), "WL-06.newest")  # G-56
        self.stored[q, k] = False

    # Properties -----------------------------------------------------------------------------------------------

    @step(of="ack")
    def acked_by_newest(self, old: Self, p: Incarnation) -> bool:
        """INV-01. No incarnation acks once a newer one has replayed the WAL."""
        return not any(old.replayed[q] for q in Incarnation if q > p)

    @step(of="ack")
    def acked_in_turn(self, old: Self, p: Incarnation) -> bool:
        """INV-01. No incarnation acks once a newer one has acked."""
        return old.last_acker <= p

    @invariant
    def listings_are_complete(self) -> bool:
        """INV-02. A listing gives back all that was acked and neither trimmed nor replayed."""
        return not any(self.missed[p] for p in Incarnation)

    @step(of="replay")
    def nothing_acked_behind(self, old: Self, p: Incarnation) -> bool:
        """INV-02. When p replays what it has listed, others have acked nothing that lies behind that."""
        return all(k < old.next_slot[p] for q in Incarnation for k in Slot if q != p and old.acked[q, k])

    @step(of="delete")
    def deleted_is_trimmed(self, old: Self, q: Incarnation, k: Slot) -> bool:
        """INV-11. An acked object is deleted only after it was trimmed or replayed."""
        return not old.acked[q, k]

    @step(of="ack")
    def acked_is_durable(self, old: Self, p: Incarnation, k: Slot) -> bool:
        """INV-16. What p acks is stored, and so is all that it sent before, if not trimmed; p has the reservation."""
        earlier = all(
            old.stored[p, j] or any(old.header(p, i) > j for i in Slot)
            for j in Slot
            if j < k and old.trim[p, j] is not None
        )
        return old.stored[p, k] and earlier and old.reserved == p

    @leads_to
    def appends_end(self, p: Incarnation, k: Slot) -> tuple[bool, bool]:
        """LV-06. Each object that p sends is acked some time, or another incarnation takes the reservation."""
        return self.trim[p, k] is not None, self.confirmed[p] > k or self.reserved != p

    # Witnesses ------------------------------------------------------------------------------------------------

    @witness
    def late_put(self) -> bool:
        """An old object lies in the slot of a newer one that was acked."""
        return any(
            self.stored[q, k] and self.acked[p, k] for p in Incarnation for q in Incarnation for k in Slot if q < p
        )

    @witness
    def left_over(self) -> bool:
        """An old object lies beyond all that a newer incarnation, which has acked, has sent."""
        return any(
            self.stored[q, k] and self.last_acker == p and self.next_slot[p] <= k
            for p in Incarnation
            for q in Incarnation
            for k in Slot
            if q < p
        )

    @witness
    def hole(self) -> bool:
        """An incarnation has acked above a slot for which an older one sent an object that has not arrived."""
        return any(
            self.trim[q, k] is not None
            and not self.stored[q, k]
            and self.confirmed[q] <= k
            and self.last_acker == p
            and self.next_slot[p] > k
            for p in Incarnation
            for q in Incarnation
            for k in Slot
            if q < p
        )

    @witness
    def swept(self) -> bool:
        """An object that was acked is gone."""
        return any(
            self.trim[p, k] is not None and self.confirmed[p] > k and not self.stored[p, k]
            for p in Incarnation
            for k in Slot
        )

    @witness
    def zombie(self) -> bool:
        """The slot that an incarnation acks next is stored, but another incarnation has the reservation."""
        return any(
            self.stored[p, k] and self.confirmed[p] == k and self.reserved != p for p in Incarnation for k in Slot
        )

    @witness
    def overtaken(self) -> bool:
        """An older incarnation has taken the reservation after a newer one listed the objects."""
        return any(self.listed[p] and self.reserved < p for p in Incarnation)

    # Mutants that no safety property kills, and why -----------------------------------------------------------

    mutants = outcomes(
        {
            "WL-03.newer": redundant(with_="ND-01"),
            "WL-06.newest": equivalent("what is trimmed is older than the object that says so"),
        }
    )
