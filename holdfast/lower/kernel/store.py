"""The visited states of a kernel's search, stored whole, level by level, on one core or several.

The highest bits of a state's hash choose its partition. A partition has an array of its states, in the order in which
they were found, and an open-addressing table of the same states. Each partition's table grows on its own. So a growth
copies little, and a partition's table stays in the processor's cache while a buffer of new states goes into it.

A level is found in rounds of two parts:

1. Every core expands states of the level into buffers of its own, one for each partition, until a buffer is full.
2. Every core inserts and checks the new states of its own partitions, from the buffers of all cores.

So no two cores write the same memory, and the states of a level do not depend on the number of cores. Each part is few
calls of machine code, because Python code runs on one core at a time, and machine code runs on all.
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
from holdfast.lower.kernel.packing import Packing

PARTITIONS = 256
"""Two to the power of ``driver.PARTITION_BITS``."""
FULLEST = 0.75
"""The fraction of a table's rows that may hold states. Probes get long beyond it, and would not end in a full table."""
GROWTH = 1.33
"""A table grows at least by this factor."""
ROOM = 8192
"""Rows of a buffer: the number of new states of one partition that a core gathers before they are inserted.

The more rows, the longer a partition's table stays in the cache while they go in. Rows that are never written take no
memory.
"""
CHUNK = 1024
"""The largest number of states in a chunk, the piece of a level that goes to one core."""
CHUNK_FOR_FORMS = 16
"""The same if the kernel finds canonical states by their form."""
ROUNDS_FOR_FORMS = 200
"""If the kernel finds canonical states by their form, a round expands one of so many parts of the number of states.

A form takes microseconds for each step, so filling a buffer takes seconds. A search looks at its budget after a round:
at most a second or a few per cent of the states too late.
"""

R = TypeVar("R")

Level = list[tuple[int, int]]
"""The states of a level: for each partition the index of the first one, and the index behind the last."""


@attrs.define(eq=False)
class _Worker:
    """The memory of one core: its notes, and the arguments of ``driver.expand``."""

    notes: Notes
    buffers: NDArray[np.int64]
    filled: NDArray[np.int64]
    rows: Words
    cache: Words
    chunks: NDArray[np.int64] = attrs.field(factory=lambda: np.empty((0, 3), np.int64))
    row: int = 0
    """The index of the chunk with which to go on: see ``driver.expand``."""
    expanded: int = 0
    """The number of states that this core has expanded."""


