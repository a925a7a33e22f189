"""One node's WAL as objects in storage, and what a listing of them gives back (streams.md 9.2: WL-02, 03, 07, 08).

An object fills one slot (WL-02) and holds one bulk of records. Its key names the slot, and the incarnation that sent
the object. Its header names the first slot that was not trimmed when the object was sent: the slot after the p of
WL-06. A trim marker is a record like any other.
"""

from __future__ import annotations

from holdfast.lang import Flag, Ghost, Map, Model, Nat, Rel, init, rule


class Incarnation(Nat):
    """A process of the node. Incarnations are ordered by their node epochs (ID-03)."""


class Slot(Nat):
    """A place in the WAL for one aligned object. The greatest slot of a scope stays empty: it is an end only."""


class WalObjects(Model):
    """The objects that were sent, the objects in storage, and whether a listing gives back all that was acked."""

    first_object_only: Flag
    """WL-08 as built: of all objects, only the first one listed is compared with newer epochs (AM-03)."""
    same_slot_only: Flag
    """WL-08 to the letter: an old object goes only if a newer one lies in the same slot."""
    trims_records: Flag
    """WL-06 to the letter: a header trims up to a record. A late object in the slot of that record may reach beyond."""

    trim: Map[tuple[Incarnation, Slot], Slot | None]
    """The header of p's object for the slot: all slots below it are trimmed. None if p has sent no such object."""
    stored: Rel[Incarnation, Slot]
    """The object is in storage: its PUT has arrived, and it has not been deleted since."""
    acked: Ghost[Rel[Incarnation, Slot]]
    """The object was acked, and has been neither trimmed nor replayed since."""
    found: Ghost[Rel[Incarnation, Slot]]
    """The objects that a listing keeps, while `judge_listing` works on it; empty between two steps."""
    missed: Ghost[Rel[Incarnation]]
    """The listing of p did not give back all that was acked."""

    @init
    def start_objects(self) -> None:
        """The WAL is empty."""
        self.trim.fill(None)
        self.stored.fill(False)
        self.acked.fill(False)
        self.found.fill(False)
        self.missed.fill(False)

    # The list, by epoch and then by start (WL-03) -------------------------------------------------------------

    def precedes(self, q: Incarnation, j: Slot, p: Incarnation, k: Slot) -> bool:
        """Whether q's object at j is listed before p's at k."""
        return q < p or (q == p and j < k)

    def is_newest(self, p: Incarnation, k: Slot) -> bool:
        """Whether p's object at k is the last one listed."""
        later = any(self.stored[q, j] and self.precedes(p, k, q, j) for q in Incarnation for j in Slot)
        return self.stored[p, k] and not later

    def header(self, p: Incarnation, k: Slot) -> Slot:
        """The trim in the header of p's object at k; 0 if p has sent no such object."""
        t = self.trim[p, k]
        return Slot(0) if t is None else t

    def list_ends(self, end: Slot, t: Slot) -> bool:
        """Whether the newest object ends at ``end``, and t is the trim in its header; both are 0 if there is none."""
        if any(self.stored[p, k] for p in Incarnation for k in Slot):
            return any(
                self.is_newest(p, k) and end == k + 1 and t == self.header(p, k) for p in Incarnation for k in Slot
            )
        return end == Slot(0) and t == Slot(0)

    # What is replayed -----------------------------------------------------------------------------------------

    def is_overlapped(self, p: Incarnation, k: Slot) -> bool:
        """WL-08. Whether a newer incarnation has an object in the slot of p's object at k, or in a lower slot."""
        if self.first_object_only and any(
            self.stored[q, j] and self.precedes(q, j, p, k) for q in Incarnation for j in Slot
        ):
            return False
        if self.same_slot_only:
            return any(self.stored[q, k] for q in Incarnation if q > p)
        return any(self.stored[q, j] for q in Incarnation for j in Slot if q > p and j <= k)

    def find_objects(self, t: Slot) -> None:
        """Drop the objects that are trimmed (WL-07) or overlapped (WL-08) from the list.

        An object that ends exactly where the trim ends is kept, though all its records are trimmed.
        """
        for p in Incarnation:
            for k in Slot:
                self.found[p, k] = self.stored[p, k]
                if rule("WL-07", k + 1 < t):
                    self.found[p, k] = False
                if rule("WL-08", self.is_overlapped(p, k)):  # G-55
                    self.found[p, k] = False

    def after_hole(self, p: Incarnation, k: Slot) -> bool:
        """WL-07. Whether p's object at k is found, and there is a hole between it and the objects before it."""
        before = any(self.found[q, j] and self.precedes(q, j, p, k) for q in Incarnation for j in Slot)
        meets = any(self.found[q, j] and self.precedes(q, j, p, k) and j + 1 == k for q in Incarnation for j in Slot)
        beyond = any(self.found[q, j] and q < p and j >= k for q in Incarnation for j in Slot)
        return self.found[p, k] and before and (beyond or not meets)

    def judge_listing(self, p: Incarnation, t: Slot) -> None:
        """Note whether the replay of p will miss an acked object.

        The object is not found, below the trim, behind a hole, or hidden. It is hidden if an older object is found in
        the last slot that its sender has trimmed: records of that object beyond the trim may be for the same offsets of
        a stream, and the first to be replayed count (RC-02).
        """
        self.find_objects(t)
        left_out = any(self.acked[q, k] and (k < t or not self.found[q, k]) for q in Incarnation for k in Slot)
        cut_off = any(
            any(self.acked[r, i] and not self.precedes(r, i, q, k) for r in Incarnation for i in Slot)
            for q in Incarnation
            for k in Slot
            if self.after_hole(q, k)
        )
        hidden = self.trims_records and any(
            self.found[q, k] and k + 1 == t and self.trim[r, k] is not None and self.acked[r, j]
            for q in Incarnation
            for k in Slot
            for r in Incarnation
            for j in Slot
            if q < r
        )
        self.missed[p] = left_out or cut_off or hidden
        # The list is needed no longer. Clearing it merges states that differ in nothing else.
        self.found.fill(False)
