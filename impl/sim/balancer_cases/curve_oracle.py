"""The oracle of scores: the shape of the curve (P-01, P-03, P-04), and that moves within the band are neutral (P-05).

It looks at the planner's own scores of loads that occur, and of loads on both sides of each bend of the curve.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise

from impl.balancer.actions import BalancerAction
from impl.balancer.bands import band_of
from impl.balancer.goals import BalancerGoal, make_goal
from impl.balancer.judgement import goal_score
from impl.balancer.snapshot import ClusterSnapshot
from impl.sim.balancer_cases.case import BalancerCase
from impl.sim.balancer_cases.curve import Band, band
from impl.sim.balancer_cases.oracle import NEUTRAL, RELATIVE, ROUNDING
from impl.sim.violation import PartViolation

END_OF_SPAN = 0.1
"""The score of a broker whose distance is the margin and the span."""
NOTICEABLE = 1e-3
"""Within the span, distances that differ by this share of it have different scores."""


def judge_scores(case: BalancerCase) -> PartViolation | None:
    """What the scores of the usage goals violate, with the loads at the start of a case. Capacity has no curve."""
    snapshot = case.snapshot(case.start())
    for settings in case.goals if snapshot.eligible() else ():
        if settings.capacity is None:
            way = 0 if settings.goal == "NW_IN" else 1
            loads = [broker.loads[way] for broker in snapshot.eligible()]
            goal = make_goal(settings, band_of(loads, settings.deviation))
            largest = max((part.loads[way] for part in case.partitions), default=0.0)
            moved = [load + change for load in loads for change in (-largest, 0.0, largest) if load + change >= 0]
            of = band(settings, loads)
            found = _badly_shaped(goal, of, moved) or _steep(goal, of) or _not_neutral(goal, of, way, snapshot)
            if found is not None:
                return found
    return None


def _badly_shaped(goal: BalancerGoal, of: Band, loads: Sequence[float]) -> PartViolation | None:
    """What is wrong with the scores of some loads, and of loads at the bends and between them."""
    average, margin = of
    step = margin + goal.settings.span
    bends = [average + bend for bend in (0.0, margin / 2, margin, (margin + step) / 2, step, 2 * step)]
    beside = [math.nextafter(bend, way) for bend in bends for way in (0.0, math.inf)]
    # The distance as the planner computes it. Its rounding keeps the order, so scores must keep it exactly.
    scored = sorted((abs(goal.band.average - load), goal.score(load)) for load in (*loads, *bends, *beside))
    if not all(0 < score <= 1 for _, score in scored):
        return PartViolation("P-01", "the score of a broker is not above 0 and at most 1")
    for (near, higher), (far, lower) in pairwise(scored):
        if far > near and lower > higher:
            return PartViolation("P-03", "a broker that is further off has a higher score")
        if margin <= near and far <= step and far - near > NOTICEABLE * goal.settings.span and lower >= higher:
            return PartViolation("P-03", "a broker that is further off, beyond the margin, has the same score")
    return None


def _steep(goal: BalancerGoal, of: Band) -> PartViolation | None:
    """Whether the score is another one than the curve has at a bend, on either side of it."""
    average, margin = of
    step = margin + goal.settings.span
    # What the rounding of a load changes in a score of the linear section.
    slack = ROUNDING + RELATIVE * (average + step) / goal.settings.span
    for bend, expected in ((average + margin, 1.0), (average + step, END_OF_SPAN)):
        around = math.nextafter(bend, 0.0), bend, math.nextafter(bend, math.inf)
        if any(abs(goal.score(load) - expected) > slack for load in around):
            return PartViolation("P-04", "the curve has a jump")
    return None


def _not_neutral(goal: BalancerGoal, of: Band, way: int, snapshot: ClusterSnapshot) -> PartViolation | None:
    """Whether a move has a score other than 0.5 although both brokers are within the band before and after it."""
    average, margin = of
    for action, loads in _moves(way, snapshot):
        within = all(abs(load - average) < margin * (1 - ROUNDING) for load in loads)
        if within and goal_score(goal, snapshot, action) != NEUTRAL:
            return PartViolation("P-05", "a move within the band is not neutral")
    return None


def _moves(way: int, snapshot: ClusterSnapshot) -> Iterator[tuple[BalancerAction, tuple[float, ...]]]:
    """Each move between eligible brokers, with the loads of both before and after it."""
    for source in snapshot.eligible():
        for name, part in source.partitions.items():
            for target in snapshot.eligible():
                if target is not source:
                    before, size = (source.loads[way], target.loads[way]), part.loads[way]
                    action = BalancerAction(name, source.id, target.id)
                    yield action, (*before, before[0] - size, before[1] + size)
