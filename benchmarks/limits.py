"""Measures the largest speed-up of two threads over one on this machine.

Two cores may share a memory bus, a cache, a power budget, or the time of a hypervisor. So the same work is timed on one
thread and on two at once: first work that only computes, then work whose every access goes to memory.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import attrs
import numpy as np

from benchmarks.clock import now

TABLE_BYTES = 1 << 28
READS = 1 << 22


@attrs.frozen
class Limits:
    """The speed-up of two threads for computing and for reading memory, and nanoseconds of a random read on one thread.

    A speed-up of 2 means that two threads do twice the work of one in the same time.
    """

    processor: float
    memory: float
    read_nanoseconds: float


def limits(repeat: int = 3) -> Limits:
    """Measure all figures. Of ``repeat`` measurements, the fastest counts."""
    table = np.arange(TABLE_BYTES // 8, dtype=np.int64)
    places = np.random.default_rng(1).integers(0, len(table), READS, dtype=np.int64)
    found = [np.empty(READS, np.int64) for _ in range(2)]
    block = bytes(1 << 16)

    def compute(_thread: int) -> None:
        for _ in range(1 << 11):
            hashlib.blake2b(block).digest()

    def read(thread: int) -> None:
        # In its default mode, NumPy first checks all indices, and holds the interpreter lock meanwhile.
        np.take(table, places, out=found[thread], mode="wrap")

    # Two threads do twice the work, so their speed-up is 2 * (time of one thread) / (time of both).
    processor, memory = _times(compute, repeat), _times(read, repeat)
    return Limits(2 * processor[0] / processor[1], 2 * memory[0] / memory[1], memory[0] / READS * 1e9)


def _times(work: Callable[[int], None], repeat: int) -> tuple[float, float]:
    """Seconds on one thread, and on two at once."""
    one, two = [], []
    with ThreadPoolExecutor(2) as pool:
        for _ in range(repeat):
            one.append(_timed(lambda: work(0)))
            two.append(_timed(lambda: list(pool.map(work, range(2)))))
    return min(one), min(two)


def _timed(work: Callable[[], object]) -> float:
    begun = now()
    work()
    return now() - begun
