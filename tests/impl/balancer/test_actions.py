"""The judgement on actions: P-02, P-05 to P-11, P-26, the gate of hard goals, swaps."""

from __future__ import annotations

import random
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from impl.balancer.actions import BalancerAction
from impl.balancer.bands import Band
from impl.balancer.choosing import helps
from impl.balancer.goals import MIB, BalancerGoal, CapacityGoal, GoalSettings, make_goal
from impl.balancer.judgement import ActionJudge, gated
from impl.balancer.resources import topic_partition
from impl.balancer.rounds import goals_of
from impl.balancer.snapshot import ClusterSnapshot, ReplicaLoad, replica_order
from impl.rules import without
from tests.impl.balancer.random_clusters import copied, placement, random_cluster
from tests.impl.balancer.small_clusters import BOTH, NW_IN, cluster, loads, plan, where

T0, T1 = topic_partition("t-0"), topic_partition("t-1")


def judged(snapshot: ClusterSnapshot, action: BalancerAction, goals: tuple[BalancerGoal, ...] | None = None) -> float:
    """The combined score of an action, by both usage goals if no others are given."""
    goals = goals or goals_of(snapshot, BOTH)
    return ActionJudge(goals, goals[0].GROUP).judge(snapshot, action).score


@given(st.randoms(use_true_random=False))
def test_a_score_is_between_0_and_1_or_forbids(rng: random.Random) -> None:
    """P-02, P-05. The action that changes nothing, too, is neutral."""
    snapshot = random_cluster(rng)
    if not snapshot.eligible():
        return
    for (name, source), target in product(placement(snapshot).items(), snapshot.brokers):
        score = judged(snapshot, BalancerAction(name, source, target))
        assert 0 < score < 1 or score == -1
        if source == target:
            assert score == 0.5


@given(st.floats(90, 105), st.floats(90, 105), st.floats(0, 5))
def test_moves_within_the_band_are_neutral(source: float, target: float, size: float) -> None:
    """P-05. Both brokers stay between 90 and 110."""
    goal = make_goal(NW_IN, Band(100.0 * MIB, 10.0 * MIB, 90.0 * MIB, 110.0 * MIB))
    snapshot = cluster({0: (source, 0), 1: (target, 0)}, {"t-0": (0, size, 0)})

    assert judged(snapshot, BalancerAction(T0, 0, 1), (goal,)) == 0.5


@pytest.mark.parametrize("size", [25, 0])
def test_a_neutral_action_may_have_an_effect(size: float) -> None:
    """P-06. Two brokers exchange their roles; or a partition without load moves."""
    snapshot = cluster({0: (25 - size, 0), 1: (0, 0)}, {"t-0": (0, size, 0)})

    assert judged(snapshot, BalancerAction(T0, 0, 1)) == 0.5
    assert plan(snapshot).actions == []


@given(st.floats(0, 300), st.floats(0, 300), st.floats(0, 300))
def test_an_action_helps_if_the_worse_broker_gets_better(source: float, target: float, size: float) -> None:
    """P-07. For one goal, up to gains that rounding loses."""
    snapshot = cluster({0: (source, 0), 1: (target, 0), 2: (50, 0)}, {"t-0": (0, size, 0)})
    (goal,) = goals_of(snapshot, [NW_IN])
    score = judged(snapshot, BalancerAction(T0, 0, 1), (goal,))

    before = min(goal.score(load * MIB) for load in (source + size, target))
    then = min(goal.score(load * MIB) for load in (source, target + size))
    if abs(then - before) > 1e-12:
        assert (score > 0.5) is (then > before)


def test_an_accepted_action_may_make_a_broker_unacceptable() -> None:
    """P-08. A slow broker cannot take anything, so an accepted one is overloaded in its place."""
    parts = {f"t-{number}": (0, 50.0, 0.0) for number in range(4)}
    found = plan(cluster({0: (0, 0), 1: (100, 0), 2: (0, 0)}, parts, slow=[2]), [NW_IN])

    assert [(str(each.partition), each.source, each.destination) for each in found.actions] == [("t-0", 0, 1)]
    assert loads(found.snapshot) == {0: 150, 1: 150, 2: 0}


