"""The streams that a process owns: one handle each. Opens and closes of a stream wait for each other (PT-05)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from impl import wire
from impl.broker.calls import NODE_ERRORS, Calls, ControllerError
from impl.broker.handle import StreamHandle
from impl.broker.messages import Close, Destroy, Identity, Open, StepEvent
from impl.broker.settings import Settings
from impl.broker.uploader import Uploader
from impl.errors import E
from impl.items import CloseItem, OpenItem
from impl.metadata.image import Image
from impl.rules import RefusedError, require, rule
from impl.tasks import FailedError, Gate, Tasks

STRAYS_MS = 2_000
"""The period in which a process looks for streams that are open at its node, and for which it has no handle."""

Make = Callable[[OpenItem, wire.ItemAnswer], StreamHandle]
"""Makes the handle of a stream that the controller has opened."""


class OwnedStreams:
    """The handles of a process. ``make``: makes a handle. ``stopping``: whether the process opens no more streams."""

    def __init__(
        self, tasks: Tasks, calls: Calls, identity: Identity, settings: Settings, uploader: Uploader, make: Make
    ) -> None:
        self.handles: dict[int, StreamHandle] = {}
        self.stopping = False
        self._tasks, self._calls, self._identity = tasks, calls, identity
        self._settings, self._uploader, self._make = settings, uploader, make
        self._orders: dict[int, int] = {}
        """By stream: the number of commands to open, close or destroy it."""
        self._last: dict[int, Gate[None]] = {}
        """By stream: opens when the last of these commands has ended."""
        self._opening: dict[int, int] = {}
        """By stream: the epoch of the open that is under way."""
        self._closed: dict[int, int] = {}
        """By stream: the newest epoch that this process has closed."""

    def bar(self, closed: Mapping[int, int]) -> None:
        """Note epochs that must not be opened again. ``closed``: by stream, the epoch that the recovery has closed.

        A late copy of the recovery's close may still reach the controller, and would close the stream again.
        """
        for stream, epoch in closed.items():
            self._closed[stream] = max(self._closed.get(stream, -1), epoch)

    def handle(self, stream: int) -> StreamHandle:
        """The handle of a stream. Raises RefusedError if there is none."""
        found = self.handles.get(stream)
        if found is None:
            raise RefusedError("CL-02", E.STREAM_ALREADY_CLOSED)
        return found

    async def order(self, body: Open | Close | Destroy) -> dict[str, object]:
        """Execute a command after all earlier commands of its stream. Returns the values of its answer.

        An open that waits for the controller gives up when a newer command comes. Raises RefusedError and
        ControllerError.
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
            # This is no ``finally``, because a crash must not run it.
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
        """Close strays periodically, for ever: open streams of this node for which this process has no handle.

        ``halt``: called with the reason if the controller accepts only another process of the node.
        """
        while True:
            await self._tasks.sleep(STRAYS_MS)
            try:
                await self.close_strays(image())
            except ControllerError as error:
                halt(f"the controller answers {error.error.name}")

    async def close_strays(self, image: Image) -> None:
        """Close the streams that are open at this node, and for which this process has no handle.

        A stream becomes a stray if its open gave up before the answer came, or if its open arrives twice, the second
        time after the close (EX-07, ST-24). No other process may close a stray while this process lives (FO-09), so an
        open under a newer epoch would wait for ever.

        Raises ControllerError if the process has to halt.
        """
        # A copy, because the image may change during the calls below.
        for stream in tuple(image.opened_on.get(self._identity.node, ())):
            if stream in self.handles or self.stopping or stream not in image.opened_on[self._identity.node]:
                continue
            epoch, order = image.streams[stream].epoch, self._last.get(stream)
            # A command under way opens or closes the stream itself, unless it opens a newer epoch and waits for this.
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
        """CL-01. ``number``: the number of the command among those of its stream."""
        stream, epoch = body.stream, body.epoch

        def wanted() -> bool:
            return self._orders[stream] == number and not self.stopping

        handle = self.handles.get(stream)
        if handle is not None and handle.epoch == epoch and handle.is_usable:
            return {"start": handle.start, "next": handle.next}
        if handle is not None:
            await self._close(handle)
        # A late copy of the last close would end a lease under the same epoch.
        if "AM-20" not in self._settings.as_built:
            require(epoch > self._closed.get(stream, -1), "CA-47", E.STREAM_FENCED)
        # A newer command may have come during the close.
        if not wanted():
            raise ControllerError(E.STREAM_NOT_CLOSED)
        if rule("CL-01"):
            await self._uploader.barrier(stream)
        item = OpenItem(stream, epoch)
        request = wire.OpenStreams(self._identity.node, self._identity.epoch, (item,))
        handle = self.handles[stream] = self._make(item, await self._calls.call(request, wanted))
        self._tasks.outputs.append(StepEvent("hear", {"stream": stream, "epoch": epoch, "next": handle.next}))
        return {"start": handle.start, "next": handle.next}

    async def _leave(self, body: Close | Destroy) -> dict[str, object]:
        if isinstance(body, Destroy):
            await self.handle(body.stream).destroy()
        # A destroy has closed the handle. Closing it again makes the process forget it.
        handle = self.handles.get(body.stream)
        if handle is not None:
            await self._close(handle)
        return {}

    async def _close(self, handle: StreamHandle) -> None:
        """Close a handle, and forget it whatever the controller answers.

        Raises ControllerError if the process has to halt.
        """
        # Before the call, because a copy of its request may arrive at any time from then on.
        self._closed[handle.stream] = max(self._closed.get(handle.stream, -1), handle.epoch)
        try:
            await handle.close().wait()
        except ControllerError as error:
            if error.error in NODE_ERRORS:
                raise
        self.handles.pop(handle.stream, None)
