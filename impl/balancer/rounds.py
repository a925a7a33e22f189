"""A round: the phases of all goals on one snapshot, and the plan that is merged from their actions (AB-39)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from impl.balancer.actions import BalancerAction
from impl.balancer.bands import band_of
from impl.balancer.choosing import MoveChooser
from impl.balancer.fast_choosing import chooser_for
from impl.balancer.goals import RESOURCE_OF, BalancerGoal, GoalSettings, in_order, make_goal
from impl.balancer.judgement import ActionJudge
from impl.balancer.merging import merge
from impl.balancer.phase import Phase
from impl.balancer.safety import exact
from impl.balancer.snapshot import ClusterSnapshot
from impl.balancer.stages import LoadStages, StageRecorder
from impl.rules import rule

MakeChooser = Callable[[ClusterSnapshot, ActionJudge], MoveChooser]


class RoundConfiguration(msgspec.Struct, frozen=True):
    """What a round needs of the configuration. ``safe``: whether the safe mode is on."""

    goals: tuple[GoalSettings, ...]
    safe: bool = False


class RoundPlan(msgspec.Struct, frozen=True):
    """``actions``: in the order in which they were applied to ``snapshot``. ``moves``: merged (AB-48).

    ``goals``: the goals with the bands of the round, in the order of their phases. ``stages``: the loads on the way.
    """

    actions: list[BalancerAction]
    moves: list[BalancerAction]
    goals: tuple[BalancerGoal, ...]
    snapshot: ClusterSnapshot
    stages: LoadStages


def goals_of(snapshot: ClusterSnapshot, settings: Sequence[GoalSettings]) -> tuple[BalancerGoal, ...]:
    """The goals with their bands over the eligible brokers, in the order of their phases (AB-25)."""
    eligible = snapshot.eligible()
    return in_order(
        make_goal(each, band_of([broker.loads[RESOURCE_OF[each.goal]] for broker in eligible], each.deviation))
        for each in settings
    )


def run_phases(
    snapshot: ClusterSnapshot,
    goals: Sequence[BalancerGoal],
    *,
    safe: bool = False,
    leads: Callable[[], bool] = lambda: True,
    make_chooser: MakeChooser = chooser_for,
    latest: Callable[[], Sequence[BalancerGoal]] | None = None,
    after_phase: Callable[[BalancerGoal, int], None] | None = None,
) -> list[BalancerAction] | None:
    """Run the phase of each goal on the snapshot. Returns the actions, or None if the controller no longer leads.

    ``latest``: gives the goals as they are configured by then. Without the rule that a round keeps its configuration,
    each phase would read them. ``after_phase``: is told the goal of each phase, and the number of its actions.
    """
    actions: list[BalancerAction] = []
    optimised: set[str] = set()
    for place in range(len(goals)):
        current = goals if latest is None or rule("BG-19") else latest()
        if place >= len(current):
            break
        if rule("BG-18", not leads()):
            return None
        goal = current[place]
        judge = ActionJudge(current, goal.GROUP, frozenset(optimised), safe)
        planned = Phase(snapshot, goal, make_chooser(snapshot, judge)).run()
        actions += planned
        if after_phase is not None:
            after_phase(goal, len(planned))
        optimised.add(goal.GROUP)
    return None if rule("BG-18", not leads()) else actions


def plan_round(
    take: Callable[[], ClusterSnapshot],
    configuration: Callable[[], RoundConfiguration],
    leads: Callable[[], bool] = lambda: True,
    make_chooser: MakeChooser = chooser_for,
) -> RoundPlan | None:
    """Plan a round. None if the controller does not lead, or loses the lead before the plan may be executed.

    ``take``: takes the snapshot of the cluster. ``configuration``: the configuration of now. ``leads``: whether the
    controller leads now. Raises UnmatchedMovesError, which no plan of a round causes (P-13).
    """
    copied = configuration()
    if rule("BG-18", not leads()):
        return None
    snapshot = exact(take()) if copied.safe else take()
    goals = goals_of(snapshot, copied.goals)
    recorder = StageRecorder(snapshot)
    actions = run_phases(
        snapshot,
        goals,
        safe=copied.safe,
        leads=leads,
        make_chooser=make_chooser,
        latest=lambda: goals_of(snapshot, configuration().goals),
        after_phase=recorder.after_phase,
    )
    return None if actions is None else RoundPlan(actions, merge(actions), goals, snapshot, recorder.stages(goals))
