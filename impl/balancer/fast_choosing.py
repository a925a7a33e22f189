"""The choice among possible moves in little time. It chooses what the literal form chooses, with the same scores.

Three things save time, and each is exact:

- The scores of brokers are kept until their loads change.
- A move from a source changes the source's score alike for each destination.
- A gain is the lower of two new scores less the lower of the two old ones. So the new score of one of the brokers gives
  an upper bound of the gain. Subtraction, division and addition of doubles are monotone, so the bound of the whole
  score, computed by the same operations, is not below the score. A move whose bound is below 0.5, or not above the best
  move, is not computed.

It needs goals with the usual curve and loads that are all trusted; for others ``chooser_for`` takes the literal form.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from impl.balancer.actions import Action
from impl.balancer.choosing import Chooser, helps
from impl.balancer.curve import STEP_VALUE
from impl.balancer.goals import Goal, UsageGoal
from impl.balancer.judgement import NEUTRAL, Judge
from impl.balancer.resources import plain_sum
from impl.balancer.safety import worsens
from impl.balancer.snapshot import BrokerLoad, ClusterSnapshot, PartitionLoad

REST = 1 - STEP_VALUE
Scores = tuple[float, ...]
"""The scores of a broker, by the place of the goal."""


def chooser_for(snapshot: ClusterSnapshot, judge: Judge) -> Chooser:
    """The fast chooser where it may be used, else the literal one."""
    usual = all(isinstance(goal, UsageGoal) and _is_usual(goal) for goal in judge.goals)
    trusted = all(
        all(broker.trusted) and all(all(each.trusted) for each in broker.partitions.values())
        for broker in snapshot.eligible()
    )
    return FastChooser(snapshot, judge) if usual and trusted else Chooser(snapshot, judge)


def _is_usual(goal: Goal) -> bool:
    """Whether the curve of a goal divides by no 0 and has a logarithm above 0."""
    band, span = goal.band, goal.settings.span
    return math.isfinite(band.average) and 0 <= band.margin < band.margin + span < math.inf and band.margin + span > 1


class FastChooser(Chooser):
    """Chooses as ``Chooser`` does, with scores that it keeps."""

    def __init__(self, snapshot: ClusterSnapshot, judge: Judge) -> None:
        super().__init__(snapshot, judge)
        weights = plain_sum(goal.WEIGHT for goal in judge.goals)
        self._parts = [(goal.resource, _scorer(goal), goal.WEIGHT, weights) for goal in judge.goals]
        self._scores: dict[int, Scores] = {}
        self.changed(*snapshot.brokers.values())

    def changed(self, *brokers: BrokerLoad) -> None:
        for broker in brokers:
            self._scores[broker.id] = tuple(score(broker.loads[resource]) for resource, score, _, _ in self._parts)

    def best_destination(
        self, partition: PartitionLoad, source: BrokerLoad, candidates: Sequence[BrokerLoad]
    ) -> Action | None:
        known = self._scores
        old = known[source.id]
        new = tuple(score(source.loads[resource] - partition.loads[resource]) for resource, score, _, _ in self._parts)
        # The bound for the destinations that score at least as high as the source for each goal: most of them.
        usual = self._combined(old, new)
        best, chosen = -math.inf, None
        for candidate in candidates:
            there = known[candidate.id]
            lows = tuple(map(min, old, there))
            bound = usual if lows == old else self._combined(lows, new)
            if bound <= best or bound < NEUTRAL:
                continue
            then = self._after(candidate, partition)
            score = self._combined(lows, map(min, new, then))
            if score > best and not (self.judge.safe and self._worsens(old, there, new, then)):
                best, chosen = score, candidate
        if chosen is None or not helps(best):
            return None
        return Action(partition.id, source.id, chosen.id, score=best)

    def next_pull(
        self, order: Sequence[PartitionLoad], first: int, donor: BrokerLoad, receiver: BrokerLoad
    ) -> tuple[int, Action] | None:
        old, there = self._scores[donor.id], self._scores[receiver.id]
        lows = tuple(map(min, old, there))
        for place in range(first, len(order)):
            partition = order[place]
            then = self._after(receiver, partition)
            if self._combined(lows, then) < NEUTRAL:
                continue
            new = tuple(
                score(donor.loads[resource] - partition.loads[resource]) for resource, score, _, _ in self._parts
            )
            score = self._combined(lows, map(min, new, then))
            if self.judge.safe and self._worsens(old, there, new, then):
                continue
            if helps(score):
                return place, Action(partition.id, donor.id, receiver.id, score=score)
        return None

    def _after(self, destination: BrokerLoad, partition: PartitionLoad) -> Scores:
        """The scores of a destination after the arrival of a partition."""
        return tuple(
            score(destination.loads[resource] + partition.loads[resource]) for resource, score, _, _ in self._parts
        )

    def _combined(self, lows: Iterable[float], highs: Iterable[float]) -> float:
        """The mean over the goals (AB-36), for the lower scores of two brokers before and after a move."""
        total = 0.0
        for low, high, (_, _, weight, weights) in zip(lows, highs, self._parts, strict=True):
            total += (high - low + 1.0) / 2.0 * weight / weights
        return total

    def _worsens(self, old: Scores, there: Scores, new: Scores, then: Scores) -> bool:
        pairs = zip(old, there, new, then, strict=True)
        return any(worsens((source, target), (left, right)) for source, target, left, right in pairs)


def _scorer(goal: Goal) -> Callable[[float], float]:
    """The function ``goal.score`` with its constants at hand; the operations are the same."""
    average, margin = goal.band.average, goal.band.margin
    step = margin + goal.settings.span
    width, base = step - margin, math.log(step)

    def score(load: float) -> float:
        distance = abs(average - load)
        if distance < margin:
            return 1.0
        if distance <= step:
            return 1 - STEP_VALUE * ((distance - margin) / width)
        return 1 - (STEP_VALUE + REST * (1 - 1 / (math.log(distance) / base)))

    return score
