"""The tasks of a search on Spark: expand states, settle candidates, look back.

A level takes two phases. In the first, each task expands some states of the level before, and writes the successors as
candidates, by part. In the second, each task has parts of its own: it drops the candidates that were visited before,
checks the new states, and writes them as the part's file of the new level.

States are compared in full, in a hash table for one part at a time. The table returns its states roughly in the order
of their hash, and the level files are written in this order. So removing the visited states reads both the files and
the table nearly sequentially.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import attrs
import numpy as np
import pyarrow as pa

from holdfast.ir.errors import UsageError
from holdfast.lower.kernel.build import build
from spark.cluster.ship import digest
from spark.cluster.storage import FileStorage
from spark.search.files import KERNEL, Words, read_rows, write_rows

ORDERS = pa.schema([pa.field("order", pa.string()), pa.field("notes", pa.binary())])
"""The input of a task: an order as JSON, and a block of notes to begin with."""

ANSWERS = pa.schema([pa.field("counts", pa.list_(pa.int64())), pa.field("words", pa.binary())])
"""The output of a task: the number of states written, by part; and its notes, or the requested states."""

ROOM = 8192
"""The number of successors of one partition that a buffer holds."""

LEAST_TABLE = 64


@attrs.define(eq=False)
class TaskKernel:
    """A compiled kernel, and its scratch memory.

    ``fan``: the most successors of a state. ``buffers`` holds the successors of each partition; its shape is
    (partitions, rows, words of a row).
    """

    module: Any
    fan: int
    rows: Words = attrs.field(init=False)
    cache: Words = attrs.field(init=False)
    buffers: Words = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.rows = np.empty((self.fan, self.words), np.int64)
        self.cache = np.empty((1 << self.module.CACHE_BITS, self.words), np.int64)
        partitions = 1 << self.module.PARTITION_BITS
        self.buffers = np.empty((partitions, max(ROOM, 2 * self.fan), self.words), np.int64)

    @property
    def words(self) -> int:
        """The 64-bit words of a row."""
        return int(self.module.ROW_WORDS)

    def directory(self, states: Sequence[Words]) -> Words:
        """The addresses and lengths of several arrays of states, in the kernel's format: see ``driver.py``.

        The caller must keep the arrays alive while the kernel uses the addresses.
        """
        found = np.zeros((len(states), self.module.MORE_SIZE + 1), np.int64)
        for row, each in zip(found, states, strict=True):
            row[self.module.STATES_AT], row[self.module.COUNT] = each.ctypes.data, len(each)
        return found


_machines: dict[str, TaskKernel] = {}
"""The kernels of this process, by the digest of their description: each is imported and compiled once."""


@attrs.frozen
class SearchSite:
    """The facts that every task of a search needs: the storage, the kernel's digest, the number of parts."""

    storage: FileStorage
    kernel: str
    parts: int

    def payload(self) -> bytes:
        """The site as bytes, the payload for ``Cluster.start``."""
        return pickle.dumps(self)

    def machine(self) -> TaskKernel:
        """The compiled kernel. Raises UsageError if the storage holds the kernel of another search."""
        if self.kernel not in _machines:
            data = self.storage.read(KERNEL)
            if data is None or digest(data) != self.kernel:
                raise UsageError(
                    f"{self.storage.name}: {KERNEL} is not that of this search; give each search a folder of its own"
                )
            found = json.loads(data)
            _machines[self.kernel] = TaskKernel(build(found["source"]), found["fan"])
        return _machines[self.kernel]


Step = Callable[[SearchSite, dict[str, Any], bytes], tuple[list[int], bytes]]
"""A task's function: from an order and a block of notes to the two columns of ``ANSWERS``."""


