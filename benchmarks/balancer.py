"""Measures the planner of the balancer: a round of 100 brokers and 100,000 partitions in 10 s, and its ratio to the
literal planner, which judges each move from scratch.

Seconds are the processor time of one thread. The ratio is taken on a smaller cluster, where both planners run in turns,
and their plans are compared.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Literal

import attrs

from benchmarks.clock import own
from impl.balancer.actions import BalancerAction
from impl.balancer.choosing import MoveChooser
from impl.balancer.fast_choosing import FastChooser
from impl.balancer.goals import MIB, GoalSettings
from impl.balancer.judgement import ActionJudge
from impl.balancer.resources import TopicPartition
from impl.balancer.rounds import MakeChooser, RoundConfiguration, RoundPlan, plan_round
from impl.balancer.snapshot import BrokerLoad, ClusterSnapshot, ReplicaLoad

BROKERS, PARTITIONS = 100, 100_000
SECONDS = 10.0
"""The goal for a round of a cluster of that size."""
Shape = Literal["skewed", "opposed", "hot"]
SHAPES: tuple[Shape, ...] = ("skewed", "opposed", "hot")
"""``skewed``: brokers have 5 % to 105 % of the largest one's partitions. ``opposed``: half of the brokers carry twenty
times as many bytes out, the others as many bytes in. ``hot``: three brokers carry two hundred times as many bytes out.
"""
SETTINGS = (GoalSettings("NW_IN"), GoalSettings("NW_OUT"))
SCORES = 4
"""The scores of brokers that the literal order of work computes for a move and a goal: two before it and two after."""


@attrs.frozen
class PlannerFigures:
    """The measured figures of one shape of clusters.

    ``seconds``, ``safe_seconds``: for a round in parity and in safe mode. ``actions``: those of the round in parity.
    ``scores``: the scores of brokers that the literal order of work would compute for it. ``ratio``: the time of the
    literal planner by that of the fast one, on a cluster of ``small`` brokers and partitions.
    """

    shape: Shape
    brokers: int
    partitions: int
    seconds: float
    safe_seconds: float
    actions: int
    scores: int
    ratio: float
    small: tuple[int, int]


def measured(
    brokers: int = BROKERS,
    partitions: int = PARTITIONS,
    small: tuple[int, int] = (20, 1_000),
    repeat: int = 2,
    shapes: Sequence[Shape] = SHAPES,
) -> Iterator[PlannerFigures]:
    """Measure each shape. Of ``repeat`` measurements the fastest counts."""
    for shape in shapes:
        fast, safe = (
            min(_timed(shape, brokers, partitions, FastChooser, safe=safe)[0] for _ in range(repeat))
            for safe in (False, True)
        )
        plan, judged = _counted(shape, brokers, partitions)
        ratios = []
        for _ in range(repeat):
            literal, of_literal = _timed(shape, *small, MoveChooser)
            quick, of_fast = _timed(shape, *small, FastChooser)
            if of_literal.actions != of_fast.actions:
                raise RuntimeError(f"{shape}: the fast plan differs from the literal one")
            ratios.append(literal / quick)
        scores = judged * len(SETTINGS) * SCORES
        yield PlannerFigures(
            shape, brokers, partitions, fast, safe, len(plan.actions), scores, sorted(ratios)[len(ratios) // 2], small
        )


def lines(found: PlannerFigures) -> Iterator[str]:
    """The figures, and whether the goal is met in both modes."""
    size = f"{found.brokers} brokers, {found.partitions:,} partitions, {found.shape}"
    times = f"{found.seconds:.2f} s in parity, {found.safe_seconds:.2f} s in safe mode (goal at most {SECONDS:g} s)"
    yield f"{size}: {times}; {'met' if max(found.seconds, found.safe_seconds) <= SECONDS else 'missed'}"
    yield f"  {found.actions:,} actions; AutoMQ's order of work computes {found.scores:,} scores of brokers for them"
    brokers, partitions = found.small
    yield f"  {found.ratio:.1f} times as fast as the literal planner ({brokers} brokers, {partitions:,} partitions)"


def cluster(shape: Shape, brokers: int, partitions: int) -> ClusterSnapshot:
    """A random cluster of a shape, always the same. Partitions carry 0.1 MiB/s on average, or 1 MiB/s if not skewed."""
    rng = random.Random(1)  # noqa: S311 - no secret
    made = [BrokerLoad(number, [0.0, 0.0]) for number in range(brokers)]
    weights = [rng.random() + 0.05 for _ in made]
    for number in range(partitions):
        place = rng.choices(range(brokers), weights)[0] if shape == "skewed" else number % brokers
        loads = _loads(rng, shape, place, brokers)
        partition = ReplicaLoad(TopicPartition(f"t{number % 500}", number // 500), loads)
        made[place].partitions[partition.id] = partition
        for resource, load in enumerate(loads):
            made[place].loads[resource] += load
    return ClusterSnapshot(made)


def _loads(rng: random.Random, shape: Shape, place: int, brokers: int) -> tuple[float, float]:
    one, other = rng.expovariate(1.0), rng.expovariate(1.0)
    if shape == "skewed":
        return one * 0.1 * MIB, one * other * 0.1 * MIB
    if shape == "opposed":
        return (one * MIB, other * 20 * MIB) if place < brokers // 2 else (one * 20 * MIB, other * MIB)
    return one * MIB, other * (200 if place < 3 else 1) * MIB


def _counted(shape: Shape, brokers: int, partitions: int) -> tuple[RoundPlan, int]:
    """The plan, and the number of moves that the literal chooser would judge for it."""
    counts = [0]

    def make(snapshot: ClusterSnapshot, judge: ActionJudge) -> MoveChooser:
        return _CountingChooser(snapshot, judge, counts)

    return _timed(shape, brokers, partitions, make)[1], counts[0]


def _timed(
    shape: Shape, brokers: int, partitions: int, make: MakeChooser, *, safe: bool = False
) -> tuple[float, RoundPlan]:
    snapshot = cluster(shape, brokers, partitions)
    begin = own()
    plan = plan_round(lambda: snapshot, lambda: RoundConfiguration(SETTINGS, safe), make_chooser=make)
    seconds = own() - begin
    assert plan is not None
    return seconds, plan


class _CountingChooser(FastChooser):
    """Counts the moves that the literal chooser would judge."""

    def __init__(self, snapshot: ClusterSnapshot, judge: ActionJudge, counts: list[int]) -> None:
        super().__init__(snapshot, judge)
        self._counts = counts

    def next_push(
        self, order: Sequence[ReplicaLoad], first: int, source: BrokerLoad, candidates: Sequence[BrokerLoad]
    ) -> tuple[int, BalancerAction] | None:
        found = super().next_push(order, first, source, candidates)
        self._counts[0] += ((len(order) if found is None else found[0] + 1) - first) * len(candidates)
        return found

    def next_pull(
        self, order: Sequence[ReplicaLoad], first: int, donor: BrokerLoad, receiver: BrokerLoad
    ) -> tuple[int, BalancerAction] | None:
        found = super().next_pull(order, first, donor, receiver)
        self._counts[0] += (len(order) if found is None else found[0] + 1) - first
        return found
