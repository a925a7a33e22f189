"""Makes a case small whose run violates something: fewer brokers and partitions, the shipped settings, round loads."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from msgspec.structs import replace

from impl.balancer.batches import BatchLimits
from impl.balancer.goals import MIB, GoalSettings
from impl.balancer.resources import Loads
from impl.sim.balancer_cases.case import BalancerCase
from impl.sim.balancer_cases.play import ROUNDS, BalancerRun, play

PLAYS = 600
"""The most runs of one shrinking. A limit of time would make the result depend on the machine."""
UNITS = (10.0 * MIB, 1.0 * MIB)
"""The units to which loads are rounded."""


def size(case: BalancerCase) -> int:
    """The number of brokers and partitions."""
    return len(case.brokers) + len(case.partitions)


def shrink(case: BalancerCase, rounds: int = ROUNDS) -> BalancerRun:
    """The run of a small case that violates what the run of this case violates within a number of rounds.

    A cycle may become shorter, and may lose brokers.
    """
    return _Shrinker(case, rounds).run()


class _Shrinker:
    def __init__(self, case: BalancerCase, rounds: int) -> None:
        self.case = case
        self.best = play(case, rounds)
        assert self.best.violation is not None, "the run violates something"
        self.violation = self.best.violation
        self.left = PLAYS

    def run(self) -> BalancerRun:
        """Try all ways to make the case smaller, until none of them does."""
        if self.best.rounds:
            self._holds(_started_late(self.best))
        before = None
        while before != self.case and self.left > 0:
            before = self.case
            for way in (_without_brokers, _without_partitions, _without_flags, _plain, _with_simple_loads):
                self._try(way)
        return self.best

    def _try(self, way: Callable[[BalancerCase], Iterator[BalancerCase]]) -> None:
        """Take the first smaller case that violates the same, again and again."""
        held = True
        while held:
            held = any(self._holds(case) for case in way(self.case))

    def _holds(self, case: BalancerCase) -> bool:
        if case == self.case or self.left <= 0:
            return False
        self.left -= 1
        # A longer run would not be a smaller one.
        run = play(case, len(self.best.rounds))
        if run.violation != self.violation or run.period > self.best.period or run.circling > self.best.circling:
            return False
        self.case, self.best = case, run
        return True


def _started_late(run: BalancerRun) -> BalancerCase:
    """The case whose start is the placement before the cycle, or before the last round."""
    start = run.rounds[-max(run.period, 1)].placement
    parts = tuple(replace(each, broker=start[each.id]) for each in run.case.partitions)
    return replace(run.case, partitions=parts)


def _without_brokers(case: BalancerCase) -> Iterator[BalancerCase]:
    """Without one broker and its partitions."""
    for broker in case.brokers:
        left = tuple(each for each in case.brokers if each != broker)
        yield replace(case, brokers=left, partitions=tuple(p for p in case.partitions if p.broker != broker.id))


def _without_partitions(case: BalancerCase) -> Iterator[BalancerCase]:
    """Without one partition; or with its load pinned to its broker."""
    for part in case.partitions:
        left = tuple(each for each in case.partitions if each != part)
        yield replace(case, partitions=left)
        pinned = tuple(
            replace(each, pinned=(each.pinned[0] + part.loads[0], each.pinned[1] + part.loads[1]))
            if each.id == part.broker
            else each
            for each in case.brokers
        )
        yield replace(case, partitions=left, brokers=pinned)


def _without_flags(case: BalancerCase) -> Iterator[BalancerCase]:
    """With one broker less that is slow or out of date."""
    for place, broker in enumerate(case.brokers):
        if broker.slow or broker.stale:
            fit = replace(broker, slow=False, stale=False)
            yield replace(case, brokers=(*case.brokers[:place], fit, *case.brokers[place + 1 :]))


def _plain(case: BalancerCase) -> Iterator[BalancerCase]:
    """With the shipped settings, or without one of the goals."""
    if case.limits != BatchLimits():
        yield replace(case, limits=BatchLimits())
    for place, goal in enumerate(case.goals):
        rest = case.goals[:place], case.goals[place + 1 :]
        shipped = GoalSettings(goal.goal, capacity=goal.capacity)
        if goal != shipped:
            yield replace(case, goals=(*rest[0], shipped, *rest[1]))
        if len(case.goals) > 1:
            yield replace(case, goals=(*rest[0], *rest[1]))


def _with_simple_loads(case: BalancerCase) -> Iterator[BalancerCase]:
    """With all loads rounded to a unit, and then with single loads that are 0 or rounded."""
    for unit in UNITS:
        yield _with_loads(case, unit)
    for unit in (math.inf, *UNITS):
        for place in range(len(case.brokers) + len(case.partitions)):
            for way in (0, 1):
                yield _with_load(case, place, way, unit)


def _with_loads(case: BalancerCase, unit: float) -> BalancerCase:
    def to(loads: Loads) -> Loads:
        return _rounded(loads[0], unit), _rounded(loads[1], unit)

    return replace(
        case,
        brokers=tuple(replace(each, pinned=to(each.pinned)) for each in case.brokers),
        partitions=tuple(replace(each, loads=to(each.loads)) for each in case.partitions),
    )


def _with_load(case: BalancerCase, place: int, way: int, unit: float) -> BalancerCase:
    """With one load rounded. ``place``: in the brokers, and then in the partitions. ``way``: of the resource."""

    def to(loads: Loads) -> Loads:
        load = _rounded(loads[way], unit)
        return (load, loads[1]) if way == 0 else (loads[0], load)

    if place < len(case.brokers):
        broker = case.brokers[place]
        changed = replace(broker, pinned=to(broker.pinned))
        return replace(case, brokers=(*case.brokers[:place], changed, *case.brokers[place + 1 :]))
    place -= len(case.brokers)
    part = case.partitions[place]
    moved = replace(part, loads=to(part.loads))
    return replace(case, partitions=(*case.partitions[:place], moved, *case.partitions[place + 1 :]))


def _rounded(load: float, unit: float) -> float:
    return 0.0 if math.isinf(unit) else round(load / unit) * unit
