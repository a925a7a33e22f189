"""One node's WAL on object storage: who acks, and whether the next incarnation finds all that was acked.

The model describes streams.md 9.2 in the order of FO-06 and FO-08; `parts/wal_objects.py` says what a listing gives
back, judged when it is made. The incarnations of the node run side by side. One that has crashed does nothing more, but
its PUTs and DELETEs may still arrive, at any time and any number of times; only the PUT of the reservation arrives
once. Incarnation 0 starts as the owner of an empty WAL, the others follow in any order.

`stream_log` relies on the result: what is acked is replayed by the incarnation or worker that recovers next. Here a
record is safe from then on, for uploading is not modelled, and it may be trimmed as soon as it is acked.

Left out: limits (WL-04), the second WAL of WL-10, CRC errors, and the failover worker. It is an incarnation that
appends nothing, save that it shares its object keys with the process that it stands for (AM-15).

Where this differs from streams.md. AM-03 needs one late PUT only, where a trimmed object is still there and comes first
in the list. WL-08 read as "shares a slot with a newer object" loses acked data too (`same_slot_only`): an old object
beyond the newest one comes before it, and makes a hole. FO-06 verifies the reservation before the barrier only, so that
an older process that reserves late acks what was not listed (`verified_early`). A repeated PUT of the reservation gives
the WAL back to an old process (WL-01.once). G-38: ND-01 covers WL-03.newer. G-56: nothing is lost without WL-06.newest,
since what is trimmed is older than the object that says so.
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
    """FO-06 as built: the reservation is not verified again after the controller's barrier, save by the trim of RC-05,
    beside which the streams are closed."""

    reserved: Incarnation
    """Whom the reservation object names (WL-01)."""
    asked: Rel[Incarnation]
    """The PUT of p's reservation has arrived."""
    listed: Rel[Incarnation]
    replayed: Rel[Incarnation]
    """p has passed the controller's barrier and replayed what it listed; now it may append."""
    next_slot: Map[Incarnation, Slot]
    """Where p's next object goes; after the listing, the end of the newest object (WL-03)."""
    confirmed: Map[Incarnation, Slot]
    """The first slot that p has not acked."""
    last_acker: Ghost[Incarnation]

    tiny = Scope({Incarnation: 2, Slot: 3})
    default = Scope({Incarnation: 2, Slot: 4})
    large = Scope({Incarnation: 2, Slot: 5}, budgets={"put": 8})

    mutants = outcomes(
        {
            "WL-03.newer": redundant(with_="ND-01"),
            "WL-06.newest": equivalent("what is trimmed is older than the object that says so"),
        }
    )

    @init
    def start_owner(self) -> None:
        """Incarnation 0 owns the WAL."""
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
        """The PUT of p's reservation arrives, perhaps late, and overwrites whatever is there (WL-01)."""
        require(not self.asked[p], "WL-01.once")
        self.asked[p] = True
        self.reserved = p

    @action
    def list_objects(self, p: Incarnation, end: Slot, t: Slot) -> None:
        """An incarnation verifies its reservation and lists the objects, up to ``end``; the last one names the trim."""
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
        """The controller takes p as the newest incarnation, and p replays and uploads what it has listed."""
        require(self.listed[p], "FO-06.list_first")
        require(not any(self.replayed[q] for q in Incarnation if q > p), "ND-01")
        require(self.verified_early or self.reserved == p, "FO-06.verify")
        self.replayed[p] = True
        for q in Incarnation:
            for k in Slot:
                if q != p:
                    self.acked[q, k] = False

    # An incarnation writes ------------------------------------------------------------------------------------

    @action
    def put(self, p: Incarnation, t: Slot) -> None:
        """An object is sent, which says that all below t is trimmed: what p has replayed, later what it has acked."""
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
        """A PUT arrives: soon, after its sender has crashed, or again after the object was deleted."""
        require(self.trim[p, k] is not None, "WL-04.sent")
        self.stored[p, k] = True

    @action(fair="weak", per=("p", "k"))
    def ack(self, p: Incarnation, k: Slot) -> None:
        """A PUT is done, and p reads the reservation after that."""
        require(self.stored[p, k], "WL-05.stored")
        require(self.confirmed[p] == k, "WL-05.in_order")  # G-37
        require(self.reserved == p, "WL-05.verify")  # G-36
        self.confirmed[p] = k + 1
        self.acked[p, k] = True
        self.last_acker = p

    @action
    def delete(self, p: Incarnation, j: Slot, q: Incarnation, k: Slot) -> None:
        """A DELETE of q's object at k arrives: p sent it when its own object at j, which trims k, was durable."""
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
        """INV-11. What is deleted has been trimmed or replayed, if it was acked."""
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
        """LV-06. What p sends is acked some time, or another incarnation takes the reservation."""
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
        """What an incarnation wants to ack next is stored, but the reservation is another's."""
        return any(
            self.stored[p, k] and self.confirmed[p] == k and self.reserved != p for p in Incarnation for k in Slot
        )

    @witness
    def overtaken(self) -> bool:
        """An older incarnation has taken the reservation after a newer one listed the objects."""
        return any(self.listed[p] and self.reserved < p for p in Incarnation)
