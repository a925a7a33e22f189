"""The steps of mains and readers as the log of a system shows them, where they differ from those of `snapshot_read`.

The variant `log_grain` has these actions. They are needed since a log differs from the model in these points:

- Records have offsets, and several of them are confirmed or uploaded in one line.
- A main may crash. A session ends then, and a main that no longer leads may still send a snapshot of its old epoch.
- A session begins at the end that is in its first answer, which is older than the line.
- An upload that the reader has asked for, and that has ended, may not have the newest records.
- The reader replays before it knows whether the answer has a snapshot of the partition.
- A replay may fail, although the record is only in the WAL.
- The cache drops its oldest records, and not all.

The variant proves nothing: a main may send any older epoch.
"""

from __future__ import annotations

from holdfast.lang import action, require, variant
from models.parts.channels import Main
from models.parts.snapshots import LeaderEpoch, Poll, Snapshots
from models.parts.streams import Offset


class SnapshotLog(Snapshots):
    """The actions for lines of a log that match no other action."""

    # The leader and its log -----------------------------------------------------------------------------------

    @variant("log_grain", replaces="append")
    def append_to(self, o: Offset) -> None:
        """The leader begins appends, of which the last one ends at o."""
        require(self.appended < o, "CL-02")
        self.appended = o

    @variant("log_grain", replaces="confirm")
    def confirm_to(self, o: Offset) -> None:
        """The records below o are durable and in the log cache of the leader, or a recovery has found them."""
        require(self.confirmed <= o and o <= self.appended, "CL-03")
        self.confirmed = o
        self.cached = o

    @variant("log_grain", replaces="upload")
    def upload_to(self, o: Offset) -> None:
        """The records below o are uploaded, or will be: their stream is sealed behind them."""
        require(self.uploaded <= o and o <= self.confirmed, "CS-02")
        self.uploaded = o

    @variant("log_grain", replaces="move")
    def move_to(self, m: Main) -> None:
        """Main m opens the partition. Whatever the reader has not replayed yet lies in objects, too."""
        require(self.uploaded == self.appended, "F-19")
        self.leader = m

    @action(variant="log_grain")
    def elect(self, e: LeaderEpoch) -> None:
        """The controller gives the partition a new leader epoch. Its main may have it open already."""
        require(self.epoch < e, "SP-03")
        self.epoch = e

    # A main and its session with the reader -------------------------------------------------------------------

    @variant("log_grain", replaces="open_session")
    def open_session_at(self, m: Main, o: Offset) -> None:
        """The reader takes the first answer of a session. When m sent it, its log cache ended at o."""
        require(not self.session[m] and o <= self.cached, "ZR-37")
        self.session[m] = True
        self.sent[m] = None
        self.committing[m] = True
        self.wal_end[m] = o
        self.position[m] = o

    @action(variant="log_grain")
    def lose_session(self, m: Main) -> None:
        """ZR-52. The reader ends a session: m does not answer, or has begun another one."""
        require(self.session[m], "ZR-52")
        self.session[m] = False
        self.poll[m] = Poll.WAITING
        self.snapshot_epoch[m] = None
        self.snapshot_end[m] = Offset(0)
        self.hide(m)

    @action(variant="log_grain")
    def ask_upload(self, m: Main) -> None:
        """ZR-40. A request with RequestCommit arrives at m."""
        self.committing[m] = True

    @action(variant="log_grain")
    def end_upload(self, m: Main) -> None:
        """All that the log cache of m had is uploaded, each time that the reader has asked for it."""
        self.committing[m] = False
        self.asked[m] = False

    @variant("log_grain", replaces="collect")
    def collect_at(self, m: Main, e: LeaderEpoch, o: Offset) -> None:
        """Main m has the partition open under the leader epoch e, and collects a snapshot that ends at o."""
        require(e <= self.epoch and o <= self.appended, "ZR-38.end")
        self.begin_answer(m)
        self.snapshot_epoch[m] = e
        self.snapshot_end[m] = o

    @action(variant="log_grain")
    def collect_removal(self, m: Main) -> None:
        """ZR-38. Main m has closed the partition since it has sent it."""
        require(self.sent[m] is not None, "ZR-38.removed")
        self.begin_answer(m)

    def begin_answer(self, m: Main) -> None:
        """There is one request of a session, and no answer while an upload for the session is under way."""
        require(self.session[m] and self.poll[m] == Poll.WAITING, "ZR-38")
        require(not self.committing[m], "M-17")
        self.poll[m] = Poll.HELD

    @variant("log_grain", replaces="answer")
    def answer_to(self, m: Main, o: Offset) -> None:
        """Main m sends the snapshot. The end of its log cache is o, and covers all that the snapshot shows (ZR-39)."""
        require(self.poll[m] == Poll.HELD and self.snapshot_end[m] <= self.cached, "M-16")
        require(self.wal_end[m] <= o and o <= self.cached, "ZR-39")
        require(self.snapshot_end[m] <= o, "M-16.after")
        self.poll[m] = Poll.ANSWERED
        self.wal_end[m] = o

    @action(variant="log_grain")
    def extend(self, m: Main, o: Offset) -> None:
        """ZR-40. Main m sends an answer without the partition. The end of its log cache is o."""
        require(self.session[m] and self.wal_end[m] <= o and o <= self.cached, "ZR-39.extend")
        self.wal_end[m] = o

    # The reader -----------------------------------------------------------------------------------------------

    @variant("log_grain", replaces="replay")
    def replay_span(self, m: Main, o: Offset, to: Offset, first: Offset, trimmed: bool) -> None:
        """The reader replays a record [o, to), or finds none: it is trimmed, or another main has appended it (ZR-50).

        ``first``: where the cache begins then, as the reader says.
        """
        require(self.position[m] <= o and o < to and to <= self.wal_end[m], "ZR-45")
        require(o == self.position[m], "M-18.order")
        require(not trimmed or to <= self.uploaded, "ZR-50")
        self.position[m] = to
        if not trimmed and not any(self.held[x] for x in Offset if o <= x):
            require(all(self.held[x] for x in Offset if first <= x and x < o), "M-18")
            for x in Offset:
                self.held[x] = first <= x and x < to

    @action(variant="log_grain")
    def fail_replay(self, m: Main, to: Offset) -> None:
        """ZR-50. The store does not answer the reader, which goes on without the records below ``to``."""
        require(self.position[m] < to and to <= self.wal_end[m], "ZR-45.fail")
        self.position[m] = to

    @variant("log_grain", replaces="evict")
    def evict_to(self, o: Offset, asks: bool) -> None:
        """The reader drops all records below o. ``asks``: its next request has RequestCommit."""
        require(asks or not any(self.held[x] and self.uploaded <= x for x in Offset if x < o), "ZR-51")
        for x in Offset:
            if x < o:
                self.held[x] = False
