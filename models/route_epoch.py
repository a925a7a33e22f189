"""Route epochs: a record of a channel is trimmed only when no main will resolve a link to it any more.

Facts: zone-routing.md 2, 4, 7. A proxy appends a record with its epoch as tag to its channel, and sends a request to a
main. The main admits and counts it, appends it, makes the link durable in its WAL, answers, uploads the batch, and
trims the link. It reports an epoch when no request of it or older is left. The controller commits the least report, and
proxies trim up to it. Mains crash; their WALs are recovered; streams come and go.

Merged, since nobody sees the state in between:

- The metadata log: a main applies any record up to the newest, a proxy only the newest (appends and trims are its own).
- A crash and the fencing after it: a dead main that is not fenced yet is like a slow one.
- The upload of a recovery, the reset of the WAL and the close; a commit and a bump in one record (ZR-55).
- The commit pipeline of a main and its report: once the conditions for a report hold, they stay true.

Loosened: links are uploaded and trimmed in any order; any proxy may be on the broker of its main (ZR-25).

Left out: the mapping, readers (`snapshot_read`), clients and their retries (ZR-27), the order of one connection (I-9),
proxies that crash (which only delays a trim: ZR-65), the size of channel objects (the newest is never trimmed: V-1),
time. An epoch is one greater than in zone-routing.md 4; epochs below 0 there are 0 here, and tag nothing.

Where this differs from zone-routing.md:

- I-2 needs an exception. A main that has uploaded, closed its streams, and crashed before the trim of its WAL is
  skipped. Then the channel is trimmed below links that its WAL still has; M-14 protects their recovery.
- M-04 violates I-8, and M-02 violates I-3, before I-5 breaks.
"""

from __future__ import annotations

from typing import Self

from holdfast.lang import Scope, action, equivalent, liveness, missing, outcomes, require, rule, step, witness
from models.parts.channel_log import ChannelLog
from models.parts.channels import Epoch, Main, Phase, Proxy, Request


