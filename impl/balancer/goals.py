"""Goals: which brokers a goal accepts, and how it scores a broker (AB-23, AB-24, AB-27, AB-28).

``UsageGoal`` is the shipped kind. ``CapacityGoal`` is hard: it shows the gate of hard goals (AB-35), for which AutoMQ
ships no goal.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

import msgspec

from impl.balancer.bands import Band
from impl.balancer.curve import distance_score, divided
from impl.balancer.resources import IN, OUT
from impl.rules import rule

MIB = 1 << 20
THRESHOLD = 1.0 * MIB
"""The default load below which a broker is idle, in bytes per second."""
SPAN = 100.0 * MIB
"""The default length of the linear section of the score, in bytes per second (AB-26)."""
DEVIATION = 0.1
TRIVIAL = 0.05
LIMIT = 0.8

RESOURCE_OF = {"NW_IN": IN, "NW_OUT": OUT, "CAPACITY_IN": IN, "CAPACITY_OUT": OUT}
"""The goals, by name, each with the resource that it looks at."""


class GoalSettings(msgspec.Struct, frozen=True):
    """The settings of a goal.

    ``goal``: its name. ``deviation``: the margin as a share of the average. ``trivial``: the change as a share of the
    average below which a visit is undone. ``threshold``, ``span``: bytes per second. ``capacity`` (bytes per second)
    and ``limit`` (the accepted share of it) belong to capacity goals.
    """

    goal: str
    deviation: float = DEVIATION
    threshold: float = THRESHOLD
    trivial: float = TRIVIAL
    span: float = SPAN
    capacity: float | None = None
    limit: float = LIMIT


class BalancerGoal(msgspec.Struct, frozen=True):
    """A goal with the band of one round."""

    HARD: ClassVar[bool]
    GROUP: ClassVar[str]
    WEIGHT: ClassVar[float] = 1.0

    settings: GoalSettings
    band: Band

    @property
    def name(self) -> str:
        """The name, such as NW_IN."""
        return self.settings.goal

    @property
    def resource(self) -> int:
        """The resource that the goal looks at."""
        return RESOURCE_OF[self.settings.goal]

    def accepts(self, load: float) -> bool:
        """Whether a broker with this load needs no work (f)."""
        raise NotImplementedError

    def needs_less(self, load: float) -> bool:
        """Whether a broker that is not accepted has to give partitions away."""
        raise NotImplementedError

    def needs_more(self, load: float) -> bool:
        """Whether a broker that is not accepted has to take partitions."""
        raise NotImplementedError

    def score(self, load: float) -> float:
        """The score of a broker with this load."""
        raise NotImplementedError

    def is_trivial(self, change: float) -> bool:
        """Whether a change of a broker's load is too small to be worth its moves (AB-44). Never at an average of 0."""
        return abs(change) < self.settings.trivial * self.band.average


class UsageGoal(BalancerGoal, frozen=True):
    """Even usage of a resource: NetworkInUsageDistributionGoal and NetworkOutUsageDistributionGoal. Soft."""

    HARD = False
    GROUP = "NetworkUsageDistribution"

    def accepts(self, load: float) -> bool:
        """AB-27. Both the broker and the average are idle, or the load is within the band."""
        idle = load < self.settings.threshold and self.band.average < self.settings.threshold
        return rule("BG-04", idle) or self.band.low <= load <= self.band.high

    def needs_less(self, load: float) -> bool:
        return load > self.band.high

    def needs_more(self, load: float) -> bool:
        return load < self.band.low

    def score(self, load: float) -> float:
        """AB-28. The threshold plays no part: an idle broker, too, is scored by its distance."""
        distance = abs(self.band.average - load)
        return distance_score(distance, self.band.margin, self.band.margin + self.settings.span)


class CapacityGoal(BalancerGoal, frozen=True):
    """A load of at most a share of the capacity. Hard; it only ever relieves brokers.

    Its settings have a capacity.
    """

    HARD = True
    GROUP = "NetworkCapacity"

    @property
    def capacity(self) -> float:
        """The capacity of a broker, in bytes per second."""
        assert self.settings.capacity is not None
        return self.settings.capacity

    def accepts(self, load: float) -> bool:
        return load <= self.settings.limit * self.capacity

    def needs_less(self, load: float) -> bool:
        return not self.accepts(load)

    def needs_more(self, load: float) -> bool:  # noqa: ARG002 - no load is too low
        return False

    def score(self, load: float) -> float:
        """The free share of the capacity; below 0 for an overloaded broker."""
        return 1 - divided(load, self.capacity)


def make_goal(settings: GoalSettings, band: Band) -> BalancerGoal:
    """The goal with these settings and this band."""
    kind = CapacityGoal if settings.goal.startswith("CAPACITY") else UsageGoal
    return kind(settings, band)


def in_order(goals: Iterable[BalancerGoal]) -> tuple[BalancerGoal, ...]:
    """The goals in the order of their phases: hard ones first, else as configured (AB-23)."""
    return tuple(sorted(goals, key=lambda goal: not goal.HARD))
