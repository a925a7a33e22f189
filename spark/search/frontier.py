"""The visited states of a search on Spark, by level. It has the role that ``Store`` has for a search on one machine.

A search begins in an ordinary store, because starting tasks takes longer than exploring a small level. When it has
found enough states, it moves out: the states become files, and tasks explore each further level. The states and the
notes of a level are the same either way. The files of an unfinished level are never read.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from holdfast.lower.kernel.kernel import Kernel
from holdfast.lower.kernel.notes import Notes
from holdfast.lower.kernel.store import Level, Store, least
from spark.cluster.ship import digest
from spark.cluster.storage import FileStorage
from spark.cluster.task import Work
from spark.cluster.workers import Job, Workers
from spark.search.files import CANDIDATES, KERNEL, Words, candidates, level, opening, write_rows
from spark.search.tasks import ANSWERS, ORDERS, SearchSite, expand, look_back, settle

SMALL = 20_000
"""Up to this number of states, a search explores, and looks back, without Spark: a fraction of a second's work."""
PARTS = 16
"""The least number of parts, a power of two. A task has several parts, and holds only one of them at a time."""
SHARE = 1_000
"""The least number of states that are worth a task."""
MOST = 250_000
"""The most states of a level that one task expands: it keeps all successors in memory until it writes them."""
LOOKING = 0.05
"""Seconds between two calls of ``pause``."""

Piece = tuple[str, int, int]
"""Some rows of a file: its path, the first row, and the row after the last."""


class StoppedError(Exception):
    """A level is unfinished, because a limit is exceeded."""