class RouteEpoch(ChannelLog):
    """Proxies, mains and the controller, and how they agree on channel records that nobody needs any more."""

    tiny = Scope({Proxy: 1, Main: 2, Request: 1, Epoch: 4}, budgets={"crash": 1})
    default = Scope({Proxy: 1, Main: 2, Request: 2, Epoch: 4}, budgets={"crash": 1})
    large = Scope({Proxy: 2, Main: 2, Request: 2, Epoch: 3}, budgets={"crash": 1})
    deep = Scope({Proxy: 3, Main: 4, Request: 6, Epoch: 40}, budgets={"crash": 6}, depth=200)

    # The controller -------------------------------------------------------------------------------------------

    @action
    def bump(self) -> None:
        """Ten seconds have passed (ZR-55). The first record sets fenced to current - 2; a bump keeps that (M-08)."""
        self.fenced = self.fenced + 1
        self.current = self.current + 1

    @action(fair="weak")
    def commit(self, c: Epoch) -> None:
        """The controller commits the least report of the mains that count, if it is above the committed epoch."""
        reported = any(self.report[m] == c for m in Main if self.report[m] is not None and self.counts(m))
        require(c > self.committed and reported, "ZR-55")
        require(all(self.report[m] is not None for m in Main if self.counts(m)), "M-10")
        require(all(self.reports(m, c) for m in Main if self.report[m] is not None and self.counts(m)), "M-09")
        self.committed = c

    def counts(self, m: Main) -> bool:
        """ZR-54. Whether the controller waits for the report of m: m runs, or it has opening streams."""
        if rule("M-11", self.serving[m]):
            return True
        if rule("M-11.active", self.up[m]):
            return True
        if rule("M-12"):
            return False
        return True

    @action
    def unregister(self, m: Main) -> None:
        """An operator removes a main. It does not count any more."""
        require(not self.up[m] and not self.serving[m], "M-25")
        self.serving[m] = False

    # Proxies --------------------------------------------------------------------------------------------------

    @action(fair="weak", per=("p",))
    def apply(self, p: Proxy) -> None:
        """A proxy applies the newest record (ZR-58): its channel takes the new epoch, and is trimmed (ZR-64)."""
        self.channel_epoch[p] = self.current
        self.trimmed_to[p] = self.committed

    @action
    def send(self, r: Request, p: Proxy, m: Main, e: Epoch) -> None:
        """A proxy appends a record to its channel, and sends the request to a main."""
        self.append_to_channel(r, p, m, e)
        self.phase[r] = Phase.SENT

    @action
    def write_locally(self, r: Request, p: Proxy, m: Main, e: Epoch) -> None:
        """A proxy appends a record to its channel, for a main on its own broker (ZR-25): both know the same G."""
        require(self.up[m] and e > self.known[m], "ZR-25")
        self.append_to_channel(r, p, m, e)
        self.phase[r] = Phase.ADMITTED
        self.counted[r] = not self.local_uncounted
        self.unanswered[r] = not self.local_uncounted

    def append_to_channel(self, r: Request, p: Proxy, m: Main, e: Epoch) -> None:
        """The record goes behind all others of the channel, with the epoch that the channel has at this moment."""
        require(self.phase[r] == Phase.NEW and e <= self.channel_epoch[p], "ZR-20")
        require(e == self.channel_epoch[p], "M-13")
        self.source[r, p] = True
        self.target[r, m] = True
        self.tag[r] = e
        self.goes_with[r] = e
        # A trim of epoch e removes all records up to the last one of e, so earlier ones of newer epochs too (ZR-64).
        for q in Request:
            if self.source[q, p] and self.goes_with[q] > e:
                self.goes_with[q] = e

    # A main and its requests ----------------------------------------------------------------------------------

    @action(fair="weak", per=("m",))
    def learn(self, m: Main, f: Epoch) -> None:
        """A main applies a record G of the controller, perhaps not the newest."""
        require(self.up[m] and self.known[m] < f and f <= self.fenced, "ZR-58")
        self.known[m] = f

    @action
    def admit(self, r: Request, m: Main) -> None:
        """A main admits a request whose epoch it does not know to be fenced, and counts it."""
        self.check_arrival(r, m)
        require(self.tag[r] > self.known[m], "M-01")
        self.phase[r] = Phase.ADMITTED
        self.unanswered[r] = True
        if rule("M-02"):
            self.counted[r] = True

    @action
    def refuse(self, r: Request, m: Main) -> None:
        """A main refuses a request whose epoch is fenced (ZR-26)."""
        self.check_arrival(r, m)
        require(self.tag[r] <= self.known[m], "ZR-26")
        self.drop(r)

    def check_arrival(self, r: Request, m: Main) -> None:
        """A request arrives at the main to which it was sent, if that runs."""
        require(self.phase[r] == Phase.SENT and self.target[r, m] and self.up[m], "ZR-22")

    @action(fair="weak", per=("r",))
    def append(self, r: Request, m: Main) -> None:
        """A main reads the record from the channel, and begins the append."""
        require(self.phase[r] == Phase.ADMITTED and self.target[r, m] and self.serving[m], "ZR-26.leader")
        require(not self.is_trimmed(r), "ZR-26.read")
        self.phase[r] = Phase.APPENDING

    @action(fair="weak", per=("r",))
    def fail(self, r: Request) -> None:
        """A main fails a request: it does not lead, the read fails, or the record is refused."""
        require(self.phase[r] == Phase.ADMITTED, "ZR-26.fail")
        self.drop(r)

    def drop(self, r: Request) -> None:
        """Request r ends without a link. Only its record in the channel stays."""
        self.phase[r] = Phase.FAILED
        self.counted[r] = False
        self.unanswered[r] = False
        for m in Main:
            self.target[r, m] = False

    @action(fair="weak", per=("r",))
    def link(self, r: Request) -> None:
        """The link becomes durable in the WAL of the main."""
        require(self.phase[r] == Phase.APPENDING, "ZR-31")
        self.phase[r] = Phase.LINKED

    @action(fair="weak", per=("r",))
    def answer(self, r: Request) -> None:
        """A main answers a request and counts it no more: with an ack, or in ZG-2 with a timeout."""
        require(self.counted[r] and self.phase[r] != Phase.ADMITTED, "ZR-31.answer")
        appending = self.phase[r] == Phase.APPENDING
        require(not appending or self.timeout_uncounts, "M-04")
        self.counted[r] = False
        self.unanswered[r] = False
        self.acked[r] = self.phase[r] == Phase.LINKED or (appending and not self.timeout_uncounts)

    # A main and its WAL ---------------------------------------------------------------------------------------

    @action(fair="weak", per=("r",))
    def upload(self, r: Request, m: Main) -> None:
        """A main uploads the batch of r."""
        require(self.phase[r] == Phase.LINKED and self.target[r, m] and self.up[m], "ZR-61")
        self.phase[r] = Phase.UPLOADED
        self.acked[r] = False

    @action
    def fail_upload(self, m: Main) -> None:
        """An upload of a main fails, and is tried again."""
        self.stuck[m] = self.failed_upload_hangs

    @action(fair="weak", per=("r",))
    def trim_wal(self, r: Request, m: Main) -> None:
        """A main trims the link of r from its WAL, once the batch is uploaded (PL-25)."""
        require(self.phase[r] == Phase.UPLOADED and self.target[r, m] and self.up[m], "PL-25")
        self.phase[r] = Phase.TRIMMED

    @action(fair="weak", per=("m",))
    def publish(self, m: Main, v: Epoch) -> None:
        """A main reports v: no request of v or older is in flight (ZR-59), and the WAL is committed (ZR-60)."""
        require(v > Epoch(0) and not self.reports(m, v), "ZR-63")
        require(v <= self.manager_fence(m), "ZR-59")
        require(not any(self.counted[r] and self.tag[r] == v for r in Request if self.target[r, m]), "ZR-59.zero")
        require(not any(self.counted[r] and self.tag[r] < v for r in Request if self.target[r, m]), "M-03")
        require(self.is_committed(m, v), "M-05")
        self.report[m] = v

    def manager_fence(self, m: Main) -> Epoch:
        """The newest fenced epoch that the commit manager of m was told."""
        if rule("M-23"):
            return self.known[m]
        return self.fenced

    def is_committed(self, m: Main, v: Epoch) -> bool:
        """Whether the commit for which m waits has ended: all its links of v and older are uploaded and trimmed."""
        if self.stuck[m] or (self.idle_commit_waits and not self.has_news(m)):
            return False
        if rule(
            "M-06", any(self.phase[r] == Phase.UPLOADED and self.tag[r] <= v for r in Request if self.target[r, m])
        ):
            return False
        return not any(self.phase[r] == Phase.LINKED and self.tag[r] <= v for r in Request if self.target[r, m])

    def has_news(self, m: Main) -> bool:
        """Whether m has uploaded a link of an epoch that it has not reported."""
        return any(
            self.phase[r] in (Phase.UPLOADED, Phase.TRIMMED) and not self.reports(m, self.tag[r])
            for r in Request
            if self.target[r, m]
        )

    @action
    def publish_late(self, m: Main, v: Epoch) -> None:
        """A report of an older process of m arrives. Reports name their process, so it has an effect in ZG-3 only."""
        if self.haunted[m] and v <= self.fenced:
            self.report[m] = v

    # Mains come and go ----------------------------------------------------------------------------------------

    @action
    def close_streams(self, m: Main) -> None:
        """The last partition moves away from m, once m has uploaded all links and appends."""
        left = any(self.phase[r] in (Phase.APPENDING, Phase.LINKED) for r in Request if self.target[r, m])
        require(self.up[m] and not left, "ZR-54.handed_over")
        self.serving[m] = False

    @action
    def open_streams(self, m: Main) -> None:
        """A partition moves to m."""
        require(self.up[m], "F-19")
        self.serving[m] = True

    @action
    def crash(self, m: Main) -> None:
        """A main dies, and the controller fences it. Its requests end, unless their links are durable."""
        self.up[m] = False
        self.known[m] = Epoch(0)
        self.stuck[m] = False
        busy = any(self.is_in_wal(r) or self.phase[r] == Phase.APPENDING for r in Request if self.target[r, m])
        self.haunted[m] = self.no_incarnation and not busy
        for r in Request:
            if self.target[r, m] and self.is_under_way(r):
                self.drop(r)
            elif self.target[r, m]:
                self.counted[r] = False
                self.unanswered[r] = False

    @action(fair="weak", per=("m",))
    def recover(self, m: Main) -> None:
        """Another broker, or the next process, uploads the links in the WAL of m, resets it, and closes the streams."""
        require(not self.up[m], "F-02")
        self.check_links(m)
        for r in Request:
            if self.target[r, m] and self.phase[r] == Phase.LINKED:
                self.phase[r] = Phase.FAILED
                if rule("M-15"):
                    self.phase[r] = Phase.TRIMMED
                    self.acked[r] = False
        self.empty_wal(m)
        self.serving[m] = False

    @action
    def join(self, m: Main) -> None:
        """A main comes back. It has recovered its WAL (F3) and applied the record that unfences it (F14)."""
        require(not self.up[m] and not self.serving[m], "F-03")
        self.check_links(m)
        self.empty_wal(m)
        self.up[m] = True
        if rule("F-14"):
            self.known[m] = self.fenced

    def check_links(self, m: Main) -> None:
        """A recovery must resolve all links that it reads (ZR-34); otherwise it is tried again for ever (F2)."""
        dangling = any(self.is_read(r) and self.is_trimmed(r) for r in Request if self.target[r, m])
        require(not dangling, "ZR-34")
        if any(self.is_in_wal(r) and self.is_trimmed(r) for r in Request if self.target[r, m]):
            self.met_trimmed = True

    def is_read(self, r: Request) -> bool:
        """Whether a recovery reads the link of r. It passes over links whose batches are uploaded."""
        if rule("M-14", self.phase[r] == Phase.UPLOADED):
            return False
        return self.is_in_wal(r)

    # What names an action (the other properties stand in parts/channels.py) -------------------------------------

    @step(of="admit")
    def admitted_above_fence(self, old: Self, r: Request, m: Main) -> bool:
        """I-3. A request is admitted above the fence that its main knows."""
        return self.tag[r] > old.known[m]

    @step(of="bump")
    def epochs_grow_by_one(self, old: Self) -> bool:
        """I-4. A bump raises the current and the fenced epoch by one."""
        return self.fenced == old.fenced + 1 and self.current == old.current + 1

    @step(of="publish")
    def reports_what_is_fenced(self, old: Self, m: Main, v: Epoch) -> bool:
        """I-5. A main reports no epoch above the fence that it knows."""
        return v <= old.known[m] and old.known[m] <= old.fenced

    @step(of="commit")
    def commits_what_all_report(self, old: Self, c: Epoch) -> bool:
        """I-6. Every main that runs or has opening streams has reported an epoch before it becomes committed."""
        return all(old.reports(m, c) for m in Main if old.up[m] or old.serving[m])

    @step(of="commit")
    def skipped_has_nothing_left(self, old: Self, c: Epoch) -> bool:
        """I-12. A main whose report does not matter has no link that is not uploaded."""
        return all(
            all(old.phase[r] != Phase.LINKED for r in Request if old.target[r, m])
            for m in Main
            if not old.reports(m, c)
        )

    @step(of="join")
    def comes_back_recovered(self, old: Self, m: Main) -> bool:
        """I-12. A main that comes back has no link that is not uploaded: its WAL was recovered."""
        return all(old.phase[r] != Phase.LINKED for r in Request if old.target[r, m])

    @step(of="refuse")
    def refuses_what_is_late(self, old: Self, r: Request, m: Main) -> bool:
        """V-2. A request is not refused if its tag is at most one bump older than the epoch that its main knows."""
        return old.tag[r] + 1 < old.known[m] + (1 if self.fenced_is_new_minus_1 else 2)

    # Witnesses ------------------------------------------------------------------------------------------------

    @witness
    def came_full_circle(self) -> bool:
        """The link of a record is trimmed, and then the record."""
        return any(self.phase[r] == Phase.TRIMMED and self.is_trimmed(r) for r in Request)

    @witness
    def behind(self) -> bool:
        """F10. A main admits a request whose epoch the controller has fenced."""
        return any(self.phase[r] == Phase.ADMITTED and self.tag[r] <= self.fenced for r in Request)

    @witness
    def ahead(self) -> bool:
        """F12. A main admits an epoch that it does not know yet."""
        return any(
            any(self.known[m] + 2 < self.tag[r] for m in Main if self.target[r, m])
            for r in Request
            if self.phase[r] == Phase.ADMITTED
        )

    @witness
    def late(self) -> bool:
        """F4, F6. A request is on its way whose record is trimmed."""
        return any(self.phase[r] == Phase.SENT and self.is_trimmed(r) for r in Request)

    @witness
    def came_back_behind(self) -> bool:
        """F14. A main runs whose report is older than what is committed."""
        return any(self.up[m] and not self.reports(m, self.committed) for m in Main if self.committed > Epoch(0))

    @witness
    def passed_over(self) -> bool:
        """M-14. A recovery has met links into trimmed data, and has ended."""
        return self.met_trimmed

    # Mutants that no safety property kills, and why -----------------------------------------------------------

    mutants = outcomes(
        {
            "ZR-26.read": equivalent("I-1: what is under way has its record"),
            "ZR-34": equivalent("I-1: what is not uploaded has its record"),
            "M-14@recover": missing("that a recovery ends, which nothing owes here; in both places it is killed"),
            "M-14@join": missing("that a recovery ends, which nothing owes here; in both places it is killed"),
            "ZR-63": liveness("V-1", "what is reported goes back and forth, so that it need not be committed"),
            "failed_upload_hangs": liveness("V-1", "the main does not report any more, and all wait for it (ZG-4)"),
        }
    )
