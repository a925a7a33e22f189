"""An oracle for plans: it replays them on plain numbers, and knows nothing of the code that plans.

The scores are those of ``impl.sim.balancer_cases.curve``, a second reading of the rules.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import attrs

from impl.balancer.actions import BalancerAction
from impl.balancer.goals import GoalSettings
from impl.balancer.snapshot import ClusterSnapshot
from impl.sim.balancer_cases.curve import Band, band, score

ROUNDING = 1e-9


@attrs.define
class OracleCluster:
    """``loads``: by broker, its loads, in and out. ``sizes``, ``at``: by partition, its loads, and its broker.

    ``eligible``, ``slow``: brokers.
    """

    loads: dict[int, list[float]]
    sizes: dict[str, tuple[float, float]]
    at: dict[str, int]
    eligible: frozenset[int]
    slow: frozenset[int]

    @staticmethod
    def of(snapshot: ClusterSnapshot) -> OracleCluster:
        """The numbers of a snapshot."""
        brokers = snapshot.brokers.values()
        return OracleCluster(
            {each.id: list(each.loads) for each in brokers},
            {str(name): part.loads for each in brokers for name, part in each.partitions.items()},
            {str(name): each.id for each in brokers for name in each.partitions},
            frozenset(each.id for each in brokers if not each.stale),
            frozenset(each.id for each in brokers if each.slow),
        )

    def band(self, settings: GoalSettings) -> Band:
        """The band of a goal, over the eligible brokers."""
        way = ("NW_IN", "NW_OUT").index(settings.goal)
        return band(settings, [self.loads[each][way] for each in sorted(self.eligible)])

    def follow(self, actions: Iterable[BalancerAction], goals: Mapping[str, GoalSettings]) -> None:
        """Apply actions, and assert of each that it may be planned and that its mean score is above 0.5."""
        bands = {name: self.band(settings) for name, settings in goals.items()}
        for action in actions:
            name, source, target = str(action.partition), action.source, action.destination
            assert action.other is None, "no goal plans a swap"
            assert self.at[name] == source, "the partition lies elsewhere"
            assert source != target
            assert {source, target} <= self.eligible, "a broker out of date is touched"
            assert target not in self.slow, "a slow broker gets something"
            gains = [
                (self.gain(settings, bands[goal], name, source, target) + 1) / 2 for goal, settings in goals.items()
            ]
            mean = math.fsum(gains) / len(gains)
            assert action.score is not None
            assert abs(mean - action.score) <= ROUNDING, "the score is another one"
            assert mean > 0.5 - ROUNDING, "the action does not help"
            self.move(name, target)

    def move(self, name: str, target: int) -> None:
        """Move a partition with its loads."""
        for way in (0, 1):
            self.loads[self.at[name]][way] -= self.sizes[name][way]
            self.loads[target][way] += self.sizes[name][way]
        self.at[name] = target

    def gain(self, settings: GoalSettings, of: Band, name: str, source: int, target: int) -> float:
        """What the worse of two brokers gains by a move, for a goal."""
        way = ("NW_IN", "NW_OUT").index(settings.goal)
        size = self.sizes[name][way]
        old = [self.loads[source][way], self.loads[target][way]]
        new = [old[0] - size, old[1] + size]
        return min(score(settings, of, each) for each in new) - min(score(settings, of, each) for each in old)
