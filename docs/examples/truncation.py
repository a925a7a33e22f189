"""How a follower of Kafka truncates its log, so that it loses what its new leader lacks, and nothing else.

KIP-101, *Alter Replication Protocol to use Leader Epoch rather than High Watermark for Truncation*; KIP-279, *Fix log
divergence between leader and follower after fast leader fail over*; and of KIP-320, *Allow fetchers to detect and
handle log truncation*, the fencing. An entry of a log is the leader epoch in which it was appended: each epoch has one
leader, and only it appends in this epoch, so epoch and offset identify a record. A request and its answer are one step.
Left out: records that a restart loses before the disk has them, and elections outside the in-sync set.
"""

from __future__ import annotations

from holdfast.lang import (
    Ghost,
    Map,
    Model,
    Nat,
    Rel,
    Scope,
    Seq,
    Sort,
    action,
    init,
    invariant,
    leads_to,
    require,
    rule,
    variant,
    witness,
)


class Replica(Sort): ...


class Epoch(Nat): ...


class Offset(Nat): ...


class Truncation(Model):
    """The elections of the controller, and what each replica has and knows."""

    newest: Epoch
    """The epoch of the newest election."""
    leader: Map[Epoch, Replica]
    """Whom the controller has elected for each epoch."""
    isr: Rel[Epoch, Replica]
    """Who is in sync; of an earlier epoch, who was at its end, as its leader still believes."""
    epoch: Map[Replica, Epoch]
    """The newest epoch that a replica has heard of."""
    log: Map[Replica, Seq[Epoch, Offset]]
    hw: Map[Replica, Offset]
    """The high watermark: the replica knows that all records below it are committed."""
    truncating: Rel[Replica]
    """The follower has to truncate before it fetches."""
    acked: Map[tuple[Replica, Replica], Offset]
    """How many records the second replica had when it last fetched from the first one, which leads."""
    committed: Ghost[Rel[Offset, Epoch]]
    """The records that have been below the high watermark of a leader."""

    tiny = Scope({Replica: 2, Epoch: 3, Offset: 2})
    default = Scope({Replica: 3, Epoch: 2, Offset: 1})
    deep = Scope({Replica: 3, Epoch: 6, Offset: 5}, depth=200)

    @init
    def start_empty(self, first: Replica) -> None:
        """All replicas are in sync and know the first leader."""
        self.newest = Epoch(0)
        self.leader.fill(first)
        self.isr.fill(True)
        self.epoch.fill(Epoch(0))
        self.log.clear()
        self.hw.fill(Offset(0))
        self.truncating.fill(False)
        self.acked.fill(Offset(0))
        self.committed.fill(False)

    @action
    def elect(self, r: Replica) -> None:
        """The controller elects a replica that is in sync."""
        require(self.isr[self.newest, r], "elect_in_sync")
        for f in Replica:
            self.isr[self.newest + 1, f] = self.isr[self.newest, f]
        self.newest += 1
        self.leader[self.newest] = r

    @action(fair="weak", per=("r",))
    def learn(self, r: Replica) -> None:
        """A replica hears of the newest election; a follower is going to truncate."""
        require(self.epoch[r] < self.newest)
        self.epoch[r] = self.newest
        self.truncating[r] = not self.leads(r)
        for f in Replica:
            self.acked[r, f] = Offset(0)

    @action
    def restart(self, f: Replica) -> None:
        """A follower restarts with its log and its high watermark, and truncates again."""
        require(not self.leads(f))
        self.truncating[f] = True

    @action
    def append(self, r: Replica) -> None:
        """A leader takes a record from a client."""
        require(self.leads(r))
        self.log[r].append(self.epoch[r])
        self.commit(r)

    @action(fair="weak", per=("f",))
    def truncate(self, f: Replica) -> None:
        """KIP-279. The leader tells its largest epoch that is at most the follower's last one, and where it ends."""
        leader = self.leader[self.epoch[f]]
        require(self.truncating[f])
        self.fence(f)
        last = self.log[f].last
        self.truncating[f] = False
        if last is not None:
            known = max((e for e in Epoch if e <= last and e in self.log[leader]), default=Epoch(0))
            self.log[f].truncate(min(self.end(leader, known), self.end(f, known)))
            if rule("ask_again", known < last):
                self.truncating[f] = True

    @variant("kip_101_only", replaces="truncate")
    def truncate_to_end_of_epoch(self, f: Replica) -> None:
        """KIP-101. The leader tells only where the epochs up to the follower's last one end in its log."""
        require(self.truncating[f])
        self.fence(f)
        last = self.log[f].last
        if last is not None:
            self.log[f].truncate(self.end(self.leader[self.epoch[f]], last))
        self.truncating[f] = False

    @variant("to_high_watermark", replaces="truncate")
    def truncate_to_high_watermark(self, f: Replica) -> None:
        """Before KIP-101. The follower asks nobody, and keeps what it knows to be committed."""
        require(self.truncating[f])
        self.log[f].truncate(self.hw[f])
        self.truncating[f] = False

    @action(fair="strong", per=("f",))
    def fetch(self, f: Replica) -> None:
        """A follower tells how much it has, and gets the next record, and the high watermark as it was before."""
        leader = self.leader[self.epoch[f]]
        require(f != leader)
        require(not self.truncating[f], "truncate_first")
        self.fence(f)
        entry, hw = self.log[leader][self.length(f)], self.hw[leader]
        self.acked[leader, f] = self.length(f)
        self.commit(leader)
        if entry is not None:
            self.log[f].append(entry)
        self.hw[f] = min(hw, self.length(f))

    @action
    def shrink(self, r: Replica, f: Replica) -> None:
        """A leader takes a follower out of the in-sync set, because it lags."""
        self.check_leads(r, f)
        self.isr[self.newest, f] = False
        self.commit(r)

    @action
    def expand(self, r: Replica, f: Replica) -> None:
        """A leader takes a follower into the in-sync set, because it has all that may be committed."""
        self.check_leads(r, f)
        require(self.acked[r, f] >= self.hw[r], "has_committed")
        require(self.acked[r, f] >= self.end(r, self.epoch[r] - 1), "has_earlier_epochs")
        self.isr[self.newest, f] = True

    def commit(self, r: Replica) -> None:
        """A leader raises its high watermark to what all replicas in sync have."""
        e = self.epoch[r]
        have = min((self.acked[r, f] for f in Replica if f != r and self.isr[e, f]), default=self.length(r))
        self.hw[r] = max(self.hw[r], have)
        for o in Offset:
            for x in Epoch:
                if o < self.hw[r] and self.log[r][o] == x:
                    self.committed[o, x] = True

    def fence(self, f: Replica) -> None:
        """KIP-320. A leader answers a follower only if both are in the same epoch."""
        require(self.epoch[self.leader[self.epoch[f]]] == self.epoch[f], "fence")

    def check_leads(self, r: Replica, f: Replica) -> None:
        """The controller lets only the leader of the newest epoch change the in-sync set."""
        require(self.leads(r) and f != r)
        require(self.epoch[r] == self.newest, "newest_changes")

    def leads(self, r: Replica) -> bool:
        """Whether a replica believes that it leads."""
        return self.leader[self.epoch[r]] == r

    def length(self, r: Replica) -> Offset:
        """How many records a replica has."""
        return Offset(0) + len(self.log[r])

    def end(self, r: Replica, e: Epoch) -> Offset:
        """Where the epochs up to e end in a log."""
        return max((o + 1 for o in Offset if any(self.log[r][o] == x for x in Epoch if x <= e)), default=Offset(0))

    @invariant
    def committed_kept(self) -> bool:
        """TR-01. Every replica that is in sync has every committed record."""
        return all(
            self.log[r][o] == e
            for r in Replica
            for o in Offset
            for e in Epoch
            if self.committed[o, e] and self.isr[self.newest, r]
        )

    @invariant
    def same_below(self) -> bool:
        """TR-02. Two logs are the same below the smaller high watermark."""
        return all(
            self.log[r][o] == self.log[f][o]
            for r in Replica
            for f in Replica
            for o in Offset
            if o < self.hw[r] and o < self.hw[f]
        )

    @invariant
    def prefixes(self) -> bool:
        """TR-03. A follower that has truncated has a prefix of the log of its leader."""
        return all(
            self.log[r].starts_with(self.log[f])
            for r in Replica
            for f in Replica
            if self.leads(r) and self.epoch[r] == self.epoch[f] and not self.truncating[f]
        )

    @invariant
    def leader_in_sync(self) -> bool:
        """TR-04. The leader of the newest epoch is in sync."""
        return self.isr[self.newest, self.leader[self.newest]]

    @leads_to
    def reaches_all(self, r: Replica, o: Offset, e: Epoch) -> tuple[bool, bool]:
        """TR-05. A committed record reaches every replica."""
        return self.committed[o, e], self.log[r][o] == e

    @witness
    def unknown_epoch(self) -> bool:
        """The leader of a follower has no record of the follower's last epoch, but later ones."""
        return any(
            self.truncating[f]
            and self.log[f].last == e
            and e not in self.log[r]
            and any(x in self.log[r] for x in Epoch if x > e)
            for r in Replica
            for f in Replica
            for e in Epoch
            if self.leads(r) and self.epoch[r] == self.epoch[f]
        )

    @witness
    def late_high_watermark(self) -> bool:
        """The leader of the newest epoch has a committed record above its high watermark."""
        return any(
            self.committed[o, e] and self.log[r][o] == e and self.hw[r] <= o
            for r in Replica
            for o in Offset
            for e in Epoch
            if self.leads(r) and self.epoch[r] == self.newest
        )