CELLS = {
    # before the action, and after it: None stands for a score that passes as it is, 0.5 for one that needs 0.5.
    **{("TT", then): -1.0 for then in ("TF", "FT", "FF")},
    **{("TF", then): -1.0 for then in ("FT", "FF")},
    **{("FT", then): -1.0 for then in ("TF", "FF")},
    **{(before, "TT"): None for before in ("TT", "TF", "FT", "FF")},
    **dict.fromkeys((("TF", "TF"), ("FT", "FT"), ("FF", "TF"), ("FF", "FT"), ("FF", "FF")), 0.5),
}


@pytest.mark.parametrize("before", ["TT", "TF", "FT", "FF"])
@pytest.mark.parametrize("then", ["TT", "TF", "FT", "FF"])
def test_the_gate_of_a_hard_goal(before: str, then: str) -> None:
    """AB-35, P-10. Seven cells reject, four pass any score, five need 0.5."""
    found = [gated(score, _accepted(before), _accepted(then)) for score in (0.4, 0.5, 0.6)]
    cell = CELLS[before, then]

    if cell is None:
        assert found == [0.4, 0.5, 0.6]
    elif cell == 0.5:
        assert found == [-1, 0.5, 0.6]
    else:
        assert found == [-1, -1, -1]


def test_a_score_of_nan_passes_no_gate() -> None:
    """Where a cell needs 0.5, NaN is rejected; no selection takes it elsewhere."""
    nan = float("nan")

    assert gated(nan, (False, True), (False, True)) == -1
    assert not helps(nan)
    assert not helps(None)


def _accepted(cell: str) -> tuple[bool, bool]:
    return cell[0] == "T", cell[1] == "T"


@given(st.randoms(use_true_random=False))
def test_a_hard_goal_is_not_violated_by_its_plans(rng: random.Random) -> None:
    """P-09. Each action keeps what the capacity goal accepts, since both brokers are eligible."""
    snapshot = random_cluster(rng)
    if not snapshot.eligible():
        return
    capacity = GoalSettings("CAPACITY_IN", capacity=rng.choice((100.0, 400.0)) * MIB)
    goal = CapacityGoal(capacity, Band(0.0, 0.0, 0.0, 0.0))
    start = copied(snapshot)

    for action in plan(snapshot, [capacity, *BOTH]).actions:
        pair = start.brokers[action.source], start.brokers[action.destination]
        before = [goal.accepts(each.loads[0]) for each in pair]
        start.apply(action)
        assert not any(was and not goal.accepts(each.loads[0]) for was, each in zip(before, pair, strict=True))


def test_a_hard_goal_is_violated_where_a_broker_is_out_of_date() -> None:
    """P-09. An action that touches a broker out of date is neutral for each goal, whatever its capacity."""
    snapshot = cluster({0: (50, 0), 1: (75, 0)}, {"t-0": (0, 20, 0)}, stale=[1])
    goals = goals_of(snapshot, [GoalSettings("CAPACITY_IN", capacity=100.0 * MIB)])

    assert judged(snapshot, BalancerAction(T0, 0, 1), goals) == 0.5


def test_the_second_goal_may_undo_the_first() -> None:
    """P-11, AB-37. Bytes in are even after the first phase, and all on one broker after the second one."""
    parts = {"t-0": (1, 10, 0), "t-1": (1, 0, 20), "t-2": (1, 10, 30)}
    found = plan(cluster({0: (0, 0), 1: (0, 0)}, {name: (a, float(b), float(c)) for name, (a, b, c) in parts.items()}))

    assert [str(action.partition) for action in found.actions] == ["t-0", "t-2"]
    assert loads(found.snapshot) == {0: 20, 1: 0}


