"""The cluster model: brokers and placement from committed metadata records, loads from samples (AB-13 to AB-17).

The metadata of this project have no record that removes a topic.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from impl.balancer.resources import TopicPartition
from impl.balancer.samples import BrokerSamples, PartitionSamples
from impl.records import BrokerRegistration, MetadataRecord, Partition, PartitionChange, Topic
from impl.rules import rule

NO_LEADER, NO_CHANGE = -1, -2
"""What a record has in place of a leader: nobody leads, or the leader stays."""


class ModelBroker(msgspec.Struct):
    """A registered broker, with its samples and those of the partitions that it leads.

    ``active``: it is neither fenced nor shutting down.
    """

    id: int
    active: bool
    samples: BrokerSamples = msgspec.field(default_factory=BrokerSamples)
    replicas: dict[TopicPartition, PartitionSamples] = msgspec.field(default_factory=dict)


class ClusterModel:
    """What a controller knows of brokers and loads. Every controller keeps one, also while it does not lead (AB-02)."""

    def __init__(self) -> None:
        self.brokers: dict[int, ModelBroker] = {}
        self._topics: set[str] = set()
        self._broker_of: dict[TopicPartition, int] = {}

    def apply(self, record: MetadataRecord) -> None:
        """Apply a committed record. One that concerns neither brokers nor partitions changes nothing."""
        match record:
            case BrokerRegistration(broker, "gone"):
                self._unregister(broker)
            case BrokerRegistration(broker, state):
                # A broker that registers again keeps its samples and its partitions.
                known = self.brokers.setdefault(broker, ModelBroker(broker, active=False))
                known.active = state == "active"
            case Topic(name):
                self._topics.add(name)
            case Partition(topic, partition, leader=leader):
                self._lead(TopicPartition(topic, partition), leader)
            case PartitionChange(topic, partition, leader=leader):
                self._lead(TopicPartition(topic, partition), NO_CHANGE if leader is None else leader)

    def report(self, broker: int, time: int, values: Mapping[int, float], partition: TopicPartition | None) -> bool:
        """Take a sample of a broker, or of a partition on it; returns whether it is taken (AB-13, AB-14).

        ``time``: in milliseconds, by the broker's clock. ``values``: by metric id.
        """
        known = self.brokers.get(broker)
        if known is None:
            return False
        if partition is None:
            return known.samples.accept(time, values)
        place = self._broker_of.get(partition)
        if place is None:
            return False
        if rule("BG-02.placement", place != broker):
            return False
        if known.samples.version == 0:
            # Such a broker reports no metrics of its own.
            known.samples.accept(time, {})
        return self.brokers[place].replicas[partition].accept(time, values)

    def _lead(self, partition: TopicPartition, leader: int) -> None:
        if leader == NO_CHANGE:
            return
        place = self._broker_of.get(partition)
        if leader == NO_LEADER:
            self._remove(partition)
        elif leader != place and leader in self.brokers and partition.topic in self._topics:
            before = self._remove(partition)
            # The rate at the source says nothing of the rate at the destination (AB-15).
            fresh = before is None or rule("BG-03")
            self.brokers[leader].replicas[partition] = PartitionSamples() if fresh or before is None else before
            self._broker_of[partition] = leader

    def _remove(self, partition: TopicPartition) -> PartitionSamples | None:
        place = self._broker_of.pop(partition, None)
        return None if place is None else self.brokers[place].replicas.pop(partition)

    def _unregister(self, broker: int) -> None:
        # Its partitions have no place then, so that a record may place them on the broker again (D-06).
        known = self.brokers.pop(broker, None)
        for partition in {} if known is None else known.replicas:
            del self._broker_of[partition]
