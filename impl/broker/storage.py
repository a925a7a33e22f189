"""The path of an append: admission, WAL, log cache (PL-01 to PL-04, PL-26)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from impl.broker.log_cache import CacheLimits, LogCache
from impl.broker.uploader import Uploader
from impl.broker.wal import OverCapacityError, Wal
from impl.broker.wal_format import WalRecord
from impl.rules import rule
from impl.tasks import FailedError, Gate, Tasks

DRAIN_MS = 100
"""The period in which appends that wait for room are tried again."""
EARLY = 0.8
"""The share of its capacity from which on the cache is uploaded early (PL-20)."""


class ShutdownError(FailedError):
    """The process shuts down, and accepts no appends. The append had no effect."""


class Storage:
    """The appends of one process. They go to the WAL and to the cache, and the uploader empties the cache.

    ``appended``: opens with the next record in the cache. ``listeners``: get each record as the WAL has it, when it
    enters the cache.
    ``failed`` is called when the WAL has failed. It closes all handles, and halts the process (PL-04).
    """

    def __init__(
        self,
        tasks: Tasks,
        wal: Wal,
        cache: LogCache,
        uploader: Uploader,
        limits: CacheLimits,
        failed: Callable[[], None],
    ) -> None:
        self._tasks, self._wal, self._cache, self._uploader = tasks, wal, cache, uploader
        self._limits, self._failed = limits, failed
        self._queue: deque[tuple[WalRecord, Gate[Gate[int]]]] = deque()
        """The appends that wait for room, each with a gate for its place in the WAL."""
        self._stopped = False
        self.appended: Gate[None] = Gate(tasks)
        self.listeners: list[Callable[[WalRecord], None]] = []

    async def append(self, record: WalRecord, link: WalRecord | None = None) -> None:
        """Append a record. It is durable and readable when this returns (PL-03).

        ``link``: what the WAL gets in place of the record, whose bytes are durable elsewhere; the cache gets the record
        itself. Raises StoppedError if nothing was done. After any other FailedError the outcome is unknown.
        """
        if rule("PL-01.stopped", self._stopped):
            raise ShutdownError("the broker shuts down")
        # While appends wait for room, this one waits behind them: appends stay in order.
        logged = record if link is None else link
        durable = self._admit(logged) if not rule("PL-01.queue", bool(self._queue)) else None
        if durable is None:
            durable = await self._wait_for_room(logged)
        try:
            position = await durable.wait()
        except FailedError:
            if rule("PL-04"):
                self._failed()
            raise
        # The gates of the WAL open in the order of offsets, so records enter the cache in that order.
        self._cache.put(record, position)
        for listener in self.listeners:
            listener(logged)
        appended, self.appended = self.appended, Gate(self._tasks)
        appended.open(None)
        if rule("PL-20.early", self._cache.pinned >= EARLY * self._limits.capacity):
            self._cache.archive()
        self._uploader.begin()

    def stop(self) -> None:
        """PL-26. Accept no appends from now on."""
        self._stopped = True

    def _admit(self, record: WalRecord) -> Gate[int] | None:
        """Append a record to the WAL. Returns the gate for its WAL offset; None if there is no room."""
        if rule("PL-01.cache", self._cache.size >= self._limits.capacity):
            self._uploader.archive()
            return None
        try:
            return self._wal.append(record)
        except OverCapacityError:
            self._uploader.archive()
            return None
        except FailedError as error:
            failed: Gate[int] = Gate(self._tasks)
            failed.fail(error)
            return failed

    async def _wait_for_room(self, record: WalRecord) -> Gate[int]:
        gate: Gate[Gate[int]] = Gate(self._tasks)
        self._queue.append((record, gate))
        if len(self._queue) == 1:
            self._tasks.start(self._drain())
        return await gate.wait()

    async def _drain(self) -> None:
        """Admit the appends that wait, in their order, until none is left. Wait while there is no room."""
        while self._queue:
            await self._tasks.sleep(DRAIN_MS)
            while self._queue:
                record, gate = self._queue[0]
                durable = self._admit(record)
                if durable is None:
                    break
                self._queue.popleft()
                gate.open(durable)
