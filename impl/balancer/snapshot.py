"""The snapshot of the cluster on which a round plans: brokers with loads, and partitions with theirs."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from impl.balancer.actions import BalancerAction
from impl.balancer.resources import IN, OUT, RESOURCES, Loads, TopicPartition
from impl.rules import rule

CRITICAL = ("__consumer_offsets", "__transaction_state", "__share_group_state", "__auto_balancer_metrics")
"""The topics whose partitions move last."""


class ReplicaLoad(msgspec.Struct, frozen=True):
    """A partition that may move: its loads in bytes per second by resource, and whether each is trusted (AB-21)."""

    id: TopicPartition
    loads: Loads
    trusted: tuple[bool, bool] = (True, True)


class BrokerLoad(msgspec.Struct):
    """A broker: its loads in bytes per second by resource, and whether each is trusted.

    A load may be more than that of ``partitions``: partitions of excluded topics count (AB-20). ``stale``: the broker
    is out of date, so it is not eligible (AB-19). ``slow``: it is never a destination (AB-57).
    """

    id: int
    loads: list[float]
    trusted: list[bool] = msgspec.field(default_factory=lambda: [True, True])
    stale: bool = False
    slow: bool = False
    partitions: dict[TopicPartition, ReplicaLoad] = msgspec.field(default_factory=dict)

    @property
    def is_eligible(self) -> bool:
        """Whether goals count the broker, and actions may touch it (AB-24)."""
        return not self.stale


class ClusterSnapshot:
    """The brokers by id, ascending. A round applies its actions to them (AB-39)."""

    def __init__(self, brokers: Iterable[BrokerLoad]) -> None:
        self.brokers = {broker.id: broker for broker in sorted(brokers, key=lambda broker: broker.id)}

    def eligible(self) -> list[BrokerLoad]:
        """The eligible brokers, by id."""
        return [broker for broker in self.brokers.values() if broker.is_eligible]

    def has(self, action: BalancerAction) -> bool:
        """Whether the brokers of an action exist, and each partition lies on the broker that the action names."""
        source, destination = self.brokers.get(action.source), self.brokers.get(action.destination)
        if source is None or destination is None or action.partition not in source.partitions:
            return False
        return action.other is None or action.other in destination.partitions

    def apply(self, action: BalancerAction) -> None:
        """Move the partitions of an action, and their loads with them. Raises ValueError if the snapshot lacks one."""
        if not self.has(action):
            raise ValueError(
                f"{action.partition} cannot go from {action.source} to {action.destination}: it is not there"
            )
        for move in action.moves():
            self._move(self.brokers[move.source], self.brokers[move.destination], move.partition)

    def undo(self, actions: Iterable[BalancerAction], trusted: dict[int, tuple[bool, bool]]) -> None:
        """Take actions back, in forward order (AB-44). ``trusted``: what ``trust`` gave before them.

        The placement and the trust are as before; loads are, up to rounding.
        """
        for action in actions:
            self.apply(action.inverse())
        for broker, (trusts_in, trusts_out) in trusted.items():
            self.brokers[broker].trusted[:] = trusts_in, trusts_out

    def trust(self) -> dict[int, tuple[bool, bool]]:
        """For each broker, which of its loads are trusted.

        Only a record of it can restore the trust: a broker's load does not tell which partition was not trusted.
        """
        return {broker.id: (broker.trusted[IN], broker.trusted[OUT]) for broker in self.brokers.values()}

    def _move(self, source: BrokerLoad, destination: BrokerLoad, name: TopicPartition) -> None:
        partition = source.partitions.pop(name)
        destination.partitions[name] = partition
        for resource in RESOURCES:
            source.loads[resource] -= partition.loads[resource]
            destination.loads[resource] += partition.loads[resource]
            destination.trusted[resource] &= partition.trusted[resource]


def replica_order(broker: BrokerLoad, resource: int) -> list[ReplicaLoad]:
    """The partitions of a broker in the order in which they are tried (AB-43).

    Critical topics come last, large loads first; equal loads by topic and number (AB-62).
    """

    def place(partition: ReplicaLoad) -> tuple[bool, float, TopicPartition]:
        critical = rule("BG-12", partition.id.topic in CRITICAL)
        return (critical, -partition.loads[resource], partition.id)

    return sorted(broker.partitions.values(), key=place)
