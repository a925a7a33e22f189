"""The snapshot of a cluster model: its brokers, their partitions and loads, and what is stale (AB-18 to AB-22)."""

from __future__ import annotations

from collections.abc import Collection
from operator import attrgetter, itemgetter

from impl.balancer.cluster_model import ClusterModel, ModelBroker
from impl.balancer.resources import RESOURCES, Loads, TopicPartition, plain_sum
from impl.balancer.safety import DIGITS, grid_of, on_grid
from impl.balancer.samples import PartitionSamples
from impl.balancer.snapshot import BrokerLoad, ClusterSnapshot, ReplicaLoad
from impl.rules import rule

DELAY_MS = 60_000
"""The default of the tolerated delay of a sample (D)."""


def take_snapshot(
    model: ClusterModel,
    now: int,
    delay_ms: int = DELAY_MS,
    excluded_brokers: Collection[int] = (),
    excluded_topics: Collection[str] = (),
    *,
    safe: bool = False,
) -> ClusterSnapshot:
    """The snapshot of a time in milliseconds.

    Brokers that are inactive, and ``excluded_brokers``, which has the locked ones too, do not appear. The partitions of
    excluded topics count in the loads, and do not move (AB-20). ``safe``: loads are rounded so that all sums are exact.
    """
    brokers = [
        broker
        for broker in sorted(model.brokers.values(), key=attrgetter("id"))
        if broker.active and not rule("BG-11", broker.id in excluded_brokers)
    ]
    reported = [samples.loads() for broker in brokers for samples in broker.replicas.values()]
    # One digit less than a plan uses, which adds the loads of brokers to those of their partitions.
    grids = [grid_of(map(itemgetter(each), reported), DIGITS - 1) if safe else 0.0 for each in RESOURCES]
    return ClusterSnapshot(_broker(each, now, delay_ms, excluded_topics, grids) for each in brokers)


def stale_partitions(model: ClusterModel, snapshot: ClusterSnapshot, now: int, delay_ms: int) -> set[TopicPartition]:
    """The stale partitions of the brokers of a snapshot, those of excluded topics too (AB-19)."""
    return {
        partition
        for broker in snapshot.brokers
        for partition, samples in model.brokers[broker].replicas.items()
        if samples.is_stale(now, delay_ms)
    }


def _broker(
    broker: ModelBroker, now: int, delay_ms: int, excluded_topics: Collection[str], grids: list[float]
) -> BrokerLoad:
    # Left to right, by topic and number, so that equal models give equal sums (AB-62).
    replicas = sorted(broker.replicas.items(), key=itemgetter(0))
    loads = {partition: _loads(samples, grids) for partition, samples in replicas}
    partly_unknown = any(samples.is_stale(now, delay_ms) for _, samples in replicas)
    return BrokerLoad(
        broker.id,
        [plain_sum(each[resource] for each in loads.values()) for resource in RESOURCES],
        stale=rule("BG-01", broker.samples.is_stale(now, delay_ms) or partly_unknown),
        slow=broker.samples.is_slow(),
        partitions={name: ReplicaLoad(name, each) for name, each in loads.items() if name.topic not in excluded_topics},
    )


def _loads(samples: PartitionSamples, grids: list[float]) -> Loads:
    load_in, load_out = (on_grid(load, grid) for load, grid in zip(samples.loads(), grids, strict=True))
    return load_in, load_out