def expand(payload: bytes, orders: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Work for ``Cluster.start``: expand states."""
    return _answers(_expand, payload, orders)


def settle(payload: bytes, orders: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Work for ``Cluster.start``: find the new states among the candidates for a part."""
    return _answers(_settle, payload, orders)


def look_back(payload: bytes, orders: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Work for ``Cluster.start``: find the predecessors of given states."""
    return _answers(_look_back, payload, orders)


def _answers(step: Step, payload: bytes, orders: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    site: SearchSite = pickle.loads(payload)  # noqa: S301 - the driver of this search wrote it
    for row in orders.to_pylist():
        counts, words = step(site, json.loads(row["order"]), row["notes"])
        yield pa.RecordBatch.from_pylist([{"counts": counts, "words": words}], schema=ANSWERS)


def _expand(site: SearchSite, order: dict[str, Any], notes: bytes) -> tuple[list[int], bytes]:
    """Expand states. ``pieces``: the states, as (file, first row, end). ``into``: a file for each part."""
    machine = site.machine()
    block = np.frombuffer(notes, np.int64).copy()
    states = [read_rows(site.storage, path, last) for path, _, last in order["pieces"]]
    chunks = np.array([(at, first, last) for at, (_, first, last) in enumerate(order["pieces"])], np.int64)
    directory = machine.directory(states)
    filled = np.zeros(len(machine.buffers), np.int64)
    machine.cache[:] = -1
    found: list[list[Words]] = [[] for _ in range(site.parts)]
    row = 0
    # A call of the kernel returns when a buffer may overflow. It returns the chunk to go on with, and has advanced that
    # chunk's first row in `chunks`; so each round empties the buffers and calls again.
    while row < len(chunks):
        row = machine.module.expand(directory, chunks, row, machine.buffers, filled, machine.rows, machine.cache, block)
        for partition, count in enumerate(filled.tolist()):
            if count:
                part = partition * site.parts // len(machine.buffers)
                found[part].append(machine.buffers[partition, :count].copy())
        filled[:] = 0
    counts = []
    for path, rows in zip(order["into"], found, strict=True):
        table = _Table(machine, sum(map(len, rows)))
        for each in rows:
            table.gather(each)
        new = table.states()
        if len(new):
            write_rows(site.storage, path, new)
        counts.append(len(new))
    return counts, block.tobytes()


def _settle(site: SearchSite, order: dict[str, Any], notes: bytes) -> tuple[list[int], bytes]:
    """Settle a part. ``candidates`` and ``visited``: files with their numbers of rows. ``into``: the part's file."""
    machine = site.machine()
    block = np.frombuffer(notes, np.int64).copy()
    table = _Table(machine, sum(count for _, count in order["candidates"]))
    for path, count in order["candidates"]:
        table.gather(read_rows(site.storage, path, count))
    for path, count in order["visited"]:
        table.strike(read_rows(site.storage, path, count))
    new = table.states()
    if len(new):
        machine.module.check(machine.directory([new]), 0, 1, np.zeros(1, np.int64), block)
        write_rows(site.storage, order["into"], new)
    for path in order["done_with"]:
        site.storage.delete(path)
    return [len(new)], block.tobytes()


def _look_back(site: SearchSite, order: dict[str, Any], notes: bytes) -> tuple[list[int], bytes]:
    """Look back. ``pieces`` as for ``_expand``. The answer has a row for each target: a flag whether a predecessor was
    found, and the words that the kernel minimizes.
    """
    machine = site.machine()
    block = np.frombuffer(notes, np.int64).copy()
    targets = np.array(order["targets"], np.int64).reshape(-1, machine.words)
    best = np.zeros((len(targets), 1 + 2 * machine.module.WORDS), np.int64)
    for path, first, last in order["pieces"]:
        # A copy: the compiled function takes a writable array, and the bytes of a file are read-only.
        states = read_rows(site.storage, path, last).copy()
        machine.module.predecessors(states, first, last, targets, best, machine.rows, block)
    return [], best.tobytes()


class _Table:
    """A hash table for at most ``count`` different states, with twice as many slots. An empty slot holds -1."""

    def __init__(self, machine: TaskKernel, count: int) -> None:
        self._machine = machine
        self._slots = np.full((2 * count + LEAST_TABLE, machine.words), -1, np.int64)

    def gather(self, rows: Words) -> None:
        """Add the states that the table does not hold yet."""
        slots = self._slots
        self._machine.module.gather(rows.ctypes.data, len(rows), slots.ctypes.data, len(slots))

    def strike(self, rows: Words) -> None:
        """Remove these states."""
        slots = self._slots
        self._machine.module.strike(rows.ctypes.data, len(rows), slots.ctypes.data, len(slots))

    def states(self) -> Words:
        """The states that are left, in the order of the slots."""
        slots = self._slots
        rows = np.empty_like(slots)
        count = self._machine.module.remaining(slots.ctypes.data, len(slots), rows.ctypes.data)
        return rows[:count]
