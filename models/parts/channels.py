"""Channel records, route epochs and links, as proxies, mains and the controller hold them, and their properties.

Facts: zone-routing.md 2 and 4. The properties are those of zone-routing.md 7 that name no action.
"""

from __future__ import annotations

from enum import Enum
from typing import Self

from holdfast.lang import Flag, Ghost, Map, Model, Nat, Rel, Sort, init, invariant, leads_to, step


class Proxy(Sort):
    """A broker in its role as the owner of a RouterChannel."""


class Main(Sort):
    """A broker in its role as the leader of partitions, with its ConfirmWAL."""


class Request(Sort):
    """One record of a channel, together with the request that carries its offset and the link to it."""


class Epoch(Nat):
    """A RouteEpoch."""


class Phase(Enum):
    """How far a request has come: from the proxy to the main, and from the main's WAL to the uploaded batch."""

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
    """ZG-1, as built: a main does not count a local append as in flight."""
    timeout_uncounts: Flag
    """ZG-2, as built: the answer of a timeout to the producer ends the count, though the append goes on."""
    no_incarnation: Flag
    """ZG-3, as built: a report does not name the process of the node that has sent it."""
    failed_upload_hangs: Flag
    """ZG-4, as built: after a failed upload the commit of a main never ends."""
    idle_commit_waits: Flag
    """ZG-5, as built: the commit of a main ends only with an upload, so that an idle main does not report."""
    fenced_is_new_minus_1: Flag
    """The design text: a bump fences the epoch that was current (M-08)."""

    committed: Epoch
    """In the controller's record G: the newest epoch whose channel records no main needs any more."""
    fenced: Epoch
    """In the controller's record G: the newest epoch whose requests a main must refuse."""
    current: Epoch
    """In the controller's record G: the epoch with which proxies tag new channel records."""

    channel_epoch: Map[Proxy, Epoch]
    """The current epoch of the newest record G that p has applied."""
    trimmed_to: Map[Proxy, Epoch]
    """The epoch up to which p's channel is trimmed."""

    up: Rel[Main]
    """A process of m runs. Otherwise m is FENCED at the controller, or not registered any more."""
    serving: Rel[Main]
    """m has opening streams (ZR-54): it serves them, or its WAL holds data of them that is not uploaded."""
    known: Map[Main, Epoch]
    """The fenced epoch of the record that m has applied; 0 while it is down."""
    report: Map[Main, Epoch | None]
    """R: the epoch that m has reported last; None if it has reported none."""
    haunted: Rel[Main]
    """In ZG-3: an older process of m still runs and reports; it had nothing left in its WAL."""
    stuck: Rel[Main]
    """In ZG-4: the commit of m hangs, after an upload of m has failed."""

    phase: Map[Request, Phase]
    """How far r has come."""
    source: Rel[Request, Proxy]
    """The proxy whose channel has the record of r."""
    target: Rel[Request, Main]
    """The main to which r goes. A request that has failed has none."""
    tag: Map[Request, Epoch]
    """The route epoch of r: the channel's current epoch when the append of the record completed (ZR-20)."""
    goes_with: Map[Request, Epoch]
    """The least epoch whose trim removes the record of r: the least tag of it and of later records (ZR-64)."""
    counted: Rel[Request]
    """The main counts r in its inflight[tag]."""
    unanswered: Ghost[Rel[Request]]
    """The main has admitted r and not answered it, so that it must count r."""
    acked: Ghost[Rel[Request]]
    """The producer got an ack for r, and the batch of r is not uploaded yet."""
    met_trimmed: Ghost[bool]
    """A recovery has met a link whose channel record is trimmed."""

    @init
    def start_cluster(self) -> None:
        """The controller has written its first record, and no broker has applied it (ZR-21, ZR-58). All mains serve."""
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
        """Whether the record of r is trimmed from its channel."""
        return any(self.goes_with[r] <= self.trimmed_to[p] for p in Proxy if self.source[r, p])

    def is_under_way(self, r: Request) -> bool:
        """Whether r is admitted, and its link is not durable yet."""
        return self.phase[r] in (Phase.ADMITTED, Phase.APPENDING)

    def is_in_wal(self, r: Request) -> bool:
        """Whether the link of r is in the WAL of its main."""
        return self.phase[r] in (Phase.LINKED, Phase.UPLOADED)

    def reports(self, m: Main, e: Epoch) -> bool:
        """Whether m has reported e or a newer epoch."""
        last = self.report[m]
        return last is not None and e <= last

    # Effects --------------------------------------------------------------------------------------------------

    def empty_wal(self, m: Main) -> None:
        """The WAL of m loses the links whose batches are uploaded."""
        for r in Request:
            if self.target[r, m] and self.phase[r] == Phase.UPLOADED:
                self.phase[r] = Phase.TRIMMED

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
        """I-5. No request of a reported epoch is under way, nor will be, and no link of one is in the WAL."""
        return all(
            all(not self.is_under_way(r) and not self.is_in_wal(r) for r in Request if self.is_reported(r, m))
            for m in Main
        )

    def is_reported(self, r: Request, m: Main) -> bool:
        """Whether r went to m under an epoch that m has reported, or an older one."""
        return self.target[r, m] and self.reports(m, self.tag[r])

    @step
    def committed_grows(self, old: Self) -> bool:
        """I-6. The committed epoch never decreases (the reference rule of ZR-57)."""
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
        """I-8. Every acked request is uploaded, or durable, and can be resolved."""
        return all(self.phase[r] == Phase.LINKED and not self.is_trimmed(r) for r in Request if self.acked[r])

    @leads_to
    def reclaimed(self, r: Request) -> tuple[bool, bool]:
        """V-1. A record of an epoch that is fenced is trimmed some time."""
        return self.phase[r] != Phase.NEW and self.tag[r] <= self.fenced, self.is_trimmed(r)
