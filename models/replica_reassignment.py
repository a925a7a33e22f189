"""Several replicas are reassigned: what a cancel gives back, and what it may cost.

`parts/replicas.py` has the registration and the record builder, `parts/replica_lists.py` the steps of brokers. Here an
operator starts and cancels reassignments, by the rules of the origin-preserving profile (CA-27, with CA-26): the list
before the first start is stored, outlives overlapping starts, and is restored by a cancel. The variant `kraft` is KRaft
as shipped. The model `kip_236` has the algorithm of KIP-236, whose cancel takes several steps.

A list in a request has one broker or two; the union of overlapping lists may be longer. min.insync.replicas is two. All
members of the ISR have an acked record; nobody else has it.

Left out: requests that are behind (74, 95), which are sent again; ELR, controlled shutdown, unregistered brokers
(RA-42), several partitions (RA-08), throttles; and KRaft's answer 39 to a cancel that would leave no replica, since
there is always a replica that no start has added.

Found with `kraft`. The profile, as modelled here, does none of this:

- A cancel does not restore the order of the replicas.
- After a second start, a cancel does not even restore the set of replicas.
- A cancel leaves fewer replicas in sync than producers need.
- If unclean elections are allowed, a cancel elects or expects a broker that lacks acked records, and says nothing of
  it. CA-26 alone does not close this hole, since it does not treat an ISR that is too small already. The mark of CA-25
  closes it. KRaft lacks that mark, and the profile does not ask for it; the model adds it to the profile.
"""

from __future__ import annotations

from typing import Self

from holdfast.lang import (
    Flag,
    Scope,
    action,
    equivalent,
    init,
    invariant,
    missing,
    outcomes,
    redundant,
    require,
    rule,
    step,
    witness,
)
from models.parts.replica_lists import R, ReplicaLists
from models.parts.replicas import Broker


