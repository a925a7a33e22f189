"""The handle of a stream that this process owns (CL-01 to CL-10).

The handle assigns offsets before it writes, so several appends of a stream may be under way at once. It never assigns
an offset twice: after a failed append it is unknown what the WAL holds, so the handle accepts no further append.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from impl import wire
from impl.broker.calls import Calls, ControllerError
from impl.broker.messages import Identity, StepEvent
from impl.broker.settings import Settings
from impl.broker.storage import ShutdownError, Storage
from impl.broker.uploader import Uploader
from impl.broker.wal_format import WalRecord
from impl.errors import E
from impl.items import CloseItem, OpenItem, TrimItem
from impl.rules import require, rule
from impl.tasks import FailedError, Gate, Tasks

TRIM_WAIT_MS = 10_000
"""How long a close waits for the last trim (CL-07)."""

Read = Callable[[int, int, int], Awaitable[list[WalRecord]]]
"""Reads the records of a stream that overlap a range of offsets."""


class StreamHandle:
    """``start``: the first offset. ``confirm``: the end of the acknowledged batches. ``next``: the next batch's offset.

    The flags ``fenced``, ``closed`` and ``destroyed`` are never reset. A stream can be read and written while none of
    them is set.
    """

    def __init__(
        self,
        tasks: Tasks,
        calls: Calls,
        identity: Identity,
        settings: Settings,
        storage: Storage,
        uploader: Uploader,
        read: Read,
        item: OpenItem,
        opened: wire.ItemAnswer,
    ) -> None:
        self.stream, self.epoch = item.stream, item.epoch
        self.start: int = opened.values["start"]
        self.next: int = opened.values["next"]
        self.confirm = self.next
        self.fenced = self.closed = self.destroyed = False
        self._tasks, self._calls, self._identity, self._settings = tasks, calls, identity, settings
        self._storage, self._uploader, self._read = storage, uploader, read
        self._pending: dict[int, Gate[int]] = {}
        """By offset: the appends that have not ended."""
        self._fetches: dict[int, Gate[list[WalRecord]]] = {}
        self._fetched = 0
        self._trimming: Gate[None] = Gate(tasks)
        """Opens when the last trim has ended."""
        self._trimming.open(None)
        self._closing: Gate[None] | None = None
        self._forced: Gate[None] = Gate(tasks)
        """Opens when the handle is closed by force."""

    @property
    def is_usable(self) -> bool:
        """Whether the stream can be read and written."""
        return not (self.fenced or self.closed or self.destroyed)

    # Append ---------------------------------------------------------------------------------------------------

    def append(self, count: int, payload: bytes, link: bytes | None = None) -> Gate[int]:
        """Append a batch of ``count`` records. The gate opens with its offset.

        ``link``: what the WAL gets in place of ``payload`` (ZR-32). Raises RefusedError at once; then nothing was done.
        """
        require(count > 0, "CL-02.count", E.INVALID_REQUEST)
        require(self.is_usable, "CL-02", E.STREAM_ALREADY_CLOSED)
        offset = self.next
        self.next += count
        record = WalRecord(self.stream, self.epoch, offset, count, payload)
        linked = None if link is None else WalRecord(self.stream, self.epoch, offset, -count, link)
        gate = self._tasks.start(self._append(record, linked))
        self._pending[offset] = gate
        return gate

    async def _append(self, record: WalRecord, link: WalRecord | None) -> int:
        try:
            await self._storage.append(record, link)
        except FailedError:
            del self._pending[record.base]
            if rule("CL-04"):
                self.fenced = True
            raise
        del self._pending[record.base]
        self.confirm = max(self.confirm, record.base + record.count)
        values = {"stream": self.stream, "epoch": self.epoch, "base": record.base, "count": record.count}
        self._tasks.outputs.append(StepEvent("ack", values))
        return record.base

    # Fetch ----------------------------------------------------------------------------------------------------

    def fetch(self, begin: int, end: int) -> Gate[list[WalRecord]]:
        """Read the records that overlap [begin, end). The gate opens with them. Raises RefusedError at once."""
        require(self.is_usable, "CL-05.flags", E.STREAM_ALREADY_CLOSED)
        require(begin <= end, "CL-05.order", E.INVALID_REQUEST)
        require(begin >= self.start, "CL-05.start", E.OFFSET_OUT_OF_RANGE_BOUNDS)
        require(end <= self.confirm, "CL-05.confirm", E.OFFSET_OUT_OF_RANGE_BOUNDS)
        self._fetched += 1
        gate = self._tasks.start(self._fetch(self._fetched, begin, end))
        self._fetches[self._fetched] = gate
        return gate

    async def _fetch(self, number: int, begin: int, end: int) -> list[WalRecord]:
        if begin == end:
            del self._fetches[number]
            return []
        try:
            found = await self._read(self.stream, begin, end)
        except FailedError:
            del self._fetches[number]
            raise
        del self._fetches[number]
        return found

    # Trim -----------------------------------------------------------------------------------------------------

    def trim(self, to: int) -> Gate[None]:
        """Drop the offsets below ``to``, after the trim before it and after the fetches that are under way (CL-06).

        A trim is allowed whatever flags are set. The start moves before the controller is asked, and does not move back
        if the controller refuses (AM-14).
        """
        require(to <= self.confirm, "CL-06.confirm", E.OFFSET_OUT_OF_RANGE_BOUNDS)
        before = self._trimming
        self._trimming = self._tasks.start(self._trim(to, before))
        return self._trimming

    async def _trim(self, to: int, before: Gate[None]) -> None:
        if rule("CL-06.chain"):
            await _ended(before)
        if rule("CL-06", to < self.start):
            return
        self.start = to
        # A copy, because a fetch leaves the dictionary when it ends.
        for fetch in tuple(self._fetches.values()):
            await _ended(fetch)
        item = TrimItem(self.stream, self.epoch, to)
        await self._calls.call(wire.TrimStreams(self._identity.node, self._identity.epoch, (item,)))

    # Close ----------------------------------------------------------------------------------------------------

    def close(self) -> Gate[None]:
        """CL-07, CL-08. Close the stream. A repetition returns the same gate, which fails if the controller refuses."""
        if rule("CL-07.flag"):
            self.closed = True
        if self._closing is None:
            self._closing = self._tasks.start(self._close())
        return self._closing

    def force_close(self) -> Gate[None]:
        """CL-09. Close without waiting for the appends and the trim that are under way: the storage has failed."""
        self.fenced = True
        if not self._forced.happened:
            self._forced.open(None)
        return self.close()

    async def _close(self) -> None:
        if rule("CL-07.wait"):
            while self._pending and not self._forced.happened:
                await _ended(next(iter(self._pending.values())))
        if not self._forced.happened:
            await _ended(self._trimming, TRIM_WAIT_MS)
        # All appends have ended, so ``confirm`` is final. An end of -1 asks for a legacy close.
        end = -1
        if self._settings.fast_close:
            self._uploader.force(self.stream)
            end = self.confirm if rule("CL-08.confirm", "AM-01" not in self._settings.as_built) else self.next
        elif rule("CL-08"):
            await self._uploader.force(self.stream).wait()
        # The flag is already set, unless its rule is switched off.
        self.closed = True
        self._tasks.outputs.append(StepEvent("send_close", {"stream": self.stream, "epoch": self.epoch, "end": end}))
        item = CloseItem(self.stream, self.epoch, end)
        await self._calls.call(wire.CloseStreams(self._identity.node, self._identity.epoch, (item,)))

    async def destroy(self) -> None:
        """CL-10. Close the stream and delete it. Raises ControllerError."""
        await self.close().wait()
        self.destroyed = True
        self.start = self.confirm
        identity = self._identity
        await self._calls.call(wire.DeleteStreams(identity.node, identity.epoch, (self.stream,)))


async def _ended(gate: Gate[Any], ms: int | None = None) -> None:
    """Wait until a gate opens or fails, at most ``ms`` milliseconds. The result does not matter."""
    try:
        await gate.wait(ms)
    except FailedError:
        return


def outcome(error: FailedError) -> E:
    """The error that a client gets for a failure: a refusal, or REQUEST_TIMED_OUT if the outcome is unknown."""
    if isinstance(error, ControllerError):
        return error.error
    return E.STREAM_ALREADY_CLOSED if isinstance(error, ShutdownError) else E.REQUEST_TIMED_OUT
