"""Snapshot reads: a proxy shows its clients a partition that a main of another zone leads, and serves it from a cache.

Facts: zone-routing.md 3, 7. There is one partition and one reader. The reader has a session with each main, and one
request on its way to it. The main answers with a snapshot: the end of the partition, and the end of its WAL. The reader
replays the WAL up to there into its cache, and then shows the partition up to the end in the snapshot. A client that
reads a record outside the cache gets it from object storage, perhaps after a wait.

Merged, since nobody sees the state in between:

- A close of the partition and its next open.
- The opening of a session and the arrival of its first answer; a request for an upload and its arrival.
- A WAL and the channels: a replay finds a record with its bytes (ZR-34), or it finds nothing.
- Loads that overtake each other: a record that comes after a later one is dropped, as if it was passed over (ZR-46).

Loosened: an answer need not bring news, and a replay may miss every record that is uploaded (ZR-50).

Left out: crashes of mains (to the reader they look like a lost session and a move), the inline delta (ZR-42), answers
without partition data after the first one (ZR-40), replays that fail although the record is only in the WAL (ZR-50),
failed appends (ZR-39), and the contents of batches (I-13).

Where this differs from zone-routing.md:

- I-11 accepts a record that is certain to be uploaded. A main uploads all records some time, so that M-17 would protect
  nothing. Here a record is certain if the reader has asked for its upload because its cache has lost it.
- ZG-7: it is not enough that the baseline lies in the log cache of the main. All other ends have to lie there, too: if
  the reader drops a replay, the upload that it asks for misses the record (`early_ends`).
- M-19: without REMOVE first, the reader never shows a partition again that was opened anew (V-3). I-10 holds.
- I-10 holds within a session: a reader that has lost one may take a late answer, and show less than before.
"""

from __future__ import annotations

from typing import Self

from holdfast.lang import (
    Scope,
    action,
    invariant,
    leads_to,
    liveness,
    outcomes,
    require,
    rule,
    step,
    witness,
)
from models.parts.channels import Main
from models.parts.snapshot_log import SnapshotLog
from models.parts.snapshots import LeaderEpoch, Poll
from models.parts.streams import Offset


