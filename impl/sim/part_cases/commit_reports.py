"""Runs of the commit manager of a main: requests begin and end, epochs are fenced, and commits end or fail.

Judged from outside by a list of all requests: which ones may begin, and which epochs may be reported (ZR-59 to ZR-63).
"""

from __future__ import annotations

import msgspec

from impl.sim.tape import Draw, one
from impl.sim.violation import PartViolation
from impl.zone.commit_manager import CommitManager

EVENTS = 60
"""The most events of a run."""
AHEAD = (-3, -2, -1, 0, 1, 1, 2, 3)
"""How far the epoch of a request is from the fenced one. A proxy may lag, and may know a newer epoch than the main."""


class RequestRow(msgspec.Struct):
    """A request that has come. ``taken``: the main has not refused it. ``over``: it is answered."""

    number: int
    epoch: int
    taken: bool
    over: bool


class CommitRun:
    """A commit manager, and the history of its requests and reports.

    ``fenced``: the newest fenced epoch that the node has heard of. ``reports``: the epochs that it has reported.
    ``pipeline``: the epoch whose commit is under way, with the stages that have ended.
    """

    def __init__(self) -> None:
        self.fenced = -2
        self.reports: list[int] = []
        self.requests: list[RequestRow] = []
        self.pipeline: tuple[int, list[str]] | None = None
        self._manager = CommitManager()
        self._said = self._manager.committed

    # Events -----------------------------------------------------------------------------------------------------

    def learn(self, fenced: int) -> PartViolation | None:
        """The node hears of a fenced epoch."""
        self.fenced = fenced
        self._manager.learn(fenced)
        return self._no_report()

    def admit(self, epoch: int) -> PartViolation | None:
        """A request comes. The main refuses it if its epoch is fenced (I-3, M-01)."""
        number = len(self.requests)
        taken = self._manager.admit(number, epoch)
        self.requests.append(RequestRow(number, epoch, taken, over=not taken))
        if taken and epoch <= self.fenced:
            return PartViolation("I-3", "a main takes a request of a fenced epoch")
        if not taken and epoch > self.fenced:
            return PartViolation("I-3", "a main refuses a request of an epoch that is not fenced")
        return self._no_report()

    def finish(self, row: RequestRow) -> PartViolation | None:
        """A request is answered, perhaps a second time."""
        row.over = True
        self._manager.finish(row.number)
        return self._no_report()

    def tick(self) -> PartViolation | None:
        """The node looks which epochs are over, and may begin a commit (ZR-59, ZR-60)."""
        begun = self._manager.tick()
        found = self._no_report()
        if found is not None or begun is None:
            return found
        if self.pipeline is not None:
            return PartViolation("ZR-60", "a commit begins while another one is under way")
        if self._in_flight(begun):
            return PartViolation("I-5", "a commit begins for an epoch with a request in flight")
        self.pipeline = (begun, [])
        return None

    def end_stage(self, *, ok: bool) -> PartViolation | None:
        """The next stage of the commit ends: the upload, and then the trim of the WAL (ZR-60)."""
        if self.pipeline is None:
            return None
        epoch, ended = self.pipeline
        stage = "trim" if ended else "upload"
        ended.append(stage)
        told = self._manager.ended(stage, ok=ok)
        if not ok or stage == "trim":
            self.pipeline = None
        if not ok or stage == "upload":
            return self._no_report(told)
        if told != epoch or self._manager.committed != epoch:
            return PartViolation("ZR-60", "a commit ends, and the main does not report its epoch")
        self._said = epoch
        return self._report(epoch)

    # Judgement --------------------------------------------------------------------------------------------------

    def _in_flight(self, epoch: int) -> bool:
        """Whether a request of this epoch, or of an older one, is not answered."""
        return any(each.epoch <= epoch and each.taken and not each.over for each in self.requests)

    def _no_report(self, told: int | None = None) -> PartViolation | None:
        """Only the end of the last stage of a commit is a moment to report (M-05, M-06)."""
        if told is None and self._manager.committed == self._said:
            return None
        return PartViolation("ZR-60", "a main reports an epoch before the upload and the trim have ended")

    def _report(self, epoch: int) -> PartViolation | None:
        """I-5, ZR-63: what a report may say."""
        if epoch > self.fenced:
            return PartViolation("I-5", "a main reports an epoch that is not fenced")
        if self._in_flight(epoch):
            return PartViolation("I-5", "a main reports an epoch with a request in flight")
        if self.reports and epoch < self.reports[-1]:
            return PartViolation("ZR-63", "a main reports an older epoch than before")
        self.reports.append(epoch)
        return None

    def settle(self) -> PartViolation | None:
        """All requests end, all their epochs are fenced, and no commit fails. The main reports the fenced epoch (V-1).

        A main that knows no fenced epoch of 0 or more may still be silent: -1 stands for "no report" (ZR-59).
        """
        fenced = max([0, self.fenced, *(each.epoch for each in self.requests)])
        found = [self.finish(row) for row in self.requests]
        found += [self.learn(fenced), self._end_commit(), self.tick(), self._end_commit()]
        if not any(found) and self.reports[-1:] != [fenced]:
            return PartViolation("V-1", "no request is in flight, and the main does not report the fenced epoch")
        return next((each for each in found if each is not None), None)

    def _end_commit(self) -> PartViolation | None:
        """The commit that is under way ends, if there is one."""
        found = None
        while self.pipeline is not None and found is None:
            found = self.end_stage(ok=True)
        return found


def judged(draw: Draw) -> PartViolation | None:
    """Make a run of a commit manager, and tell the first thing that it violates; None if nothing."""
    run = CommitRun()
    for _ in range(int(draw() * EVENTS)):
        found = _event(draw, run)
        if found is not None:
            return found
    return run.settle()


def _event(draw: Draw, run: CommitRun) -> PartViolation | None:
    kind = draw()
    if kind < 0.12:
        return run.learn(run.fenced + one(draw, (0, 1, 1, 2)))
    if kind < 0.42:
        return run.admit(run.fenced + one(draw, AHEAD))
    if kind < 0.62:
        return run.finish(one(draw, run.requests)) if run.requests else None
    return run.tick() if kind < 0.82 else run.end_stage(ok=draw() < 0.8)