class Store:
    """All states found so far, by level."""

    def __init__(self, kernel: Kernel, cores: int) -> None:
        self.kernel = kernel
        self.cores = cores
        self.levels: list[Level] = []
        self._states = [self._rows(0)] * PARTITIONS
        self._tables = [self._rows(0)] * PARTITIONS
        self._directory = np.zeros((PARTITIONS, self.module.MORE_SIZE + 1), np.int64)
        """For each partition, the addresses of ``_states`` and ``_tables``, and their sizes: see ``driver.py``."""
        # ``expand`` stops when a buffer has fewer than ``fan`` rows left, so it needs more than that to get anywhere.
        room = max(ROOM, 2 * kernel.fan)
        self._workers = [
            _Worker(
                kernel.notes(),
                np.empty((PARTITIONS, room, kernel.row_words), np.int64),
                apart((PARTITIONS,), np.int64),
                self._rows(kernel.fan),
                self._rows(1 << self.module.CACHE_BITS, -1),
            )
            for _ in range(cores)
        ]
        self._pool = ThreadPoolExecutor(cores - 1) if cores > 1 else None

    @property
    def module(self) -> Any:
        """The kernel's code. It may change between two rounds: see ``Kernel.improve``."""
        return self.kernel.module

    def _rows(self, count: int, value: int = 0) -> Words:
        return np.full((count, self.kernel.row_words), value, np.int64)

    @property
    def _counts(self) -> NDArray[np.int64]:
        """The number of states of each partition: a view of the directory, not a copy."""
        counts: NDArray[np.int64] = self._directory[:, self.module.COUNT]
        return counts

    @property
    def count(self) -> int:
        """The number of states."""
        return int(self._counts.sum())

    @property
    def expanded(self) -> int:
        """The number of states that have been expanded."""
        return sum(worker.expanded for worker in self._workers)

    @property
    def bytes_per_state(self) -> float:
        """The bytes of all arrays of states and all tables, divided by the number of states."""
        held = sum(rows.nbytes for rows in (*self._states, *self._tables))
        return held / max(self.count, 1)

    @property
    def notes(self) -> list[Notes]:
        """The notes of each core."""
        return [worker.notes for worker in self._workers]

    # Levels ---------------------------------------------------------------------------------------------------

    def begin(self, states: Sequence[bytes]) -> None:
        """Store the initial states as the first level."""
        worker = self._workers[0]
        for state in states:
            packing = self.kernel.packing
            # The hash as an unsigned number of 64 bits, whatever type of integer the call returns.
            part = (int(self.module.hashed(packing.pack(state))) & (1 << 64) - 1) >> 64 - self.module.PARTITION_BITS
            worker.buffers[part, worker.filled[part]] = packing.row(state)
            worker.filled[part] += 1
            if worker.filled[part] == worker.buffers.shape[1]:
                self._insert_all()
        self._insert_all()
        self.levels.append([(0, count) for count in self._counts.tolist()])

    def states(self, counts: Sequence[int]) -> Words:
        """The first ``counts[part]`` states of each partition, one partition after the other."""
        return np.concatenate([states[:count] for states, count in zip(self._states, counts, strict=True)])

    def restore(self, levels: Sequence[Level], states: Words) -> None:
        """Store the levels and states of a checkpoint in this empty store. All levels but the last have been expanded.

        ``states`` is as ``Store.states`` gives it.
        """
        self.levels = [list(level) for level in levels]
        counts = np.array([count for _, count in self.levels[-1]], np.int64)
        self._make_room(0, 1, counts)
        self.module.move(self._directory, 0, 1)
        start = 0
        for part, count in enumerate(counts.tolist()):
            self._states[part][:count] = states[start : start + count]
            start += count
        assert start == len(states), "a checkpoint has as many rows as its levels have states"
        self._counts[:] = counts
        # The tables are still empty. A move of each table to its own place, in its own size, fills it from the states.
        self._directory[:, self.module.MORE_TABLE_AT] = self._directory[:, self.module.TABLE_AT]
        self.module.move(self._directory, 0, 1)
        self._workers[0].expanded = start - sum(last - first for first, last in self.levels[-1])

    def advance(self, pause: Callable[[], bool]) -> bool:
        """Find and check the next level; returns whether it has states.

        ``pause`` is called after every round. If it returns True, the level ends there, with the states found so far.
        """
        before: list[int] = self._counts.tolist()
        chunks = _chunks(self.levels[-1], CHUNK_FOR_FORMS if self.kernel.has_form else CHUNK)
        for number, worker in enumerate(self._workers):
            # A copy of its own: ``expand`` notes its progress in the chunks.
            worker.chunks = chunks[number :: self.cores].copy()
            worker.row = 0
        while True:
            # ``_each`` returns a list, so ``any`` cannot leave out a worker.
            more = any(self._each(self._expand))
            self._insert_all()
            if pause() or not more:
                break
        self.levels.append(list(zip(before, self._counts.tolist(), strict=True)))
        return self.count > sum(before)

    def _expand(self, worker: _Worker) -> bool:
        """Expand the worker's chunks until a buffer is full or the round ends; returns whether states are left."""
        end = len(worker.chunks)
        if self.kernel.has_form:
            # Most chunks of a small level are small, so several of them make a round.
            size = min(max(self.count // (ROUNDS_FOR_FORMS * self.cores), 8), CHUNK)
            following = worker.chunks[worker.row : worker.row + size]
            sizes = np.cumsum(following[:, 2] - following[:, 1])
            end = worker.row + 1 + int(np.searchsorted(sizes, size))
        chunks = worker.chunks[worker.row : end]
        waiting = _waiting(chunks)
        worker.row = self.module.expand(
            self._directory,
            worker.chunks[:end],
            worker.row,
            worker.buffers,
            worker.filled,
            worker.rows,
            worker.cache,
            worker.notes.block,
        )
        worker.expanded += waiting - _waiting(chunks)
        return bool(worker.row < len(worker.chunks))

    def _insert_all(self) -> None:
        self._each(self._insert)
        for worker in self._workers:
            worker.filled[:] = 0

    def _insert(self, worker: _Worker) -> None:
        """Insert and check the new states of this worker's partitions, from the buffers of all workers."""
        number, seen = self._workers.index(worker), self._counts.copy()
        # An upper bound: the buffers also hold states that are known, or that several cores found.
        wanted = np.sum([seen, *(other.filled for other in self._workers)], axis=0)
        outgrown = self._make_room(number, self.cores, wanted)
        self.module.move(self._directory, number, self.cores)
        # The old arrays must live until the move has copied them: the kernel knows only their addresses.
        del outgrown
        for other in self._workers:
            self.module.insert(self._directory, number, self.cores, other.buffers, other.filled)
        # A probe of a full table would never end.
        mine = self._directory[number :: self.cores]
        assert (mine[:, self.module.COUNT] <= FULLEST * mine[:, self.module.SIZE]).all(), "a table is too full"
        self.module.check(self._directory, number, self.cores, seen, worker.notes.block)

    def _make_room(self, first: int, step: int, wanted: NDArray[np.int64]) -> list[Words]:
        """Allocate memory for ``wanted[part]`` states in each ``step``-th partition from ``first`` on, if it lacks it.

        The directory then names the new memory, and ``driver.move`` fills it. Returns the old arrays: the caller must
        hold them until that is done.
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
                self._tables[part] = np.empty((size, self.kernel.row_words), np.int64)
                directory[part, module.MORE_TABLE_AT] = self._tables[part].ctypes.data
                directory[part, module.MORE_SIZE] = size
            if count > len(self._states[part]):
                outgrown.append(self._states[part])
                self._states[part] = np.empty((int(1.125 * count) + 64, self.kernel.row_words), np.int64)
                directory[part, module.MORE_STATES_AT] = self._states[part].ctypes.data
        return outgrown

    def _each(self, work: Callable[[_Worker], R]) -> list[R]:
        """Call ``work`` for every worker, each on a core; returns the results in the order of the workers."""
        mine, *others = self._workers
        if self._pool is None:
            return [work(mine)]
        elsewhere = [self._pool.submit(work, worker) for worker in others]
        return [work(mine), *(future.result() for future in elsewhere)]

    # Looking back ---------------------------------------------------------------------------------------------

    def least_predecessors(self, depth: int, targets: Sequence[bytes]) -> list[bytes]:
        """For each target, the least state of level ``depth`` from which one step leads to it.

        The targets are states of the next level, so each has one.
        """
        kernel = self.kernel
        rows = np.array([kernel.packing.row(target) for target in targets], np.int64).reshape(-1, kernel.row_words)
        chunks = _chunks(self.levels[depth], CHUNK).tolist()

        def look(worker: _Worker) -> NDArray[np.int64]:
            # A flag, the canonical state and the state: the rank of a predecessor.
            best = np.zeros((len(targets), 1 + 2 * kernel.words), np.int64)
            # Notes to be thrown away: these states have been counted when they were expanded.
            notes = kernel.notes().block
            for part, first, last in chunks[self._workers.index(worker) :: self.cores]:
                self.module.predecessors(self._states[part], first, last, rows, best, worker.rows, notes)
            return best

        return least(kernel.packing, np.stack(self._each(look)))


def least(packing: Packing, found: NDArray[np.int64]) -> list[bytes]:
    """For each target, the state of the least rank that ``driver.predecessors`` found.

    ``found`` has for each call a row for each target: a flag, the canonical state and the state.
    """
    ranks = [min(tuple(map(int, row[1:])) for row in found[:, index] if row[0]) for index in range(found.shape[1])]
    return [packing.unpack(rank[packing.words :]) for rank in ranks]


def _chunks(level: Level, size: int) -> NDArray[np.int64]:
    """The states of a level in pieces of ``size`` states, at most.

    A row is a partition, the first index, and the index behind the last. The pieces of a partition differ by at most
    one state. If only the last were shorter, one core of two would get all the short pieces as soon as each partition
    holds between one chunk and two: the cores take the pieces in turn.
    """
    found = []
    for part, (first, last) in enumerate(level):
        pieces = -(-(last - first) // size)
        ends = [first + (last - first) * piece // pieces for piece in range(1, pieces + 1)]
        found += [(part, start, end) for start, end in zip([first, *ends], ends, strict=False)]
    return np.array(found, np.int64).reshape(-1, 3)


def _waiting(chunks: NDArray[np.int64]) -> int:
    """The number of states of these chunks that have not been expanded: ``expand`` moves their first index on."""
    return int((chunks[:, 2] - chunks[:, 1]).sum())
