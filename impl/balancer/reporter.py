"""The metrics that a broker reports of itself and of the partitions that it has open (AB-06 to AB-10)."""

from __future__ import annotations

import msgspec

from impl.balancer.meter import RateMeter
from impl.balancer.metrics_record import MetricsRecord
from impl.balancer.resources import IN, OUT, RESOURCES, TopicPartition
from impl.balancer.samples import METRICS

INTERVAL_MS = 10_000
"""The default time between two reports."""
VERSION = 2
"""The metric version of the records: the latest one (AB-09)."""


class PartitionMeters(msgspec.Struct):
    """The rates of an open partition, by resource, and the bytes that were appended since it was opened."""

    rates: tuple[RateMeter, RateMeter]
    size: int = 0


class MetricsReporter:
    """Counts what one broker process does, and makes its reports. ``rack``: of the broker."""

    def __init__(self, broker: int, rack: str = "") -> None:
        self._broker, self._rack = broker, rack
        self._open: dict[TopicPartition, PartitionMeters] = {}
        self._appends: list[int] = []
        """The latencies of the appends since the last report, in milliseconds."""

    def opened(self, partition: TopicPartition, now: int) -> None:
        """The broker has opened a partition: its rates begin."""
        self._open[partition] = PartitionMeters((RateMeter(now), RateMeter(now)))

    def closed(self, partition: TopicPartition) -> None:
        """The broker closes a partition, which no report has any more (AB-07)."""
        self._open.pop(partition, None)

    def appended(self, partition: TopicPartition, size: int, took: int, now: int) -> None:
        """An append of a number of bytes was answered after ``took`` milliseconds."""
        self._appends.append(took)
        if partition in self._open:
            self._open[partition].rates[IN].add(size, now)
            self._open[partition].size += size

    def read(self, partition: TopicPartition, size: int, now: int) -> None:
        """A consumer has got a number of bytes."""
        if partition in self._open:
            self._open[partition].rates[OUT].add(size, now)

    def report(self, now: int, pending_append_ms: int = 0, pending_fetch_ms: int = 0) -> list[bytes]:
        """The values of the records of a report: one for the broker, and one for each open partition.

        ``pending_append_ms``, ``pending_fetch_ms``: how long the oldest append and read have waited by now.
        """
        appends, self._appends = self._appends, []
        values = {
            METRICS["append_ms"]: sum(appends) / len(appends) if appends else 0.0,
            METRICS["pending_append_ms"]: float(pending_append_ms),
            METRICS["pending_fetch_ms"]: float(pending_fetch_ms),
            METRICS["version"]: float(VERSION),
        }
        records = [MetricsRecord(now, self._broker, self._rack, None, None, values)]
        for partition, meters in sorted(self._open.items()):
            loads = [meters.rates[resource].rate(now) for resource in RESOURCES]
            values = dict(zip((METRICS["bytes_in"], METRICS["bytes_out"]), loads, strict=True))
            values[METRICS["size"]] = float(meters.size)
            records.append(MetricsRecord(now, self._broker, self._rack, partition.topic, partition.partition, values))
        return [record.encode() for record in records]
