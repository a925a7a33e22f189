"""The visited states of a search on Spark, by level: what ``Store`` is to a search on one machine.

A search begins in an ordinary store, for starting tasks takes longer than a small level. Once it has found enough
states it moves out: they become files, and from then on each level is worked by tasks. What a level holds, and what is
noted of it, is the same either way; a level that was not finished leaves nothing behind that anybody reads.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from holdfast.lower.kernel.kernel import Kernel
from holdfast.lower.kernel.notes import Notes
from holdfast.lower.kernel.store import Level, Store
from spark.cluster.ship import digest
from spark.cluster.storage import Storage
from spark.cluster.task import Work
from spark.search.files import CANDIDATES, KERNEL, Words, candidates, level, opening, write_rows
from spark.search.tasks import ANSWERS, ORDERS, Site, expand, look_back, settle

SMALL = 20_000
"""How many states are explored, or looked back through, without Spark: a fraction of a second's work."""
PARTS = 16
"""The least number of parts, a power of two. Tasks have several, so that each holds a share of its states at a time."""
SHARE = 1_000
"""The fewest states that are worth a task."""
MOST = 250_000
"""The most states of a level that a task expands, for it holds what it finds until it writes."""
LOOKING = 0.05
"""Seconds between two questions whether to stop."""

Piece = tuple[str, int, int]
"""A file, and which of its rows: the first, and the one after the last."""


class Job(Protocol):
    """Tasks under way: see ``session.Job``."""

    def wait(self, seconds: float | None = None) -> bool: ...

    def cancel(self) -> None: ...

    def result(self) -> pa.Table: ...


class Cluster(Protocol):
    """What runs tasks: see ``session.Cluster``."""

    parallelism: int

    def start(self, work: Work, payload: bytes, rows: pa.Table, schema: pa.Schema, partitions: int) -> Job: ...


class StoppedError(Exception):
    """A level was left unfinished, because a limit is exceeded."""


