"""One partition among its brokers: lists of replicas, followers that catch up, and brokers that are fenced.

Facts: reassignment.md 1, 5 and 6. All ways to reassign and to cancel share this part.

AlterPartition is one step. (A request that is behind would be refused with 74 or 95, and its sender tries again.)
"""

from __future__ import annotations

from enum import Enum
from typing import Self

from holdfast.lang import Rel, action, require, step, witness
from models.parts.replicas import Broker, Replicas


class R(Enum):
    """The error codes of refused requests (reassignment.md 11)."""

    INVALID_REPLICA_ASSIGNMENT = 39
    INVALID_REQUEST = 42
    NO_REASSIGNMENT_IN_PROGRESS = 85
    INELIGIBLE_REPLICA = 107


class ReplicaLists(Replicas):
    """A partition that is reassigned, and the steps of its brokers meanwhile."""

    original: Rel[Broker]
    """CA-27. The broker was a replica before the first start. Kept until the reassignment is complete or cancelled."""
    original_before: Rel[Broker, Broker]
    """CA-27. The first broker preceded the second in the list of replicas before the first start."""

    def begin_with(self, a: Broker, b: Broker) -> None:
        """The list a, b is in sync and complete, a leads, all brokers are active, and no reassignment is running."""
        for n in Broker:
            self.replica[n] = self.listed(n, a, b)
            self.isr[n] = self.listed(n, a, b)
            self.complete[n] = self.listed(n, a, b)
        for m in Broker:
            for n in Broker:
                self.before[m, n] = self.listed_before(m, n, a, b)
        self.adding.fill(False)
        self.removing.fill(False)
        self.leader = a
        self.active.fill(True)
        self.fetches.fill(False)
        self.hasty = False
        self.original.fill(False)
        self.original_before.fill(False)

    def listed(self, n: Broker, a: Broker, b: Broker) -> bool:
        """Whether n is in the list a, b. With a == b the list has one broker."""
        return n == a or n == b

    def listed_before(self, m: Broker, n: Broker, a: Broker, b: Broker) -> bool:
        """Whether m precedes n in the list a, b."""
        return m != n and (m == a or (m == b and n != a)) and self.listed(n, a, b)

    def put_first(self, a: Broker, b: Broker) -> None:
        """The replicas are now the list a, b, and behind it the other replicas of before, sorted by id (RA-41)."""
        for n in Broker:
            self.replica[n] = self.replica[n] or self.listed(n, a, b)
        for m in Broker:
            for n in Broker:
                rest = self.replica[n] and not self.listed(n, a, b)
                self.before[m, n] = self.listed_before(m, n, a, b) or (
                    rest and (self.listed(m, a, b) or (self.replica[m] and m < n))
                )

    def keep_originals(self) -> None:
        """The present list of replicas becomes the one that a cancel restores (CA-27)."""
        for n in Broker:
            self.original[n] = self.replica[n]
        for m in Broker:
            for n in Broker:
                self.original_before[m, n] = self.before[m, n]

    def settle(self) -> None:
        """The originals are forgotten once no reassignment is running (CA-27)."""
        if not self.in_progress():
            self.original.fill(False)
            self.original_before.fill(False)

    # The brokers ----------------------------------------------------------------------------------------------

    @action
    def prefer(self, x: Broker) -> None:
        """An operator, the balancer or a late request asks for the preferred leader: the first replica (ElectLeaders).

        `x`: the first replica, by the present registration.
        """
        self.elect_preferred(x)

    @action
    def append(self) -> None:
        """A record is acked: all members of the ISR have it. Nobody else has it, so nobody else has caught up."""
        if self.leader is not None:
            for n in Broker:
                self.complete[n] = self.complete[n] and self.isr[n]
                self.fetches[n] = False

    @action
    def fetch(self, n: Broker) -> None:
        """A replica outside of the ISR catches up with the leader."""
        self.catch_up(n)

    @action
    def expand(self, n: Broker, x: Broker) -> None:
        """The leader adds n to the ISR (AlterPartition). The record may complete the reassignment, and elect x."""
        self.admit(n)
        self.finish()
        self.elect(x)
        self.settle()

    @action
    def shrink(self, n: Broker) -> None:
        """The leader takes n out of the ISR (AlterPartition), and stays the leader."""
        self.dismiss(n)

    @action
    def fence(self, n: Broker, x: Broker) -> None:
        """The controller fences n. If n led, x leads after it."""
        self.lose(n, x)

    @action
    def unfence(self, n: Broker, x: Broker) -> None:
        """Broker n is active again. If nobody leads, x may lead now."""
        self.regain(n, x)

    def elect_preferred(self, x: Broker) -> None:
        """The first replica becomes leader, if it may lead. Otherwise nothing changes (80)."""
        require(self.electable(x), "EL-08.isr")
        require(self.is_first(x), "EL-08.first")
        if not self.led_by(x):
            self.lead(x)

    def catch_up(self, n: Broker) -> None:
        """A follower has fetched all that was acked, and goes on fetching."""
        if self.leader is not None and self.replica[n] and self.active[n] and not self.isr[n]:
            self.fetches[n] = True
            self.complete[n] = True

    def admit(self, n: Broker) -> None:
        """A follower that has caught up joins the ISR (RA-47)."""
        require(self.fetches[n], "RA-47.caught_up")
        require(self.replica[n], "RA-47.replicas", error=R.INVALID_REQUEST)
        require(self.active[n], "RA-47.active", error=R.INELIGIBLE_REPLICA)
        self.isr[n] = True
        self.fetches[n] = False

    def dismiss(self, n: Broker) -> None:
        """A follower leaves the ISR (RA-47)."""
        require(self.leader is not None and self.leader != n, "RA-47.leader", error=R.INVALID_REQUEST)
        self.isr[n] = False

    def lose(self, n: Broker, x: Broker) -> None:
        """A fenced broker leaves the ISR, unless it is the last member."""
        if self.active[n]:
            self.active[n] = False
            if self.isr[n]:
                self.isr[n] = False
                self.elect(x)
                # The last member stays in the ISR: it alone has all that was acked. An unclean election has replaced
                # it by now, if one was possible.
                if not any(self.isr[m] for m in Broker):
                    self.isr[n] = True

    def regain(self, n: Broker, x: Broker) -> None:
        """A partition without a leader gets one, if the broker that is back may lead."""
        if not self.active[n]:
            self.active[n] = True
            if self.leader is None:
                self.elect(x)

    # Properties -----------------------------------------------------------------------------------------------

    @step(of="prefer")
    def preferred_leads(self, old: Self, x: Broker) -> bool:
        """SP-12. An election by preference elects the first replica, from the ISR that there is."""
        return self.led_by(x) and old.isr[x] and old.is_first(x)

    @witness
    def leader_goes(self) -> bool:
        """RA-45. The leader is being removed, and a broker that is added is in sync."""
        return any(
            self.removing[n] and self.led_by(n) and self.adding[m] and self.isr[m] for n in Broker for m in Broker
        )

    @witness
    def only_added(self) -> bool:
        """CA-22. Nobody is in the ISR but brokers that a cancel would drop."""
        return self.in_progress() and all(self.adding[n] for n in Broker if self.isr[n])

    @witness
    def leaderless(self) -> bool:
        """The only member of the ISR is fenced."""
        return self.leader is None
