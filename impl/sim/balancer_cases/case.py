"""A case: a cluster with constant loads, its goals, and the limits of batches. A placement gives its snapshot."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import msgspec
from msgspec.structs import replace

from impl.balancer.batches import BatchLimits
from impl.balancer.goals import GoalSettings
from impl.balancer.resources import RESOURCES, Loads, TopicPartition
from impl.balancer.safety import DIGITS, grid_of, on_grid
from impl.balancer.snapshot import BrokerLoad, ClusterSnapshot, ReplicaLoad

Placement = Mapping[TopicPartition, int]
"""The broker of each partition, by the partition's name; sorted by name."""

LARGEST = 1 << 48
"""The sum of whole loads up to which doubles compute all sums and averages without an error that could matter."""


class CaseBroker(msgspec.Struct, frozen=True):
    """``pinned``: the load of partitions that cannot move, in bytes per second.

    ``stale``, ``slow``: as in BrokerLoad.
    """

    id: int
    pinned: Loads = (0.0, 0.0)
    stale: bool = False
    slow: bool = False


class CasePartition(msgspec.Struct, frozen=True):
    """A partition that may move, with its constant loads. ``broker``: where it lies at the start."""

    id: TopicPartition
    broker: int
    loads: Loads


class BalancerCase(msgspec.Struct, frozen=True):
    """``brokers`` by id, ``partitions`` by name. ``safe``: whether the safe mode plans."""

    brokers: tuple[CaseBroker, ...]
    partitions: tuple[CasePartition, ...]
    goals: tuple[GoalSettings, ...]
    limits: BatchLimits = BatchLimits()
    safe: bool = False

    @property
    def eligible(self) -> tuple[int, ...]:
        """The brokers that are not out of date."""
        return tuple(broker.id for broker in self.brokers if not broker.stale)

    @property
    def is_whole(self) -> bool:
        """Whether doubles add the loads without rounding: they are whole numbers, and their sum is not huge."""
        loads = [each for part in self._all_loads() for each in part]
        return all(load.is_integer() for load in loads) and sum(map(int, loads)) < LARGEST

    def start(self) -> dict[TopicPartition, int]:
        """The placement at the start."""
        return {part.id: part.broker for part in self.partitions}

    def topics(self) -> Counter[str]:
        """By topic: the number of its partitions."""
        return Counter(part.id.topic for part in self.partitions)

    def rounded(self) -> BalancerCase:
        """The case with the loads that a snapshot of the safe mode has: on a grid on which each sum is exact."""
        everything = self._all_loads()
        grids = [grid_of((loads[each] for loads in everything), DIGITS - 1) for each in RESOURCES]

        def of(loads: Loads) -> Loads:
            load_in, load_out = (on_grid(load, grid) for load, grid in zip(loads, grids, strict=True))
            return load_in, load_out

        return replace(
            self,
            brokers=tuple(replace(each, pinned=of(each.pinned)) for each in self.brokers),
            partitions=tuple(replace(each, loads=of(each.loads)) for each in self.partitions),
        )

    def snapshot(self, placement: Placement, *, backwards: bool = False) -> ClusterSnapshot:
        """The snapshot of a placement. Loads are added by name, so that equal placements give equal bits (AB-62).

        ``backwards``: brokers and partitions are put into the snapshot in the opposite order.
        """
        brokers = {
            each.id: BrokerLoad(each.id, list(each.pinned), stale=each.stale, slow=each.slow) for each in self.brokers
        }
        for part in self.partitions:
            broker = brokers[placement[part.id]]
            broker.partitions[part.id] = ReplicaLoad(part.id, part.loads)
            broker.loads[0] += part.loads[0]
            broker.loads[1] += part.loads[1]
        if not backwards:
            return ClusterSnapshot(brokers.values())
        for broker in brokers.values():
            broker.partitions = dict(reversed(broker.partitions.items()))
        return ClusterSnapshot(reversed(brokers.values()))

    def _all_loads(self) -> list[Loads]:
        return [*(part.loads for part in self.partitions), *(broker.pinned for broker in self.brokers)]