class Frontier:
    """All states found so far, by level, in files of a storage; see ``Store`` for the meaning of its methods.

    ``tasks`` is how many work at a time, ``parts`` in how many parts the states are; files depend on both.
    """

    def __init__(self, kernel: Kernel, storage: Storage, cluster: Cluster, *, small: int = SMALL) -> None:
        self.kernel = kernel
        self.storage = storage
        self.small = small
        self.tasks = max(cluster.parallelism, 1)
        self.parts = min(max(PARTS, 1 << (self.tasks - 1).bit_length()), 1 << kernel.module.PARTITION_BITS)
        self.levels: list[Level] = []
        """For each level, which rows of the file of each part are its states."""
        self.near: Store | None = Store(kernel, 1)
        """The store with all there is, until the search moves out."""
        self.moved = 0
        """How many levels are in the files of the opening."""
        self._left: list[list[tuple[str, int]]] = []
        """For each part the candidates for the last level, which may be deleted."""
        self._cluster = cluster
        self._notes = kernel.notes()
        self._payload = b""

    @property
    def count(self) -> int:
        return sum(map(_size, self.levels)) if self.near is None else self.near.count

    @property
    def expanded(self) -> int:
        return sum(map(_size, self.levels[:-1])) if self.near is None else self.near.expanded

    @property
    def notes(self) -> list[Notes]:
        return [self._notes] if self.near is None else self.near.notes

    # Levels ---------------------------------------------------------------------------------------------------

    def begin(self, states: Sequence[bytes]) -> None:
        """The first level."""
        assert self.near is not None
        self.near.begin(states)
        self.levels = self.near.levels
        if self.near.count > self.small:
            self.move_out()

    def advance(self, pause: Callable[[], bool]) -> bool:
        """Find and check the next level; whether it has states. ``pause`` is asked often whether to stop. A level that
        was stopped holds what was found by then, which is nothing once the search has moved out.
        """
        if self.near is None:
            try:
                self._work(pause)
            except StoppedError:
                return False
            # A number of states may be the limit.
            pause()
            return _size(self.levels[-1]) > 0
        stopped = False

        def asked() -> bool:
            nonlocal stopped
            stopped = pause()
            return stopped

        more = self.near.advance(asked)
        if self.near.count > self.small and not stopped:
            self.move_out()
        return more

    def _work(self, pause: Callable[[], bool]) -> None:
        """The next level, by tasks: expand, then settle."""
        depth, parts = len(self.levels), range(self.parts)
        notes = self._blank()
        shares = list(self._shares(self.levels[-1], depth - 1))
        orders = [
            {"pieces": share, "into": [candidates(depth, task, part) for part in parts]}
            for task, share in enumerate(shares)
        ]
        answers = self._run(expand, orders, notes, pause, len(orders))
        left = [
            [(candidates(depth, task, part), counts[part]) for task, (counts, _) in enumerate(answers) if counts[part]]
            for part in parts
        ]
        orders = [
            {
                "candidates": left[part],
                "visited": list(self._files(part)),
                "into": level(depth, part),
                # Nobody reads them any more: the level before is settled.
                "done_with": [path for path, _ in self._left[part]] if self._left else [],
            }
            for part in parts
        ]
        settled = self._run(settle, orders, notes, pause, self.tasks)
        self._left = left
        for _, block in (*answers, *settled):
            self._note(block)
        self.levels.append([(0, count) for (count,), _ in settled])

    def _shares(self, rows: Level, depth: int) -> Iterator[list[Piece]]:
        """The states of a level, in shares of equal size, one for each task."""
        total = _size(rows)
        if not total:
            return
        waves = -(-total // (self.tasks * MOST))
        number = min(-(-total // SHARE), self.tasks * waves)
        pieces = [(self._file(depth, part), first, last) for part, (first, last) in enumerate(rows) if first < last]
        for at in range(number):
            begin, end = at * total // number, (at + 1) * total // number
            share, start = [], 0
            for path, first, last in pieces:
                low, high = max(begin - start, 0), min(end - start, last - first)
                if low < high:
                    share.append((path, first + low, first + high))
                start += last - first
            yield share

    def _file(self, depth: int, part: int) -> str:
        return opening(part) if depth < self.moved else level(depth, part)

    def _files(self, part: int) -> Iterator[tuple[str, int]]:
        """The files with the states of a part, and how many rows of each: see ``levels``."""
        if self.moved and self.levels[self.moved - 1][part][1]:
            yield opening(part), self.levels[self.moved - 1][part][1]
        for depth in range(self.moved, len(self.levels)):
            if self.levels[depth][part][1]:
                yield level(depth, part), self.levels[depth][part][1]

    # Tasks ----------------------------------------------------------------------------------------------------

    def _run(
        self, work: Work, orders: Sequence[dict[str, Any]], notes: bytes, pause: Callable[[], bool], at_once: int
    ) -> list[tuple[list[int], bytes]]:
        """What so many tasks answer to the orders, none for this process itself; raises StoppedError if they are to
        stop first.
        """
        told = [json.dumps(order) for order in orders]
        rows = pa.table({"order": told, "notes": [notes] * len(told)}, schema=ORDERS)
        if at_once:
            table = self._await(self._cluster.start(work, self._payload, rows, ANSWERS, at_once), pause)
        else:
            table = pa.Table.from_batches(
                [answer for batch in rows.to_batches() for answer in work(self._payload, batch)], ANSWERS
            )
        return list(zip(table.column("counts").to_pylist(), table.column("words").to_pylist(), strict=True))

    def _await(self, job: Job, pause: Callable[[], bool]) -> pa.Table:
        try:
            while not job.wait(LOOKING):
                if pause():
                    raise StoppedError
        except BaseException:
            job.cancel()
            raise
        return job.result()

    def _blank(self) -> bytes:
        """Notes for tasks to begin with: what is pending, and nothing else."""
        blank = self.kernel.notes()
        blank.pending[:] = self._notes.pending
        return blank.block.tobytes()

    def _note(self, block: bytes) -> None:
        notes = self.kernel.notes()
        notes.block[:] = np.frombuffer(block, np.int64)
        merge(self._notes, notes)

    # Moving out -----------------------------------------------------------------------------------------------

    def move_out(self) -> None:
        """Turn what the store holds into files, and work on Spark from here on."""
        assert self.near is not None
        for notes in self.near.notes:
            merge(self._notes, notes)
        self.levels = self.write_opening(len(self.near.levels))
        self.moved = len(self.levels)
        self.near = None

    def write_opening(self, depth: int) -> list[Level]:
        """Write the first so many levels of the store as files, and the kernel; answers which rows are whose."""
        assert self.near is not None
        self._publish()
        stored = self.near.levels[:depth]
        ends = [last for _, last in stored[-1]]
        states = np.split(self.near.states(ends), np.cumsum(ends)[:-1])
        share = len(ends) // self.parts
        levels: list[Level] = [[] for _ in stored]
        for part in range(self.parts):
            found: list[Words] = []
            count = 0
            for rows, each in zip(levels, stored, strict=True):
                first = count
                for partition in range(part * share, (part + 1) * share):
                    new = states[partition][slice(*each[partition])]
                    found.append(new)
                    count += len(new)
                rows.append((first, count))
            write_rows(self.storage, opening(part), np.concatenate(found))
        return levels

    def restore(self, levels: Sequence[Level], moved: int, parts: int, tasks: int) -> None:
        """Hold the levels that the storage has, and no other states; all but the last have been expanded."""
        self.near = None
        self.levels, self.moved, self.parts, self.tasks = list(levels), moved, parts, tasks
        self._publish()

    def tidy(self) -> None:
        """Remove what no search reads that goes on from here."""
        for name in self.storage.list(CANDIDATES):
            self.storage.delete(f"{CANDIDATES}/{name}")

    def _publish(self) -> None:
        """Put the kernel where tasks find it."""
        kernel = self.kernel
        described = {"source": kernel.source, "words": kernel.words, "fan": kernel.fan}
        data = json.dumps(described, sort_keys=True).encode()
        # What only tasks call is compiled here, once, for all of them to find.
        kernel.module.gather(0, 0, 0, 1)
        kernel.module.strike(0, 0, 0, 1)
        kernel.module.remaining(0, 0, 0)
        self.storage.write(KERNEL, data)
        self._payload = Site(self.storage, digest(data), self.parts).payload()

    # Looking back ---------------------------------------------------------------------------------------------

    def least_predecessors(self, depth: int, targets: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
        """For each target, a state of the next level, the least state at ``depth`` from which one step leads to it."""
        if self.near is not None:
            return self.near.least_predecessors(depth, targets)
        rows = self.levels[depth]
        orders = [{"pieces": share, "targets": targets} for share in self._shares(rows, depth)]
        at_once = 0 if _size(rows) <= self.small else len(orders)
        answers = self._run(look_back, orders, self._blank(), lambda: False, at_once)
        best = np.stack([np.frombuffer(words, np.int64) for _, words in answers]).reshape(
            len(answers), len(targets), -1
        )
        return [
            min(tuple(map(int, each[1:])) for each in best[:, index] if each[0])[self.kernel.words :]
            for index in range(len(targets))
        ]


def merge(into: Notes, more: Notes) -> None:
    """Take over what was noted elsewhere: counts add up, of what was found the least stays."""
    for name in ("taken", "counts", "cuts", "repeats"):
        getattr(into, name)[:] += getattr(more, name)
    into.hits |= more.hits
    into.pending &= more.pending
    for name in ("steps", "repeated", "ends", "states", "reached"):
        for kept, found in zip(getattr(into, name), getattr(more, name), strict=True):
            if found[0] and (not kept[0] or tuple(found[1:]) < tuple(kept[1:])):
                kept[:] = found


def _size(rows: Level) -> int:
    """How many states a level has."""
    return sum(last - first for first, last in rows)
