"""What a main shows to a proxy, and what the proxy has of it: sessions, snapshots and the cache.

Facts: zone-routing.md 3. The model `snapshot_read` says what is merged and left out.
"""

from __future__ import annotations

from enum import Enum

from holdfast.lang import Flag, Ghost, Map, Model, Nat, Rel, init, rule
from models.parts.channels import Main
from models.parts.streams import Offset


class LeaderEpoch(Nat):
    """The leader epoch of a partition. Each open of the partition has its own."""


class Poll(Enum):
    """How far the reader's request to a main has come, or the answer to it."""

    WAITING = "waiting"
    HELD = "held"
    ANSWERED = "answered"


class Snapshots(Model):
    """A partition, the mains that may lead it, and a proxy that shows it."""

    early_baseline: Flag
    """ZG-7, as built: all ends are those of the WAL, and its newest records need not be in the log cache yet."""
    early_ends: Flag
    """ZG-7, with the remedy of the page: the baseline of a session lies in the log cache, the other ends need not."""

    leader: Main
    """The main that leads the partition."""
    epoch: LeaderEpoch
    """The leader epoch under which it leads."""
    appended: Offset
    """The end of the log: LogEndOffset. The last appends may be under way."""
    confirmed: Offset
    """The end of the records that are durable in the WAL of the leader."""
    cached: Offset
    """The end of the records in the log cache of the leader. Their appends have finished."""
    uploaded: Offset
    """The end of the uploaded records."""

    session: Rel[Main]
    """m has a session with the reader."""
    committing: Rel[Main]
    """The reader has asked m for an upload that has not ended: with a new session, or by RequestCommit (ZR-40)."""
    asked: Ghost[Rel[Main]]
    """The reader has asked m by RequestCommit, since its cache has lost records; this upload has not ended."""
    sent: Map[Main, LeaderEpoch | None]
    """The epoch of the partition that m has sent in this session and not removed."""
    poll: Map[Main, Poll]
    """WAITING: the request waits at m. HELD: m holds a snapshot back. ANSWERED: the reader replays for the answer."""
    snapshot_epoch: Map[Main, LeaderEpoch | None]
    """The epoch of the partition in the snapshot of m; None if m did not lead it."""
    snapshot_end: Map[Main, Offset]
    """The LogEndOffset in the snapshot of m."""
    wal_end: Map[Main, Offset]
    """ConfirmWalEndOffset in the last answer of m, as the end of the partition's records below it."""

    position: Map[Main, Offset]
    """The end up to which the reader has replayed the WAL of m."""
    held: Rel[Offset]
    """The records in the cache of the reader."""
    shown_by: Main | None
    """The main for which the reader shows the partition; None if it does not show it."""
    shown_epoch: LeaderEpoch
    """The epoch under which the reader shows the partition."""
    end: Offset
    """The end up to which the reader shows the partition."""

    @init
    def start_partition(self, m: Main) -> None:
        """A main leads the empty partition. The reader has no session."""
        self.leader = m
        self.epoch = LeaderEpoch(0)
        self.appended = Offset(0)
        self.confirmed = Offset(0)
        self.cached = Offset(0)
        self.uploaded = Offset(0)
        self.session.fill(False)
        self.committing.fill(False)
        self.asked.fill(False)
        self.sent.fill(None)
        self.poll.fill(Poll.WAITING)
        self.snapshot_epoch.fill(None)
        self.snapshot_end.fill(Offset(0))
        self.wal_end.fill(Offset(0))
        self.position.fill(Offset(0))
        self.held.fill(False)
        self.shown_by = None
        self.shown_epoch = LeaderEpoch(0)
        self.end = Offset(0)

    # What the reader shows ------------------------------------------------------------------------------------

    def take_partition(self, m: Main) -> None:
        """The reader takes the ADD or PATCH of m, if there is one. An ADD of an old epoch ends the session (ZR-52)."""
        e = self.snapshot_epoch[m]
        if e is None:
            self.sent[m] = None
        elif self.sent[m] == e:
            if rule("ZR-47.patch", not self.shows(m)):
                pass
            else:
                self.end = self.snapshot_end[m]
        elif rule("M-19.epoch", self.shown_by is not None and e <= self.shown_epoch):
            self.hide(m)
            self.session[m] = False
        else:
            self.sent[m] = e
            self.shown_by = m
            self.shown_epoch = e
            self.end = self.snapshot_end[m]

    def hide(self, m: Main) -> None:
        """The reader does not show the partition for m any more."""
        if self.shows(m):
            self.shown_by = None
            self.shown_epoch = LeaderEpoch(0)
            self.end = Offset(0)

    def shows(self, m: Main) -> bool:
        """Whether the reader shows the partition for m."""
        shown_by = self.shown_by
        return shown_by is not None and shown_by == m
