"""The loads of the brokers before a round, between its phases and after them: what a picture of the round shows."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from impl.balancer.goals import BalancerGoal
from impl.balancer.resources import IN, OUT, Loads
from impl.balancer.snapshot import ClusterSnapshot


class LoadStage(msgspec.Struct, frozen=True):
    """The load of each broker, by id, after the phase of a goal. ``after``: the goal; "" before the first phase.

    ``moves``: how many moves the phase has planned.
    """

    after: str
    loads: dict[int, Loads]
    moves: int = 0


class LoadStages(msgspec.Struct, frozen=True):
    """The stages of a round in their order, and the goals with the bands of the round."""

    stages: tuple[LoadStage, ...]
    goals: tuple[BalancerGoal, ...]


def stage(snapshot: ClusterSnapshot, after: str = "", moves: int = 0) -> LoadStage:
    """The loads of a snapshot as they are now."""
    loads = {number: (broker.loads[IN], broker.loads[OUT]) for number, broker in sorted(snapshot.brokers.items())}
    return LoadStage(after, loads, moves)


class StageRecorder:
    """Records the stages of a round on a snapshot, beginning with the loads of now."""

    def __init__(self, snapshot: ClusterSnapshot) -> None:
        self._snapshot = snapshot
        self._stages = [stage(snapshot)]

    def after_phase(self, goal: BalancerGoal, moves: int) -> None:
        """Record the loads after a phase."""
        self._stages.append(stage(self._snapshot, goal.name, moves))

    def stages(self, goals: Sequence[BalancerGoal]) -> LoadStages:
        """What was recorded."""
        return LoadStages(tuple(self._stages), tuple(goals))
