"""The visited states of a kernel's search: exact, whole, level by level, on one core or several.

States are split into partitions by the highest bits of a hash. Each partition has its states in the order in which
they were found, and an open-addressing table of them, which grows by itself: little is ever copied at once, and a
partition's table is small enough to stay in the processor's cache while a buffer of new states goes into it.

A round has two parts. Every core expands states of the level into buffers of its own, one for each partition, until
one of them is full; then every core inserts, and checks, what all cores found for the partitions that are its own. So
no two cores write the same memory, and which states a level holds does not depend on their number. Each part is one
call of machine code, for what Python does between two calls, only one core at a time can do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
class _Worker:
    """What one core works with."""

    notes: Notes
    buffers: NDArray[np.int64]
    filled: NDArray[np.int64]
    rows: Words
    cache: Words
    chunks: NDArray[np.int64] = attrs.field(factory=lambda: np.empty((0, 3), np.int64))
    row: int = 0
    """The chunk with which to go on: see ``driver.expand``."""
    expanded: int = 0


class Store:
    """All states found so far, by level."""

    def __init__(self, kernel: Kernel, cores: int) -> None:
        self.kernel = kernel
        self.module: Any = kernel.module
        self.cores = cores
        self.levels: list[Level] = []
        self._states = [self._rows(0)] * PARTITIONS
        self._tables = [self._rows(0)] * PARTITIONS
        self._directory = np.zeros((PARTITIONS, self.module.MORE_SIZE + 1), np.int64)
        """Where each partition's states and table lie: see ``driver.py``."""
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
        self._pool = ThreadPoolExecutor(cores - 1) if cores > 1 else None

    def _rows(self, count: int, value: int = 0) -> Words:
        return np.full((count, self.kernel.words), value, np.int64)

    @property
    def _counts(self) -> NDArray[np.int64]:
        """How many states each partition has."""
        counts: NDArray[np.int64] = self._directory[:, self.module.COUNT]
        return counts

    @property
    def count(self) -> int:
        """How many states there are."""
        return int(self._counts.sum())

    @property
    def expanded(self) -> int:
        """How many of them have been expanded."""
        return sum(worker.expanded for worker in self._workers)

    @property
    def bytes_per_state(self) -> float:
        """The memory of states and tables, for each state."""
        held = sum(rows.nbytes for rows in (*self._states, *self._tables))
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
        self.levels.append([(0, count) for count in self._counts.tolist()])

    def states(self, counts: Sequence[int]) -> Words:
        """The first so many states of each partition, one partition after the other."""
        return np.concatenate([states[:count] for states, count in zip(self._states, counts, strict=True)])

    def restore(self, levels: Sequence[Level], states: Words) -> None:
        """Hold these levels and no other states; all but the last level have been expanded."""
        self.levels = [list(level) for level in levels]
        counts = np.array([count for _, count in self.levels[-1]], np.int64)
        self._make_room(0, 1, counts)
        self.module.move(self._directory, 0, 1)
        start = 0
        for part, count in enumerate(counts.tolist()):
            self._states[part][:count] = states[start : start + count]
            start += count
        self._counts[:] = counts
        # The tables are empty yet; one of the same size is filled from the states.
        self._directory[:, self.module.MORE_TABLE_AT] = self._directory[:, self.module.TABLE_AT]
        self._directory[:, self.module.MORE_SIZE] = self._directory[:, self.module.SIZE]
        self.module.move(self._directory, 0, 1)
        self._workers[0].expanded = start - sum(last - first for first, last in self.levels[-1])

    def advance(self, pause: Callable[[], bool]) -> bool:
        """Find and check the next level; whether it has states. ``pause`` is asked after every round whether to stop;
        a level that was stopped holds what was found.
        """
        before: list[int] = self._counts.tolist()
        chunks = _chunks(self.levels[-1])
        for number, worker in enumerate(self._workers):
            worker.chunks = chunks[number :: self.cores].copy()
            worker.row = 0
        while True:
            more = any(self._each(self._expand))
            self._insert_all()
            if pause() or not more:
                break
        self.levels.append(list(zip(before, self._counts.tolist(), strict=True)))
        return self.count > sum(before)

    def _expand(self, worker: _Worker) -> bool:
        """Expand what is the worker's until a buffer is full; whether something is left."""
        waiting = _waiting(worker.chunks)
        worker.row = self.module.expand(
            self._directory,
            worker.chunks,
            worker.row,
            worker.buffers,
            worker.filled,
            worker.rows,
            worker.cache,
            worker.notes.block,
        )
        worker.expanded += waiting - _waiting(worker.chunks)
        return bool(worker.row < len(worker.chunks))

    def _insert_all(self) -> None:
        self._each(self._insert)
        for worker in self._workers:
            worker.filled[:] = 0

    def _insert(self, worker: _Worker) -> None:
        """Insert and check what all cores found for this worker's partitions."""
        number, seen = self._workers.index(worker), self._counts.copy()
        wanted = np.sum([seen, *(other.filled for other in self._workers)], axis=0)
        outgrown = self._make_room(number, self.cores, wanted)
        self.module.move(self._directory, number, self.cores)
        del outgrown
        for other in self._workers:
            self.module.insert(self._directory, number, self.cores, other.buffers, other.filled)
        self.module.check(self._directory, number, self.cores, seen, worker.notes.block)

    def _make_room(self, first: int, step: int, wanted: NDArray[np.int64]) -> list[Words]:
        """Have memory for as many states as are wanted, in each ``step``-th partition from ``first`` on. The kernel
        moves there what there is; until then what is returned must be held.
        """
        outgrown, directory, module = [], self._directory, self.module
        for part, count, size in zip(
            range(first, PARTITIONS, step),
            wanted[first::step].tolist(),
            directory[first::step, module.SIZE].tolist(),
            strict=True,
        ):
            if count > FULLEST * size:
                size = int(max(count / FULLEST, GROWTH * size)) + 1  # noqa: PLW2901
                outgrown.append(self._tables[part])
                self._tables[part] = np.empty((size, self.kernel.words), np.int64)
                directory[part, module.MORE_TABLE_AT] = self._tables[part].ctypes.data
                directory[part, module.MORE_SIZE] = size
            if count > len(self._states[part]):
                outgrown.append(self._states[part])
                self._states[part] = np.empty((int(1.125 * count) + 64, self.kernel.words), np.int64)
                directory[part, module.MORE_STATES_AT] = self._states[part].ctypes.data
        return outgrown

    def _each(self, work: Callable[[_Worker], R]) -> list[R]:
        """Let every worker do its part, each on a core."""
        mine, *others = self._workers
        if self._pool is None:
            return [work(mine)]
        elsewhere = [self._pool.submit(work, worker) for worker in others]
        return [work(mine), *(future.result() for future in elsewhere)]

    # Looking back ---------------------------------------------------------------------------------------------

    def least_predecessors(self, depth: int, targets: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
        """For each target, a state of the next level, the least state at ``depth`` from which one step leads to it."""
        words = self.kernel.words
        rows = np.array(targets, np.int64).reshape(len(targets), words)
        chunks = _chunks(self.levels[depth]).tolist()

        def look(worker: _Worker) -> NDArray[np.int64]:
            best = np.zeros((len(targets), 1 + 2 * words), np.int64)
            notes = self.kernel.notes().block
            for part, first, last in chunks[self._workers.index(worker) :: self.cores]:
                self.module.predecessors(self._states[part], first, last, rows, best, worker.rows, notes)
            return best

        found = self._each(look)
        return [
            min(tuple(map(int, best[index, 1:])) for best in found if best[index, 0])[words:]
            for index in range(len(targets))
        ]


def _chunks(level: Level) -> NDArray[np.int64]:
    """The states of a level, in pieces: the partition, and which of its states."""
    found = [
        (part, start, min(start + CHUNK, last))
        for part, (first, last) in enumerate(level)
        for start in range(first, last, CHUNK)
    ]
    return np.array(found, np.int64).reshape(-1, 3)


def _waiting(chunks: NDArray[np.int64]) -> int:
    """How many states of these chunks have not been expanded."""
    return int((chunks[:, 2] - chunks[:, 1]).sum())
