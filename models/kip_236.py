"""KIP-236: a reassignment is cancelled in steps, by a controller that may crash between any two of them.

The controller works with ZooKeeper. It stores a pending entry with `original_replicas`, a znode that signals the
cancel, and a queue. A rollback has the steps C1 to C7 of reassignment.md 5; the model takes C1 with C2, C3 with C4, C5,
and C6 with C7 as one step each. The controller does one thing at a time. So between two steps of a rollback only
leaders act, who write the ISR themselves, or the controller crashes. Of its memory the model keeps how far it has come;
a new controller begins again at C1.

A reassignment runs as in `replica_reassignment`, since KIP-236 does not say how.

Left out: the batch (CA-01), since one partition is modelled; throttles and the CLI (CA-06, CA-09); the superseded idea
of CA-10.

Where the KIP is silent:

- CA-05 asks for a rollback if all brokers are down. If nobody in the ISR is an original then, C3 would empty the ISR.
  Here such an entry is skipped (CA-05.isr).
- The KIP does not mention min.insync.replicas. A rollback may end below it, as a cancel of KRaft may (`below_min_isr`).

Where this differs from reassignment.md:

- CA-04 is not decisive. Missing originals are not alive, so CA-05 skips the entry too, unless all brokers are down.
"""

from __future__ import annotations

from enum import Enum
from typing import Self

from holdfast.lang import (
    Ghost,
    Rel,
    Scope,
    action,
    equivalent,
    init,
    invariant,
    outcomes,
    redundant,
    require,
    rule,
    step,
    witness,
)
from models.parts.replica_lists import ReplicaLists
from models.parts.replicas import Broker


class Step(Enum):
    """The last step of a rollback that the controller remembers."""

    IDLE = "idle"
    LED = "a leader out of the originals"
    CUT = "the others are gone"
    STORED = "the originals are stored"


