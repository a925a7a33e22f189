"""Blocks of partitions, with the range of their loads: what no partition of a block can reach need not be computed."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from impl.balancer.resources import RESOURCES
from impl.balancer.snapshot import ReplicaLoad

LENGTH = 32
"""The number of partitions in a small block, and of small blocks in a large one."""


class PartitionBlock(msgspec.Struct, frozen=True):
    """The partitions from place ``first`` to before ``end`` of an order.

    ``ranges``: by resource, the least and the greatest load of those that have any load; None if none has. ``idle``:
    whether one has no load at all.
    """

    first: int
    end: int
    ranges: tuple[tuple[float, float], ...] | None
    idle: bool


def blocks_of(order: Sequence[ReplicaLoad], length: int) -> list[PartitionBlock]:
    """The blocks of an order, each with ``length`` partitions. Sorted by load, the loads of a block are alike."""
    found = []
    for first in range(0, len(order), length):
        part = order[first : first + length]
        loads = [each.loads for each in part if any(each.loads)]
        ways = [[each[resource] for each in loads] for resource in RESOURCES]
        ranges = tuple((min(way), max(way)) for way in ways) if loads else None
        found.append(PartitionBlock(first, first + len(part), ranges, len(loads) < len(part)))
    return found
