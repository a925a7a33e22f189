"""The cluster model and the snapshots that are taken of it, and the grid of the safe mode."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from impl.balancer.cluster_model import ClusterModel
from impl.balancer.resources import TopicPartition, plain_sum, topic_partition
from impl.balancer.safety import exact, grid_of, on_grid, worsens
from impl.balancer.snapshot import ClusterSnapshot
from impl.balancer.taking import stale_partitions, take_snapshot
from impl.records import BrokerRegistration, Partition, PartitionChange, Topic
from impl.rules import without
from tests.impl.balancer.random_clusters import copied, random_cluster
from tests.impl.balancer.small_clusters import cluster

T0 = topic_partition("t-0")
FULL = {0: 10.0, 1: 3.0, 2: 1.0}
"""A complete sample of a partition: 10 in, 3 out."""
WELL = {3: 1.0, 6: 2.0}
"""A complete sample of a broker of version 2."""


def model(*records: BrokerRegistration | Topic | Partition | PartitionChange) -> ClusterModel:
    """A model of brokers 1 and 2 with t-0 on broker 1, and further records."""
    made = ClusterModel()
    start = (BrokerRegistration(1, "active"), BrokerRegistration(2, "active"), Topic("t"), lead(1))
    for record in (*start, *records):
        made.apply(record)
    return made


def lead(broker: int) -> Partition:
    """The registration of t-0 under a leader."""
    return Partition("t", 0, (broker,), (broker,), broker)


def taken(made: ClusterModel, now: int = 0, **options: object) -> ClusterSnapshot:
    """The snapshot of a time."""
    return take_snapshot(made, now, **options)


def test_a_record_that_leaves_the_leader_changes_nothing() -> None:
    """AB-15. No leader in a change record, the leader -2, the same leader: the samples stay."""
    made = model()
    made.report(1, 0, FULL, T0)
    for record in (PartitionChange("t", 0, isr=(1,)), PartitionChange("t", 0, leader=-2), lead(1)):
        made.apply(record)

    assert taken(made).brokers[1].loads == [10, 3]


def test_an_unknown_topic_or_broker_is_ignored() -> None:
    """AB-15. The partition stays where it was."""
    made = model(lead(7), Partition("u", 0, (1,), (1,), 1))

    assert list(taken(made).brokers[1].partitions) == [T0]


def test_a_partition_without_a_leader_leaves_the_model() -> None:
    """AB-16. It is at no broker until the next one leads, and starts there without samples."""
    made = model()
    made.report(1, 0, FULL, T0)
    made.apply(PartitionChange("t", 0, leader=-1))
    assert taken(made).brokers[1].loads == [0, 0]
    assert not made.report(1, 5, FULL, T0)

    made.apply(PartitionChange("t", 0, leader=2))
    assert taken(made).brokers[2].loads == [0, 0]
    assert stale_partitions(made, taken(made), 0, 60_000) == {T0}


def test_without_the_drop_the_rate_of_the_source_counts_at_the_destination() -> None:
    """BG-03."""
    made = model()
    made.report(1, 0, FULL, T0)
    with without("BG-03"):
        made.apply(lead(2))

    assert taken(made).brokers[2].loads == [10, 3]


def test_without_its_guard_a_foreign_report_counts() -> None:
    """BG-02.placement. A late report of the source replaces what the destination has measured."""
    made = model(lead(2))
    made.report(2, 0, FULL, T0)
    assert not made.report(1, 1, FULL | {0: 99.0}, T0)
    with without("BG-02.placement"):
        assert made.report(1, 1, FULL | {0: 99.0}, T0)

    assert taken(made).brokers[2].loads == [99, 3]


def test_a_broker_that_registers_again_keeps_what_it_had() -> None:
    """A fence and an unfence cost no samples; an unregistration costs all, and the place of its partitions (D-06)."""
    made = model(BrokerRegistration(1, "active"))
    made.report(1, 0, FULL, T0)
    made.apply(BrokerRegistration(1, "fenced"))
    assert list(taken(made).brokers) == [2]
    made.apply(BrokerRegistration(1, "active"))
    assert taken(made).brokers[1].loads == [10, 3]

    made.apply(BrokerRegistration(1, "gone"))
    made.apply(BrokerRegistration(1, "active"))
    assert taken(made).brokers[1].partitions == {}
    made.apply(PartitionChange("t", 0, leader=1))
    assert list(taken(made).brokers[1].partitions) == [T0]


def test_a_strange_version_hinders_no_other_record() -> None:
    """D-05. The record is not taken; the ones behind it are."""
    made = model()

    assert not made.report(1, 0, WELL | {6: 9.0}, None)
    assert not made.report(1, 0, WELL | {6: 1.5}, None)
    assert made.report(1, 0, WELL, None)
    assert not made.report(9, 0, WELL, None)


@pytest.mark.parametrize(("now", "stale"), [(60_000, False), (60_001, True)])
def test_a_sample_is_stale_after_the_delay(now: int, stale: bool) -> None:
    """AB-19. Exactly at the delay it is still fresh."""
    made = model()
    made.report(2, 0, WELL, None)

    assert taken(made, now).brokers[2].stale is stale


def test_a_slow_clock_makes_a_broker_stale_for_ever() -> None:
    """D-07. The time of a sample is the broker's; a clock that is more than the delay behind never has a fresh one."""
    made = model()
    for now in range(0, 200_000, 10_000):
        made.report(2, now - 60_001, WELL, None)
        assert taken(made, now).brokers[2].stale