class Kip236(ReplicaLists):
    """One partition, its pending entry, the queue behind it, and a rollback in steps."""

    done: Step
    """How far the controller has come with a rollback. Its memory is lost in a crash."""
    entry: bool
    """The partition is pending. `original` is the entry's original_replicas, and empty if those are missing."""
    signal: bool
    """The znode that signals a cancel exists."""
    queued: Broker | None
    """The first broker of the list that waits in the queue; None if the queue is empty."""
    queued_second: Broker | None
    """The second broker of that list; the same as the first in a list of one."""
    told: bool
    """The leader has heard that only the originals are replicas, and takes no other broker for a follower."""
    was_writable: Ghost[bool]
    """The ISR reached min.insync.replicas when the rollback began."""
    home: Ghost[Rel[Broker]]
    """The replicas when the partition was last at rest."""

    tiny = Scope(
        {Broker: 2},
        budgets={
            "reassign": 2, "cancel": 1, "crash": 1, "edit": 0,
            "append": 0, "prefer": 1, "expand": 1, "shrink": 0, "fence": 1, "unfence": 0,
        },
    )  # fmt: skip
    default = Scope(
        {Broker: 2},
        budgets={
            "reassign": 2, "cancel": 1, "crash": 1, "edit": 1,
            "append": 1, "prefer": 1, "expand": 2, "shrink": 0, "fence": 1, "unfence": 0,
        },
    )  # fmt: skip
    deep = Scope({Broker: 3}, depth=200)

    @init
    def start_partition(self, a: Broker, b: Broker) -> None:
        """The partition has one replica or two, all of them in sync and active. No unclean election is allowed."""
        self.unclean = False
        self.begin_with(a, b)

    @init
    def start_controller(self) -> None:
        """Nothing is pending, queued or signalled."""
        self.done = Step.IDLE
        self.entry = False
        self.signal = False
        self.queued = None
        self.queued_second = None
        self.told = False
        self.was_writable = False
        self.home.fill(False)

    def in_progress(self) -> bool:
        """Whether the partition is pending."""
        return self.entry

    def settle(self) -> None:
        """A complete reassignment is no longer pending, and cannot be cancelled any more."""
        if not any(self.adding[n] or self.removing[n] for n in Broker):
            self.remove_entry()

    def remove_entry(self) -> None:
        """The controller removes the pending entry, and with the last entry the signal (C6)."""
        self.entry = False
        self.signal = False
        self.told = False
        self.original.fill(False)
        self.original_before.fill(False)

    # The operator ---------------------------------------------------------------------------------------------

    @action
    def reassign(self, a: Broker, b: Broker) -> None:
        """The operator asks for the replicas a, b. The list waits in the queue, if the queue is empty (CA-07)."""
        require(self.queued is None, "CA-07")
        self.queued = a
        self.queued_second = b

    @action
    def cancel(self) -> None:
        """The operator signals a cancel (CA-02), or the controller does, since another list is in the queue (CA-08)."""
        require(self.entry, "CA-01")
        self.signal = True

    @action
    def edit(self) -> None:
        """Somebody edits the pending entry by hand, or an old tool wrote it. Its originals are missing now."""
        if self.entry and self.done == Step.IDLE:
            self.original.fill(False)
            self.original_before.fill(False)

    # The controller -------------------------------------------------------------------------------------------

    @action
    def begin(self, x: Broker) -> None:
        """The controller starts the queued list: the list becomes pending, and the present replicas its originals."""
        self.check_idle()
        require(not self.entry, "CA-08")
        a = self.queued
        b = self.queued_second
        if a is not None and b is not None:
            # Without CA-08 an entry may be pending here. The partition is not at rest then.
            if not self.entry:
                for n in Broker:
                    self.home[n] = self.replica[n]
            self.keep_originals()
            self.entry = True
            self.queued = None
            self.queued_second = None
            for n in Broker:
                self.adding[n] = self.listed(n, a, b) and not self.original[n]
                self.removing[n] = self.replica[n] and not self.listed(n, a, b)
            self.put_first(a, b)
            self.finish()
            self.elect(x)
            self.settle()

    @action
    def roll_back(self, x: Broker) -> None:
        """The controller takes the next step of a rollback.

        `x`: the original that leads after C1 and C2 (see `lead_original`).
        """
        require(self.signal, "CA-02")
        if self.done == Step.IDLE:
            self.check_rollback()
            self.was_writable = self.writable()
            self.lead_original(x)
            self.done = Step.LED
            # Without CA-03 the entry would be removed first, and a crash would lose the originals.
            if rule("CA-03", self.signal):
                pass
            else:
                self.entry = False
        elif self.done == Step.LED:
            for n in Broker:
                if not self.original[n]:
                    self.isr[n] = False
                    self.fetches[n] = False
                    self.complete[n] = False
            self.done = Step.CUT
        elif self.done == Step.CUT:
            for m in Broker:
                for n in Broker:
                    self.before[m, n] = self.original_before[m, n]
            for n in Broker:
                self.replica[n] = self.original[n]
            self.adding.fill(False)
            self.removing.fill(False)
            self.done = Step.STORED
        else:
            self.remove_entry()
            self.done = Step.IDLE

    def check_rollback(self) -> None:
        """An entry whose originals are missing or dead is skipped, and stays pending (CA-04, CA-05)."""
        require(any(self.original[n] for n in Broker), "CA-04")
        alive = any(self.original[n] and self.electable(n) for n in Broker)
        require(alive or not any(self.electable(n) for n in Broker), "CA-05")
        stays = any(self.original[n] and self.isr[n] for n in Broker)
        require(stays or any(self.electable(n) for n in Broker), "CA-05.isr")

    def lead_original(self, x: Broker) -> None:
        """An original leads from now on, under a new epoch even if it has led before (C1, C2).

        With the epoch the leader hears which brokers it must not admit to the ISR any more.
        """
        if any(self.led_by(n) and self.original[n] for n in Broker):
            if rule("CA-02.epoch"):
                self.begin_epoch()
                self.told = True
        elif any(self.original[n] and self.electable(n) for n in Broker):
            ahead = all(self.original_before[x, n] for n in Broker if self.original[n] and self.electable(n) and n != x)
            require(self.original[x] and self.electable(x) and ahead, "CA-02.leader")
            self.lead(x)
            self.told = True
        elif self.leader is not None:
            self.leader = None
            self.begin_epoch()

    @action
    def crash(self) -> None:
        """The controller crashes. A new one has only what is stored: if the entry is gone, so are its originals."""
        self.done = Step.IDLE
        self.told = False
        if not self.entry:
            self.remove_entry()

    # The brokers ----------------------------------------------------------------------------------------------

    def check_idle(self) -> None:
        """The controller does one thing at a time: it takes no other step during a rollback."""
        require(self.done == Step.IDLE, "CA-03.busy")

    @action
    def prefer(self, x: Broker) -> None:
        """The controller elects the preferred leader, the first replica."""
        self.check_idle()
        self.elect_preferred(x)

    @action
    def fetch(self, n: Broker) -> None:
        """A replica catches up with the leader, if the leader takes it for a replica."""
        if self.original[n] or not self.told:
            self.catch_up(n)

    @action
    def expand(self, n: Broker, x: Broker) -> None:
        """The leader adds n to the ISR. The controller completes the reassignment, unless it is rolling back."""
        self.admit(n)
        if self.done == Step.IDLE:
            self.finish()
            self.elect(x)
            self.settle()

    @action
    def fence(self, n: Broker, x: Broker) -> None:
        """The controller finds that a broker is dead."""
        self.check_idle()
        self.lose(n, x)

    @action
    def unfence(self, n: Broker, x: Broker) -> None:
        """The controller finds that a broker is back."""
        self.check_idle()
        self.regain(n, x)

    # Properties -----------------------------------------------------------------------------------------------

    @step
    def leader_stays(self, old: Self) -> bool:
        """SP-12. A leader who may go on goes on, unless the first replica, or an original, is preferred to it."""
        return all(
            self.led_by(n)
            or any(self.led_by(m) and self.is_first(m) for m in Broker)
            or (old.signal and not old.original[n])
            for n in Broker
            if old.led_by(n) and self.electable(n)
        )

    def might_lead(self, m: Broker, unclean: bool) -> bool:
        """Whether an election may choose m. In step C1 of a rollback only originals are candidates."""
        return self.electable(m) and (self.original[m] or self.done != Step.LED)

    def is_before(self, m: Broker, n: Broker) -> bool:
        """Whether m precedes n in the list by which elections choose.

        In step C1 that is the list of the originals, which the controller stores only later.
        """
        return self.original_before[m, n] if self.done == Step.LED else self.before[m, n]

    @step(of="roll_back")
    def set_restored(self, old: Self) -> bool:
        """SP-13. A rollback ends with the replicas that the partition had at rest."""
        return not (old.done == Step.STORED) or all(self.replica[n] == self.home[n] for n in Broker)

    @step(of="roll_back")
    def order_restored(self, old: Self) -> bool:
        """SP-13. It ends with the originals in their order."""
        return not (old.done == Step.STORED) or all(
            self.before[m, n] == old.original_before[m, n] for m in Broker for n in Broker
        )

    @step(of="roll_back")
    def stays_online(self, old: Self) -> bool:
        """CA-05. No step of a rollback takes the leader away without another one."""
        return self.leader is not None or old.leader is None

    @step(of="crash")
    def originals_outlive_controllers(self, old: Self) -> bool:
        """CA-03. A new controller knows the originals of what is half rolled back."""
        return all(self.original[n] for n in Broker if old.original[n])

    @invariant
    def originals_are_home(self) -> bool:
        """CA-08. The originals of an entry are the replicas of the partition at rest."""
        return all(
            self.original[n] == self.home[n] for n in Broker if self.entry and any(self.original[m] for m in Broker)
        )

    @step(of="reassign")
    def queue_is_kept(self, old: Self) -> bool:
        """CA-07. No list in the queue is overwritten."""
        return old.queued is None

    @invariant
    def signal_has_entry(self) -> bool:
        """CA-01. A cancel is asked for only while something is pending: it is not kept for the next entry."""
        return self.entry or not self.signal

    # Witnesses ------------------------------------------------------------------------------------------------

    @witness
    def found_half_way(self) -> bool:
        """CA-03. A new controller finds the originals stored, and the entry still there."""
        return self.done == Step.IDLE and self.entry and not any(self.adding[n] or self.removing[n] for n in Broker)

    @witness
    def rolled_back_for_next(self) -> bool:
        """CA-08. A rollback is on its way while the next list waits."""
        return self.done == Step.CUT and self.queued is not None

    @witness
    def below_min_isr(self) -> bool:
        """CA-25. A rollback has left fewer in sync than min.insync.replicas, which were enough before it."""
        return self.done == Step.CUT and self.was_writable and not self.writable()

    # Mutants that no safety property kills, and why -----------------------------------------------------------

    mutants = outcomes(
        {
            "CA-03.busy@begin": equivalent("an entry is pending while it is rolled back (CA-08)"),
            "CA-03.busy@unfence": equivalent("the scopes let no broker come back"),
            "CA-04": redundant("CA-05", "originals that are missing are not alive either"),
            "CA-05.isr": equivalent("the scopes leave somebody in the ISR alive, or an original there"),
            "RA-45": redundant("RA-47.replicas", "a leader that admits who was dropped is refused"),
            "RA-47.replicas": equivalent("who was dropped has heard of a new epoch, and does not fetch (RA-45)"),
            "RA-47.leader": equivalent("the scopes let no leader take anybody out of the ISR"),
            "SP-12.isr@unfence": equivalent("the scopes let no broker come back"),
            "SP-12.order@fence": equivalent("of three brokers two are in sync at most"),
            "SP-12.order@unfence": equivalent("the scopes let no broker come back"),
            "SP-12.unclean": equivalent("no unclean election is allowed"),
            "SP-12.unclean_order": equivalent("no unclean election is allowed"),
        }
    )
