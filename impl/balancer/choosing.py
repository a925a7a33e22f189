"""The choice among possible moves: the literal form of the rules, which judges each move from scratch (AB-38).

``impl.balancer.fast_choosing`` makes the same choices in less time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from msgspec.structs import replace

from impl.balancer.actions import BalancerAction
from impl.balancer.judgement import NEUTRAL, ActionJudge
from impl.balancer.snapshot import BrokerLoad, ClusterSnapshot, ReplicaLoad
from impl.rules import rule


class MoveChooser:
    """Chooses moves on a snapshot as a judge scores them. It applies nothing."""

    def __init__(self, snapshot: ClusterSnapshot, judge: ActionJudge) -> None:
        self.snapshot = snapshot
        self.judge = judge

    def next_push(
        self, order: Sequence[ReplicaLoad], first: int, source: BrokerLoad, candidates: Sequence[BrokerLoad]
    ) -> tuple[int, BalancerAction] | None:
        """The first partition, from place ``first`` of ``order`` on, for which a move to a candidate scores above 0.5;
        its place, and its best move. None if there is none.
        """
        for place in range(first, len(order)):
            action = self.best_destination(order[place], source, candidates)
            if action is not None:
                return place, action
        return None

    def best_destination(
        self, partition: ReplicaLoad, source: BrokerLoad, candidates: Sequence[BrokerLoad]
    ) -> BalancerAction | None:
        """The move of the partition with the highest score above 0.5; the first of equals. None if there is none."""
        best: BalancerAction | None = None
        for candidate in candidates:
            action = self._scored(partition, source, candidate)
            if best is None or _above(action, best):
                best = action
        return best if best is not None and helps(best.score) else None

    def next_pull(
        self, order: Sequence[ReplicaLoad], first: int, donor: BrokerLoad, receiver: BrokerLoad
    ) -> tuple[int, BalancerAction] | None:
        """The first partition, from place ``first`` of ``order`` on, whose move scores above 0.5; its place, and the
        move. None if there is none.
        """
        for place in range(first, len(order)):
            action = self._scored(order[place], donor, receiver)
            if helps(action.score):
                return place, action
        return None

    def changed(self, *brokers: BrokerLoad) -> None:
        """Note that the loads of brokers have changed."""

    def _scored(self, partition: ReplicaLoad, source: BrokerLoad, destination: BrokerLoad) -> BalancerAction:
        action = BalancerAction(partition.id, source.id, destination.id)
        return replace(action, score=self.judge.judge(self.snapshot, action).score)


def helps(score: float | None) -> bool:
    """Whether an action with this score is selected: strictly above 0.5. NaN is not (AB-38)."""
    if score is None or not score >= NEUTRAL:
        return False
    return not rule("BG-07", score == NEUTRAL)


def _above(action: BalancerAction, best: BalancerAction) -> bool:
    # NaN is above nothing, and any other score is above NaN.
    assert action.score is not None
    assert best.score is not None
    return action.score > best.score or math.isnan(best.score)
