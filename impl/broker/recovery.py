"""Recovers the WAL of a process that has ended: uploads its uncommitted records, closes its streams (FO-06, FO-08, RC).

The next process of a node recovers the WAL of the process before it. After a crash of the node, a worker on another
node does it in place of the failed process: its requests carry that process's identity, with the failover flag (FO-05).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import msgspec

from impl import wire
from impl.broker.calls import Calls, ControllerError
from impl.broker.log_cache import CacheBlock, CacheLimits
from impl.broker.messages import Identity, StepEvent
from impl.broker.object_writer import ObjectWriter
from impl.broker.wal import FencedError, Wal
from impl.broker.wal_format import WalRecord
from impl.controller.nodes import stored_registration
from impl.errors import E
from impl.items import CloseItem
from impl.metadata.image import Image
from impl.records import StreamState
from impl.rules import rule
from impl.tasks import Tasks

REFUSED = frozenset({E.STREAM_NOT_OPENED, E.STREAM_FENCED, E.STREAM_INNER_ERROR, E.OFFSET_NOT_MATCHED})
"""The refusals of CS-20 to CS-29b. They end a recovery, and the next one begins with the streams that are open by then.

A repetition of the commit would be refused for ever: a close of the old process passes the barrier (ST-31), and may
close a stream that the barrier has listed as open.
"""


Resolve = Callable[[WalRecord], Awaitable[WalRecord]]
"""Returns a record, or in place of a link the record that it stands for (ZR-34)."""


async def itself(record: WalRecord) -> WalRecord:
    """In a cluster without zones no record is a link."""
    return record


class StreamToRecover(msgspec.Struct):
    """A stream to recover. ``next``: the offset of the next record to keep.

    ``end``: the end of the records to keep: the sealed end after a fast close; None for an open stream.
    """

    epoch: int
    start: int
    next: int
    end: int | None


class Recovery:
    """The recovery of the WAL of ``identity``.

    ``image``: the newest metadata that this process has. ``newer``: waits for a newer image. ``resolve``: for links.
    """

    def __init__(
        self,
        tasks: Tasks,
        calls: Calls,
        identity: Identity,
        wal: Wal,
        writer: ObjectWriter,
        image: Callable[[], Image],
        newer: Callable[[], Awaitable[None]],
        limits: CacheLimits,
        as_built: frozenset[str] = frozenset(),
        resolve: Resolve = itself,
    ) -> None:
        self._tasks, self._calls, self._identity = tasks, calls, identity
        self._wal, self._writer, self._as_built, self._limits = wal, writer, as_built, limits
        self._image, self._newer, self._resolve = image, newer, resolve
        self._left: dict[int, StreamToRecover] = {}
        self._block = CacheBlock()
        self._links = 0
        self.closed: dict[int, int] = {}
        """By stream: the epoch that the last process or the recovery closed. A late copy of the close may come."""
        self.gaps = 0
        """The number of records that were dropped because there is a gap before them (RC-02)."""

    async def run(self) -> None:
        """Recover, in the order of FO-06. Raises FencedError, StoreError, DamagedError and ControllerError."""
        self._check_registration()
        await self._wal.start()
        # With a rule switched off, the two steps of its line are swapped.
        for step in (self._register, self._replay) if rule("FO-06.barrier") else (self._replay, self._register):
            await step()
        # The batches of links have to be uploaded, too, before the WAL and the streams are gone (M-15).
        is_late = not rule("RC-05") or (self._links > 0 and not rule("M-15"))
        for step in (self._end, self._write) if is_late else (self._write, self._end):
            await step()

    def _check_registration(self) -> None:
        """FO-06 (1), WL-10. Raise FencedError if a newer process of the node is registered: it recovered the WAL."""
        stored = stored_registration(self._image(), self._identity.node)
        if rule("WL-10", stored is not None and stored.epoch > self._identity.epoch):
            raise FencedError("a newer process of the node is registered")

    async def _register(self) -> None:
        """RC-01. The barrier: from now on the controller accepts nothing more from the process before."""
        identity = self._identity
        answer = await self._calls.call(wire.GetOpeningStreams(identity.node, identity.epoch, identity.failover))
        for each in answer.values["streams"]:
            self._left[each["stream"]] = StreamToRecover(each["epoch"], each["start"], each["end"], None)
        await self._see_barrier()
        self.closed = _closed_by(self._image(), identity.node)
        entries = self._image().entries.get(identity.node, {})
        for stream, left in self._left.items():
            entry = entries.get(stream)
            if entry is not None and rule("ND-03.end"):
                left.end = entry.to

    async def _see_barrier(self) -> None:
        """Wait for metadata as new as the barrier. Only the metadata tell where a sealed range ends."""
        identity = self._identity
        while True:
            row = self._image().nodes.get(identity.node)
            if row is not None and row.epoch > identity.epoch:
                raise FencedError("a newer process of the node is registered")
            if row is not None and (row.epoch, row.failover) == (identity.epoch, identity.failover):
                return
            await self._newer()

    async def _replay(self) -> None:
        await self._wal.verify()
        await self._wal.recover(self._visit)

    async def _visit(self, _: int, record: WalRecord) -> None:
        """RC-02 to RC-04. Keep a record that continues the committed or kept records of its stream, else drop it."""
        if record.count < 0 and not rule("M-14"):
            record = await self._resolve(record)
        left = self._left.get(record.stream)
        if left is None:
            if rule("RC-02.opening"):
                return
            # With the rule switched off, the stream is recovered from its first record on.
            left = self._left.setdefault(record.stream, StreamToRecover(record.epoch, 0, record.base, None))
        if rule("RC-02.base", record.base < left.next) and not self._is_cut(record, left):
            return
        if rule("RC-02.gap", record.base > left.next):
            self.gaps += 1
            return
        # The node has to commit its records up to the sealed end only.
        if left.end is not None and record.end > left.end:
            return
        left.next = record.end
        # Only now: the batches of records that are dropped may be trimmed from their channels (M-14).
        self._links += record.count < 0
        record = await self._resolve(record)
        # A record that does not fit begins the next block.
        if not self._block.has_room(record, self._limits.widest):
            await self._write()
        self._block.put(record)
        if self._block.size >= self._limits.block or len(self._block.streams) >= self._limits.streams:
            await self._write()

    def _is_cut(self, record: WalRecord, left: StreamToRecover) -> bool:
        """Whether a trim has cut into the batch, and the rest of the batch is not committed.

        AutoMQ drops such a batch (RC-03), and then drops all later batches of the stream as well (AM-08).
        """
        is_first = left.next == left.start < record.end
        return rule("AM-08", is_first and "AM-08" not in self._as_built)

    async def _write(self) -> None:
        """Upload and commit the records that were kept, and begin a new block."""
        block, self._block = self._block, CacheBlock()
        if block.streams:
            await self._writer.write(block)

    async def _end(self) -> None:
        """RC-05. Empty the WAL, and close the streams."""
        reset = self._wal.reset()
        closes = [self._tasks.start(self._close(stream, left)) for stream, left in self._left.items()]
        await reset.wait()
        self._tasks.outputs.append(StepEvent("reset_wal", {}))
        for close in closes:
            await close.wait()

    async def _close(self, stream: int, left: StreamToRecover) -> None:
        identity = self._identity
        self.closed[stream] = left.epoch
        item = CloseItem(stream, left.epoch)
        try:
            await self._calls.call(wire.CloseStreams(identity.node, identity.epoch, (item,)))
        except ControllerError as error:
            # A newer owner has the stream, and its open found the stream closed.
            if not rule("RC-06", error.error is E.STREAM_FENCED):
                raise
        self._tasks.outputs.append(StepEvent("end_recovery", {"stream": stream, "epoch": left.epoch}))


def _closed_by(image: Image, node: int) -> dict[int, int]:
    """By stream: the epochs of the closed streams whose last owner is the node."""
    closed = {stream: row.epoch for stream, row in image.streams.items() if row.state is StreamState.CLOSED}
    owners = {stream: image.current_range(stream) for stream in closed}
    return {stream: closed[stream] for stream, owner in owners.items() if owner is not None and owner.node == node}
