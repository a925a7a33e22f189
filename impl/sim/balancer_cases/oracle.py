"""Oracles of one round: they replay its plan on plain numbers, and share no code with the planner.

Whole loads are added as integers, so that comparisons of loads are exact. Scores are floats from a second reading of
the curve; an oracle objects to a score only if it is wrong by more than rounding.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from impl.balancer.actions import BalancerAction
from impl.balancer.batches import BatchLimits
from impl.balancer.goals import GoalSettings
from impl.balancer.resources import RESOURCES, TopicPartition
from impl.balancer.snapshot import ClusterSnapshot
from impl.sim.balancer_cases.case import BalancerCase, Placement
from impl.sim.balancer_cases.curve import Band, band, score
from impl.sim.violation import PartViolation

NEUTRAL = 0.5
ROUNDING = 1e-9
"""What a score of two readings of the curve may differ by."""
RELATIVE = 1e-12
"""What a sum of loads that are not whole may be wrong by, as a share of all loads."""

ALL_GAIN, SOME_GAIN, TRADE = "all_gain", "some_gain", "trade"
"""Kinds of moves: all goals gain; some gain and none loses; some gain and some lose."""
LEAVES_BAND = "an accepted broker leaves its band"
NOT_ACCEPTED = "rest with a broker that is not accepted"


class RoundJudge:
    """Judges the plan of one round, action by action. ``kinds``: of the moves that it has followed."""

    def __init__(self, case: BalancerCase, placement: Placement) -> None:
        self.case = case
        self.at = dict(placement)
        self.kinds: list[str] = []
        self.situations: set[str] = set()
        self._whole = case.is_whole
        number = int if self._whole else float
        self._sizes = {part.id: [number(load) for load in part.loads] for part in case.partitions}
        self._loads = {each.id: [number(load) for load in each.pinned] for each in case.brokers}
        for name, broker in placement.items():
            for way in RESOURCES:
                self._loads[broker][way] += self._sizes[name][way]
        self._slow = {each.id for each in case.brokers if each.slow}
        self._eligible = case.eligible
        self._totals = [sum(loads[way] for loads in self._loads.values()) for way in RESOURCES]
        self._sums = [sum(self._loads[each][way] for each in self._eligible) for way in RESOURCES]
        self._goals = [_JudgedGoal(each, self._loads, self._eligible) for each in case.goals] if self._eligible else []
        self._hard = [goal for goal in self._goals if goal.hard]
        self._soft = [goal for goal in self._goals if not goal.hard]
        self._phase = [goals for goals in (self._hard, self._soft) if goals]

    def follow(self, actions: Iterable[BalancerAction], *, scored: bool = True) -> PartViolation | None:
        """Apply actions in turn. Returns what the first wrong one violates, or None. ``scored``: they have scores."""
        for action in actions:
            found = self._misplaced(action) or self._unhelpful(action, scored=scored)
            if found is not None:
                return found
            self._move(action.partition, action.destination)
        return None

    def after(self, snapshot: ClusterSnapshot) -> PartViolation | None:
        """What the snapshot violates to which the planner has applied the actions (P-12)."""
        found = {
            name: (broker.id, part.loads)
            for broker in snapshot.brokers.values()
            for name, part in broker.partitions.items()
        }
        if set(found) != set(self.at) or any(found[part.id][1] != part.loads for part in self.case.partitions):
            return PartViolation("P-12", "a partition, or its load, is lost or new")
        if any(found[name][0] != broker for name, broker in self.at.items()):
            return PartViolation("P-12", "a partition is not where the actions have taken it")
        for broker in snapshot.brokers.values():
            for way in RESOURCES:
                slack = 0 if self._whole else self._totals[way] * RELATIVE
                if abs(broker.loads[way] - self._loads[broker.id][way]) > slack:
                    return PartViolation("P-12", "the load of a broker is not that of its partitions")
        return None

    def merged(self, start: Placement, moves: Sequence[BalancerAction]) -> PartViolation | None:
        """What the merged moves violate: each partition goes once, from its start to its end (P-13)."""
        ends = {name: broker for name, broker in self.at.items() if start[name] != broker}
        if len({move.partition for move in moves}) < len(moves):
            return PartViolation("P-13", "merged moves take a partition twice")
        if any(move.source == move.destination for move in moves):
            return PartViolation("P-13", "a merged move stays on its broker")
        if {move.partition: (move.source, move.destination) for move in moves} != {
            name: (start[name], broker) for name, broker in ends.items()
        }:
            return PartViolation("P-13", "the merged moves lead elsewhere than the actions")
        return None

    def idle(self, actions: Sequence[BalancerAction]) -> PartViolation | None:
        """Whether there are actions where nothing is to do: P-21, P-22, AB-27. Judge before following them."""
        if not actions:
            return None
        if len(self._eligible) < 2:
            return PartViolation("P-21", "a plan with one eligible broker")
        if not any(self._totals):
            return PartViolation("P-21", "a plan without traffic")
        first = self._loads[self._eligible[0]]
        if not self._hard and all(self._loads[each] == first for each in self._eligible):
            return PartViolation("P-22", "a plan with equal loads")
        if all(goal.surely_accepts(self._loads[each][goal.way]) for goal in self._goals for each in self._eligible):
            return PartViolation("AB-27", "a plan where each goal accepts each broker")
        return None

    def at_rest(self) -> None:
        """Note whether the goals do not accept all brokers (P-20)."""
        if any(not goal.accepts(self._loads[each][goal.way]) for goal in self._goals for each in self._eligible):
            self.situations.add(NOT_ACCEPTED)

    def _move(self, name: TopicPartition, target: int) -> None:
        for way in RESOURCES:
            self._loads[self.at[name]][way] -= self._sizes[name][way]
            self._loads[target][way] += self._sizes[name][way]
        self.at[name] = target

    def _misplaced(self, action: BalancerAction) -> PartViolation | None:
        """What is wrong with the brokers of an action."""
        if action.other is not None or self.at.get(action.partition) != action.source:
            return PartViolation("P-13", "an action takes a partition from a broker where it does not lie")
        if not {action.source, action.destination} <= set(self._eligible):
            return PartViolation("AB-24", "an action touches a broker out of date")
        if action.destination in self._slow:
            return PartViolation("AB-57", "a slow broker gets a partition")
        return None

    def _unhelpful(self, action: BalancerAction, *, scored: bool) -> PartViolation | None:
        """What is wrong with the effect of an action, or with its score: P-02, P-07, P-09, P-11."""
        size = self._sizes[action.partition]
        effects = [goal.effect(self._loads, size, action.source, action.destination) for goal in self._goals]
        by_goal = dict(zip((id(goal) for goal in self._goals), effects, strict=True))
        slack = 0 if self._whole else sum(self._totals) * RELATIVE * len(self._eligible)
        for goal in self._hard:
            if goal.breaks(self._loads, size, action.source, action.destination, slack):
                return PartViolation("P-09", "an action takes a broker beyond what a hard goal accepts")
        # A phase of a later group follows the first action that does not help the group of this one.
        while self._phase and not self._helps([by_goal[id(goal)] for goal in self._phase[0]], slack):
            self._phase.pop(0)
        if not self._phase:
            return PartViolation("P-07", "an action does not help")
        # A hard goal has a group of its own, and the score does not tell in whose phase an action was planned.
        wrong = _badly_scored(action, effects) if scored and not self._hard else None
        if wrong is not None:
            return wrong
        if self._phase[0] is self._soft and self._hard:
            effects_on_hard = [by_goal[id(goal)] for goal in self._hard]
            if _mean(effects_on_hard) < NEUTRAL - _tolerance(effects_on_hard):
                return PartViolation("P-11", "an action harms a group of goals that was optimised before")
        self._note(action, effects)
        return None

    def _helps(self, effects: Sequence[_Effect], slack: float) -> bool:
        """Whether the group gains: its mean is above 0.5 within rounding, and the worse broker improves for a goal.

        The second condition compares loads, so for whole loads it is exact: it tells no gain from a small one.
        """
        if all(each.worst_after >= each.worst_before + slack for each in effects):
            return False
        return _mean(effects) > NEUTRAL - _tolerance(effects)

    def _note(self, action: BalancerAction, effects: Sequence[_Effect]) -> None:
        gains = [0 if abs(each.gain) <= each.tolerance else math.copysign(1, each.gain) for each in effects]
        self.kinds.append(TRADE if -1 in gains else SOME_GAIN if 0 in gains else ALL_GAIN)
        size = self._sizes[action.partition]
        for goal in self._soft:
            given, taken = (self._loads[each][goal.way] for each in (action.source, action.destination))
            changes = (given, given - size[goal.way]), (taken, taken + size[goal.way])
            if any(goal.accepts(before) and not goal.accepts(then) for before, then in changes):
                self.situations.add(LEAVES_BAND)


class _Effect(msgspec.Struct, frozen=True):
    """What an action does for a goal.

    ``gain``: of the worse score. ``worst_before``, ``worst_after``: how far the worse of the two brokers is off.
    ``tolerance``: what rounding may change the gain by.
    """

    gain: float
    worst_before: float
    worst_after: float
    tolerance: float


class _JudgedGoal:
    """A goal, with its band for one round."""

    def __init__(self, settings: GoalSettings, loads: Mapping[int, Sequence[float]], eligible: Sequence[int]) -> None:
        self.settings = settings
        self.hard = settings.capacity is not None
        self.way = 0 if settings.goal.endswith("_IN") else 1
        self._sum, self._count = sum(loads[each][self.way] for each in eligible), len(eligible)
        self._band: Band = band(settings, [loads[each][self.way] for each in eligible])
        scale = settings.span if settings.capacity is None else settings.capacity
        self._tolerance = ROUNDING + RELATIVE * sum(each[self.way] for each in loads.values()) / scale

    def accepts(self, load: float) -> bool:
        average, margin = self._band
        if self.settings.capacity is not None:
            return load <= self.settings.limit * self.settings.capacity
        idle = load < self.settings.threshold and average < self.settings.threshold
        return idle or average - margin <= load <= average + margin

    def surely_accepts(self, load: float) -> bool:
        """Whether it accepts a load by more than rounding."""
        average, margin = self._band
        slack = RELATIVE * (average + margin + load)
        if self.settings.capacity is not None:
            return load <= self.settings.limit * self.settings.capacity - slack
        idle = max(load, average) < self.settings.threshold - slack
        return idle or average - margin + slack <= load <= average + margin - slack

    def effect(self, loads: Mapping[int, Sequence[float]], size: Sequence[float], source: int, target: int) -> _Effect:
        before = loads[source][self.way], loads[target][self.way]
        then = before[0] - size[self.way], before[1] + size[self.way]
        gain = min(score(self.settings, self._band, each) for each in then) - min(
            score(self.settings, self._band, each) for each in before
        )
        return _Effect(gain, max(map(self._off, before)), max(map(self._off, then)), self._tolerance)

    def breaks(
        self, loads: Mapping[int, Sequence[float]], size: Sequence[float], source: int, target: int, slack: float
    ) -> bool:
        """Whether the goal accepts one of the brokers before the action, and not after it."""
        assert self.settings.capacity is not None
        most = self.settings.limit * self.settings.capacity
        before = loads[source][self.way], loads[target][self.way]
        then = before[0] - size[self.way], before[1] + size[self.way]
        return any(was <= most and most < now - slack for was, now in zip(before, then, strict=True))

    def _off(self, load: float) -> float:
        """How far a broker is from what the goal wants, in a unit of the goal; whole for whole loads."""
        if self.hard:
            return load
        # The distance from the average times the number of brokers: no division, so no rounding. The margin has some: a
        # load at the very bound of the band may count as outside.
        margin = self.settings.deviation * self._sum * (1 - RELATIVE)
        return max(abs(self._sum - self._count * load), margin)


def _badly_scored(action: BalancerAction, effects: Sequence[_Effect]) -> PartViolation | None:
    """What is wrong with the score of an action, where all goals are soft and form one group (P-02, AB-36)."""
    if action.score is None or not 0 < action.score < 1:
        return PartViolation("P-02", "the score of an action is not between 0 and 1")
    if abs(action.score - _mean(effects)) > _tolerance(effects):
        return PartViolation("AB-36", "the score of an action is not the mean over its goals")
    return None


def _mean(effects: Sequence[_Effect]) -> float:
    return math.fsum((each.gain + 1) / 2 for each in effects) / len(effects)


def _tolerance(effects: Sequence[_Effect]) -> float:
    return max(each.tolerance for each in effects)


def batch_problems(
    batches: Sequence[Sequence[BalancerAction]], partitions: Mapping[str, int], limits: BatchLimits
) -> list[str]:
    """The limits that batches break (P-24), each as often as it is broken."""
    problems = []
    for batch in batches:
        topics = [action.partition.topic for action in batch]
        touched = [broker for action in batch for broker in (action.source, action.destination)]
        of_target: dict[int, set[int]] = {}
        for action in batch:
            of_target.setdefault(action.destination, set()).add(action.source)
        crowded = [each for each in partitions if topics.count(each) > math.ceil(limits.topic_ratio * partitions[each])]
        problems += ["too many partitions of a topic" for _ in crowded]
        problems += ["too many moves of a broker" for each in set(touched) if touched.count(each) > limits.concurrency]
        problems += ["too many sources of a broker" for each in of_target.values() if len(each) > limits.sources]
    return problems
