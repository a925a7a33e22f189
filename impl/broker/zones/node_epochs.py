"""The route epochs of a process: what it admits, and when it reports that an epoch is committed (4.3, 4.4)."""

from __future__ import annotations

from collections.abc import Callable

from impl import wire
from impl.broker.calls import Calls, ControllerError
from impl.broker.messages import Identity, StepEvent
from impl.broker.uploader import Uploader
from impl.rules import rule
from impl.tasks import FailedError, Tasks
from impl.zone.commit_manager import CommitManager
from impl.zone.encodings import RouteEpochRecord
from impl.zone.route_epochs import FIRST

TICK_MS = 1_000


class NodeEpochs:
    """The requests of a process that are in flight, by epoch, and its commits.

    ``known``: the cluster's epochs as this process knows them. ``linger_ms``: how long a commit waits for an upload
    that begins by itself (ZR-61). ``halt``: ends the process.
    """

    def __init__(
        self,
        tasks: Tasks,
        calls: Calls,
        uploader: Uploader,
        identity: Identity,
        linger_ms: int,
        halt: Callable[[str], None],
    ) -> None:
        self.known = FIRST
        self._tasks, self._calls, self._uploader, self._identity = tasks, calls, uploader, identity
        self._linger_ms, self._halt = linger_ms, halt
        self._manager = CommitManager()
        self._requests = 0

    def admit(self, epoch: int, batches: tuple[bytes, ...]) -> int | None:
        """Count a request as in flight. Returns its number; None if its epoch is fenced (steps 1 and 2).

        ``batches``: where the batches of the request lie.
        """
        self._requests += 1
        number, admitted = self._requests, self._manager.admit(self._requests, epoch)
        values = {"request": number, "epoch": epoch, "batches": batches}
        self._tasks.outputs.append(StepEvent("admit_batches" if admitted else "refuse_batches", values))
        if admitted:
            return number
        self._manager.forget(number)
        return None

    def finish(self, number: int) -> None:
        """A request has ended: nothing of it is under way any more."""
        self._manager.finish(number)
        self._manager.forget(number)
        self._tasks.outputs.append(StepEvent("finish_batches", {"request": number}))

    def learn(self, record: RouteEpochRecord) -> None:
        """The metadata have a newer record (ZR-58)."""
        self.known = record
        self._manager.learn(record.fenced)
        values = {"committed": record.committed, "fenced": record.fenced, "current": record.current}
        self._tasks.outputs.append(StepEvent("learn_epochs", values))

    async def run(self) -> None:
        """Look every second whether a commit is to begin (ZR-59)."""
        while True:
            epoch = self._manager.tick()
            if epoch is not None:
                self._tasks.start(self._commit(epoch))
            await self._tasks.sleep(TICK_MS)

    async def _commit(self, epoch: int) -> None:
        """ZR-60. Upload, trim, report. If one of them fails, a later tick begins another commit."""
        try:
            if rule("M-05"):
                trimmed = await self._uploader.commit_lazily(self._linger_ms)
                if rule("M-06"):
                    await trimmed.wait()
            identity = self._identity
            await self._calls.call(wire.ReportRouteEpoch(identity.node, identity.epoch, epoch))
        except ControllerError as error:
            # A newer process of the node is registered, so this one can do nothing more.
            self._halt(f"the controller answers {error.error.name}")
        except FailedError:
            self._manager.ended("trim", ok=False)
        else:
            self._tasks.outputs.append(StepEvent("report_route_epoch", {"epoch": epoch}))
            self._manager.ended("trim", ok=True)
