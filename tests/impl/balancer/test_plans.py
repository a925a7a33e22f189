"""The properties of plans: P-12 to P-22, P-25, and the safe mode."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from impl.balancer.goals import MIB, GoalSettings
from impl.balancer.merging import merge
from impl.balancer.resources import TopicPartition
from impl.balancer.rounds import RoundConfiguration, plan_round
from impl.balancer.safety import exact
from impl.balancer.snapshot import BrokerLoad, ClusterSnapshot, ReplicaLoad
from impl.rules import without
from tests.impl.balancer.plan_oracle import OracleCluster
from tests.impl.balancer.random_clusters import copied, placement, random_cluster, random_settings
from tests.impl.balancer.small_clusters import BOTH, NW_IN, NW_OUT, cluster, loads, plan, where

RANDOMS = st.randoms(use_true_random=False)


def circle() -> ClusterSnapshot:
    """W1. Bytes in and out disagree on which of three brokers is the best one for p."""
    return cluster({0: (80, 0), 1: (50, 100), 2: (70, 30)}, {"p-0": (0, 30, 20)})


def empty_circle() -> ClusterSnapshot:
    """W2. One round takes p through all brokers and back."""
    return cluster({0: (0, 90), 1: (100, 50), 2: (30, 70)}, {"p-0": (0, 30, 50)})


@given(RANDOMS)
def test_an_oracle_follows_each_plan(rng: random.Random) -> None:
    """P-12, P-13, AB-38, AB-57. Each action moves a partition that is there, to a broker that is eligible and not slow,
    with a mean score above 0.5. The partitions and the sum of loads stay, and the merge of a plan has no error.
    """
    snapshot = random_cluster(rng)
    if not snapshot.eligible():
        return
    settings = random_settings(rng)
    oracle = OracleCluster.of(snapshot)
    found = plan(snapshot, settings)

    oracle.follow(found.actions, {each.goal: each for each in settings})

    after = OracleCluster.of(found.snapshot)
    assert after.at == oracle.at
    assert after.sizes == oracle.sizes
    for broker, each in after.loads.items():
        assert each == pytest.approx(oracle.loads[broker], rel=1e-9, abs=1e-3)


@given(RANDOMS)
def test_the_merged_moves_lead_to_the_same_placement(rng: random.Random) -> None:
    """AB-48. Each partition moves at most once, and the moves by themselves lead where the actions lead."""
    snapshot = random_cluster(rng)
    if not snapshot.eligible():
        return
    start = placement(snapshot)
    found = plan(snapshot)

    moved = [move.partition for move in found.moves]
    assert len(set(moved)) == len(moved)
    assert all(start[move.partition] == move.source != move.destination for move in found.moves)
    assert start | {move.partition: move.destination for move in found.moves} == placement(found.snapshot)
    assert merge(found.moves) == found.moves


def rounds(snapshot: ClusterSnapshot, settings: Sequence[GoalSettings], *, safe: bool = False) -> int:
    """Plan until a plan is empty; the number of rounds that were not. Fails if a placement returns."""
    seen = [placement(snapshot)]
    while True:
        found = plan(snapshot, settings, safe=safe)
        if not found.actions:
            return len(seen) - 1
        snapshot = found.snapshot
        assert placement(snapshot) not in seen
        seen.append(placement(snapshot))


@given(RANDOMS, st.sampled_from(["NW_IN", "NW_OUT"]))
def test_one_goal_ends_with_an_empty_plan(rng: random.Random, name: str) -> None:
    """P-15, P-14. No placement returns."""
    assert rounds(random_cluster(rng), random_settings(rng, [name])) <= 20


@given(RANDOMS)
def test_two_goals_and_two_brokers_end_with_an_empty_plan(rng: random.Random) -> None:
    """P-16."""
    snapshot = random_cluster(rng)
    if len(snapshot.eligible()) <= 2:
        assert rounds(snapshot, random_settings(rng)) <= 20


def test_two_goals_and_three_brokers_may_plan_for_ever() -> None:
    """P-17. W1 returns to its start after two rounds, again and again."""
    snapshot = circle()
    found = [where(plan(snapshot).snapshot)["p-0"] for _ in range(6)]

    assert found == [2, 0, 2, 0, 2, 0]


@given(RANDOMS)
def test_the_safe_mode_ends_with_an_empty_plan(rng: random.Random) -> None:
    """P-15 for two goals and any number of brokers. With one goal, the safe mode changes no plan."""
    snapshot = random_cluster(rng)
    settings = random_settings(rng)

    assert rounds(copied(snapshot), settings, safe=True) <= 40
    if snapshot.eligible():
        one = exact(snapshot)
        assert plan(copied(one), settings[:1], safe=True).actions == plan(copied(one), settings[:1]).actions


@given(RANDOMS)
def test_the_safe_mode_ends_with_a_hard_goal_too(rng: random.Random) -> None:
    """Groups are compared one after the other: the capacity first."""
    capacity = GoalSettings("CAPACITY_IN", capacity=rng.choice((100.0, 300.0)) * MIB)

    assert rounds(random_cluster(rng), [*random_settings(rng), capacity], safe=True) <= 40


@pytest.mark.parametrize("start", [circle, empty_circle])
def test_the_safe_mode_breaks_the_circles(start: Callable[[], ClusterSnapshot]) -> None:
    """P-17, P-19. Neither witness has a plan in safe mode."""
    assert plan(start(), safe=True).actions == []


def test_circles_are_found_at_random() -> None:
    """P-17. Near W1, parity often plans in circles and the safe mode never does. So ``rounds`` can see a circle."""
    circles = 0
    for seed in range(500):
        near = random.Random(seed).uniform
        snapshot = cluster(
            {0: (80 + near(-8, 8), near(0, 8)), 1: (50 + near(-8, 8), 100 + near(-8, 8)), 2: (70, 30 + near(-8, 8))},
            {"p-0": (0, 30 + near(-5, 5), 20 + near(-5, 5))},
        )
        try:
            rounds(copied(snapshot), BOTH)
        except AssertionError:
            circles += 1
        rounds(snapshot, BOTH, safe=True)

    assert 10 < circles < 490


def test_a_second_round_may_find_more() -> None:
    """P-18. The plan of the resulting state is not empty (AB-47)."""
    parts = {"t-0": (0, 10.0, 0.0), "t-1": (0, 50.0, 0.0), "t-2": (0, 30.0, 0.0), "t-3": (1, 30.0, 0.0)}
    snapshot = cluster({0: (0, 0), 1: (0, 0)}, parts)

    assert [len(plan(snapshot, [NW_IN]).actions) for _ in range(3)] == [2, 1, 0]
    assert loads(snapshot) == {0: 60, 1: 60}


def test_a_plan_may_change_nothing() -> None:
    """P-19. W2 plans three moves, whose merge is empty."""
    found = plan(empty_circle())

    assert [(action.source, action.destination) for action in found.actions] == [(0, 1), (1, 2), (2, 0)]
    assert found.moves == []
    with without("BG-13"):
        assert len(plan(empty_circle()).moves) == 3
    with without("BG-13.still"):
        assert [(move.source, move.destination) for move in plan(empty_circle()).moves] == [(0, 0)]


def test_an_empty_plan_may_leave_brokers_unaccepted() -> None:
    """P-20. One partition each, of 90, 10 and 20."""
    snapshot = cluster({0: (0, 0), 1: (0, 0), 2: (0, 0)}, {"a-0": (0, 90, 0), "b-0": (1, 10, 0), "c-0": (2, 20, 0)})
    found = plan(snapshot, [NW_IN])

    assert found.actions == []
    assert not any(found.goals[0].accepts(broker.loads[0]) for broker in snapshot.brokers.values())


@given(RANDOMS)
def test_nothing_is_planned_for_one_broker_or_without_traffic(rng: random.Random) -> None:
    """P-21."""
    snapshot = random_cluster(rng)
    alone = ClusterSnapshot(list(snapshot.brokers.values())[:1])
    for broker in (idle := copied(snapshot)).brokers.values():
        broker.loads[:] = 0.0, 0.0
        broker.partitions = {name: ReplicaLoad(name, (0.0, 0.0)) for name in broker.partitions}

    assert plan(alone).actions == []
    assert plan(idle, random_settings(rng)).actions == []


@given(st.integers(1, 6), st.floats(0, 1e12), st.floats(0, 1))
def test_nothing_is_planned_for_equal_loads(count: int, load: float, deviation: float) -> None:
    """P-22. Also with a deviation of 0, where the rounded average may differ from the loads."""
    parts = {number: ReplicaLoad(TopicPartition("t", number), (load, load)) for number in range(count)}
    snapshot = ClusterSnapshot(
        BrokerLoad(number, [load, load], partitions={part.id: part}) for number, part in parts.items()
    )
    settings = [GoalSettings(name, deviation=deviation, threshold=0.0) for name in ("NW_IN", "NW_OUT")]

    assert plan(snapshot, settings).actions == []


@given(RANDOMS)
def test_the_same_cluster_has_the_same_plan(rng: random.Random) -> None:
    """P-25, AB-62. Whatever the order in which brokers and partitions were added."""
    snapshot = random_cluster(rng)
    other = copied(snapshot)
    for broker in other.brokers.values():
        broker.partitions = dict(rng.sample(list(broker.partitions.items()), len(broker.partitions)))
    shuffled = ClusterSnapshot(rng.sample(list(other.brokers.values()), len(other.brokers)))

    assert plan(shuffled).actions == plan(snapshot).actions


def test_a_trivial_visit_changes_no_placement() -> None:
    """AB-44, BG-06. Without the rule the small partitions move."""
    parts = {"t-0": (0, 127.0, 0.0)} | {f"t-{number}": (0, 1.0, 0.0) for number in (1, 2, 3)}
    start = cluster({0: (0, 0), 1: (70, 0)}, parts)

    assert plan(copied(start), [NW_IN]).actions == []
    with without("BG-06"):
        assert len(plan(copied(start), [NW_IN]).actions) == 3


def test_without_the_strict_half_roles_are_exchanged_for_ever() -> None:
    """BG-07. A partition of 25 goes to and fro between two brokers."""
    snapshot = cluster({0: (0, 0), 1: (0, 0)}, {"t-0": (0, 25, 0)})

    with without("BG-07", "BG-13.still"):
        assert plan(snapshot, [NW_IN]).actions
    assert plan(snapshot, [NW_IN]).actions == []


def test_a_slow_broker_takes_nothing() -> None:
    """BG-10. Without the rule it takes partitions, as the destination of others and by its own visit."""
    start = cluster({0: (0, 0), 1: (0, 0)}, {f"t-{number}": (0, 10.0, 0.0) for number in range(4)}, slow=[1])

    assert plan(copied(start), [NW_IN]).actions == []
    with without("BG-10"):
        assert len(plan(copied(start), [NW_IN]).actions) == 2


def test_a_deposed_controller_has_no_plan() -> None:
    """AB-39, BG-18. The lead is looked at before the round, before each phase, and before the execution."""
    configuration = RoundConfiguration(BOTH)
    for lost_after in range(4):
        asked: list[bool] = []

        def leads(asked: list[bool] = asked, lost_after: int = lost_after) -> bool:
            asked.append(len(asked) < lost_after)
            return asked[-1]

        assert plan_round(circle, lambda: configuration, leads) is None
        assert len(asked) == lost_after + 1
    with without("BG-18"):
        assert plan_round(circle, lambda: configuration, lambda: False) is not None


def test_a_round_keeps_its_configuration() -> None:
    """AB-39, BG-19. A change between two phases counts in the next round; without the rule it counts at once."""

    def changing() -> RoundConfiguration:
        # The first look has both goals; each later one has bands so wide that the goal accepts every broker.
        looks.append(None)
        wide = tuple(GoalSettings(name, deviation=1.0, threshold=1e12) for name in ("NW_IN", "NW_OUT"))
        return RoundConfiguration(BOTH if len(looks) == 1 else wide)

    looks: list[None] = []
    found = plan_round(circle, changing)
    assert found is not None
    assert found.actions == plan(circle()).actions

    looks.clear()
    with without("BG-19"):
        torn = plan_round(circle, changing)
    assert torn is not None
    assert torn.actions == []


def test_goals_run_in_their_order() -> None:
    """AB-23. Hard goals first, the others as configured."""
    capacity = GoalSettings("CAPACITY_OUT", capacity=1e12)

    assert [goal.name for goal in plan(circle(), [NW_OUT, NW_IN, capacity]).goals] == [
        "CAPACITY_OUT",
        "NW_OUT",
        "NW_IN",
    ]
