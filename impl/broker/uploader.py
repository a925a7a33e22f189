"""Uploads the blocks of the log cache, and trims the WAL behind them (PL-20 to PL-25).

Blocks are prepared one after the other, so that an older block gets smaller object ids. Their objects are put side by
side. Blocks are committed one after the other, because each range has to begin where the range before it ends.
"""

from __future__ import annotations

from collections.abc import Callable

from impl.broker.log_cache import CacheBlock, LogCache
from impl.broker.object_writer import ObjectWriter
from impl.broker.wal import FencedError, Wal
from impl.rules import rule
from impl.tasks import FailedError, Gate, Tasks, TimedOutError

TICK_MS = 100
"""How long a forced upload waits, so that forced uploads of about the same time share a block (PL-24)."""


class Upload:
    """The upload of one block."""

    def __init__(self, tasks: Tasks, block: CacheBlock) -> None:
        self.block = block
        self.prepared: Gate[None] = Gate(tasks)
        self.committed: Gate[None] = Gate(tasks)


class Uploader:
    """The uploads of a process. ``failed``: called with a reason when an upload fails, to halt the process (PL-23).

    ``trim_delay_ms``: how long the WAL is kept after an upload, for readers of other zones (M-07). ``as_built``: the
    known defects that are built in (ZG-4, ZG-5).
    """

    def __init__(
        self,
        tasks: Tasks,
        writer: ObjectWriter,
        cache: LogCache,
        wal: Wal,
        failed: Callable[[str], None],
        *,
        trim_delay_ms: int = 0,
        as_built: frozenset[str] = frozenset(),
    ) -> None:
        self._tasks, self._writer, self._cache, self._wal, self._failed = tasks, writer, cache, wal, failed
        self._trim_delay_ms, self._as_built = trim_delay_ms, as_built
        self._in_flight: list[Upload] = []
        """The uploads that are not committed, in their order."""
        self._newest: CacheBlock | None = None
        """The newest block whose upload has begun."""
        self._barriers: dict[int, list[Gate[None]]] = {}
        """By stream: its forced uploads that have not ended."""
        self._begun = 0
        self._next: Gate[None] = Gate(tasks)
        """Opens when the next upload begins."""
        self._trimmed: Gate[None] = Gate(tasks)
        """Opens when the WAL is trimmed behind the newest upload that is committed."""
        self._trimmed.open(None)

    def begin(self) -> None:
        """Upload all archived blocks whose upload has not begun."""
        waiting: list[CacheBlock] = []
        # From the newest block back to the last one whose upload has begun.
        for block in reversed(self._cache.archived):
            if block is self._newest:
                break
            if not block.is_committed:
                waiting.append(block)
        for block in reversed(waiting):
            self._newest = block
            self._begun += 1
            upload, before = Upload(self._tasks, block), self._in_flight[-1] if self._in_flight else None
            self._in_flight.append(upload)
            self._tasks.start(self._run(upload, before))
            following, self._next = self._next, Gate(self._tasks)
            following.open(None)

    def archive(self) -> None:
        """Archive the active block, and upload it."""
        self._cache.archive()
        self.begin()

    async def run(self, interval_ms: int) -> None:
        """PL-20. Upload the active block whenever no upload has begun for ``interval_ms`` milliseconds."""
        while True:
            begun = self._begun
            await self._tasks.sleep(interval_ms)
            if begun == self._begun:
                self.archive()

    def force(self, stream: int) -> Gate[None]:
        """PL-24. Upload all records of a stream. The gate opens when they are committed.

        Until then, and for ever if the upload fails, the stream has a barrier.
        """
        gate = self._tasks.start(self._force(stream))
        self._barriers.setdefault(stream, []).append(gate)
        return gate

    async def barrier(self, stream: int) -> None:
        """Wait until no forced upload of the stream is under way (CL-01). Raises its error if one has failed."""
        # Forced uploads that begin during the waits are appended to this list, and waited for as well.
        for gate in self._barriers.get(stream, []):
            await gate.wait()
        self._barriers.pop(stream, None)

    async def flush(self) -> None:
        """Upload everything, and wait until it is committed."""
        self.archive()
        for upload in tuple(self._in_flight):
            await upload.committed.wait()

    async def commit_lazily(self, linger_ms: int) -> Gate[None]:
        """ZR-61. Wait until all records that the cache has now are committed. An upload that begins anyway is awaited.

        If none begins for ``linger_ms``, one is begun. Returns a gate that opens when the WAL is trimmed behind them.
        """
        if self._cache.active.streams or "ZG-5" in self._as_built:
            try:
                await self._next.wait(linger_ms)
            except TimedOutError:
                self.archive()
            if "ZG-5" in self._as_built and not self._in_flight:
                # There was nothing to upload, so the commit waits for the next append.
                await self._next.wait()
        for upload in tuple(self._in_flight):
            await upload.committed.wait()
        return self._trimmed

    async def _force(self, stream: int) -> None:
        await self._tasks.sleep(TICK_MS)
        if stream in self._cache.active.streams:
            self.archive()
        for upload in tuple(self._in_flight):
            if stream in upload.block.streams:
                await upload.committed.wait()

    async def _run(self, upload: Upload, before: Upload | None) -> None:
        try:
            await self._stages(upload, before)
        except FailedError as error:
            # The gates of this upload and of all later ones stay shut. The process halts, so nothing waits for them.
            # As built it goes on, and its commits wait for ever (ZG-4).
            if "ZG-4" not in self._as_built:
                self._failed(f"an upload failed: {error}")

    async def _stages(self, upload: Upload, before: Upload | None) -> None:
        if before is not None and rule("PL-22.prepare", not before.prepared.happened):
            await before.prepared.wait()
        prepared = await self._writer.prepare(upload.block)
        upload.prepared.open(None)
        await self._writer.put(prepared)
        if before is not None and rule("PL-22", not before.committed.happened):
            await before.committed.wait()
        # With the rule switched off, the trim comes before the commit.
        trims_late = rule("PL-25")
        if not trims_late:
            self._trim(upload.block)
        await self._writer.commit(prepared)
        self._cache.commit(upload.block)
        self._in_flight.remove(upload)
        upload.committed.open(None)
        if not trims_late:
            return
        if self._trim_delay_ms:
            self._trimmed = self._tasks.start(self._trim_later(upload.block))
        else:
            self._trim(upload.block)

    async def _trim_later(self, block: CacheBlock) -> None:
        await self._tasks.sleep(self._trim_delay_ms)
        try:
            await self._wal.trim(block.position).wait()
        except FencedError as error:
            # A process that appends nothing would notice it nowhere else, and would never report its epochs (ZG-4).
            if "ZG-4" not in self._as_built:
                self._failed(f"the WAL cannot be trimmed: {error}")
            raise

    def _trim(self, block: CacheBlock) -> None:
        """PL-25. Trim the WAL through a block. A failed trim does no harm: a replay drops committed records (RC-02)."""
        try:
            self._trimmed = self._wal.trim(block.position)
        except FailedError:
            return