class SnapshotRead(SnapshotLog):
    """A partition that moves between mains, and a proxy that follows it by snapshots and replays."""

    tiny = Scope({Main: 2, Offset: 3, LeaderEpoch: 1}, budgets={"replace_session": 1})
    default = Scope({Main: 2, Offset: 3, LeaderEpoch: 2}, budgets={"replace_session": 1})
    deep = Scope({Main: 4, Offset: 60, LeaderEpoch: 12}, budgets={"replace_session": 12}, depth=200)

    # The leader and its log -----------------------------------------------------------------------------------

    @action
    def append(self) -> None:
        """The leader begins an append."""
        self.appended = self.appended + 1

    @action(fair="weak")
    def confirm(self) -> None:
        """All appends that are under way become durable in the WAL, and finish. In ZG-7 the log cache comes later."""
        self.confirmed = self.appended
        if not self.early_baseline and not self.early_ends:
            self.cached = self.appended

    @action(fair="weak")
    def cache(self) -> None:
        """In ZG-7 the log cache takes the durable records, and their appends finish."""
        self.cached = self.confirmed

    @action(fair="weak")
    def upload(self) -> None:
        """The leader uploads its log cache. This ends what the reader has asked of any main: no other one has data."""
        self.uploaded = self.cached
        self.committing.fill(False)
        self.asked.fill(False)

    @action
    def move(self, m: Main) -> None:
        """The partition moves to m, or m closes and opens it. The next record in the WAL of m is the next append."""
        require(self.uploaded == self.appended, "F-19")
        self.leader = m
        self.epoch = self.epoch + 1
        self.wal_end[m] = self.appended
        self.position[m] = self.appended

    # A main and its session with the reader -------------------------------------------------------------------

    @action(fair="weak", per=("m",))
    def open_session(self, m: Main) -> None:
        """A main opens a session, since the reader has none."""
        require(not self.session[m], "ZR-37")
        self.begin_session(m)

    @action
    def replace_session(self, m: Main) -> None:
        """A main has dropped the session (the reader was idle for 60 s, or the main restarted), and opens a new one."""
        require(self.poll[m] == Poll.WAITING, "ZR-44")
        self.begin_session(m)

    def begin_session(self, m: Main) -> None:
        """The main begins an upload (ZR-40), and the reader begins anew at the end in the answer (ZR-45, ZR-52)."""
        self.session[m] = True
        self.sent[m] = None
        self.committing[m] = True
        if self.leader == m:
            self.wal_end[m] = self.confirmed if self.early_baseline else self.cached
            self.position[m] = self.confirmed if self.early_baseline else self.cached
        self.hide(m)

    @action(fair="weak", per=("m",))
    def collect(self, m: Main) -> None:
        """A main collects a snapshot: the end of the partition with all appends under way, or that it has closed it."""
        has_news = self.leader == m or self.sent[m] is not None
        require(self.poll[m] == Poll.WAITING and self.session[m] and has_news, "ZR-38")
        require(not self.committing[m], "M-17")
        self.poll[m] = Poll.HELD
        if self.leader == m:
            self.snapshot_epoch[m] = self.epoch
            self.snapshot_end[m] = self.appended

    @action(fair="weak", per=("m",))
    def answer(self, m: Main) -> None:
        """A main sends the snapshot that it holds back, once the last append below its end has finished.

        Only then it reads the end of its WAL; not in ZG-7: how far the log cache has the records.
        """
        require(self.poll[m] == Poll.HELD and self.snapshot_end[m] <= self.cached, "M-16")
        self.poll[m] = Poll.ANSWERED
        if rule("M-16.after", self.leader == m):
            self.wal_end[m] = self.confirmed if self.early_baseline or self.early_ends else self.cached

    # The reader -----------------------------------------------------------------------------------------------

    @action(fair="weak", per=("m",))
    def replay(self, m: Main, o: Offset, trimmed: bool) -> None:
        """The reader replays a record of the WAL of m into its cache. A record that is trimmed adds nothing."""
        require(self.poll[m] == Poll.ANSWERED and self.position[m] <= o and o < self.wal_end[m], "ZR-45")
        require(o == self.position[m], "M-18.order")
        require(not trimmed or o < self.uploaded, "ZR-50")
        self.position[m] = o + 1
        if not trimmed and not any(self.held[x] for x in Offset if o <= x):
            if rule("M-18", not any(self.held[x] and x + 1 == o for x in Offset)):
                self.held.fill(False)
            self.held[o] = True

    @action
    def evict(self) -> None:
        """The reader drops its cache. If this loses a record that is not uploaded, it asks the main for an upload."""
        if rule("ZR-51", any(self.held[o] and self.uploaded <= o for o in Offset)):
            self.committing[self.leader] = True
            self.asked[self.leader] = True
        self.held.fill(False)

    @action
    def drop_replays(self, m: Main) -> None:
        """The reader is overloaded: it drops the replays that wait, and asks the main for an upload."""
        require(self.position[m] < self.wal_end[m], "ZR-51.waiting")
        self.position[m] = self.wal_end[m]
        if rule("ZR-51.dropped"):
            self.committing[m] = True
            self.asked[m] = True

    @action(fair="weak", per=("m",))
    def apply(self, m: Main) -> None:
        """The reader applies a snapshot, once it has replayed the WAL up to the end in the answer."""
        require(self.poll[m] == Poll.ANSWERED and self.position[m] == self.wal_end[m], "ZR-47")
        removes = self.sent[m] is not None and self.sent[m] != self.snapshot_epoch[m]
        self.poll[m] = Poll.WAITING
        if rule("M-19", removes):
            self.hide(m)
            self.take_partition(m)
        else:
            self.take_partition(m)
            if removes:
                self.hide(m)
        self.snapshot_epoch[m] = None
        self.snapshot_end[m] = Offset(0)

    def has_snapshot_before(self, m: Main, e: LeaderEpoch) -> bool:
        """Whether m has a snapshot of an older epoch than e, and the reader has not applied it."""
        epoch = self.snapshot_epoch[m]
        return epoch is not None and epoch < e

    # Properties -----------------------------------------------------------------------------------------------

    @step(of="answer")
    def answers_what_is_confirmed(self, old: Self, m: Main) -> bool:
        """I-10. The end in an answer is confirmed when the main sends it."""
        return self.snapshot_end[m] <= old.confirmed

    @invariant
    def shows_what_is_confirmed(self) -> bool:
        """I-10. The reader shows only records that are confirmed."""
        return self.end <= self.confirmed

    @step
    def shown_grows(self, old: Self) -> bool:
        """I-10. While the reader shows the partition, its epoch and its end never fall."""
        if old.shown_by is None or self.shown_by is None:
            return True
        return old.shown_epoch <= self.shown_epoch and old.end <= self.end

    @invariant
    def shown_is_readable(self) -> bool:
        """I-11. A shown record is in the cache, or uploaded, or the cache has lost it and the reader has asked."""
        asked = any(self.asked[m] for m in Main if self.shows(m))
        return all(self.held[o] or o < self.uploaded or asked for o in Offset if o < self.end)

    @invariant
    def cache_has_no_hole(self) -> bool:
        """I-11. The cache has all records between any two of it, so that a read from it returns them in order."""
        return all(
            self.held[o]
            or not any(self.held[a] for a in Offset if a < o)
            or not any(self.held[b] for b in Offset if o < b)
            for o in Offset
        )

    @invariant
    def cache_is_confirmed(self) -> bool:
        """I-11. The cache has only records that are confirmed, so that no other batch takes their offsets."""
        return all(o < self.confirmed for o in Offset if self.held[o])

    @leads_to
    def becomes_readable(self, o: Offset) -> tuple[bool, bool]:
        """V-3. A confirmed record is shown some time, and is then in the cache or uploaded."""
        return o < self.confirmed, o < self.end and (self.held[o] or o < self.uploaded)

    # Witnesses ------------------------------------------------------------------------------------------------

    @witness
    def ahead_of_upload(self) -> bool:
        """The reader serves a record from its cache that is not uploaded."""
        return any(o < self.end and self.held[o] and self.uploaded <= o for o in Offset)

    @witness
    def held_back(self) -> bool:
        """M-16. A main holds a snapshot back whose end is not confirmed."""
        return any(self.confirmed < self.snapshot_end[m] for m in Main)

    @witness
    def cut_off(self) -> bool:
        """M-18. The cache lacks the first record that the reader shows, and has a later one."""
        return not self.held[Offset(0)] and any(self.held[o] and o < self.end for o in Offset)

    @witness
    def waits(self) -> bool:
        """ZR-49. The reader shows a record that only the main has: a read waits for the upload."""
        return any(o < self.end and not self.held[o] and self.uploaded <= o for o in Offset)

    @witness
    def overtaken(self) -> bool:
        """M-19. A snapshot of one main has not arrived, and the reader shows a newer epoch of another main."""
        return any(
            self.poll[m] == Poll.ANSWERED and not self.shows(m) and self.has_snapshot_before(m, self.shown_epoch)
            for m in Main
        )

    # Mutants that no safety property kills, and why -----------------------------------------------------------

    mutants = outcomes(
        {
            "ZR-51.waiting": liveness("V-3", "the reader asks for an upload again and again"),
            "M-19": liveness("V-3", "the partition is hidden, and the main believes that it has sent it"),
        }
    )
