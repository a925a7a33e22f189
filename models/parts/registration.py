"""A partition's registration at the controller: its one replica, its leader, and the timer that elects one.

Facts: reassignment.md 1, 2, 3.3 and 4.

- The one replica of an elastic partition is also its whole ISR.
- A broker opens streams under a leader epoch (ID-02), so leader epochs and stream epochs are one type.
- A record is atomic and survives the controller. A timer does not survive it.

Left out: the partition epoch, since every record writes the leader and so moves both epochs in step; and time: a timer
that runs may fire at any moment.
"""

from __future__ import annotations

from enum import Enum
from typing import Self

from holdfast.lang import Flag, Model, Rel, init, invariant, leads_to, require, rule, step
from models.parts.nodes import Node
from models.parts.streams import Epoch


class R(Enum):
    """The error codes of a refused reassignment (reassignment.md 11)."""

    INVALID_REPLICA_ASSIGNMENT = 39


class Registration(Model):
    """The broker that shall have the partition, the broker that leads it, and the election timers."""

    G1: Flag
    """Generation G1: the target opens the partition first and is elected after that. No timer is armed (EL-07)."""
    timer_as_built: Flag
    """EL-01 to EL-06: only reassignments arm a timer; it has no tag, any request disarms it, nothing arms it again."""
    timer_fires_once: Flag
    """EL-03, EL-04 alone: a request that elects nobody disarms the timer; a timer that elects nobody stays off."""
    timer_not_restored: Flag
    """EL-06 alone: a new controller has no timers, and arms none."""

    replica: Node
    """The broker to which the partition is assigned: its one replica."""
    leader: Node | None
    """The broker that leads the partition; None while nobody does."""
    leader_epoch: Epoch
    """The epoch of the newest record. It grows with every change of replica or leader."""
    active: Rel[Node]
    """The controller believes that the broker is alive: it is not fenced."""
    timer: bool
    """The election timer that was armed last is running."""
    old_timer: bool
    """A timer that was armed under an earlier leader epoch is running, and would still elect (EL-05)."""

    @init
    def start_registration(self, first: Node) -> None:
        """Some broker has the partition and leads it. All brokers are active."""
        self.replica = first
        self.leader = first
        self.leader_epoch = Epoch(1)
        self.active.fill(True)
        self.timer = False
        self.old_timer = False

    def led_by(self, n: Node) -> bool:
        """Whether n leads."""
        return self.leader == n

    def disarms_early(self) -> bool:
        """EL-03, EL-04. Whether a timer ends although nobody has been elected."""
        return self.timer_as_built or self.timer_fires_once

    def forgets_timers(self) -> bool:
        """EL-06. Whether a timer ends with its controller."""
        return self.timer_as_built or self.timer_not_restored

    # Records that change the replica --------------------------------------------------------------------------

    def assign(self, n: Node) -> None:
        """A record makes n the replica and the ISR, under a new leader epoch (RA-05).

        A timer has the tag of its leader epoch (EL-12), so that the new epoch voids a timer that is running.
        """
        self.replica = n
        if rule("RA-05"):
            self.leader_epoch = self.leader_epoch + 1
        if rule("EL-12.tag", not self.timer_as_built):
            self.old_timer = False
        elif self.timer:
            self.old_timer = True
        self.timer = False

    def accept_reassignment(self, t: Node) -> None:
        """The controller accepts a move of the partition to t, and nobody leads for now (RA-01 to RA-07)."""
        require(self.active[t], "RA-02", error=R.INVALID_REPLICA_ASSIGNMENT)
        require(t != self.replica, "RA-03")  # The answer is success, without a record.
        self.assign(t)
        if rule("RA-04"):
            self.leader = None
        else:
            self.leader = t
        if rule("EL-01", self.leader is None and not self.G1):
            self.timer = True

    def fence(self, n: Node, x: Node) -> None:
        """The controller fences n, and gives its partition to another active broker x (FO-10). Nobody leads for now.

        If no other broker is active, the partition stays with n.
        """
        # x is any other active broker if there is one, and n itself otherwise.
        alone = all(y == n or not self.active[y] for y in Node)
        require(self.replica != n or (x == n if alone else x != n and self.active[x]), "FO-10.target")
        self.active[n] = False
        # If n keeps a leaderless partition, there is nothing to record.
        if self.replica == n and (x != n or self.leader is not None):
            self.assign(x)
            self.leader = None
            if rule("EL-12.fence", not self.G1 and not self.timer_as_built):
                self.timer = True

    def unfence(self, n: Node) -> None:
        """Broker n is active again. It takes over a leaderless partition whose replica is not (reassignment.md 3.3)."""
        self.active[n] = True
        if rule("FO-10.unfence", self.active[self.replica]):
            return
        if self.replica != n and self.leader is None:
            self.assign(n)
            if rule("EL-12.unfence", not self.G1 and not self.timer_as_built):
                self.timer = True

    # Elections ------------------------------------------------------------------------------------------------

    def elect(self, t: Node) -> None:
        """The only member of the ISR becomes leader (EL-08).

        If somebody leads already (84), or the member is not active (80), no record is written.
        """
        if rule("EL-08.leader", self.leader is not None):
            return
        if rule("EL-08.active", not self.active[t]):
            return
        self.leader = t
        self.leader_epoch = self.leader_epoch + 1

    def accept_election(self, t: Node) -> None:
        """An ElectLeaders request arrives. It names no epoch, so even an old one elects by the present registration."""
        if rule("EL-13", (self.leader is not None or not self.active[t]) and not self.disarms_early()):
            pass
        else:
            self.timer = False
        self.elect(t)

    def fire_timer(self, earlier: bool) -> None:
        """A timer fires and ends (EL-03). If it elects nobody, a new one is armed.

        `earlier`: the timer of an earlier leader epoch fires.
        """
        require(self.old_timer if earlier else self.timer, "EL-12.armed")
        if earlier:
            self.old_timer = False
        else:
            self.timer = False
        self.elect(self.replica)
        if rule("EL-12.again", self.leader is None and not self.disarms_early()):
            self.timer = True

    def restore_timer(self) -> None:
        """A new controller has no timers. It arms one if nobody leads the partition (EL-12)."""
        self.timer = False
        self.old_timer = False
        if rule("EL-12.restore", self.leader is None and not self.G1 and not self.forgets_timers()):
            self.timer = True

    # Properties -----------------------------------------------------------------------------------------------

    @invariant
    def leaderless_has_timer(self) -> bool:
        """LP-02. While nobody leads, a timer runs that will elect. In G1 none does: it is the target's to see to it."""
        return all((self.timer or self.old_timer) != self.G1 for n in Node if self.replica == n and self.leader is None)

    @invariant
    def timer_is_present(self) -> bool:
        """EL-12, EL-13. A timer runs only while nobody leads, and only that of the present leader epoch."""
        return not self.old_timer and (self.leader is None or not self.timer)

    @invariant
    def replica_leads(self) -> bool:
        """SP-10, SP-12. Nobody leads but the only member of the ISR."""
        return all(self.replica == n for n in Node if self.led_by(n))

    @step
    def leader_epoch_counts_changes(self, old: Self) -> bool:
        """SP-03. The leader epoch grows with every change of replica or leader, and at no other time."""
        changes = self.replica != old.replica or self.leader != old.leader
        return self.leader_epoch > old.leader_epoch if changes else self.leader_epoch == old.leader_epoch

    @step
    def chosen_is_active(self, old: Self) -> bool:
        """SP-12, RA-02. A broker is active when it becomes replica or leader."""
        return all(
            (old.replica == n or self.replica != n) and (old.led_by(n) or not self.led_by(n))
            for n in Node
            if not self.active[n]
        )

    @step
    def returns_without_taking(self, old: Self) -> bool:
        """SP-12. No broker takes the partition from an active one by coming back."""
        return all(
            self.replica == old.replica or not old.active[old.replica]
            for n in Node
            if self.active[n] and not old.active[n]
        )

    @leads_to
    def leader_found(self) -> tuple[bool, bool]:
        """LP-02. A partition does not stay without a leader."""
        return self.leader is None, self.leader is not None
