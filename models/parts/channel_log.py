"""The steps of mains and proxies as the log of a system shows them, where its lines are not the steps of `route_epoch`.

The variant `log_grain` has these actions. They are needed since a log differs from the model in these points:

- A proxy may apply a record of the controller after newer ones are written. A proxy of the log is one process.
- A process learns the controller's record in a step of its own, also when it starts.
- A process whose WAL another broker has recovered may live on for a while, and report.
- A new process may report less than the process before it, and a copy of an old report may arrive late.
- A stream may open on a main that has ended, since the request was on its way.
- A recovery uploads each link in a step of its own, before it closes the streams.

The variant proves nothing: a main that comes back behind the fence (F-14) admits what the model would refuse.
"""

from __future__ import annotations

from holdfast.lang import action, require, variant
from models.parts.channels import Channels, Epoch, Main, Phase, Proxy, Request


class ChannelLog(Channels):
    """The actions for lines of a log that match no other action."""

    @action(variant="log_grain")
    def apply_record(self, p: Proxy, c: Epoch, e: Epoch) -> None:
        """ZR-58, ZR-64. A proxy applies a record with the committed epoch c and the current epoch e."""
        require(self.trimmed_to[p] <= c and c <= self.committed, "ZR-64")
        require(self.channel_epoch[p] <= e and e <= self.current, "ZR-20.newer")
        self.channel_epoch[p] = e
        self.trimmed_to[p] = c

    @action(variant="log_grain")
    def report_less(self, m: Main, v: Epoch) -> None:
        """A new process of m, which has applied an older record so far, reports less; or an old report comes again."""
        require(v > Epoch(0) and v <= self.known[m] and self.reports(m, v), "ZR-60.process")
        self.report[m] = v

    @variant("log_grain", replaces="learn")
    def learn_late(self, m: Main, f: Epoch) -> None:
        """ZR-58. A main applies a record of the controller. It may stand still otherwise, since its WAL is fenced."""
        require(self.known[m] < f and f <= self.fenced, "ZR-58")
        self.known[m] = f

    @variant("log_grain", replaces="open_streams")
    def open_late(self, m: Main) -> None:
        """A partition moves to m, which may have ended meanwhile."""
        self.serving[m] = True

    @variant("log_grain", replaces="crash")
    def end(self, m: Main) -> None:
        """A main ends, and its requests without a link in the WAL end with it. It may learn and report after that."""
        self.up[m] = False
        for r in Request:
            if self.target[r, m]:
                self.counted[r] = False
                self.unanswered[r] = False
                if self.is_under_way(r):
                    self.phase[r] = Phase.FAILED
                    self.target[r, m] = False

    @variant("log_grain", replaces="recover")
    def close_recovered(self, m: Main) -> None:
        """M-15. A recovery closes the streams of m. It has uploaded all links, each in a step of its own."""
        require(not self.up[m], "F-02")
        require(not any(self.phase[r] == Phase.LINKED for r in Request if self.target[r, m]), "M-15")
        self.empty_wal(m)
        self.serving[m] = False

    @variant("log_grain", replaces="join")
    def begin(self, m: Main) -> None:
        """A process of m begins to serve. It may have applied no record yet."""
        require(not self.up[m] and not self.serving[m], "F-03")
        self.empty_wal(m)
        self.up[m] = True
        self.known[m] = Epoch(0)
