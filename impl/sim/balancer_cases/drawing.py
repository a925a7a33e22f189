"""Draws random cases: few brokers and partitions, in which ties, extreme loads and hard goals are frequent."""

from __future__ import annotations

from collections.abc import Sequence

from impl.balancer.batches import BatchLimits
from impl.balancer.goals import MIB, GoalSettings
from impl.balancer.resources import Loads, TopicPartition
from impl.sim.balancer_cases.case import BalancerCase, CaseBroker, CasePartition
from impl.sim.tape import Draw, one

TOPICS = ("a", "b", "__consumer_offsets")
USAGE = ("NW_IN", "NW_OUT")
GOALS = (*(USAGE,) * 12, ("NW_OUT", "NW_IN"), USAGE[:1], USAGE[1:])
"""The usage goals of a case, the shipped pair most often."""
HARD = (("CAPACITY_IN",), ("CAPACITY_OUT",), ("CAPACITY_IN", "CAPACITY_OUT"))
HARD_SHARE = 0.1
"""The share of cases with a hard goal."""
PARTITIONS = 30
IDS = 20

EVEN, ANY, SKEWED, HUGE, TINY = "even", "any", "skewed", "huge", "tiny"
SHAPES = (*(EVEN,) * 5, *(ANY,) * 2, SKEWED, HUGE, TINY)
"""How the loads of a case are distributed: multiples of a unit, any fraction, many small and few large ones, loads far
beyond any span, and loads about the threshold."""


def draw_case(
    draw: Draw, *, safe: bool = False, brokers: tuple[int, int] = (2, 8), most: int = PARTITIONS
) -> BalancerCase:
    """A random case. ``brokers``: the bounds of their number; ``most``: the greatest number of partitions.

    Loads of many partitions are smaller, so that brokers stay comparable.
    """
    shape = one(draw, SHAPES)
    number = brokers[0] + int(draw() * (brokers[1] - brokers[0] + 1))
    has_hard = draw() < HARD_SHARE
    # Plans with hard goals take long, so their cases are smaller.
    size = int(((most // 2 if has_hard else most) + 1) * draw() ** 3)
    unit = 140 * MIB / max(14, size)
    # At times both loads of each partition or broker are drawn as one, or there is only one.
    ways = (0.0, 1.0, 1.0) if draw() < 0.5 else (1.0,)
    free = list(range(IDS))
    chosen = sorted(free.pop(int(draw() * len(free))) for _ in range(number))
    faults = 0.15 if draw() < 0.4 else 0.0
    pinned = one(draw, (0.0, 0.3, 1.0))

    def loads() -> Loads:
        return _load(draw, shape, unit), _load(draw, shape, unit) * one(draw, ways)

    members = tuple(
        CaseBroker(
            each,
            loads() if draw() < pinned else (0.0, 0.0),
            stale=draw() < faults,
            slow=draw() < faults,
        )
        for each in chosen
    )
    used = chosen[: 1 + int(draw() * number)]
    parts = sorted(
        (
            CasePartition(TopicPartition(one(draw, TOPICS), each), one(draw, used), loads())
            for each in range(max(size, 1))
        ),
        key=lambda part: part.id,
    )
    goals = draw_settings(draw, one(draw, GOALS))
    if has_hard:
        goals = (*goals, *_hard(draw, members, parts))
    return BalancerCase(members, tuple(parts), goals, _limits(draw), safe)


def draw_settings(draw: Draw, names: Sequence[str] = USAGE) -> tuple[GoalSettings, ...]:
    """Settings of usage goals: the defaults in half of the cases, else other ones."""
    if draw() < 0.5:
        return tuple(map(GoalSettings, names))
    return tuple(
        GoalSettings(
            name,
            deviation=one(draw, (0.1, 0.1, 0.0, 0.3)),
            threshold=one(draw, (1.0, 1.0, 0.0, 60.0)) * MIB,
            trivial=one(draw, (0.05, 0.05, 0.0, 0.5)),
            span=one(draw, (100.0, 100.0, 10.0, 1000.0, 0.01)) * MIB,
        )
        for name in names
    )


def _load(draw: Draw, shape: str, unit: float) -> float:
    largest = 12 if draw() < 0.8 else 90
    if shape == EVEN:
        return float(int(draw() * (largest + 1)) * int(unit))
    if shape == SKEWED:
        return float(int(unit * 2 ** (draw() * 14 - 8)))
    if shape == HUGE:
        return float(int(draw() * largest) << 32)
    if shape == TINY:
        return float(int(draw() * 3 * MIB))
    return draw() * largest * unit


def _hard(draw: Draw, brokers: Sequence[CaseBroker], parts: Sequence[CasePartition]) -> tuple[GoalSettings, ...]:
    """Hard goals whose capacity is from a tenth of the average load up to twice that load."""
    found = []
    for name in one(draw, HARD):
        way = 0 if name == "CAPACITY_IN" else 1
        total = sum(each.pinned[way] for each in brokers) + sum(each.loads[way] for each in parts)
        capacity = float(1 + int(total / len(brokers) * one(draw, (0.1, 0.3, 0.7, 1.3, 2.0))))
        found.append(GoalSettings(name, capacity=capacity))
    return tuple(found)


def _limits(draw: Draw) -> BatchLimits:
    """The shipped limits, or tight ones, which cut the plan of a small cluster into several batches."""
    if draw() < 0.5:
        return BatchLimits()
    return BatchLimits(concurrency=one(draw, (1, 2, 4, 50)), sources=one(draw, (1, 2, 10)))
