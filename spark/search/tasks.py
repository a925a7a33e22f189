"""What tasks of a search on Spark do: expand states, settle what was found, look back.

A level takes two steps. Each task of the first expands some states of the level before, and leaves what it found as
candidates, by part. Each task of the second has parts of its own: it drops the candidates that were visited before,
checks the states that remain, and writes them as the part's share of the new level.

States are compared whole, in tables of one part at a time. A table gives its states back in the order of their hash,
near enough that striking the level files of a part off it goes through both from front to back.
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
from spark.cluster.storage import Storage
from spark.search.files import KERNEL, Words, read_rows, write_rows

ORDERS = pa.schema([pa.field("order", pa.string()), pa.field("notes", pa.binary())])
"""What tasks are told: an order as JSON, and a block of notes to begin with."""

ANSWERS = pa.schema([pa.field("counts", pa.list_(pa.int64())), pa.field("words", pa.binary())])
"""What they answer: how many states they wrote, by part, and their notes, or the states asked for."""

ROOM = 8192
"""How many successors of one partition are gathered at once."""

LEAST_TABLE = 64


@attrs.define(eq=False)
class TaskKernel:
    """A compiled kernel, and the memory that it works with."""

    module: Any
    words: int
    fan: int
    rows: Words = attrs.field(init=False)
    cache: Words = attrs.field(init=False)
    buffers: Words = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.rows = np.empty((self.fan, self.words), np.int64)
        self.cache = np.empty((1 << self.module.CACHE_BITS, self.words), np.int64)
        partitions = 1 << self.module.PARTITION_BITS
        self.buffers = np.empty((partitions, max(ROOM, 2 * self.fan), self.words), np.int64)

    def directory(self, states: Sequence[Words]) -> Words:
        """Where several arrays of states lie, in the form that the kernel's functions want: see ``driver.py``."""
        found = np.zeros((len(states), self.module.MORE_SIZE + 1), np.int64)
        for row, each in zip(found, states, strict=True):
            row[self.module.STATES_AT], row[self.module.COUNT] = each.ctypes.data, len(each)
        return found


_machines: dict[str, TaskKernel] = {}
"""The kernels that this process has, by the digests of what describes them: one import and one compilation each."""


@attrs.frozen
class SearchSite:
    """What every task of a search knows: where its files are, its kernel's digest, the number of parts."""

    storage: Storage
    kernel: str
    parts: int

    def payload(self) -> bytes:
        """The site, for ``Cluster.map``."""
        return pickle.dumps(self)

    def machine(self) -> TaskKernel:
        """The kernel, compiled."""
        if self.kernel not in _machines:
            data = self.storage.read(KERNEL)
            if data is None or digest(data) != self.kernel:
                raise UsageError(f"{self.storage.name}: {KERNEL} is not that of this search; two searches write there")
            found = json.loads(data)
            _machines[self.kernel] = TaskKernel(build(found["source"]), found["words"], found["fan"])
        return _machines[self.kernel]


Step = Callable[[SearchSite, dict[str, Any], bytes], tuple[list[int], bytes]]
"""From an order and notes to what ``ANSWERS`` holds."""


def expand(payload: bytes, orders: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Work for ``Cluster.map``: expand states."""
    return _answers(_expand, payload, orders)


def settle(payload: bytes, orders: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Work for ``Cluster.map``: find what is new of the candidates for a part."""
    return _answers(_settle, payload, orders)


def look_back(payload: bytes, orders: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Work for ``Cluster.map``: find the states from which a step leads to given ones."""
    return _answers(_look_back, payload, orders)


def _answers(step: Step, payload: bytes, orders: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    site: SearchSite = pickle.loads(payload)  # noqa: S301 - the driver of this search wrote it
    for row in orders.to_pylist():
        counts, words = step(site, json.loads(row["order"]), row["notes"])
        yield pa.RecordBatch.from_pylist([{"counts": counts, "words": words}], schema=ANSWERS)


def _expand(site: SearchSite, order: dict[str, Any], notes: bytes) -> tuple[list[int], bytes]:
    """``pieces`` are the states to expand: a file, and which of its rows; ``into`` has a file for each part."""
    machine = site.machine()
    block = np.frombuffer(notes, np.int64).copy()
    states = [read_rows(site.storage, path, last) for path, _, last in order["pieces"]]
    chunks = np.array([(at, first, last) for at, (_, first, last) in enumerate(order["pieces"])], np.int64)
    directory = machine.directory(states)
    filled = np.zeros(len(machine.buffers), np.int64)
    machine.cache[:] = -1
    found: list[list[Words]] = [[] for _ in range(site.parts)]
    row = 0
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
    """``candidates`` and ``visited`` are files, each with its number of rows; ``into`` is the part's file."""
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
    """``pieces`` as for ``_expand``; the answer has for each of ``targets`` a flag, and what the kernel ranks."""
    machine = site.machine()
    block = np.frombuffer(notes, np.int64).copy()
    targets = np.array(order["targets"], np.int64).reshape(-1, machine.words)
    best = np.zeros((len(targets), 1 + 2 * machine.words), np.int64)
    for path, first, last in order["pieces"]:
        # A copy, for the kernel takes what may be written to.
        states = read_rows(site.storage, path, last).copy()
        machine.module.predecessors(states, first, last, targets, best, machine.rows, block)
    return [], best.tobytes()


class _Table:
    """So many different states at most, in twice the memory that they take."""

    def __init__(self, machine: TaskKernel, count: int) -> None:
        self._machine = machine
        self._slots = np.full((2 * count + LEAST_TABLE, machine.words), -1, np.int64)

    def gather(self, rows: Words) -> None:
        """Put in these states, unless they are there."""
        slots = self._slots
        self._machine.module.gather(rows.ctypes.data, len(rows), slots.ctypes.data, len(slots))

    def strike(self, rows: Words) -> None:
        """Leave these states out."""
        slots = self._slots
        self._machine.module.strike(rows.ctypes.data, len(rows), slots.ctypes.data, len(slots))

    def states(self) -> Words:
        """What is left, in the order of the table."""
        slots = self._slots
        rows = np.empty_like(slots)
        count = self._machine.module.remaining(slots.ctypes.data, len(slots), rows.ctypes.data)
        return rows[:count]
