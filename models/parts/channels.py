"""What proxies, mains and the controller hold of channel records and route epochs, and what must hold of it.

Facts: zone-routing.md 2 and 4; the properties are those of 7 that name no action.
"""

from __future__ import annotations

from enum import Enum
from typing import Self

from holdfast.lang import Flag, Ghost, Map, Model, Nat, Rel, Sort, init, invariant, leads_to, step


class Proxy(Sort):
    """A broker as the owner of a RouterChannel."""


class Main(Sort):
    """A broker as the leader of partitions, with its ConfirmWAL."""


class Request(Sort):
    """One record of a channel, the request that carries its offset, and the link that comes of it."""


class Epoch(Nat):
    """A RouteEpoch."""


class Phase(Enum):
    """How far a request has come."""

    NEW = "new"
    SENT = "sent"
    ADMITTED = "admitted"
    APPENDING = "appending"
    LINKED = "linked"
    UPLOADED = "uploaded"
    TRIMMED = "trimmed"
    FAILED = "failed"


class Channels(Model):
    """The controller's record, channels, mains with their WALs, and the requests between them."""

    local_uncounted: Flag
    """ZG-1, as built: a local append is not counted."""
    timeout_uncounts: Flag
    """ZG-2, as built: the answer to a producer whose time is over ends the count, though the append goes on."""
    no_incarnation: Flag
    """ZG-3, as built: a report does not say which process of the node has sent it."""
    failed_upload_hangs: Flag
    """ZG-4, as built: after an upload that failed the commit of a main never ends."""
    idle_commit_waits: Flag
    """ZG-5, as built: the commit of a main ends with an upload, so that an idle one does not report."""
    fenced_is_new_minus_1: Flag
    """The design text: a bump fences the epoch that was current (M-08)."""

    committed: Epoch
    fenced: Epoch
    current: Epoch
    """With the two above, the controller's record G."""

    channel_epoch: Map[Proxy, Epoch]
    """The current epoch that p knows."""
    trimmed_to: Map[Proxy, Epoch]
    """The epoch up to which its channel is trimmed."""

    up: Rel[Main]
    """A process of m runs; otherwise the controller has it FENCED, or not registered any more."""
    serving: Rel[Main]
    """m has opening streams (ZR-54)."""
    known: Map[Main, Epoch]
    """The fenced epoch of the record that m has applied; 0 while it is down."""
    report: Map[Main, Epoch | None]
    """R: the epoch that m has reported, or None."""
    haunted: Rel[Main]
    """In ZG-3: an older process of m runs on, which had nothing left in its WAL."""
    stuck: Rel[Main]
    """In ZG-4: the commit of m hangs."""

    phase: Map[Request, Phase]
    source: Rel[Request, Proxy]
    target: Rel[Request, Main]
    """Where r goes. It does not matter any more once it has failed."""
    tag: Map[Request, Epoch]
    goes_with: Map[Request, Epoch]
    """The least epoch whose trim takes the record of r: the least tag of it and of what lies behind it (ZR-64)."""
    counted: Rel[Request]
    """r is part of its main's inflight[tag]."""
    unanswered: Ghost[Rel[Request]]
    """r was admitted, and is to be counted."""
    acked: Ghost[Rel[Request]]
    """r was acked, and not uploaded since."""
    met_trimmed: Ghost[bool]
    """A recovery has met a link into trimmed data."""

    @init
    def start_cluster(self) -> None:
        """The first record is written, and no broker has applied it (ZR-21, ZR-58). All mains serve."""
        self.committed = Epoch(0)
        self.fenced = Epoch(1) if self.fenced_is_new_minus_1 else Epoch(0)
        self.current = Epoch(2)
        self.channel_epoch.fill(Epoch(1))
        self.trimmed_to.fill(Epoch(0))
        self.up.fill(True)
        self.serving.fill(True)
        self.known.fill(Epoch(0))
        self.report.fill(None)
        self.haunted.fill(False)
        self.stuck.fill(False)
        self.phase.fill(Phase.NEW)
        self.source.fill(False)
        self.target.fill(False)
        self.tag.fill(Epoch(0))
        self.goes_with.fill(Epoch(0))
        self.counted.fill(False)
        self.unanswered.fill(False)
        self.acked.fill(False)
        self.met_trimmed = False

    # What the rules speak of ----------------------------------------------------------------------------------

    def is_trimmed(self, r: Request) -> bool:
        """Whether the channel has the record of r no more."""
        return any(self.goes_with[r] <= self.trimmed_to[p] for p in Proxy if self.source[r, p])

    def is_under_way(self, r: Request) -> bool:
        """Whether r is admitted, and its link not durable."""
        return self.phase[r] in (Phase.ADMITTED, Phase.APPENDING)

    def is_in_wal(self, r: Request) -> bool:
        """Whether a WAL has the link of r."""
        return self.phase[r] in (Phase.LINKED, Phase.UPLOADED)

    def reports(self, m: Main, e: Epoch) -> bool:
        """Whether m has reported e or a newer epoch."""
        last = self.report[m]
        return last is not None and e <= last

    # Properties -----------------------------------------------------------------------------------------------

    @invariant
    def recovery_never_dangles(self) -> bool:
        """I-1. The channel has the record of every link that is not uploaded."""
        return all(not self.is_trimmed(r) for r in Request if self.phase[r] == Phase.LINKED)

    @invariant
    def replay_never_dangles(self) -> bool:
        """I-2. So it has of every link in the WAL of a main that runs or has opening streams."""
        return all(
            all(not self.is_trimmed(r) for r in Request if self.target[r, m] and self.is_in_wal(r))
            for m in Main
            if self.up[m] or self.serving[m]
        )

    @invariant
    def counted_until_answered(self) -> bool:
        """I-3. A request is counted from its admission to its answer."""
        return all(self.counted[r] for r in Request if self.unanswered[r])

    @invariant
    def epochs_in_order(self) -> bool:
        """I-4. What is committed is fenced, and that is two bumps behind the current epoch; in the design text one."""
        return self.committed <= self.fenced and self.current == self.fenced + (1 if self.fenced_is_new_minus_1 else 2)

    @invariant
    def reported_is_done(self) -> bool:
        """I-5. Of what a main has reported nothing is under way, nor will be, and no link is in its WAL."""
        return all(
            all(not self.is_under_way(r) and not self.is_in_wal(r) for r in Request if self.is_reported(r, m))
            for m in Main
        )

    def is_reported(self, r: Request, m: Main) -> bool:
        """Whether r went to m under an epoch that m has reported, or an older one."""
        return self.target[r, m] and self.reports(m, self.tag[r])

    @step
    def committed_grows(self, old: Self) -> bool:
        """I-6. What is committed stays so (the reference rule of ZR-57)."""
        return self.committed >= old.committed

    @invariant
    def trims_what_is_committed(self) -> bool:
        """I-7. A channel is trimmed up to a committed epoch."""
        return all(self.trimmed_to[p] <= self.committed for p in Proxy)

    @invariant
    def trims_its_own_epochs(self) -> bool:
        """I-7. No record lies below one of an older epoch, so that the trim of an epoch takes no newer one."""
        return all(self.goes_with[r] == self.tag[r] for r in Request if self.phase[r] != Phase.NEW)

    @invariant
    def acked_is_recoverable(self) -> bool:
        """I-8. What was acked is uploaded, or durable, and can be resolved."""
        return all(self.phase[r] == Phase.LINKED and not self.is_trimmed(r) for r in Request if self.acked[r])

    @leads_to
    def reclaimed(self, r: Request) -> tuple[bool, bool]:
        """V-1. A record of an epoch that is fenced is trimmed some time."""
        return self.phase[r] != Phase.NEW and self.tag[r] <= self.fenced, self.is_trimmed(r)
