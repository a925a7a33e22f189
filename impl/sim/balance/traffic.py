"""The traffic of each broker, by what clients have sent and read, and whether it is even.

Nothing here comes from a node or from the balancer: the history of the clients tells the brokers and the bytes, and the
band is computed anew (AB-25).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec

from impl.client.history import History
from impl.sim.balance.workload import SCALE, sizes

BUCKET_MS = 10_000
"""The time over which the curve of a broker's load takes its means."""
WAYS = ("in", "out")
DEVIATION, METER_ERROR = 0.1, 0.01
"""The margin of the band as a share of the average, and what is added to it: the balancer sees the rates of meters that
count whole batches in ticks of 5 s, so it may take a broker for even that is outside the margin by a little.
"""


class EvenBand(msgspec.Struct, frozen=True):
    """The loads between which a broker is even with the others, both included, in bytes per second."""

    low: float
    high: float


class Traffic:
    """The bytes of a run, by time. ``begin``: the virtual time that counts as 0. Loads are unscaled."""

    def __init__(self, history: History, begin: int) -> None:
        self._begin = begin
        self._bytes: Counter[tuple[str, int, int]] = Counter()
        """By way, broker and bucket."""
        begun = {op.index: op for op in history.ops if op.kind == "invoke" and op.f == "send"}
        for op in history.ops:
            if op.kind != "ok" or op.broker is None or op.phase is not None:
                continue
            if op.f == "send":
                self._add("in", int(op.broker), op.at, sizes(begun[op.index].value, begun[op.index].count))
            elif op.f == "poll":
                self._add("out", int(op.broker), op.at, sum(sizes(value, count) for _, count, value in op.value))

    def _add(self, way: str, broker: int, at: int, size: int) -> None:
        self._bytes[way, broker, (at - self._begin) // BUCKET_MS] += size * SCALE

    def load(self, way: str, broker: int, begin: int, end: int) -> float:
        """The mean load of a broker between two times of whole buckets, in bytes per second."""
        buckets = range(begin // BUCKET_MS, end // BUCKET_MS)
        return sum(self._bytes[way, broker, each] for each in buckets) * 1_000 / (end - begin)


def band(loads: Sequence[float]) -> EvenBand:
    """The band around the average of the loads of all brokers."""
    average, margin = sum(loads) / len(loads), DEVIATION + METER_ERROR
    return EvenBand(average * (1 - margin), average * (1 + margin))
