"""An oracle for plans: it replays them on plain numbers, and knows nothing of the code that plans.

The scores are computed by a second reading of AB-25 to AB-36: real numbers in place of the literal expressions, so that
they agree within rounding.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import attrs

from impl.balancer.actions import BalancerAction
from impl.balancer.goals import GoalSettings
from impl.balancer.snapshot import ClusterSnapshot

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

    def band(self, settings: GoalSettings) -> tuple[float, float, float, float]:
        """Average, margin, low and high of a goal, over the eligible brokers."""
        way = ("NW_IN", "NW_OUT").index(settings.goal)
        average = math.fsum(self.loads[each][way] for each in self.eligible) / len(self.eligible)
        margin = settings.deviation * average
        return average, margin, average - margin, average + margin

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

    def gain(self, settings: GoalSettings, band: tuple[float, ...], name: str, source: int, target: int) -> float:
        """What the worse of two brokers gains by a move, for a goal."""
        way = ("NW_IN", "NW_OUT").index(settings.goal)
        size = self.sizes[name][way]
        old = [self.loads[source][way], self.loads[target][way]]
        new = [old[0] - size, old[1] + size]
        return min(score(settings, band, each) for each in new) - min(score(settings, band, each) for each in old)


def score(settings: GoalSettings, band: tuple[float, ...], load: float) -> float:
    """The score of a broker: 1 in the band, 0.1 at the end of the span, beyond it the share of two logarithms."""
    distance = abs(load - band[0])
    margin = band[1]
    if distance <= margin:
        return 1.0
    if distance <= margin + settings.span:
        return 1.0 - 0.9 * (distance - margin) / settings.span
    return 0.1 * math.log(margin + settings.span) / math.log(distance)


def batch_problems(
    batches: list[list[BalancerAction]], partitions: Mapping[str, int], limit: int, sources: int
) -> list[str]:
    """The limits that batches break (P-24): half of a topic, moves of a broker, sources of a destination."""
    problems = []
    for batch in batches:
        topics = [action.partition.topic for action in batch]
        touched = [broker for action in batch for broker in (action.source, action.destination)]
        problems += [each for each in sorted(set(topics)) if topics.count(each) > -(-partitions[each] // 2)]
        problems += [f"broker {each}" for each in sorted(set(touched)) if touched.count(each) > limit]
        for broker in sorted({action.destination for action in batch}):
            of_broker = {action.source for action in batch if action.destination == broker}
            if len(of_broker) > sources:
                problems.append(f"{len(of_broker)} sources of {broker}")
    return problems
