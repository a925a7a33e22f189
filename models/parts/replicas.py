"""A partition with several replicas: their order, the ISR, the leader, and the record that changes them.

Facts: reassignment.md 1 and 6. The model keeps these things as follows:

- A list of replicas is a set, and the order of its members.
- The leader epoch is not a number here. `fetches` says who fetches under the present epoch. A new epoch ends every
  fetch until the follower begins again. A broker that is no longer a replica sees the epoch, stops, and deletes its log
  (RA-50).
- A log is one bit: `complete` says whether it has all that was acked.
"""

from __future__ import annotations

from typing import Self

from holdfast.lang import Ghost, Model, Nat, Rel, invariant, require, rule, step


class Broker(Nat):
    """A broker, known by its id. Ids are ordered, since the controller sorts by them (RA-41)."""


class Replicas(Model):
    """The registration of one partition, and the logs of its replicas."""

    unclean: bool
    """The topic allows unclean elections. It never changes during a run."""
    replica: Rel[Broker]
    """The broker is in the list of replicas."""
    before: Rel[Broker, Broker]
    """The first broker precedes the second in the list of replicas. Other brokers are in no order."""
    isr: Rel[Broker]
    """The broker is in the ISR: it counts as in sync with the leader."""
    adding: Rel[Broker]
    """The running reassignment adds the broker to the replicas."""
    removing: Rel[Broker]
    """The running reassignment removes the broker from the replicas once it is complete."""
    leader: Broker | None
    """The broker that leads the partition; None while nobody does."""
    active: Rel[Broker]
    """The controller believes that the broker is alive: it is not fenced."""
    fetches: Rel[Broker]
    """The broker is outside of the ISR, has caught up under the present leader epoch, and goes on fetching."""
    complete: Rel[Broker]
    """The broker's log has all that was acked, except what an unclean election has given up (RECOVERING)."""
    hasty: Ghost[bool]
    """A reassignment has been completed while a remaining replica was out of sync."""

    # What the registration says -------------------------------------------------------------------------------

    def in_progress(self) -> bool:
        """RA-40. Whether a reassignment is running."""
        return any(self.adding[n] or self.removing[n] for n in Broker)

    def led_by(self, n: Broker) -> bool:
        """Whether n leads."""
        return self.leader == n

    def is_first(self, n: Broker) -> bool:
        """Whether n is the first in the list of replicas: the preferred leader."""
        return self.replica[n] and all(n == m or self.before[n, m] for m in Broker if self.replica[m])

    def writable(self) -> bool:
        """Whether the ISR reaches min.insync.replicas, which is two."""
        return any(self.isr[n] and self.isr[m] and n != m for n in Broker for m in Broker)

    def electable(self, n: Broker) -> bool:
        """Whether a clean election may choose n."""
        return self.isr[n] and self.active[n]

    # The record builder (reassignment.md 1) -------------------------------------------------------------------

    def begin_epoch(self) -> None:
        """A new leader epoch begins (E+1). Followers fetch anew; brokers that are not replicas delete their logs."""
        self.fetches.fill(False)
        for n in Broker:
            if not self.replica[n]:
                self.complete[n] = False

    def drop_epoch(self, drops: bool) -> None:
        """Builder step 3. A record that drops a replica begins a leader epoch, even if the leader stays (RA-45)."""
        if rule("RA-45", drops):
            self.begin_epoch()

    def lead(self, x: Broker) -> None:
        """A record makes x the leader. That begins a leader epoch."""
        self.leader = x
        self.begin_epoch()

    def finish(self) -> None:
        """Builder step 1. Once all remaining replicas are in sync, the others go: the reassignment is complete."""
        drops = any(self.removing[n] for n in Broker)
        behind = any(self.replica[n] and not self.removing[n] and not self.isr[n] for n in Broker)
        # Without RA-44 a reassignment is completed while a replica is behind, unless that would empty the ISR.
        if rule("RA-44", behind):
            pass
        elif self.in_progress() and any(self.isr[n] and not self.removing[n] for n in Broker):
            self.hasty = self.hasty or behind
            for n in Broker:
                if self.removing[n]:
                    # A dropped member of the ISR goes on fetching until it sees a new epoch (RA-45).
                    self.fetches[n] = self.fetches[n] or self.isr[n]
                    self.replica[n] = False
                    self.isr[n] = False
            for m in Broker:
                for n in Broker:
                    self.before[m, n] = self.before[m, n] and self.replica[m] and self.replica[n]
            self.adding.fill(False)
            self.removing.fill(False)
            self.drop_epoch(drops)

    def elect(self, x: Broker) -> None:
        """Builder step 2. A leader that may lead stays; otherwise the first candidate in the list becomes leader.

        `x`: the candidate that leads after the record. The guards allow only the right one, so that no loop is needed.
        Without a candidate x does not matter, and nobody leads.
        """
        if any(self.electable(n) for n in Broker):
            require(self.electable(x), "SP-12.isr")
            ahead = all(self.before[x, n] and not self.led_by(n) for n in Broker if self.electable(n) and n != x)
            require(ahead or self.led_by(x), "SP-12.order")
            if not self.led_by(x):
                self.lead(x)
        elif self.unclean and any(self.replica[n] and self.active[n] for n in Broker):
            require(self.replica[x] and self.active[x], "SP-12.unclean")
            ahead = all(self.before[x, n] for n in Broker if self.replica[n] and self.active[n] and n != x)
            require(ahead, "SP-12.unclean_order")
            self.lead(x)
            for n in Broker:
                self.isr[n] = n == x
            self.give_up()
        elif self.leader is not None:
            self.leader = None
            self.begin_epoch()

    def give_up(self) -> None:
        """The log of the only member of the ISR is the partition's log from now on (RECOVERING).

        Acked records that it lacks are given up.
        """
        for n in Broker:
            self.complete[n] = self.complete[n] or self.isr[n]

    # Properties -----------------------------------------------------------------------------------------------

    @invariant
    def isr_is_replicas(self) -> bool:
        """SP-10. The ISR is part of the replicas."""
        return all(self.replica[n] for n in Broker if self.isr[n])

    @invariant
    def isr_is_not_empty(self) -> bool:
        """SP-13. There is somebody in the ISR, dead or alive."""
        return any(self.isr[n] for n in Broker)

    @invariant
    def marks_are_replicas(self) -> bool:
        """SP-10. Every broker that is being added or removed is a replica."""
        return all(self.replica[n] for n in Broker if self.adding[n] or self.removing[n])

    @invariant
    def leader_is_in_sync(self) -> bool:
        """SP-10. The leader is in the ISR."""
        return all(self.isr[n] for n in Broker if self.led_by(n))

    @invariant
    def completes_in_sync(self) -> bool:
        """SP-11. When a reassignment is completed, every remaining replica is in the ISR."""
        return not self.hasty

    @step
    def elects_in_sync(self, old: Self) -> bool:
        """SP-12. Who becomes leader is in the ISR, and active; it was in the ISR, save in an unclean election."""
        return all(self.electable(n) for n in Broker if self.led_by(n) and not old.led_by(n))

    @step
    def leader_stays(self, old: Self) -> bool:
        """SP-12. A leader who may go on goes on, unless the first replica is preferred to it."""
        return all(
            self.led_by(n) or any(self.led_by(m) and self.is_first(m) for m in Broker)
            for n in Broker
            if old.led_by(n) and self.electable(n)
        )

    @step
    def elects_in_order(self, old: Self) -> bool:
        """SP-12. A new leader precedes all other brokers that could have been elected in the same way."""
        return all(
            all(self.is_before(n, m) for m in Broker if m != n and self.might_lead(m, unclean=not old.isr[n]))
            for n in Broker
            if self.led_by(n) and not old.led_by(n)
        )

    def might_lead(self, m: Broker, unclean: bool) -> bool:
        """Whether an election may choose m. `unclean`: an unclean election, which may choose any active replica."""
        return self.electable(m) or (unclean and self.replica[m] and self.active[m])

    def is_before(self, m: Broker, n: Broker) -> bool:
        """Whether m precedes n in the list by which elections choose."""
        return self.before[m, n]

    @invariant
    def in_sync_is_active(self) -> bool:
        """RA-47. A fenced broker is in the ISR only if no broker of the ISR is active."""
        return all(not self.isr[n] or not self.electable(m) for n in Broker for m in Broker if not self.active[n])

    @invariant
    def in_sync_is_complete(self) -> bool:
        """SP-05. Each replica in the ISR has all acked records, except those that an unclean election gave up."""
        return all(self.complete[n] for n in Broker if self.isr[n])

    @step
    def nothing_given_up(self, old: Self) -> bool:
        """SP-05. Where no unclean election is allowed, nobody is in the ISR who lacked something that was acked."""
        return all(self.unclean or old.complete[n] for n in Broker if self.isr[n])