def test_a_new_broker_is_out_of_date_until_it_reports() -> None:
    """AB-22. Also at the time 0."""
    made = model()
    assert taken(made).brokers[2].stale
    with without("BG-01"):
        assert not taken(made).brokers[2].stale
    made.report(2, 0, WELL, None)

    assert not taken(made).brokers[2].stale
    assert taken(made).brokers[2].loads == [0, 0]


def test_the_sum_of_loads_has_one_order() -> None:
    """AB-62. Two models that got the same records in another order have the same bits."""
    loads = {TopicPartition("t", number): 0.1 * 3**number for number in range(20)}
    found = []
    for seed in range(5):
        made = ClusterModel()
        made.apply(BrokerRegistration(1, "active"))
        made.apply(Topic("t"))
        for name in random.Random(seed).sample(list(loads), len(loads)):
            made.apply(Partition("t", name.partition, (1,), (1,), 1))
            made.report(1, 0, {0: loads[name], 1: 0.0, 2: 0.0}, name)
        found.append(taken(made).brokers[1].loads[0])

    assert found == [plain_sum(loads.values())] * 5


# The grid of the safe mode ------------------------------------------------------------------------------------


@given(st.randoms(use_true_random=False))
def test_sums_on_the_grid_are_exact(rng: random.Random) -> None:
    """After any moves, a load is bit by bit the exact sum, and the rounding costs less than the last bit of the sum."""
    raw = random_cluster(rng)
    snapshot = exact(raw)
    total = sum(broker.loads[0] for broker in raw.brokers.values())
    for broker in snapshot.brokers.values():
        assert abs(broker.loads[0] - raw.brokers[broker.id].loads[0]) <= 2 * math.ulp(total)
    rest = {each.id: _exact(each.loads[0]) - _exact_sum(each) for each in snapshot.brokers.values()}
    everywhere = list(snapshot.brokers.values())
    for _ in range(20):
        source, target = rng.choice(everywhere), rng.choice(everywhere)
        if source.partitions and source is not target:
            snapshot._move(source, target, rng.choice(list(source.partitions)))

    assert all(_exact(each.loads[0]) == rest[each.id] + _exact_sum(each) for each in everywhere)


def _exact(load: float) -> Fraction:
    return Fraction(load)


def _exact_sum(broker: object) -> Fraction:
    return sum((Fraction(each.loads[0]) for each in broker.partitions.values()), Fraction(0))  # type: ignore[attr-defined]


@given(st.randoms(use_true_random=False))
def test_a_plan_rounds_once(rng: random.Random) -> None:
    """The grid of the next round is the same, or finer: a second rounding changes nothing."""
    snapshot = exact(random_cluster(rng))

    assert exact(copied(snapshot)).brokers == snapshot.brokers


@given(st.lists(st.floats(0, 1e10), min_size=1, max_size=20), st.randoms(use_true_random=False))
def test_a_safe_snapshot_does_not_depend_on_the_placement(rates: list[float], rng: random.Random) -> None:
    """The loads of partitions are rounded before they are added, so the same ones have the same sums at any place."""

    def snapshot() -> ClusterSnapshot:
        made = ClusterModel()
        made.apply(Topic("t"))
        for broker in (1, 2, 3):
            made.apply(BrokerRegistration(broker, "active"))
        for number, rate in enumerate(rates):
            broker = rng.randint(1, 3)
            made.apply(Partition("t", number, (broker,), (broker,), broker))
            made.report(broker, 0, {0: rate, 1: rate / 3, 2: 0.0}, TopicPartition("t", number))
        return take_snapshot(made, 0, safe=True)

    one, other = snapshot(), snapshot()

    for each in (one, other):
        assert exact(each).brokers == each.brokers  # a plan does not round again
    parts = [
        {name: part.loads for broker in each.brokers.values() for name, part in broker.partitions.items()}
        for each in (one, other)
    ]
    assert parts[0] == parts[1]
    assert sum(each.loads[0] for each in one.brokers.values()) == sum(each.loads[0] for each in other.brokers.values())


@pytest.mark.parametrize("load", [math.nan, math.inf])
def test_the_safe_mode_refuses_what_is_no_load(load: float) -> None:
    """NaN would be neither better nor worse than any score."""
    snapshot = cluster({0: (load, 0)}, {})
    with pytest.raises(ValueError, match=rf"^a load is {load}, and the safe mode plans with finite loads; mend"):
        exact(snapshot)


def test_no_load_has_no_grid() -> None:
    """An idle cluster is left as it is."""
    assert grid_of([]) == grid_of([0.0]) == 0
    assert on_grid(3.0, 0.0) == 3
    assert on_grid(3.3, 0.5) == 3.5


@pytest.mark.parametrize(
    ("before", "then", "worse"),
    [
        ((0.2, 0.5), (0.3, 0.3), False),
        ((0.5, 0.2), (0.2, 0.5), False),
        ((0.2, 0.5), (0.2, 0.4), True),
        ((0.2, 0.5), (0.1, 0.9), True),
        ((0.2, 0.5), (0.6, 0.2), False),
        ((0.2, math.nan), (0.6, 0.2), True),
        ((0.2, 0.5), (math.nan, 0.9), True),
    ],
)
def test_the_sorted_pair_must_not_decrease(before: tuple[float, float], then: tuple[float, float], worse: bool) -> None:
    """P-15. The lower score counts first; with equal lower ones, the higher."""
    assert worsens(before, then) is worse
