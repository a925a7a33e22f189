"""The resources that the balancer evens out, and the name of a partition."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

IN, OUT = 0, 1
"""Bytes per second that producers send to a partition, and that consumers read from it (AB-04)."""
RESOURCES = (IN, OUT)

Loads = tuple[float, float]
"""A load for each resource, in bytes per second."""


class TopicPartition(NamedTuple):
    """A partition, by its topic and its number in the topic."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


def plain_sum(values: Iterable[float]) -> float:
    """The sum, added from left to right (AB-62). The built-in ``sum`` compensates rounding in some Python versions."""
    total = 0.0
    for value in values:
        total += value
    return total


def topic_partition(name: str) -> TopicPartition:
    """The partition of a name such as ``t-0``. Raises ValueError for a name without a number."""
    topic, dash, number = name.rpartition("-")
    if not dash or not topic or not number.isascii() or not number.isdigit():
        raise ValueError(f"{name!r} names no partition; write its topic, a dash and its number, such as t-0")
    return TopicPartition(topic, int(number))
