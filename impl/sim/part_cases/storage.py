"""Random runs of a broker's storage: appends, uploads and the shutdown (PL-01 to PL-04, PL-11, PL-20 to PL-26).

The storage, its cache and its uploader work on a WAL and a writer of objects that the run controls. The run judges the
answers to appends, what the WAL and the writer are asked for, and what can be read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import msgspec

from impl.broker.log_cache import CacheLimits, LogCache
from impl.broker.object_writer import ObjectWriter
from impl.broker.storage import ShutdownError, Storage
from impl.broker.uploader import Uploader
from impl.broker.wal import Wal
from impl.broker.wal_format import WalRecord
from impl.sim.part_cases.storage_world import StorageWal, StorageWriter
from impl.sim.tape import Draw, one
from impl.sim.violation import JudgedRun, PartViolation
from impl.tasks import FailedError, Gate, Tasks

STREAMS, STEPS, LARGEST = 3, 100, 3_000
"""The number of streams, the most steps of a run, and the largest payload in bytes."""
ROUNDS, ROUND_MS = 400, 1_000
"""The most rounds of the end of a run, and the time of each in milliseconds."""


class StorageAppend(msgspec.Struct, frozen=True):
    """An append, and whether the shutdown had begun before it."""

    record: WalRecord
    gate: Gate[None]
    is_late: bool


class StorageForce(msgspec.Struct, frozen=True):
    """A forced upload, or a wait for it, and the records that must be in objects when it ends."""

    records: list[WalRecord]
    gate: Gate[None]


class StorageRun(JudgedRun):
    """A storage, what surrounds it, and what its clients know. ``found``: the first violation."""

    def __init__(self, draw: Draw) -> None:
        self._draw = draw
        capacity = 8_000 + int(draw() * 16_000)
        limits = CacheLimits(block=int(capacity * (0.1 + 0.4 * draw())), capacity=capacity)
        self._capacity = capacity
        self._tasks = tasks = Tasks()
        self._wal = StorageWal(tasks, draw, 1 + int(draw() * 12), self._judge_trim)
        self._writer = StorageWriter(tasks)
        self._cache = LogCache(limits)
        wal = cast(Wal, self._wal)
        self._uploader = Uploader(tasks, cast(ObjectWriter, self._writer), self._cache, wal, self._halt)
        self._storage = Storage(tasks, wal, self._cache, self._uploader, limits, self._fail)
        self._appends: list[StorageAppend] = []
        """All appends, in their order."""
        self._waiting: list[StorageAppend] = []
        """The appends that have not ended."""
        self._acked: list[WalRecord] = []
        self._forces: list[StorageForce] = []
        self._next = [0] * STREAMS
        self._flush: Gate[None] | None = None
        """The upload of everything, if the shutdown has begun."""
        self._has_acked_late = self._has_failed = False

    # What happens -------------------------------------------------------------------------------------------------

    def play(self) -> None:
        """Make random steps until one violates something, then end everything that is under way."""
        for _ in range(10 + int(self._draw() * STEPS)):
            one(self._draw, _STEPS)(self)
            self._settle(0)
            if self.found is not None or self._wal.is_fenced:
                break
        for _ in range(ROUNDS):
            if self._is_over():
                break
            self._end_all()
            if self.found is not None:
                return
        if self._has_acked_late:
            self.violate("PL-01", "an append is acknowledged that came after the begin of the shutdown")
        if not self._is_over():
            self.violate("PL-01", "an append or an upload never ends, though the WAL and the store work")

    def _settle(self, ms: int) -> None:
        before, is_full = len(self._wal.log), sum(map(_bytes, self._uncommitted())) >= self._capacity
        self._tasks.run(self._tasks.now + ms)
        if is_full and len(self._wal.log) > before:
            self.violate("PL-01", "the WAL gets an append while the cache is full of records in no object")
        self._look()

    def _append(self) -> None:
        stream, count = int(self._draw() * STREAMS), 1 + int(self._draw() * 3)
        record = WalRecord(stream, 0, self._next[stream], count, bytes(int(self._draw() * LARGEST)))
        self._next[stream] += count
        gate = self._tasks.start(self._storage.append(record))
        self._appends.append(StorageAppend(record, gate, is_late=self._flush is not None))
        self._waiting.append(self._appends[-1])

    def _store(self) -> None:
        self._wal.store()

    def _end_step(self) -> None:
        self._writer.end(self._draw)

    def _force(self) -> None:
        stream = int(self._draw() * STREAMS)
        records = [each for each in self._acked if each.stream == stream]
        self._forces.append(StorageForce(records, self._uploader.force(stream)))
        self._forces.append(StorageForce(records, self._tasks.start(self._uploader.barrier(stream))))

    def _wait(self) -> None:
        self._settle(one(self._draw, (50, 100, 1_000)))

    def _shut_down(self) -> None:
        """PL-26. All streams are closed by then, so no append is under way."""
        if self._flush is None and self._draw() < 0.3 and not self._waiting:
            self._storage.stop()
            self._flush = self._tasks.start(self._uploader.flush())

    def _fence(self) -> None:
        if self._draw() < 0.05:
            self._wal.fence()

    def _end_all(self) -> None:
        self._store()
        for _ in range(4):
            self._end_step()
        self._settle(0)
        self._settle(ROUND_MS)

    def _is_over(self) -> bool:
        # Without the WAL the process halts, and nothing waits for its uploads.
        ended = self._flush is None or self._flush.happened
        return not self._waiting and (self._wal.is_fenced or (ended and not self._forces))

    def _halt(self, _: str) -> None:
        self.violate("PL-23", "the process halts, though no upload has failed")

    def _fail(self) -> None:
        self._has_failed = True

    # Judgements ---------------------------------------------------------------------------------------------------

    def _look(self) -> None:
        """Judge what has ended, and what the WAL and the writer have been asked for."""
        self._judge_appends()
        self._judge_order()
        self._judge_early_upload()
        committed = self._committed()
        for each in self._acked:
            if _key(each) not in committed and self._cache.read(each.stream, each.base, each.end) != [each]:
                self.violate("PL-11", "an acknowledged record is neither in an object nor in the cache")
        for force in [each for each in self._forces if each.gate.happened]:
            if any(_key(each) not in committed for each in force.records):
                self.violate(
                    "PL-24", "a forced upload has ended, and an acknowledged record of its stream is in no object"
                )
            self._forces.remove(force)
        if self._flush is not None and self._flush.happened and self._uncommitted():
            self.violate("PL-26", "the shutdown has uploaded everything, and an acknowledged record is in no object")

    def _judge_appends(self) -> None:
        durable = {_key(record) for record, _ in self._wal.log[: self._wal.durable]}
        given = {_key(record) for record, _ in self._wal.log}
        for append in [each for each in self._waiting if each.gate.happened]:
            self._waiting.remove(append)
            key, error = _key(append.record), _error(append.gate)
            if error is None:
                self._acked.append(append.record)
                self._has_acked_late = self._has_acked_late or append.is_late
                if key not in durable:
                    self.violate("PL-03", "an append is acknowledged before the WAL has it")
            elif isinstance(error, ShutdownError):
                if key in given or not append.is_late:
                    self.violate(
                        "PL-01", "an append is refused as never done, and it is in the WAL, or nothing shuts down"
                    )
            elif not (self._wal.is_fenced and self._has_failed):
                self.violate("PL-04", "an append fails although the WAL works, or the failure closes no stream")

    def _judge_order(self) -> None:
        """Appends reach the WAL in their order. Uploads begin one after the other, and are committed in this order."""
        given = [_key(record) for record, _ in self._wal.log]
        if given != [key for each in self._appends if (key := _key(each.record)) in set(given)]:
            self.violate("PL-01", "an append overtakes another one that waits for room")
        if self._writer.preparing > 1 or self._writer.committed != list(range(len(self._writer.committed))):
            self.violate("PL-22", "the uploads do not begin and end in the order of their records")
        begun = [_key(record) for block in self._writer.prepared for record in block]
        if len(begun) > len(set(begun)):
            self.violate("PL-21", "a record is uploaded twice")

    def _judge_early_upload(self) -> None:
        """PL-20. Everything is being uploaded once four fifths of the capacity hold records in no object."""
        begun = {_key(record) for block in self._writer.prepared for record in block}
        left = self._uncommitted()
        # While an upload prepares, the next one waits for it.
        is_full = not self._writer.preparing and 5 * sum(map(_bytes, left)) > 4 * self._capacity
        if is_full and any(_key(each) not in begun for each in left):
            self.violate("PL-20", "a cache with little room does not upload all of its records")

    def _judge_trim(self, offset: int) -> None:
        committed = self._committed()
        if any(place <= offset and _key(record) not in committed for record, place in self._wal.log):
            self.violate("PL-25", "the WAL drops a record that is in no object")

    def _committed(self) -> set[tuple[int, int]]:
        return {_key(each) for number in self._writer.committed for each in self._writer.prepared[number]}

    def _uncommitted(self) -> list[WalRecord]:
        """The acknowledged records that are in no object."""
        committed = self._committed()
        return [each for each in self._acked if _key(each) not in committed]


def _key(record: WalRecord) -> tuple[int, int]:
    return record.stream, record.base


def _bytes(record: WalRecord) -> int:
    """What a record counts for in the cache: its payload and 1024 bytes more (PL-10)."""
    return len(record.payload) + 1_024


def _error(gate: Gate[None]) -> FailedError | None:
    try:
        gate.result()
    except FailedError as error:
        return error
    return None


_STEPS: tuple[Callable[[StorageRun], None], ...] = (
    *(StorageRun._append,) * 6, *(StorageRun._store,) * 6, *(StorageRun._end_step,) * 6, StorageRun._force,
    *(StorageRun._wait,) * 2, StorageRun._shut_down, StorageRun._fence,
)  # fmt: skip
"""The steps of a run, each as often as it counts in the draw."""


def judged(draw: Draw) -> PartViolation | None:
    """Make a run of a storage, and tell what it violates; None if nothing."""
    run = StorageRun(draw)
    run.play()
    return run.found
