"""Lemmas for the proof of `snapshot_read`, beside its invariants. Every step keeps each of them. They show in turn:

- What lies in the log, and how far an answer and the reader reach into it.
- Which snapshot is newer: leader epochs and ends grow together, and an epoch has one main.
- Where a record is that the reader has replayed: in its cache, uploaded, or a main has been asked for its upload.

With them every safety property holds for any number of mains, records, leader epochs and sessions. The variants
`early_baseline` and `early_ends` (ZG-7) violate I-11, and V-3 is a liveness property: neither is part of the proof.
"""

from __future__ import annotations

from holdfast.lang import lemma
from models.parts.channels import Main
from models.parts.snapshots import LeaderEpoch, Poll
from models.parts.streams import Offset
from models.snapshot_read import SnapshotRead


class SnapshotReadProof(SnapshotRead):
    """The read path with the lemmas that make its invariants inductive."""

    # The log --------------------------------------------------------------------------------------------------

    @lemma
    def log_in_order(self) -> bool:
        """What is uploaded was in the log cache, what is there was confirmed, and what is confirmed was appended."""
        return self.uploaded <= self.cached and self.cached <= self.confirmed and self.confirmed <= self.appended

    @lemma
    def cached_is_confirmed(self) -> bool:
        """Outside ZG-7 the log cache has all that is confirmed."""
        return self.cached == self.confirmed

    @lemma
    def replays_what_is_confirmed(self) -> bool:
        """The reader replays up to the end in the last answer, and that is confirmed."""
        return all(self.position[m] <= self.wal_end[m] and self.wal_end[m] <= self.confirmed for m in Main)

    @lemma
    def answered_is_confirmed(self) -> bool:
        """The end in an answer is confirmed, and no snapshot reaches beyond the log."""
        return all(
            self.snapshot_end[m] <= (self.confirmed if self.poll[m] == Poll.ANSWERED else self.appended) for m in Main
        )

    @lemma
    def answer_reaches_its_end(self) -> bool:
        """M-16. The end of the WAL in an answer of the leader covers the end of the partition in it."""
        return all(
            self.snapshot_end[m] <= self.wal_end[m]
            for m in Main
            if self.poll[m] == Poll.ANSWERED
            and self.snapshot_epoch[m] is not None
            and self.snapshot_epoch[m] == self.epoch
        )

    # Leader epochs --------------------------------------------------------------------------------------------

    def has_snapshot_after(self, m: Main, e: LeaderEpoch) -> bool:
        """Whether m has a snapshot of a newer epoch than e, and the reader has not applied it."""
        epoch = self.snapshot_epoch[m]
        return epoch is not None and e < epoch

    def has_sent_after(self, m: Main, e: LeaderEpoch) -> bool:
        """Whether m has sent a newer epoch than e."""
        sent = self.sent[m]
        return sent is not None and e < sent

    def sends_older(self, m: Main) -> bool:
        """Whether m has a snapshot of an older epoch than it has sent."""
        sent = self.sent[m]
        return sent is not None and self.has_snapshot_before(m, sent)

    def has_older(self, m: Main, n: Main) -> bool:
        """Whether m has a snapshot of an older epoch than n has."""
        epoch = self.snapshot_epoch[n]
        return epoch is not None and self.has_snapshot_before(m, epoch)

    @lemma
    def epoch_is_the_newest(self) -> bool:
        """No main has taken a snapshot of, or sent, and the reader does not show, an epoch that was not yet."""
        return self.shown_epoch <= self.epoch and not any(
            self.has_snapshot_after(m, self.epoch) or self.has_sent_after(m, self.epoch) for m in Main
        )

    @lemma
    def leader_has_the_newest(self) -> bool:
        """Only the leader has taken a snapshot of the current epoch, and the reader shows that epoch for it only."""
        return all(
            m == self.leader
            for m in Main
            if (self.snapshot_epoch[m] is not None and self.snapshot_epoch[m] == self.epoch)
            or (self.shows(m) and self.shown_epoch == self.epoch)
        )

    @lemma
    def one_snapshot_of_an_epoch(self) -> bool:
        """Two mains do not hold snapshots of one epoch."""
        return all(
            self.snapshot_epoch[m] != self.snapshot_epoch[n]
            for m in Main
            for n in Main
            if m != n and self.snapshot_epoch[m] is not None and self.snapshot_epoch[n] is not None
        )

    @lemma
    def hidden_is_empty(self) -> bool:
        """If the reader does not show the partition, its end is 0."""
        return self.shown_by is not None or self.end == Offset(0)

    @lemma
    def shown_was_sent(self) -> bool:
        """The reader shows the epoch that its main has sent."""
        return all(self.sent[m] is not None and self.sent[m] == self.shown_epoch for m in Main if self.shows(m))

    @lemma
    def snapshot_is_newer_than_sent(self) -> bool:
        """A main sends no epoch that is older than the one it has sent."""
        return not any(self.sends_older(m) for m in Main)

    @lemma
    def newer_snapshot_ends_later(self) -> bool:
        """A snapshot of a newer epoch does not end before one of an older epoch."""
        return all(self.snapshot_end[m] <= self.snapshot_end[n] for m in Main for n in Main if self.has_older(m, n))

    @lemma
    def snapshot_ends_after_shown(self) -> bool:
        """A snapshot that is not older than what the reader shows does not end before it."""
        return self.shown_by is None or all(
            self.end <= self.snapshot_end[m]
            for m in Main
            if self.snapshot_epoch[m] is not None and not self.has_snapshot_before(m, self.shown_epoch)
        )

    # Where a record is ----------------------------------------------------------------------------------------

    @lemma
    def old_epoch_is_uploaded(self) -> bool:
        """F-19. All records that lie below the end of an older epoch are uploaded."""
        return (self.shown_epoch == self.epoch or self.end <= self.uploaded) and all(
            self.snapshot_end[m] <= self.uploaded for m in Main if self.has_snapshot_before(m, self.epoch)
        )

    @lemma
    def old_wal_is_uploaded(self) -> bool:
        """F-19. The WAL of a main that does not lead has only uploaded records, and the leader's begins after them."""
        return all(
            self.wal_end[m] <= self.uploaded and self.wal_end[m] <= self.position[self.leader]
            for m in Main
            if m != self.leader
        )

    @lemma
    def cache_is_replayed(self) -> bool:
        """The cache has no record that the reader has not replayed yet from the WAL of the leader."""
        return all(o < self.position[self.leader] for o in Offset if self.held[o])

    @lemma
    def replayed_is_readable(self) -> bool:
        """What the reader has replayed is in its cache, or uploaded, or the leader has been asked for an upload."""
        return self.committing[self.leader] or all(
            self.held[o] or o < self.uploaded for o in Offset if o < self.position[self.leader]
        )

    @lemma
    def request_without_session_waits(self) -> bool:
        """A main without a session holds no snapshot, and has sent none that the reader has not applied."""
        return all(self.session[m] or self.poll[m] == Poll.WAITING for m in Main)

    @lemma
    def next_upload_was_asked_for(self) -> bool:
        """M-17. After the first upload of a session, a main begins one only if the reader has asked for it."""
        return all(
            self.asked[m] for m in Main if self.committing[m] and (self.poll[m] != Poll.WAITING or self.shows(m))
        )
