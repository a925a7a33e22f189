"""Small clusters that a test writes down: loads in MiB per second."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from impl.balancer.goals import MIB, GoalSettings
from impl.balancer.resources import topic_partition
from impl.balancer.rounds import RoundConfiguration, RoundPlan, plan_round
from impl.balancer.snapshot import BrokerLoad, ClusterSnapshot, ReplicaLoad

NW_IN, NW_OUT = GoalSettings("NW_IN"), GoalSettings("NW_OUT")
BOTH = (NW_IN, NW_OUT)


def cluster(
    pinned: Mapping[int, tuple[float, float]],
    partitions: Mapping[str, tuple[int, float, float]],
    *,
    slow: Iterable[int] = (),
    stale: Iterable[int] = (),
) -> ClusterSnapshot:
    """A cluster. ``pinned``: by broker, the loads that cannot move, in and out. ``partitions``: broker, in, out."""
    brokers = {
        number: BrokerLoad(number, [load_in * MIB, load_out * MIB], stale=number in stale, slow=number in slow)
        for number, (load_in, load_out) in pinned.items()
    }
    for name, (number, load_in, load_out) in partitions.items():
        partition = ReplicaLoad(topic_partition(name), (load_in * MIB, load_out * MIB))
        brokers[number].partitions[partition.id] = partition
        brokers[number].loads[0] += partition.loads[0]
        brokers[number].loads[1] += partition.loads[1]
    return ClusterSnapshot(brokers.values())


def plan(snapshot: ClusterSnapshot, goals: Sequence[GoalSettings] = BOTH, *, safe: bool = False) -> RoundPlan:
    """The plan of a round, which is applied to the snapshot that the plan names."""
    found = plan_round(lambda: snapshot, lambda: RoundConfiguration(tuple(goals), safe))
    assert found is not None
    return found


def where(snapshot: ClusterSnapshot) -> dict[str, int]:
    """The broker of each partition."""
    return {str(name): broker.id for broker in snapshot.brokers.values() for name in broker.partitions}


def loads(snapshot: ClusterSnapshot, resource: int = 0) -> dict[int, float]:
    """The loads of the brokers, in MiB per second."""
    return {broker.id: broker.loads[resource] / MIB for broker in snapshot.brokers.values()}
