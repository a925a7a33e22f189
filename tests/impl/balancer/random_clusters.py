"""Random clusters for the balancer: few brokers and partitions, with many equal loads."""

from __future__ import annotations

import random
from collections.abc import Sequence

from impl.balancer.goals import MIB, GoalSettings
from impl.balancer.resources import TopicPartition
from impl.balancer.snapshot import BrokerLoad, ClusterSnapshot, ReplicaLoad

TOPICS = ("a", "b", "__consumer_offsets")


def random_cluster(rng: random.Random, most: int = 14) -> ClusterSnapshot:
    """A cluster of 1 to 6 brokers with up to ``most`` partitions; some brokers are slow or stale.

    Loads are multiples of 10 MiB, so that ties are common, or any fractions; those of many partitions are smaller. Some
    brokers may have no partition.
    """
    unit = 140 * MIB / most
    even = rng.random() < 0.6

    def load() -> float:
        largest = 12 if rng.random() < 0.8 else 90
        return float(rng.randint(0, largest) * unit) if even else rng.random() * largest * unit

    brokers = [
        BrokerLoad(number, [0.0, 0.0], stale=rng.random() < 0.1, slow=rng.random() < 0.15)
        for number in rng.sample(range(20), rng.randint(1, 6))
    ]
    used = brokers[: rng.randint(1, len(brokers))]
    for number in range(rng.randint(0, most)):
        name = TopicPartition(rng.choice(TOPICS), number)
        one_way = rng.choice((0.0, 1.0, 1.0))
        give(rng.choice(used), ReplicaLoad(name, (load(), load() * one_way)))
    for broker in brokers:
        if rng.random() < 0.3:  # partitions of an excluded topic
            broker.loads[0] += load()
            broker.loads[1] += load()
    return ClusterSnapshot(brokers)


def give(broker: BrokerLoad, partition: ReplicaLoad) -> None:
    """Place a partition on a broker, and add its loads."""
    broker.partitions[partition.id] = partition
    for resource, load in enumerate(partition.loads):
        broker.loads[resource] += load


def random_settings(rng: random.Random, names: Sequence[str] = ("NW_IN", "NW_OUT")) -> tuple[GoalSettings, ...]:
    """Settings of goals: mostly the defaults, at times other ones."""
    return tuple(
        GoalSettings(
            name,
            deviation=rng.choice((0.1, 0.1, 0.0, 0.3)),
            threshold=rng.choice((1, 1, 0, 60)) * float(MIB),
            trivial=rng.choice((0.05, 0.05, 0.0, 0.5)),
            span=rng.choice((100, 100, 10, 1000)) * float(MIB),
        )
        for name in names
    )


def copied(snapshot: ClusterSnapshot) -> ClusterSnapshot:
    """A copy that can be changed apart."""
    return ClusterSnapshot(
        BrokerLoad(each.id, list(each.loads), list(each.trusted), each.stale, each.slow, dict(each.partitions))
        for each in snapshot.brokers.values()
    )


def placement(snapshot: ClusterSnapshot) -> dict[TopicPartition, int]:
    """The broker of each partition."""
    return {name: broker.id for broker in snapshot.brokers.values() for name in broker.partitions}
