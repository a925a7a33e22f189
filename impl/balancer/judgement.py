"""The judgement on an action: the score from each goal, and the combined score (AB-32 to AB-36).

A score below 0.5 is harmful, 0.5 is neutral, above 0.5 is helpful; -1 forbids the action.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from impl.balancer.actions import BalancerAction
from impl.balancer.goals import BalancerGoal
from impl.balancer.resources import plain_sum
from impl.balancer.safety import worsens
from impl.balancer.snapshot import BrokerLoad, ClusterSnapshot
from impl.rules import rule

FORBIDDEN = -1.0
NEUTRAL = 0.5


class ActionJudgement(msgspec.Struct, frozen=True):
    """The combined score, -1 for a rejected action, and the score from each goal, by name."""

    score: float
    scores: dict[str, float]

    @property
    def allowed(self) -> bool:
        """Whether no rule rejects the action. A score of NaN counts as a rejection: it is never selected."""
        return self.score > FORBIDDEN


class ActionJudge(msgspec.Struct, frozen=True):
    """The goals that judge actions. ``group``: that of the goal which is being optimised.

    ``optimised``: the groups of the goals that were optimised in this round before. ``safe``: whether the rule of the
    safe mode holds, too.
    """

    goals: Sequence[BalancerGoal]
    group: str
    optimised: frozenset[str] = frozenset()
    safe: bool = False

    def judge(self, snapshot: ClusterSnapshot, action: BalancerAction) -> ActionJudgement:
        """The judgement on an action; nothing is applied."""
        scores = {goal.name: goal_score(goal, snapshot, action) for goal in self.goals}
        return ActionJudgement(self._combined(snapshot, action, scores), scores)

    def _combined(self, snapshot: ClusterSnapshot, action: BalancerAction, scores: dict[str, float]) -> float:
        """AB-36. The mean of the group that is being optimised, unless a goal or a group rejects the action."""
        if rule("BG-08", FORBIDDEN in scores.values()):
            return FORBIDDEN
        means = {goal.GROUP: self._mean(goal.GROUP, scores) for goal in self.goals}
        vetoed = any(group in self.optimised and mean < NEUTRAL for group, mean in means.items())
        if rule("BG-09", vetoed):
            return FORBIDDEN
        if self.safe and self._worsens(snapshot, action):
            return FORBIDDEN
        return means[self.group]

    def _mean(self, group: str, scores: dict[str, float]) -> float:
        of_group = [goal for goal in self.goals if group == goal.GROUP]
        weights = plain_sum(goal.WEIGHT for goal in of_group)
        return plain_sum(scores[goal.name] * goal.WEIGHT / weights for goal in of_group)

    def _worsens(self, snapshot: ClusterSnapshot, action: BalancerAction) -> bool:
        """Whether the safe mode rejects the action, for a goal of this group or of one that was optimised before."""
        if not snapshot.has(action):
            return False
        source, destination = snapshot.brokers[action.source], snapshot.brokers[action.destination]
        if not (source.is_eligible and destination.is_eligible):
            return False
        return any(
            worsens(_scores(goal, loads), _scores(goal, after(source, destination, action, goal.resource)))
            for goal in self.goals
            if self.group == goal.GROUP or goal.GROUP in self.optimised
            for loads in [(source.loads[goal.resource], destination.loads[goal.resource])]
        )


def goal_score(goal: BalancerGoal, snapshot: ClusterSnapshot, action: BalancerAction) -> float:
    """The score from one goal (AB-32 to AB-35)."""
    if not snapshot.has(action):
        return FORBIDDEN
    source, destination = snapshot.brokers[action.source], snapshot.brokers[action.destination]
    resource = goal.resource
    partition = source.partitions[action.partition]
    if not partition.trusted[resource]:
        return FORBIDDEN
    if partition.loads[resource] and not (source.trusted[resource] and destination.trusted[resource]):
        return FORBIDDEN
    if not (source.is_eligible and destination.is_eligible):
        return NEUTRAL
    before = source.loads[resource], destination.loads[resource]
    then = after(source, destination, action, resource)
    gain = min(_scores(goal, then)) - min(_scores(goal, before))
    score = (gain - FORBIDDEN) / (1 - FORBIDDEN)
    return gated(score, _accepts(goal, before), _accepts(goal, then)) if goal.HARD else score


def after(source: BrokerLoad, destination: BrokerLoad, action: BalancerAction, resource: int) -> tuple[float, float]:
    """The loads of the two brokers after the action."""
    if source is destination:
        return source.loads[resource], source.loads[resource]
    given = source.partitions[action.partition].loads[resource]
    left, right = source.loads[resource] - given, destination.loads[resource] + given
    if action.other is not None:
        taken = destination.partitions[action.other].loads[resource]
        left, right = left + taken, right - taken
    return left, right


def gated(score: float, before: tuple[bool, bool], then: tuple[bool, bool]) -> float:
    """The score from a hard goal (AB-35). ``before``, ``then``: whether it accepts the source, and the destination."""
    if (before[0] and not then[0]) or (before[1] and not then[1]):
        return FORBIDDEN
    if not (then[0] and then[1]) and not score >= NEUTRAL:
        return FORBIDDEN
    return score


def _scores(goal: BalancerGoal, loads: tuple[float, float]) -> tuple[float, float]:
    return goal.score(loads[0]), goal.score(loads[1])


def _accepts(goal: BalancerGoal, loads: tuple[float, float]) -> tuple[bool, bool]:
    return goal.accepts(loads[0]), goal.accepts(loads[1])
