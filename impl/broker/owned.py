"""The streams that a process owns: one handle each. Opens and closes of a stream wait for each other (PT-05)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from impl import wire
from impl.broker.calls import NODE_ERRORS, Calls, ControllerError
from impl.broker.handle import StreamHandle
from impl.broker.messages import Close, Destroy, Identity, Open, Step
from impl.broker.settings import Settings
from impl.broker.uploader import Uploader
from impl.errors import E
from impl.items import CloseItem, OpenItem
from impl.metadata.image import Image
from impl.rules import RefusedError, require, rule
from impl.tasks import FailedError, Gate, Tasks

STRAYS_MS = 2_000
"""The period in which a process looks for streams that are open at its node, and of which it has no handle."""

Make = Callable[[OpenItem, wire.Answer], StreamHandle]
"""Makes the handle of a stream that the controller has opened."""


class Owned:
    """The handles of a process. ``make`` makes one. ``stopping``: whether the process opens nothing any more."""

    def __init__(
        self, tasks: Tasks, calls: Calls, identity: Identity, settings: Settings, uploader: Uploader, make: Make
    ) -> None:
        self.handles: dict[int, StreamHandle] = {}
        self.stopping = False
        self._tasks, self._calls, self._identity = tasks, calls, identity
        self._settings, self._uploader, self._make = settings, uploader, make
        self._orders: dict[int, int] = {}
        """By stream: how many commands have said who is to own it."""
        self._last: dict[int, Gate[None]] = {}
        """By stream: the end of the last of them."""
        self._opening: dict[int, int] = {}
        """By stream: the epoch of the open that is under way."""
        self._closed: dict[int, int] = {}
        """By stream: the newest epoch that this process has closed."""

    def bar(self, closed: Mapping[int, int]) -> None:
        """By stream: epochs that the recovery of this process has closed. A late copy of its close may still come."""
        for stream, epoch in closed.items():
            self._closed[stream] = max(self._closed.get(stream, -1), epoch)

    def handle(self, stream: int) -> StreamHandle:
        """The handle of a stream. Raises RefusedError if there is none."""
        found = self.handles.get(stream)
        if found is None:
            raise RefusedError("CL-02", E.STREAM_ALREADY_CLOSED)
        return found

    async def order(self, body: Open | Close | Destroy) -> dict[str, object]:
        """Do a command after those of the same stream that came before it, and return the values of its answer.

        A newer command ends the wait of an open. Raises RefusedError and ControllerError.
        """
        stream = body.stream
        number = self._orders[stream] = self._orders.get(stream, 0) + 1
        before, ended = self._last.get(stream), Gate[None](self._tasks)
        self._last[stream] = ended
        if before is not None and rule("PT-05"):
            await before.wait()
        if isinstance(body, Open):
            self._opening[stream] = body.epoch
        try:
            values = await (self._open(body, number) if isinstance(body, Open) else self._leave(body))
        except (RefusedError, FailedError):
            self._end_order(stream, ended)
            raise
        self._end_order(stream, ended)
        return values

    def _end_order(self, stream: int, ended: Gate[None]) -> None:
        self._opening.pop(stream, None)
        ended.open(None)

    async def close_all(self) -> None:
        """CL-11. One round of closing all streams that are open."""
        for handle in tuple(self.handles.values()):
            await self._close(handle)

    def epochs(self) -> dict[int, int]:
        """The epochs of the handles, in the order of their streams."""
        return {stream: handle.epoch for stream, handle in sorted(self.handles.items())}

    async def run(self, image: Callable[[], Image], halt: Callable[[str], None]) -> None:
        """Close, again and again, what is open although this process has no handle of it.

        ``halt`` is called with the reason if the controller listens to another process of the node.
        """
        while True:
            await self._tasks.sleep(STRAYS_MS)
            try:
                await self.close_strays(image())
            except ControllerError as error:
                halt(f"the controller answers {error.error.name}")

    async def close_strays(self, image: Image) -> None:
        """Close the streams that are open at this node, and of which this process has no handle.

        An open takes effect without one if its answer is not waited for any more, or if it comes twice, the second time
        after the close (EX-07, ST-24). Nobody else may close such a stream while this process lives (FO-09). An open
        under a newer epoch would wait for that close for ever.

        Raises the errors that make the process halt.
        """
        for stream in tuple(image.opened_on.get(self._identity.node, ())):
            if stream in self.handles or self.stopping or stream not in image.opened_on[self._identity.node]:
                continue
            epoch, order = image.streams[stream].epoch, self._last.get(stream)
            if order is not None and not order.happened and epoch >= self._opening.get(stream, 0):
                continue
            self._closed[stream] = max(self._closed.get(stream, -1), epoch)
            request = wire.CloseStreams(self._identity.node, self._identity.epoch, (CloseItem(stream, epoch),))
            try:
                await self._calls.call(request)
            except ControllerError as error:
                if error.error in NODE_ERRORS:
                    raise

    async def _open(self, body: Open, number: int) -> dict[str, object]:
        """CL-01."""
        stream, epoch = body.stream, body.epoch

        def wanted() -> bool:
            return self._orders[stream] == number and not self.stopping

        handle = self.handles.get(stream)
        if handle is not None and handle.epoch == epoch and handle.is_usable:
            return {"start": handle.start, "next": handle.next}
        if handle is not None:
            await self._close(handle)
        if "AM-20" not in self._settings.as_built:
            require(epoch > self._closed.get(stream, -1), "CA-47", E.STREAM_FENCED)
        if not wanted():
            raise ControllerError(E.STREAM_NOT_CLOSED)
        if rule("CL-01"):
            await self._uploader.barrier(stream)
        item = OpenItem(stream, epoch)
        request = wire.OpenStreams(self._identity.node, self._identity.epoch, (item,))
        handle = self.handles[stream] = self._make(item, await self._calls.call(request, wanted))
        self._tasks.outputs.append(Step("hear", {"stream": stream, "epoch": epoch, "next": handle.next}))
        return {"start": handle.start, "next": handle.next}

    async def _leave(self, body: Close | Destroy) -> dict[str, object]:
        if isinstance(body, Destroy):
            await self.handle(body.stream).destroy()
        handle = self.handles.get(body.stream)
        if handle is not None:
            await self._close(handle)
        return {}

    async def _close(self, handle: StreamHandle) -> None:
        """Close a handle, and forget it whatever the controller says. Raises the errors that make the process halt."""
        self._closed[handle.stream] = max(self._closed.get(handle.stream, -1), handle.epoch)
        try:
            await handle.close().wait()
        except ControllerError as error:
            if error.error in NODE_ERRORS:
                raise
        self.handles.pop(handle.stream, None)
