"""The choice among possible moves in little time. It chooses what the literal form chooses, with the same scores.

Four things save time, and each is exact:

- The scores of brokers are kept until their loads change.
- A move from a source changes the source's score alike for each destination.
- A gain is the lower of two new scores less the lower of the two old ones. So the new score of one of the brokers gives
  an upper bound of the gain. Subtraction, division and addition of doubles are monotone, so the bound of the whole
  score, computed by the same operations, is not below the score. A move whose bound is below 0.5, or not above the best
  move, is not computed. In safe mode, neither is one for which a goal has a bound below the old score.
- Partitions are asked for in blocks with similar loads. The range of the loads of a block bounds all their scores.

It needs goals with the usual curve, loads that are all trusted, and spans that are not tiny beside the loads, so that
rounding stays below ``SLACK``. For others ``chooser_for`` takes the literal form.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from impl.balancer.actions import BalancerAction
from impl.balancer.blocks import LENGTH, PartitionBlock, blocks_of
from impl.balancer.choosing import MoveChooser, helps
from impl.balancer.curve import STEP_VALUE
from impl.balancer.goals import BalancerGoal, UsageGoal
from impl.balancer.judgement import FORBIDDEN, NEUTRAL, ActionJudge
from impl.balancer.resources import plain_sum
from impl.balancer.safety import worsens
from impl.balancer.snapshot import BrokerLoad, ClusterSnapshot, ReplicaLoad

REST = 1 - STEP_VALUE
SLACK = 1e-9
"""What the bound of a block may be wrong by, since it is computed in another order: much more than rounding."""
LARGEST = 1e5
"""The sum of all loads, in spans, up to which rounding changes a score by less than a tenth of ``SLACK``."""
Scores = tuple[float, ...]
"""The scores of a broker, by the place of the goal."""


def chooser_for(snapshot: ClusterSnapshot, judge: ActionJudge) -> MoveChooser:
    """The fast chooser where it may be used, else the literal one."""
    usual = all(isinstance(goal, UsageGoal) and _is_usual(goal) for goal in judge.goals)
    trusted = all(
        all(broker.trusted) and all(all(each.trusted) for each in broker.partitions.values())
        for broker in snapshot.eligible()
    )
    may_be_fast = usual and trusted and _is_precise(snapshot, judge)
    return FastChooser(snapshot, judge) if may_be_fast else MoveChooser(snapshot, judge)


def _is_usual(goal: BalancerGoal) -> bool:
    """Whether the curve of a goal divides by no 0 and has a logarithm above 0."""
    band, span = goal.band, goal.settings.span
    return math.isfinite(band.average) and 0 <= band.margin < band.margin + span < math.inf and band.margin + span > 1


def _is_precise(snapshot: ClusterSnapshot, judge: ActionJudge) -> bool:
    """Whether no sum of loads is so large beside a span that its last bits could change a score by ``SLACK``."""
    brokers = snapshot.brokers.values()
    loads = [each.loads for each in brokers] + [part.loads for each in brokers for part in each.partitions.values()]
    return all(sum(abs(each[goal.resource]) for each in loads) < LARGEST * goal.settings.span for goal in judge.goals)


class FastChooser(MoveChooser):
    """Chooses as ``MoveChooser`` does, with scores that it keeps."""

    def __init__(self, snapshot: ClusterSnapshot, judge: ActionJudge) -> None:
        super().__init__(snapshot, judge)
        weights = plain_sum(goal.WEIGHT for goal in judge.goals)
        self._parts = [(goal.resource, _scorer(goal), goal.WEIGHT, weights) for goal in judge.goals]
        self._scores: dict[int, Scores] = {}
        self._lows: dict[tuple[int, int], Scores] = {}
        """By source and destination, the lower of their scores for each goal; ``_scores[source]`` itself if equal."""
        self._blocks: dict[int, tuple[Sequence[ReplicaLoad], list[tuple[PartitionBlock, list[PartitionBlock]]]]] = {}
        """By donor, its order of partitions, and the blocks of it."""
        self.changed(*snapshot.brokers.values())

    def changed(self, *brokers: BrokerLoad) -> None:
        for broker in brokers:
            self._scores[broker.id] = self._scores_with(broker)
        self._lows.clear()

    def next_push(
        self, order: Sequence[ReplicaLoad], first: int, source: BrokerLoad, candidates: Sequence[BrokerLoad]
    ) -> tuple[int, BalancerAction] | None:
        failed = False
        for large, small in self._blocks_of(source, order):
            wide = candidates
            if failed and not large.idle:
                wide = [each for each in candidates if self._may_help(large, source, each)]
            for block in small:
                left: list[BrokerLoad] | None = None
                for place in range(max(first, block.first), block.end):
                    partition, chosen = order[place], wide
                    if not any(partition.loads):
                        # Neutral, whatever the destination.
                        if not helps(NEUTRAL):
                            continue
                    elif failed:
                        # The bound costs as much as two moves, so it pays once a partition has found no destination.
                        if left is None:
                            left = [each for each in wide if self._may_help(block, source, each)]
                        chosen = left
                    action = self.best_destination(partition, source, chosen)
                    if action is not None:
                        return place, action
                    failed = True
        return None

    def best_destination(
        self, partition: ReplicaLoad, source: BrokerLoad, candidates: Sequence[BrokerLoad]
    ) -> BalancerAction | None:
        old = self._scores[source.id]
        new = self._scores_with(source, less=partition)
        # The bound for destinations that score at least as high as the source for each goal: most of them.
        usual = self._combined(old, new)
        best, chosen = -math.inf, None
        for candidate in candidates:
            lows = self._lows.get((source.id, candidate.id)) or self._find_lows(source.id, candidate.id)
            bound = usual if lows is old else self._combined(lows, new)
            if bound <= best or bound < NEUTRAL:
                continue
            then = self._scores_with(candidate, more=partition)
            score = self._combined(lows, map(min, new, then))
            if score > best and not (self.judge.safe and self._is_unsafe(old, candidate, new, then)):
                best, chosen = score, candidate
        if chosen is None or not helps(best):
            return None
        return BalancerAction(partition.id, source.id, chosen.id, score=best)

    def next_pull(
        self, order: Sequence[ReplicaLoad], first: int, donor: BrokerLoad, receiver: BrokerLoad
    ) -> tuple[int, BalancerAction] | None:
        lows = self._find_lows(donor.id, receiver.id)
        gains = [
            (resource, _gainer(goal, donor.loads[resource], receiver.loads[resource], low), weight, weights)
            for goal, low, (resource, _, weight, weights) in zip(self.judge.goals, lows, self._parts, strict=True)
        ]
        for large, small in self._blocks_of(donor, order):
            if large.end <= first or not self._may_choose(large, donor, receiver):
                continue
            for block in small:
                if block.end > first and self._may_choose(block, donor, receiver):
                    places = range(max(first, block.first), block.end)
                    found = self._scan(order, places, donor, receiver, gains)
                    if found is not None:
                        return found
        return None

    def _scan(
        self,
        order: Sequence[ReplicaLoad],
        places: range,
        donor: BrokerLoad,
        receiver: BrokerLoad,
        gains: Sequence[tuple[int, Callable[[float], float], float, float]],
    ) -> tuple[int, BalancerAction] | None:
        """``next_pull`` for some places of the order."""
        old, safe = self._scores[donor.id], self.judge.safe
        for place in places:
            partition = order[place]
            score = 0.0
            for resource, gain, weight, weights in gains:
                gained = gain(partition.loads[resource])
                if safe and gained < 0:
                    score = FORBIDDEN
                    break
                score += (gained + 1.0) / 2.0 * weight / weights
            if score < NEUTRAL:
                continue
            if safe:
                new, then = self._scores_with(donor, less=partition), self._scores_with(receiver, more=partition)
                if self._is_unsafe(old, receiver, new, then):
                    continue
            if helps(score):
                return place, BalancerAction(partition.id, donor.id, receiver.id, score=score)
        return None

    def _may_help(self, block: PartitionBlock, donor: BrokerLoad, receiver: BrokerLoad) -> bool:
        """Whether a move of a partition of the block with any load may score 0.5 or more, by a bound of all scores."""
        if block.ranges is None:
            return False
        lows = self._find_lows(donor.id, receiver.id)
        bound = 0.0
        for goal, low, (resource, score, weight, weights) in zip(self.judge.goals, lows, self._parts, strict=True):
            (least, most), average = block.ranges[resource], goal.band.average
            # The distances from the average to which the two brokers can come, each by itself.
            left, right = donor.loads[resource], receiver.loads[resource]
            distance = max(left - most - average, average - (left - least), right + least - average,
                           average - (right + most), 0.0)  # fmt: skip
            gained = score(average + distance) + SLACK - low
            if gained < 0 and self.judge.safe:
                return False
            bound += (gained + 1.0) / 2.0 * weight / weights
        return bound >= NEUTRAL

    def _may_choose(self, block: PartitionBlock, donor: BrokerLoad, receiver: BrokerLoad) -> bool:
        """Whether a move of a partition of the block may be chosen; those without load are neutral."""
        return self._may_help(block, donor, receiver) or (block.idle and helps(NEUTRAL))

    def _blocks_of(
        self, donor: BrokerLoad, order: Sequence[ReplicaLoad]
    ) -> list[tuple[PartitionBlock, list[PartitionBlock]]]:
        """The large blocks of an order, each with its small ones."""
        known = self._blocks.get(donor.id)
        if known is None or known[0] is not order:
            small = blocks_of(order, LENGTH)
            large = blocks_of(order, LENGTH * LENGTH)
            nested = [(each, small[number * LENGTH : (number + 1) * LENGTH]) for number, each in enumerate(large)]
            known = self._blocks[donor.id] = order, nested
        return known[1]

    def _scores_with(
        self, broker: BrokerLoad, *, more: ReplicaLoad | None = None, less: ReplicaLoad | None = None
    ) -> Scores:
        """The scores of a broker, after a partition has come (``more``) or gone (``less``) if one is given."""
        if more is not None:
            return tuple([score(broker.loads[way] + more.loads[way]) for way, score, _, _ in self._parts])
        if less is not None:
            return tuple([score(broker.loads[way] - less.loads[way]) for way, score, _, _ in self._parts])
        return tuple([score(broker.loads[way]) for way, score, _, _ in self._parts])

    def _find_lows(self, source: int, destination: int) -> Scores:
        old = self._scores[source]
        lows = tuple(map(min, old, self._scores[destination]))
        lows = self._lows[source, destination] = old if lows == old else lows
        return lows

    def _combined(self, lows: Iterable[float], highs: Iterable[float]) -> float:
        """The mean over the goals (AB-36), for the lower scores of two brokers before and after a move.

        -1 if the safe mode rejects the move for a lower score that decreases.
        """
        total = 0.0
        for low, high, (_, _, weight, weights) in zip(lows, highs, self._parts, strict=True):
            if high < low and self.judge.safe:
                return FORBIDDEN
            total += (high - low + 1.0) / 2.0 * weight / weights
        return total

    def _is_unsafe(self, old: Scores, destination: BrokerLoad, new: Scores, then: Scores) -> bool:
        """Whether the safe mode rejects a move. ``old``, ``new``: the scores of the source before and after it."""
        pairs = zip(old, self._scores[destination.id], new, then, strict=True)
        return any(worsens((source, there), (left, right)) for source, there, left, right in pairs)


def _scorer(goal: BalancerGoal) -> Callable[[float], float]:
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


def _gainer(goal: BalancerGoal, donor: float, receiver: float, low: float) -> Callable[[float], float]:
    """The gain of a goal by the size of the partition that moves (AB-33). Written out, since it runs most often.

    ``donor``, ``receiver``: their loads before. ``low``: the lower of their scores before.
    """
    average, margin = goal.band.average, goal.band.margin
    step = margin + goal.settings.span
    width, base = step - margin, math.log(step)

    def gain(size: float) -> float:
        near, far = abs(average - (donor - size)), abs(average - (receiver + size))
        if near > far:
            near, far = far, near
        if far < margin:
            return 1.0 - low
        if far <= step:
            return 1 - STEP_VALUE * ((far - margin) / width) - low
        score = 1 - (STEP_VALUE + REST * (1 - 1 / (math.log(far) / base)))
        if near > step:
            # Nobody promises that the logarithm of a library is monotone in its last bit.
            score = min(score, 1 - (STEP_VALUE + REST * (1 - 1 / (math.log(near) / base))))
        return score - low

    return gain