@pytest.mark.parametrize(("out", "helpful"), [(0.1, True), (0.11, True), (0.12, False), (1.0, False)])
def test_an_extreme_imbalance_has_the_weakest_voice(out: float, helpful: bool) -> None:
    """P-26. About 0.12 MiB/s of bytes out outvote 100 MiB/s of bytes in."""
    snapshot = cluster({0: (1000, 70 - out), 1: (100, 130)}, {"t-0": (0, 100, out)})

    assert (judged(snapshot, BalancerAction(T0, 0, 1)) > 0.5) is helpful


def test_a_swap_moves_both_partitions_and_is_undone_exactly() -> None:
    """D-02. The inverse names each partition on the broker where it lies by then; the loads follow."""
    snapshot = cluster({0: (10, 1), 1: (20, 2)}, {"t-0": (0, 50, 5), "t-1": (1, 30, 3)})
    swap = BalancerAction(T0, 0, 1, T1)

    snapshot.apply(swap)
    assert where(snapshot) == {"t-0": 1, "t-1": 0}
    assert loads(snapshot) == {0: 40, 1: 70}
    snapshot.undo([swap], snapshot.trust())
    assert where(snapshot) == {"t-0": 0, "t-1": 1}
    assert loads(snapshot) == {0: 60, 1: 50}


@pytest.mark.parametrize(
    "action",
    [
        BalancerAction(T1, 0, 1),
        BalancerAction(T0, 1, 0),
        BalancerAction(T0, 0, 7),
        BalancerAction(T0, 7, 0),
        BalancerAction(T0, 0, 1, T0),
    ],
)
def test_an_absent_partition_is_no_crash(action: BalancerAction) -> None:
    """D-09. It forbids the action, and applying the action is an error that names the partition."""
    snapshot = cluster({0: (0, 0), 1: (0, 0)}, {"t-0": (0, 50, 5), "t-1": (1, 30, 3)})

    assert judged(snapshot, action) == -1
    with pytest.raises(ValueError, match=rf"^{action.partition} cannot go from"):
        snapshot.apply(action)


def test_an_undone_visit_restores_the_trust() -> None:
    """D-08. A partition that is not trusted leaves no trace on a broker that gave it back."""
    snapshot = cluster({0: (10, 0), 1: (10, 0)}, {"t-0": (0, 5, 0)})
    snapshot.brokers[0].partitions[T0] = ReplicaLoad(T0, (5.0, 0.0), (False, True))
    before = snapshot.trust()
    move = BalancerAction(T0, 0, 1)

    snapshot.apply(move)
    assert snapshot.brokers[1].trusted == [False, True]
    snapshot.undo([move], before)
    assert snapshot.trust() == before


def test_critical_topics_come_last() -> None:
    """AB-43, BG-12. Without the rule the load alone counts."""
    snapshot = cluster({0: (0, 0)}, {"__consumer_offsets-1": (0, 50, 0), "a-0": (0, 1, 0), "a-1": (0, 2, 0)})

    assert [str(each.id) for each in replica_order(snapshot.brokers[0], 0)] == ["a-1", "a-0", "__consumer_offsets-1"]
    with without("BG-12"):
        assert str(replica_order(snapshot.brokers[0], 0)[0].id) == "__consumer_offsets-1"


def test_without_the_minus_1_a_forbidden_move_is_averaged_away() -> None:
    """BG-08. A mean over all goals of a group outvotes the goal that forbids."""
    snapshot = cluster({0: (50, 0), 1: (0, 0)}, {"t-0": (0, 50, 0)})
    snapshot.brokers[0].partitions[T0] = ReplicaLoad(T0, (50.0 * MIB, 1.0), (True, False))

    assert judged(snapshot, BalancerAction(T0, 0, 1)) == -1
    with without("BG-08"):
        assert judged(snapshot, BalancerAction(T0, 0, 1)) > -1
