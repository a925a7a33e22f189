"""Lemmas for the proof of `route_epoch`, beside its invariants. Every step keeps each of them. They show in turn:

- Where a request can be in each phase.
- All epochs come from the controller, so its record bounds the epochs that a broker knows, reports and trims.
- A request that is under way, or in a WAL that may be replayed, has an epoch that is not committed yet.
"""

from __future__ import annotations

from holdfast.lang import lemma
from models.parts.channels import Epoch, Main, Phase, Proxy, Request
from models.route_epoch import RouteEpoch


class RouteEpochProof(RouteEpoch):
    """RouteEpoch with the lemmas that make its invariants inductive."""

    # Requests -------------------------------------------------------------------------------------------------

    @lemma
    def one_source(self) -> bool:
        """A request has one source at most."""
        return all(not self.source[r, q] for r in Request for p in Proxy for q in Proxy if self.source[r, p] and q != p)

    @lemma
    def one_target(self) -> bool:
        """A request has one target at most."""
        return all(not self.target[r, n] for r in Request for m in Main for n in Main if self.target[r, m] and n != m)

    @lemma
    def has_target(self) -> bool:
        """A request that is not over has a target."""
        return all(
            any(self.target[r, m] for m in Main) for r in Request if self.phase[r] not in (Phase.NEW, Phase.FAILED)
        )

    @lemma
    def new_is_blank(self) -> bool:
        """A request that was not sent is in no channel, and goes nowhere."""
        return all(
            all(not self.source[r, p] for p in Proxy) and all(not self.target[r, m] for m in Main)
            for r in Request
            if self.phase[r] == Phase.NEW
        )

    @lemma
    def not_admitted_is_not_counted(self) -> bool:
        """A request that was not admitted, or of which nothing comes, is neither counted nor answered."""
        return all(
            not self.counted[r] and not self.unanswered[r] and not self.acked[r]
            for r in Request
            if self.phase[r] in (Phase.NEW, Phase.SENT, Phase.FAILED)
        )

    @lemma
    def under_way_is_counted(self) -> bool:
        """A request without a durable link is counted."""
        return all(self.counted[r] for r in Request if self.is_under_way(r))

    @lemma
    def under_way_is_up(self) -> bool:
        """A request that is under way is so at a main that runs."""
        return all(all(self.up[m] for m in Main if self.target[r, m]) for r in Request if self.is_under_way(r))

    @lemma
    def not_uploaded_is_served(self) -> bool:
        """A main with a link that is not uploaded, or with one under way, has opening streams."""
        return all(
            all(self.serving[m] for m in Main if self.target[r, m])
            for r in Request
            if self.phase[r] in (Phase.APPENDING, Phase.LINKED)
        )

    # Epochs ---------------------------------------------------------------------------------------------------

    @lemma
    def channel_is_behind(self) -> bool:
        """A proxy knows no epoch that there was not, and one that is newer than what it trims."""
        return all(self.channel_epoch[p] <= self.current and self.trimmed_to[p] < self.channel_epoch[p] for p in Proxy)

    @lemma
    def tags_come_from_the_channel(self) -> bool:
        """No record has a tag that its proxy has not known."""
        return all(self.tag[r] <= self.channel_epoch[p] for r in Request for p in Proxy if self.source[r, p])

    @lemma
    def known_is_fenced(self) -> bool:
        """A main knows what is fenced; one that is down, nothing."""
        return all(self.known[m] <= self.fenced and (self.up[m] or self.known[m] == Epoch(0)) for m in Main)

    @lemma
    def reported_is_fenced(self) -> bool:
        """A reported epoch is fenced, and a main that runs knows that it is."""
        return all(
            e <= self.fenced and (e <= self.known[m] or not self.up[m])
            for m in Main
            for e in Epoch
            if self.reports(m, e)
        )

    @lemma
    def committed_is_known(self) -> bool:
        """A main that runs knows that what is committed is fenced."""
        return all(self.committed <= self.known[m] for m in Main if self.up[m])

    @lemma
    def nobody_is_haunted(self) -> bool:
        """No report is late."""
        return all(not self.haunted[m] for m in Main)

    # What is not committed --------------------------------------------------------------------------------------

    @lemma
    def live_is_not_committed(self) -> bool:
        """Nothing is committed that is under way, or in the WAL of a main that runs or has opening streams."""
        return all(
            all(self.tag[r] > self.committed for m in Main if self.target[r, m] and (self.up[m] or self.serving[m]))
            for r in Request
            if self.is_under_way(r) or self.is_in_wal(r)
        )
