"""The visited states of a kernel's search: exact, whole, level by level, on one core or several.

States are split into partitions by the highest bits of a hash. Each partition has its states in the order in which
they were found, and an open-addressing table of them, which grows by itself: little is ever copied at once, and a
partition's table is small enough to stay in the processor's cache while a buffer of new states goes into it.

A round has two parts. Every core expands states of the level into buffers of its own, one for each partition, until
one of them is full; then every core inserts what all cores found for the partitions that are its own. So no two cores
write the same memory, and which states a level holds does not depend on their number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import attrs
import numpy as np
from numpy.typing import NDArray

from holdfast.lower.kernel.kernel import Kernel, Words
from holdfast.lower.kernel.notes import Notes, apart

PARTITIONS = 256
FULLEST = 0.75
"""How full a table may get."""
GROWTH = 1.33
ROOM = 8192
"""How many new states of one partition a core gathers before they are inserted: the more, the longer a partition's
table stays in the cache while they go in. What is never filled takes no memory."""
CHUNK = 1024
"""How many states of a level go to one core at a time."""

R = TypeVar("R")

Level = list[tuple[int, int]]
"""For each partition, from which to which of its states a level reaches."""


@attrs.define(eq=False)
class _Partition:
    """The states of one partition, ``count`` of them, and the table in which to look them up."""

    states: Words
    table: Words
    count: int = 0


@attrs.define(eq=False)
class _Worker:
    """What one core works with."""

    notes: Notes
    buffers: NDArray[np.int64]
    filled: NDArray[np.int64]
    rows: Words
    cache: Words
    chunks: Iterator[tuple[int, int, int]] = attrs.field(factory=lambda: iter(()))
    rest: tuple[int, int, int] | None = None
    expanded: int = 0


class Store:
    """All states found so far, by level."""

    def __init__(self, kernel: Kernel, cores: int) -> None:
        self.kernel = kernel
        self.module: Any = kernel.module
        self.cores = cores
        self.levels: list[Level] = []
        self._partitions = [_Partition(self._rows(64), self._rows(128, -1)) for _ in range(PARTITIONS)]
        room = max(ROOM, 2 * kernel.fan)
        self._workers = [
            _Worker(
                kernel.notes(),
                np.empty((PARTITIONS, room, kernel.words), np.int64),
                apart((PARTITIONS,), np.int64),
                self._rows(kernel.fan),
                self._rows(1 << self.module.CACHE_BITS, -1),
            )
            for _ in range(cores)
        ]
        self._pool = ThreadPoolExecutor(cores) if cores > 1 else None

    def _rows(self, count: int, value: int = 0) -> Words:
        return np.full((count, self.kernel.words), value, np.int64)

    @property
    def count(self) -> int:
        """How many states there are."""
        return sum(partition.count for partition in self._partitions)

    @property
    def expanded(self) -> int:
        """How many of them have been expanded."""
        return sum(worker.expanded for worker in self._workers)

    @property
    def bytes_per_state(self) -> float:
        """The memory of states and tables, for each state."""
        held = sum(partition.states.nbytes + partition.table.nbytes for partition in self._partitions)
        return held / max(self.count, 1)

    @property
    def notes(self) -> list[Notes]:
        """The notes of each core."""
        return [worker.notes for worker in self._workers]

    # Levels ---------------------------------------------------------------------------------------------------

    def begin(self, states: Sequence[bytes]) -> None:
        """The first level."""
        worker = self._workers[0]
        for state in states:
            words = self.kernel.packing.pack(state)
            part = (int(self.module.hashed(words)) & (1 << 64) - 1) >> 64 - self.module.PARTITION_BITS
            worker.buffers[part, worker.filled[part]] = words
            worker.filled[part] += 1
            if worker.filled[part] == worker.buffers.shape[1]:
                self._insert_all()
        self._insert_all()
        self.levels.append([(0, partition.count) for partition in self._partitions])
        self._check_level()

    def states(self, counts: Sequence[int]) -> Words:
        """The first so many states of each partition, one partition after the other."""
        parts = [p.states[:count] for p, count in zip(self._partitions, counts, strict=True)]
        return np.concatenate(parts) if parts else self._rows(0)

    def restore(self, levels: Sequence[Level], states: Words) -> None:
        """Hold these levels and no other states; all but the last level have been expanded."""
        self.levels = [list(level) for level in levels]
        start = 0
        for partition, (_, count) in zip(self._partitions, self.levels[-1], strict=True):
            self._make_room(partition, count)
            partition.states[:count] = states[start : start + count]
            partition.count = count
            self.module.refill(partition.states, count, partition.table)
            start += count
        self._workers[0].expanded = start - sum(last - first for first, last in self.levels[-1])

    def advance(self, pause: Callable[[], bool]) -> bool:
        """Find and check the next level; whether it has states. ``pause`` is asked after every round whether to stop;
        a level that was stopped holds what was found.
        """
        level = self.levels[-1]
        before = [partition.count for partition in self._partitions]
        chunks = [chunk for part, (first, last) in enumerate(level) for chunk in _chunks(part, first, last)]
        for number, worker in enumerate(self._workers):
            worker.chunks = iter(chunks[number :: self.cores])
            worker.rest = None
        while True:
            more = any(self._each(self._expand))
            self._insert_all()
            if pause() or not more:
                break
        self.levels.append(
            [(first, partition.count) for first, partition in zip(before, self._partitions, strict=True)]
        )
        self._check_level()
        return self.count > sum(before)

    def _expand(self, worker: _Worker) -> bool:
        """Expand what is the worker's until a buffer is full; whether something is left."""
        while True:
            chunk = worker.rest or next(worker.chunks, None)
            if chunk is None:
                return False
            part, first, last = chunk
            reached = self.module.expand(
                self._partitions[part].states,
                first,
                last,
                worker.buffers,
                worker.filled,
                worker.rows,
                worker.cache,
                worker.notes.block,
            )
            worker.expanded += reached - first
            worker.rest = (part, reached, last) if reached < last else None
            if worker.rest is not None:
                return True

    def _insert_all(self) -> None:
        self._each(self._insert)
        for worker in self._workers:
            worker.filled[:] = 0

    def _insert(self, worker: _Worker) -> None:
        """Insert what all cores found for this worker's partitions."""
        for part in range(self._workers.index(worker), PARTITIONS, self.cores):
            partition = self._partitions[part]
            for other in self._workers:
                found = int(other.filled[part])
                if found:
                    self._make_room(partition, found)
                    partition.count = self.module.insert(
                        other.buffers[part], found, partition.table, partition.states, partition.count
                    )

    def _make_room(self, partition: _Partition, found: int) -> None:
        wanted = partition.count + found
        if wanted > FULLEST * len(partition.table):
            partition.table = self._rows(int(max(wanted / FULLEST, GROWTH * len(partition.table))) + 1, -1)
            self.module.refill(partition.states, partition.count, partition.table)
        if wanted > len(partition.states):
            larger = np.empty((int(1.125 * wanted) + 64, self.kernel.words), np.int64)
            larger[: partition.count] = partition.states[: partition.count]
            partition.states = larger

    def _check_level(self) -> None:
        def check(worker: _Worker) -> None:
            number = self._workers.index(worker)
            for part in range(number, PARTITIONS, self.cores):
                first, last = self.levels[-1][part]
                if first < last:
                    self.module.check(self._partitions[part].states, first, last, worker.notes.block)

        self._each(check)

    def _each(self, work: Callable[[_Worker], R]) -> list[R]:
        """Let every worker do its part, each on a core."""
        if self._pool is None:
            return [work(worker) for worker in self._workers]
        return list(self._pool.map(work, self._workers))

    # Looking back ---------------------------------------------------------------------------------------------

    def least_predecessors(self, depth: int, targets: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
        """For each target, a state of the next level, the least state at ``depth`` from which one step leads to it."""
        words = self.kernel.words
        rows = np.array(targets, np.int64).reshape(len(targets), words)
        level = self.levels[depth]
        chunks = [chunk for part, (first, last) in enumerate(level) for chunk in _chunks(part, first, last)]

        def look(worker: _Worker) -> NDArray[np.int64]:
            best = np.zeros((len(targets), 1 + 2 * words), np.int64)
            notes = self.kernel.notes().block
            for part, first, last in chunks[self._workers.index(worker) :: self.cores]:
                self.module.predecessors(self._partitions[part].states, first, last, rows, best, worker.rows, notes)
            return best

        found = self._each(look)
        return [
            min(tuple(map(int, best[index, 1:])) for best in found if best[index, 0])[words:]
            for index in range(len(targets))
        ]


def _chunks(part: int, first: int, last: int) -> Iterator[tuple[int, int, int]]:
    for start in range(first, last, CHUNK):
        yield part, start, min(start + CHUNK, last)