class ReplicaReassignment(ReplicaLists):
    """One partition, its lists of replicas, and an operator who starts and cancels reassignments."""

    kraft: Flag
    """KRaft as shipped (RA-41, CA-21): it keeps no originals, and only CA-22 guards a cancel."""

    tiny = Scope({Broker: 2})
    default = Scope(
        {Broker: 3},
        budgets={
            "reassign": 2, "cancel": 1, "append": 1, "fetch": 2,
            "expand": 2, "shrink": 0, "prefer": 1, "fence": 1, "unfence": 0,
        },
    )  # fmt: skip
    large = Scope({Broker: 3}, budgets={"reassign": 2, "fence": 1, "append": 1})
    deep = Scope({Broker: 4}, depth=200)

    @init
    def start_partition(self, a: Broker, b: Broker, unclean: bool) -> None:
        """The partition has one replica or two, all of them in sync and active. The first one leads."""
        self.unclean = unclean
        self.begin_with(a, b)

    # The operator ---------------------------------------------------------------------------------------------

    @action
    def reassign(self, a: Broker, b: Broker, x: Broker) -> None:
        """The operator asks for the replicas a, b, perhaps while a reassignment is running (RA-41, RA-48).

        `x`: the leader after the record, if there is one (see `elect`).
        """
        if not self.in_progress():
            self.keep_originals()
        self.mark(a, b)
        self.put_first(a, b)
        self.finish()
        self.elect(x)
        self.settle()

    def mark(self, a: Broker, b: Broker) -> None:
        """The record marks the brokers that are added and removed, compared with the originals.

        KRaft as shipped compares with the present replicas, and an empty set of marks does not replace the old marks.
        """
        if self.kraft:
            adds = any(not self.replica[n] and self.listed(n, a, b) for n in Broker)
            removes = any(self.replica[n] and not self.listed(n, a, b) for n in Broker)
            for n in Broker:
                if adds:
                    self.adding[n] = self.listed(n, a, b) and not self.replica[n]
                if removes:
                    self.removing[n] = self.replica[n] and not self.listed(n, a, b)
        else:
            for n in Broker:
                self.adding[n] = self.listed(n, a, b) and not self.original[n]
                self.removing[n] = self.replica[n] and not self.listed(n, a, b)

    def stays(self, n: Broker) -> bool:
        """Whether a cancel leaves n among the replicas (CA-21, CA-27)."""
        if self.kraft:
            return self.replica[n] and not self.adding[n]
        return self.original[n]

    def check_cost(self) -> None:
        """A cancel is refused if it costs the partition its leader, or producers the ISR they need (CA-05, CA-26)."""
        alive = any(self.stays(n) and self.active[n] for n in Broker)
        require(alive or not any(self.electable(n) for n in Broker), "CA-05", error=R.INVALID_REPLICA_ASSIGNMENT)
        enough = any(
            self.isr[n] and self.isr[m] and self.stays(n) and self.stays(m) and n != m for n in Broker for m in Broker
        )
        require(enough or not self.writable(), "CA-26", error=R.INVALID_REPLICA_ASSIGNMENT)

    @action
    def cancel(self, x: Broker) -> None:
        """The operator takes the running reassignment back (CA-20 to CA-27).

        The request is AlterPartitionReassignments without a list. `x`: the leader after the record (see `elect`).
        """
        require(self.in_progress(), "CA-20", error=R.NO_REASSIGNMENT_IN_PROGRESS)
        if not self.kraft:
            self.check_cost()
        empty = not any(self.isr[n] and self.stays(n) for n in Broker)
        require(self.unclean or not empty, "CA-22", error=R.INVALID_REPLICA_ASSIGNMENT)
        drops = any(self.replica[n] and not self.stays(n) for n in Broker)
        # `stays` reads the marks and the replicas, so ISR and order are cut before both are written.
        for n in Broker:
            self.fetches[n] = self.fetches[n] or (self.isr[n] and not self.stays(n))
            self.isr[n] = self.isr[n] and self.stays(n)
        for m in Broker:
            for n in Broker:
                if self.kraft:
                    self.before[m, n] = self.before[m, n] and self.stays(m) and self.stays(n)
                else:
                    self.before[m, n] = self.original_before[m, n]
        for n in Broker:
            self.replica[n] = self.stays(n)
        self.adding.fill(False)
        self.removing.fill(False)
        # Unclean: the first remaining replica becomes the ISR, though it may lack acked records (CA-22).
        if empty:
            for n in Broker:
                self.isr[n] = self.is_first(n)
            if rule("CA-25", not self.kraft):
                self.give_up()
        self.drop_epoch(drops)
        self.elect(x)
        self.settle()

    # Records that complete a reassignment which is due --------------------------------------------------------

    def is_due(self) -> bool:
        """Whether a running reassignment could be completed: all remaining replicas are in sync.

        Only an unclean election leads here, since the record builder completes before it elects.
        """
        return self.in_progress() and all(self.isr[n] or self.removing[n] for n in Broker if self.replica[n])

    def complete_due(self) -> None:
        """Any record of the partition completes a reassignment that is due (RA-44)."""
        self.finish()
        self.settle()

    def completes_by_election(self) -> bool:
        """Whether a preferred election completes a reassignment that is due, so that the leader stays.

        If the first replica leads already, no record is written (84). A leader that is being removed would have to give
        way; a reassignment that is due in that case has been completed before.
        """
        return self.is_due() and not any(self.led_by(n) and (self.is_first(n) or self.removing[n]) for n in Broker)

    @action
    def prefer(self, x: Broker) -> None:
        """A request asks for the preferred leader (ElectLeaders). If a reassignment is due, its record completes that.

        Then the leader stays, or still nobody leads.
        """
        if self.completes_by_election():
            self.complete_due()
        else:
            self.elect_preferred(x)

    @action
    def shrink(self, n: Broker, x: Broker) -> None:  # The record may elect x too.
        """The leader takes n out of the ISR, or sends the same ISR (AlterPartition). The record may elect x."""
        self.dismiss(n)
        self.finish()
        self.elect(x)
        self.settle()

    @action
    def unfence(self, n: Broker, x: Broker) -> None:
        """Broker n is active again. If nobody leads, that writes a record of the partition, and x may lead."""
        if self.leader is None and not self.active[n]:
            self.complete_due()
        self.regain(n, x)

    # Properties -----------------------------------------------------------------------------------------------

    @invariant
    def marks_are_apart(self) -> bool:
        """SP-10. Nobody is being added and removed."""
        return not any(self.adding[n] and self.removing[n] for n in Broker)

    @step(of="prefer")
    def preferred_leads(self, old: Self, x: Broker) -> bool:
        """SP-12. It elects the first replica, from the ISR that there is, if it does not complete what is due."""
        return old.completes_by_election() or (self.led_by(x) and old.isr[x] and old.is_first(x))

    @step(of="cancel")
    def set_restored(self, old: Self) -> bool:
        """SP-13. A cancel leaves the original replicas."""
        return all(self.replica[n] == old.original[n] for n in Broker)

    @step(of="cancel")
    def order_restored(self, old: Self) -> bool:
        """SP-13. A cancel leaves the original replicas in their order, as far as they are replicas."""
        return all(
            self.before[m, n] == old.original_before[m, n]
            for m in Broker
            for n in Broker
            if self.replica[m] and self.replica[n] and old.original[m] and old.original[n]
        )

    @step(of="cancel")
    def stays_writable(self, old: Self) -> bool:
        """CA-26. A cancel leaves an ISR of min.insync.replicas, if there was one, and if the originals are enough."""
        enough = any(old.original[n] and old.original[m] and n != m for n in Broker for m in Broker)
        return self.writable() or not (old.writable() and enough)

    @step(of="cancel")
    def stays_online(self, old: Self) -> bool:
        """CA-26. A cancel leaves a leader, if there was one."""
        return self.leader is not None or old.leader is None

    @witness
    def overlap(self) -> bool:
        """RA-48. A second start takes back what the first one adds, before that has ended."""
        return any(self.removing[n] and not self.original[n] for n in Broker)

    # Mutants that no safety property kills, and why -----------------------------------------------------------

    mutants = outcomes(
        {
            "RA-44@prefer": equivalent("it completes nothing but what is due"),
            "RA-45@prefer": missing("disks: whoever is dropped while nobody leads would keep its log"),
            "RA-45@unfence": missing("disks: whoever is dropped while nobody leads would keep its log"),
            "RA-45": redundant("RA-47.replicas", "a leader that admits who was dropped is refused"),
            "RA-47.replicas": equivalent("who was dropped has heard of a new epoch, and does not fetch (RA-45)"),
            "SP-12.unclean@expand": equivalent("who sends it leads, and may go on"),
            "SP-12.unclean_order@expand": equivalent("who sends it leads, and may go on"),
            "SP-12.isr@shrink": equivalent("who sends it leads, and may go on"),
            "SP-12.unclean@shrink": equivalent("who sends it leads, and may go on"),
            "SP-12.unclean_order@shrink": equivalent("who sends it leads, and may go on"),
            "SP-12.order@unfence": equivalent("only who is back may lead"),
            "SP-12.unclean_order@unfence": equivalent("only who is back may lead"),
            "SP-12.unclean_order@cancel": equivalent("of two originals the first is fenced then"),
        }
    )
