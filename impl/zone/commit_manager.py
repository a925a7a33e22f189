"""What a main admits, which of its requests are in flight, and when it reports an epoch (ZR-59 to ZR-63)."""

from __future__ import annotations

from collections.abc import Hashable

import attrs

from impl.rules import rule

STAGES = ("upload", "trim")
"""The stages of a commit: the links are uploaded, and then the WAL is trimmed."""


@attrs.define
class AdmittedRequest:
    """A request that is in flight, and its epoch. ``counted``: False only with M-02 switched off."""

    epoch: int
    counted: bool
    finished: bool = False


@attrs.define
class CommitManager:
    """The commit manager of a node, and the fence in front of it.

    ``fence``: the epoch up to which requests are refused. ``fenced``: the one up to which ``tick`` looks. Both are the
    fenced epoch that the node knows. ``inflight``: by epoch, the requests that are not answered.
    ``waiting``: the epoch to report next. ``committed``: the epoch of the last report, -1 before the first.
    ``running``: the epoch whose commit is under way.
    """

    fence: int = -2
    fenced: int = -2
    inflight: dict[int, int] = attrs.field(factory=dict)
    waiting: int = -1
    committed: int = -1
    running: int | None = None
    _requests: dict[Hashable, AdmittedRequest] = attrs.field(factory=dict)

    def learn(self, fenced: int) -> None:
        """The node learns of a fenced epoch. With M-23 switched off, the fence is that of the time before."""
        self.fence = fenced if rule("M-23") else self.fenced
        self.fenced = fenced

    def admit(self, request: Hashable, epoch: int) -> bool:
        """Count a request, and say whether its epoch is newer than the fenced one. One that is not is over."""
        if request in self._requests and not self._requests[request].finished:
            raise ValueError(f"request {request} is in flight already")
        # The count comes before the test: a tick between both would else report the epoch. No tick comes between two
        # lines, so with the rule switched off the request is not counted at all.
        counted = rule("M-02")
        if counted:
            self.inflight[epoch] = self.inflight.get(epoch, 0) + 1
        self._requests[request] = AdmittedRequest(epoch, counted)
        if rule("M-01", epoch <= self.fence):
            self.finish(request)
            return False
        return True

    def finish(self, request: Hashable) -> bool:
        """A request is answered; returns whether it was in flight. The entry of its epoch stays until the next tick.

        Raises LookupError for a request that never came.
        """
        admitted = self._requests.get(request)
        if admitted is None:
            raise LookupError(f"there was no request {request}")
        if admitted.finished:
            return False
        admitted.finished = True
        if admitted.counted:
            self.inflight[admitted.epoch] -= 1
        return True

    def forget(self, request: Hashable) -> None:
        """Nobody asks for a request that is over any more."""
        del self._requests[request]

    def tick(self) -> int | None:
        """Look which epochs are over. Returns the epoch whose commit begins now; None if none does (ZR-59, ZR-60)."""
        found = self.waiting
        for epoch in sorted(each for each in self.inflight if each <= self.fenced):
            if self.inflight[epoch]:
                if rule("M-03"):
                    break
                continue
            del self.inflight[epoch]
            # A late request that was fenced leaves an entry for an old epoch behind (ZR-63).
            found = max(found, epoch) if rule("ZR-63", epoch < found) else epoch
        if not self.inflight:
            found = self.fenced
        self.waiting = found
        if self.running is not None or self.waiting == self.committed:
            return None
        if rule("M-05"):
            self.running = self.waiting
        else:
            self.committed = self.waiting
        return self.waiting

    def ended(self, stage: str, *, ok: bool) -> int | None:
        """A stage of the commit has ended. Returns the epoch that is reported now; None if none is.

        A commit that failed is begun again by a later tick.
        """
        if self.running is None or rule("M-06", ok and stage != STAGES[-1]):
            return None
        running, self.running = self.running, None
        if not ok:
            return None
        self.committed = running
        return running
