"""The fast choice among moves is the literal one, bit by bit."""

from __future__ import annotations

import random

import pytest

from impl.balancer import fast_choosing
from impl.balancer.actions import BalancerAction
from impl.balancer.bands import Band
from impl.balancer.blocks import LENGTH, PartitionBlock, blocks_of
from impl.balancer.choosing import MoveChooser
from impl.balancer.fast_choosing import FastChooser, chooser_for
from impl.balancer.goals import MIB, GoalSettings, UsageGoal
from impl.balancer.judgement import ActionJudge
from impl.balancer.resources import TopicPartition
from impl.balancer.rounds import RoundConfiguration, RoundPlan, plan_round
from impl.balancer.snapshot import ClusterSnapshot, ReplicaLoad
from impl.rules import without
from tests.impl.balancer.random_clusters import copied, random_cluster, random_settings

GOALS = (("NW_IN", "NW_OUT"), ("NW_IN", "NW_OUT"), ("NW_OUT", "NW_IN"), ("NW_IN",), ("NW_OUT",))


def planned(snapshot: ClusterSnapshot, configuration: RoundConfiguration, chooser: type[MoveChooser]) -> RoundPlan:
    """The plan that a chooser makes on a copy."""
    cluster = copied(snapshot)
    plan = plan_round(lambda: cluster, lambda: configuration, make_chooser=chooser)
    assert plan is not None
    return plan


def compare(rng: random.Random, most: int = 14) -> int:
    """Plan three rounds with both choosers, and compare everything. Returns the number of actions.

    ``most``: the number of partitions that a cluster may have.
    """
    snapshot = random_cluster(rng, most)
    if not snapshot.eligible():
        return 0
    configuration = RoundConfiguration(random_settings(rng, rng.choice(GOALS)), safe=rng.random() < 0.3)
    actions = 0
    for _ in range(3):
        fast, literal = (planned(snapshot, configuration, each) for each in (FastChooser, MoveChooser))
        assert fast.actions == literal.actions  # brokers, order and the bits of the scores
        assert fast.moves == literal.moves
        assert fast.snapshot.brokers == literal.snapshot.brokers
        actions += len(fast.actions)
        snapshot = fast.snapshot
    return actions


@pytest.mark.parametrize("seed", range(10))
def test_the_fast_plan_is_the_literal_plan(seed: int) -> None:
    """On 300 random clusters a seed, both plan the same actions with the same scores and leave the same loads."""
    rng = random.Random(seed)

    assert sum(compare(rng) for _ in range(300)) > 300


@pytest.mark.parametrize("label", [None, "BG-07"])
def test_the_plans_agree_where_blocks_are_skipped(label: str | None) -> None:
    """The same holds for brokers with several blocks of partitions. Without BG-07, idle partitions move, too."""
    rng = random.Random(11)
    with without(*[label] if label else []):
        assert sum(compare(rng, 20 * LENGTH) for _ in range(20)) > 100


@pytest.mark.parametrize("length", [2, 3])
@pytest.mark.parametrize("label", [None, "BG-07"])
def test_the_plans_agree_with_many_large_blocks(
    length: int, label: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same holds where a broker has several large blocks, of which each has several small ones."""
    monkeypatch.setattr(fast_choosing, "LENGTH", length)
    rng = random.Random(length)
    with without(*[label] if label else []):
        assert sum(compare(rng, 80) for _ in range(100)) > 100


def test_a_block_has_the_range_of_its_loads() -> None:
    """Partitions without load do not count in the range."""
    sizes = [(5.0, 1.0)] * LENGTH + [(3.0, 9.0), (2.0, 0.0), (0.0, 0.0)]
    order = [ReplicaLoad(TopicPartition("t", number), loads) for number, loads in enumerate(sizes)]

    assert blocks_of(order, LENGTH) == [
        PartitionBlock(0, LENGTH, ((5.0, 5.0), (1.0, 1.0)), idle=False),
        PartitionBlock(LENGTH, LENGTH + 3, ((2.0, 3.0), (0.0, 9.0)), idle=True),
    ]
    assert blocks_of(order[-1:], LENGTH) == [PartitionBlock(0, 1, None, idle=True)]
    assert blocks_of([], LENGTH) == []


@pytest.mark.parametrize("label", ["BG-04", "BG-05", "BG-06", "BG-07", "BG-08", "BG-09", "BG-10", "BG-12"])
def test_the_plans_agree_without_a_rule(label: str) -> None:
    """The same holds without any of the rules of planning. Without BG-07 neutral moves are chosen, which tie."""
    rng = random.Random(label)
    with without(label):
        assert sum(compare(rng) for _ in range(100)) > 50


def test_an_extreme_curve_is_left_to_the_literal_form() -> None:
    """A span of 0, a band of NaN and a load that is not trusted have the literal chooser."""
    snapshot = random_cluster(random.Random(1))
    band = Band(10.0 * MIB, float(MIB), 9.0 * MIB, 11.0 * MIB)
    usual = UsageGoal(GoalSettings("NW_IN"), band)
    flat = UsageGoal(GoalSettings("NW_IN", span=0.0), band)
    nan = float("nan")
    empty = UsageGoal(GoalSettings("NW_IN"), Band(nan, nan, nan, nan))

    chosen = [type(chooser_for(snapshot, ActionJudge([goal], goal.GROUP))) for goal in (usual, flat, empty)]
    for broker in snapshot.brokers.values():
        broker.trusted[0] = False
    chosen.append(type(chooser_for(snapshot, ActionJudge([usual], usual.GROUP))))

    assert chosen == [FastChooser, MoveChooser, MoveChooser, MoveChooser]


def test_a_changed_broker_has_a_new_score() -> None:
    """A chooser that is not told of a change would score the next move by old loads; this test would notice it."""
    rng = random.Random(7)
    noticed = 0
    for _ in range(100):
        snapshot = random_cluster(rng)
        if snapshot.eligible():
            configuration = RoundConfiguration(random_settings(rng))
            deaf, literal = (planned(snapshot, configuration, each) for each in (DeafChooser, MoveChooser))
            noticed += deaf.actions != literal.actions

    assert noticed > 10


class DeafChooser(FastChooser):
    """A chooser that keeps the scores of the start."""

    def __init__(self, snapshot: ClusterSnapshot, judge: ActionJudge) -> None:
        super().__init__(snapshot, judge)
        self.changed = lambda *_: None


def test_actions_with_equal_fields_are_equal() -> None:
    """The comparison of plans looks at scores, too."""
    snapshot = random_cluster(random.Random(3))
    name = next(iter(next(each for each in snapshot.brokers.values() if each.partitions).partitions))

    assert BalancerAction(name, 0, 1, score=0.6) != BalancerAction(name, 0, 1, score=0.6000000000000001)
