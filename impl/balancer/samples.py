"""The latest sample of a broker and of a partition, and whether it is complete and fresh (AB-07 to AB-09, AB-14)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import msgspec

from impl.rules import rule

METRICS = {
    "bytes_in": 0,
    "bytes_out": 1,
    "size": 2,
    "append_ms": 3,
    "pending_append_ms": 4,
    "pending_fetch_ms": 5,
    "version": 6,
}
"""The ids of metrics: rates in bytes per second, a size in bytes, latencies in milliseconds, the metric version."""
OF_PARTITION = ("bytes_in", "bytes_out", "size")
OF_BROKER = ("append_ms", "pending_append_ms", "pending_fetch_ms", "version")

REQUIRED = {0: (), 1: (3, 4, 5, 6), 2: (3, 6)}
"""By metric version of a broker: the metrics that a complete sample of the broker has (AB-09)."""
SLOW_MS = 10_000
"""A latency above it makes a broker slow (AB-57)."""


class Samples(msgspec.Struct):
    """``time``: of the last accepted sample, in milliseconds by the broker's clock; None before the first one.

    ``values``: by metric id, the latest value.
    """

    time: int | None = None
    values: dict[int, float] = msgspec.field(default_factory=dict)

    def accept(self, time: int, values: Mapping[int, float]) -> bool:
        """Take a sample unless it is older than the last one (AB-14). Returns whether it is taken."""
        if rule("BG-02.time", self.time is not None and time < self.time):
            return False
        self.time = time
        self.values.update(values)
        return True

    def required(self) -> tuple[int, ...]:
        """The metrics that a complete sample has."""
        raise NotImplementedError

    def is_stale(self, now: int, delay_ms: int) -> bool:
        """Whether the last sample is older than the tolerated delay, or a required metric is missing (AB-19)."""
        if self.time is None or self.time < now - delay_ms:
            return True
        return any(metric not in self.values for metric in self.required())


class PartitionSamples(Samples):
    """The samples of a partition on one broker. All metric versions need the same three metrics (AB-09)."""

    REQUIRED: ClassVar = tuple(METRICS[name] for name in OF_PARTITION)

    def required(self) -> tuple[int, ...]:
        return self.REQUIRED

    def loads(self) -> tuple[float, float]:
        """Bytes in and bytes out per second; 0 for a rate that nobody has reported."""
        return self.values.get(METRICS["bytes_in"], 0.0), self.values.get(METRICS["bytes_out"], 0.0)


class BrokerSamples(Samples):
    """The samples of a broker."""

    @property
    def version(self) -> int:
        """The metric version: 0 until a sample names one (AB-09)."""
        return int(self.values.get(METRICS["version"], 0))

    def accept(self, time: int, values: Mapping[int, float]) -> bool:
        """As ``Samples.accept``. A sample with an unknown version is not taken, and hinders no other one (D-05)."""
        return values.get(METRICS["version"], 0) in REQUIRED and super().accept(time, values)

    def required(self) -> tuple[int, ...]:
        return REQUIRED[self.version]

    def is_slow(self) -> bool:
        """Whether the latest pending append or fetch has taken too long (AB-57). Unknown for version 0."""
        latencies = [self.values.get(METRICS[name], 0.0) for name in ("pending_append_ms", "pending_fetch_ms")]
        return self.version > 0 and max(latencies) > SLOW_MS
