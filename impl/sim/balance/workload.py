"""The load of a run: how many bytes a second each partition takes, who reads it, and what changes on the way.

Loads are a thousandth of what they stand for. So are the bandwidth, the sizes of blocks and objects, and the two bounds
of the balancer that are absolute numbers of bytes. Times are not scaled: a move of a thousandth of the bytes over a
thousandth of the bandwidth takes as long.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from impl.client.payload import payload
from impl.sim.tape import one, stream

SCALE = 1_000
"""The bytes for which one byte of the run stands."""
LOADED = (1, 2, 3)
"""The brokers that have the partitions at first; the partitions take turns."""
EMPTY = 4
"""The broker that joins."""
PARTITIONS = 48
RATES = (500.0, 2_500.0)
"""The least and the largest rate of a partition at first, in bytes of the run per second."""
READERS = (1, 1, 1, 2)
"""From these the number of consumers of a partition is drawn."""
JOIN_MS, CHANGE_MS, FAILOVER_MS, END_MS = 20_000, 135_000, 210_000, 480_000
"""When the empty broker starts, when the load changes, when another controller takes over, and when the clients end;
from the start of the load.
"""
CHANGES = (4.0, 0.25)
"""By how much the rates of the partitions that change are multiplied: one for each of them."""


class PartitionLoadPlan(msgspec.Struct, frozen=True):
    """The load of a partition: its rates at first, and after the change, in bytes of the run per second."""

    partition: int
    before: float
    after: float
    readers: int

    @property
    def has_changed(self) -> bool:
        """Whether the load changes on the way."""
        return self.before != self.after

    def rate(self, at: int) -> float:
        """The rate at a time, in milliseconds from the start of the load."""
        return self.after if at >= CHANGE_MS else self.before


def workload(seed: int) -> tuple[PartitionLoadPlan, ...]:
    """The loads of all partitions, by number. The two partitions that change are on different brokers at first."""
    draw = stream(seed, "balance")
    low, high = RATES
    rates = [low + draw() * (high - low) for _ in range(PARTITIONS)]
    readers = [one(draw, READERS) for _ in range(PARTITIONS)]
    first = int(draw() * PARTITIONS)
    changed = dict(zip((first, (first + 1 + len(LOADED) * int(draw() * 4)) % PARTITIONS), CHANGES, strict=True))
    return tuple(
        PartitionLoadPlan(number, rate, rate * changed.get(number, 1.0), readers[number])
        for number, rate in enumerate(rates)
    )


def counts(owed: float, value: int) -> tuple[int, float]:
    """The number of records of a send with a value that has about ``owed`` bytes, and the bytes that are owed then.

    A send has a record at least. What is owed is added to the next send, so that no rate drifts.
    """
    count = 0
    while count == 0 or owed > 0:
        owed -= len(payload(value, count))
        count += 1
    return count, owed


def sizes(value: int, count: int) -> int:
    """The bytes of a send."""
    return sum(len(payload(value, place)) for place in range(count))


def values_of(partition: int) -> Iterator[int]:
    """The values of the sends to a partition; no two partitions share one."""
    value = partition + 1
    while True:
        yield value
        value += PARTITIONS