class SparkStore:
    """All states found so far, by level, in files of a storage; see ``Store`` for the meaning of its methods.

    ``tasks``: the number of tasks at a time. ``parts``: the number of parts of the states. The files depend on both.
    """

    def __init__(self, kernel: Kernel, storage: FileStorage, cluster: Workers, *, small: int = SMALL) -> None:
        self.kernel = kernel
        self.storage = storage
        self.small = small
        self.tasks = max(cluster.parallelism, 1)
        self.parts = min(max(PARTS, 1 << (self.tasks - 1).bit_length()), 1 << kernel.module.PARTITION_BITS)
        self.levels: list[Level] = []
        """For each level and part: the first row of its states in the part's file, and the row after the last."""
        self.near: Store | None = Store(kernel, 1)
        """The store with all states, until the search moves out; then None."""
        self.moved = 0
        """The number of levels in the files of the opening."""
        self._left: list[list[tuple[str, int]]] = []
        """For each part: the candidate files of the last level, with their numbers of rows. They may be deleted."""
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
        """Start with the initial states as the first level."""
        assert self.near is not None
        self.near.begin(states)
        self.levels = self.near.levels
        if self.near.count > self.small:
            self.move_out()

    def advance(self, pause: Callable[[], bool]) -> bool:
        """Find and check the next level. Returns whether it has states.

        ``pause`` is called often, and returns whether to stop. A stopped level holds the states found until then; after
        the search has moved out, that is none.
        """
        if self.near is None:
            try:
                self._work(pause)
            except StoppedError:
                return False
            # The limit may be a number of states: `pause` must see the count with the new level.
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
        """Find the next level with tasks: expand, then settle. Nothing is noted unless both are complete."""
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
                # The candidates of the level before: that level is settled, so they are never read again.
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
        """The states of a level in shares of equal size (up to one state), one for each task."""
        total = _size(rows)
        if not total:
            return
        # As many waves as keep each task below MOST states; within that, no task with fewer than SHARE states.
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
        """The files with the visited states of a part, each with its number of rows: see ``levels``."""
        if self.moved and self.levels[self.moved - 1][part][1]:
            yield opening(part), self.levels[self.moved - 1][part][1]
        for depth in range(self.moved, len(self.levels)):
            if self.levels[depth][part][1]:
                yield level(depth, part), self.levels[depth][part][1]

    # Tasks ----------------------------------------------------------------------------------------------------

    def _run(
        self, work: Work, orders: Sequence[dict[str, Any]], notes: bytes, pause: Callable[[], bool], at_once: int
    ) -> list[tuple[list[int], bytes]]:
        """The answers of tasks to the orders, in their order; ``at_once`` is the number of tasks.

        If ``at_once`` is 0, this process does the work itself. Raises StoppedError if ``pause`` says to stop.
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
        """The notes that tasks begin with: empty, except for the pending properties."""
        blank = self.kernel.notes()
        blank.pending[:] = self._notes.pending
        return blank.block.tobytes()

    def _note(self, block: bytes) -> None:
        notes = self.kernel.notes()
        notes.block[:] = np.frombuffer(block, np.int64)
        merge(self._notes, notes)

    # Moving out -----------------------------------------------------------------------------------------------

    def move_out(self) -> None:
        """Write the states of the store to files, and explore on Spark from here on."""
        assert self.near is not None
        for notes in self.near.notes:
            merge(self._notes, notes)
        self.levels = self.write_opening(len(self.near.levels))
        self.moved = len(self.levels)
        self.near = None

    def write_opening(self, depth: int) -> list[Level]:
        """Write the first ``depth`` levels of the store as files, and the kernel. Returns the rows of each level."""
        assert self.near is not None
        self._publish()
        stored = self.near.levels[:depth]
        ends = [last for _, last in stored[-1]]
        states = np.split(self.near.states(ends), np.cumsum(ends)[:-1])
        # The store has more partitions than there are parts; both split by the highest bits of the hash, so a part is
        # a range of consecutive partitions.
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
        """Continue with the levels in the storage. All levels but the last have been expanded."""
        self.near = None
        self.levels, self.moved, self.parts, self.tasks = list(levels), moved, parts, tasks
        self._publish()

    def tidy(self) -> None:
        """Remove the candidate files: a search that continues from here does not read them."""
        for name in self.storage.list(CANDIDATES):
            self.storage.delete(f"{CANDIDATES}/{name}")

    def _publish(self) -> None:
        """Write the kernel to the storage, where tasks find it."""
        kernel = self.kernel
        described = {"source": kernel.source, "fan": kernel.fan}
        data = json.dumps(described, sort_keys=True).encode()
        self.storage.write(KERNEL, data)
        self._payload = SearchSite(self.storage, digest(data), self.parts).payload()

    # Looking back ---------------------------------------------------------------------------------------------

    def least_predecessors(self, depth: int, targets: Sequence[bytes]) -> list[bytes]:
        """For each target, which is a state of level ``depth + 1``: the least state of level ``depth`` that has it as a
        successor.
        """
        if self.near is not None:
            return self.near.least_predecessors(depth, targets)
        rows = self.levels[depth]
        sought = [self.kernel.packing.row(target) for target in targets]
        orders = [{"pieces": share, "targets": sought} for share in self._shares(rows, depth)]
        at_once = 0 if _size(rows) <= self.small else len(orders)
        answers = self._run(look_back, orders, self._blank(), lambda: False, at_once)
        found = np.stack([np.frombuffer(words, np.int64) for _, words in answers])
        return least(self.kernel.packing, found.reshape(len(answers), len(targets), -1))


def merge(into: Notes, more: Notes) -> None:
    """Merge the notes ``more`` into ``into``: counts are added, and of each kind of finding the least is kept.

    The result does not depend on the order of merging, so it does not depend on which task ends first.
    """
    for name in ("taken", "counts", "cuts", "repeats"):
        getattr(into, name)[:] += getattr(more, name)
    into.hits |= more.hits
    into.pending &= more.pending
    for name in ("steps", "repeated", "ends", "states", "reached"):
        for kept, found in zip(getattr(into, name), getattr(more, name), strict=True):
            if found[0] and (not kept[0] or tuple(found[1:]) < tuple(kept[1:])):
                kept[:] = found


def _size(rows: Level) -> int:
    """The number of states of a level."""
    return sum(last - first for first, last in rows)
