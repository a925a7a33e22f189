"""A case is planned and executed round after round, until it rests, circles, or breaks a property."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import chain, repeat

import msgspec

from impl.balancer.actions import BalancerAction
from impl.balancer.batches import batches
from impl.balancer.choosing import MoveChooser
from impl.balancer.fast_choosing import chooser_for
from impl.balancer.goals import GoalSettings
from impl.balancer.merging import UnmatchedMovesError
from impl.balancer.resources import TopicPartition
from impl.balancer.rounds import MakeChooser, RoundConfiguration, RoundPlan, plan_round
from impl.rules import decided
from impl.sim.balancer_cases.case import BalancerCase, Placement
from impl.sim.balancer_cases.curve_oracle import judge_scores
from impl.sim.balancer_cases.oracle import (
    ALL_GAIN,
    LEAVES_BAND,
    NOT_ACCEPTED,
    SOME_GAIN,
    TRADE,
    RoundJudge,
    batch_problems,
)
from impl.sim.violation import PartViolation

ROUNDS = 100
"""The most rounds of a run. A run that is not at rest by then has no answer: it neither rests nor circles."""

RESTED, CYCLE, NO_EFFECT, VIOLATED, CAPPED = "rested", "cycle", "no effect", "violated", "round limit"
"""How a run ends: with an empty plan; with a placement of an earlier round; with actions that take all partitions back
to where they were; with a round that breaks a property; or at the limit of rounds, without an answer."""

MERGED, EXECUTED, EMPTY = "merged", "executed", "empty_plan"
"""Events besides moves: a merge left fewer moves than actions, a round was executed, a plan was empty."""

ENDS = (RESTED, CYCLE, NO_EFFECT, VIOLATED, CAPPED)
EVENTS = (ALL_GAIN, SOME_GAIN, TRADE, MERGED, EXECUTED, EMPTY)

DECIDED = {
    "BG-06": "an undone visit",
    "BG-07": "a neutral move refused",
    "BG-08": "a forbidden move refused",
    "BG-09": "a veto of an optimised group",
    "BG-10": "a slow broker passed over",
    "BG-12": "a critical topic put last",
    "BG-13": "moves of a partition merged",
    "BG-13.still": "merged moves that cancel out",
    "BG-14": "a batch ended by its topic",
    "BG-15": "a batch ended by a broker",
    "BG-15.sources": "a batch ended by its sources",
}
"""By rule: the situation of a round in which it decided something."""


class PlannedRound(msgspec.Struct, frozen=True):
    """A round. ``actions``: as planned. ``moves``: merged. ``sizes``: of the batches. ``placement``: at its start."""

    placement: dict[TopicPartition, int]
    actions: list[BalancerAction]
    moves: list[BalancerAction]
    sizes: list[int]


class BalancerRun(msgspec.Struct):
    """A run of a case. ``period``: the rounds of a cycle, and 0 if the run has none; ``circling``: the brokers in it.

    ``events``: the moves, merges and rounds in turn. ``situations``: of the run. ``kinds``: for each round, what tells
    kinds of rounds apart.
    """

    case: BalancerCase
    rounds: list[PlannedRound]
    end: str = CAPPED
    period: int = 0
    circling: int = 0
    violation: PartViolation | None = None
    told: tuple[str, ...] = ()
    events: list[str] = msgspec.field(default_factory=list)
    situations: set[str] = msgspec.field(default_factory=set)
    kinds: list[tuple[object, ...]] = msgspec.field(default_factory=list)


def play(case: BalancerCase, most: int = ROUNDS) -> BalancerRun:
    """Plan and execute up to ``most`` rounds. The loads never change, and each batch is executed at once."""
    case = case.rounded() if case.safe else case
    run = BalancerRun(case, [])
    run.situations |= _at_start(case)
    placement = case.start()
    # A placement determines the loads, and the loads the plan: a placement that returns does so for ever.
    seen: dict[tuple[int, ...], int] = {}
    while True:
        key = tuple(placement.values())
        if key in seen:
            _end_in_cycle(run, seen[key])
            return run
        if len(run.rounds) == most:
            return run
        seen[key] = len(run.rounds)
        following = _round(run, placement)
        if following is None:
            return run
        placement = following


def title(run: BalancerRun) -> str:
    """What a run violates, and in which situation, on one line."""
    assert run.violation is not None, "the run violates something"
    told = f" ({', '.join(run.told)})" if run.told else ""
    return f"{run.violation.label}: {run.violation.message}{told}"


def _round(run: BalancerRun, placement: dict[TopicPartition, int]) -> dict[TopicPartition, int] | None:
    """Plan, judge and execute a round. Returns the next placement, or None if the run has ended."""
    case = run.case
    before = Counter(decided)
    judge = RoundJudge(case, placement)
    try:
        plan = _plan(case, placement)
    except UnmatchedMovesError:
        run.rounds.append(PlannedRound(placement, [], [], []))
        _violated(run, PartViolation("P-13", "the merge of a plan fails"))
        return None
    cut = batches(plan.moves, case.topics(), case.limits)
    planned = PlannedRound(placement, plan.actions, plan.moves, [len(batch) for batch in cut])
    run.rounds.append(planned)
    reached = {DECIDED[label] for label in decided if label in DECIDED and decided[label] > before[label]}
    found = _judged(placement, plan, judge) or _badly_cut(case, plan.moves, cut)
    if found is None and len(run.rounds) == 1:
        # Later rounds differ only in their placements, and would take most of the time.
        found = judge_scores(case) or _planned_otherwise(case, placement, plan)
    if len(cut) > 1:
        reached.add("several batches")
    if not plan.actions:
        judge.at_rest()
    reached |= judge.situations
    run.situations |= reached
    run.events += judge.kinds
    run.events += [MERGED] if len(plan.moves) < len(plan.actions) else []
    run.events.append(EXECUTED if plan.actions else EMPTY)
    run.kinds.append((tuple(goal.goal for goal in case.goals), min(len(judge.kinds), 6), *sorted(reached),
                      *sorted(set(judge.kinds))))  # fmt: skip
    if found is not None:
        _violated(run, found)
        return None
    if not plan.actions:
        run.end = RESTED
        run.situations.add("rest at once" if len(run.rounds) == 1 else "rest after several rounds")
        return None
    following = dict(placement)
    for move in plan.moves:
        following[move.partition] = move.destination
    if following == placement:
        run.end, run.period = NO_EFFECT, 1
        run.violation = PartViolation("P-19", "a plan with actions changes nothing")
        run.circling = _brokers_of(plan.actions)
        run.told = (*_told(case), f"{run.circling} brokers")
        return None
    if len(run.rounds) == 2:
        run.situations.add("a second plan with actions")
    return following


def _plan(
    case: BalancerCase, placement: Placement, chooser: MakeChooser = chooser_for, *, disturbed: bool = False
) -> RoundPlan:
    """The plan of a round. ``disturbed``: the snapshot is filled in the opposite order, and somebody changes the
    configuration when the round has begun (BG-19).
    """
    snapshot = case.snapshot(placement, backwards=disturbed)
    first = RoundConfiguration(case.goals, case.safe)
    later = RoundConfiguration(tuple(map(_changed, case.goals)), case.safe) if disturbed else first
    readings = chain([first], repeat(later))
    plan = plan_round(lambda: snapshot, lambda: next(readings), make_chooser=chooser)
    assert plan is not None, "the controller leads"
    return plan


def _changed(goal: GoalSettings) -> GoalSettings:
    return msgspec.structs.replace(goal, deviation=goal.deviation + 0.3, threshold=0.0)


def _judged(placement: Placement, plan: RoundPlan, judge: RoundJudge) -> PartViolation | None:
    """What the oracles object to in a plan."""
    return (
        judge.idle(plan.actions)
        or judge.follow(plan.actions)
        or judge.after(plan.snapshot)
        or judge.merged(placement, plan.moves)
    )


def _badly_cut(
    case: BalancerCase, moves: Sequence[BalancerAction], cut: Sequence[Sequence[BalancerAction]]
) -> PartViolation | None:
    if [move for batch in cut for move in batch] != list(moves):
        return PartViolation("P-24", "the batches are not the moves in their order")
    if not all(cut):
        return PartViolation("P-24", "a batch is empty")
    problems = batch_problems(cut, case.topics(), case.limits)
    return PartViolation("P-24", f"a batch has {problems[0]}") if problems else None


def _planned_otherwise(case: BalancerCase, placement: Placement, plan: RoundPlan) -> PartViolation | None:
    """Whether the literal form of the choice plans otherwise, in a disturbed round."""
    again = _plan(case, placement, MoveChooser, disturbed=True)
    if again.actions == plan.actions and again.moves == plan.moves:
        return None
    return PartViolation("P-25", "the same cluster has another plan")


def _violated(run: BalancerRun, violation: PartViolation) -> None:
    run.end, run.violation, run.told = VIOLATED, violation, _told(run.case)


def _end_in_cycle(run: BalancerRun, first: int) -> None:
    """End a run whose placement is that of the start of round ``first``."""
    case = run.case
    run.end, run.period = CYCLE, len(run.rounds) - first
    run.situations.add(f"a cycle of {run.period} rounds" if run.period < 4 else "a cycle of 4 or more rounds")
    label = "P-15" if case.safe or len(case.goals) == 1 else "P-17" if len(case.eligible) > 2 else "P-16"
    run.violation = PartViolation(label, "a placement returns")
    run.circling = _brokers_of([action for each in run.rounds[first:] for action in each.actions])
    run.told = (*_told(case), f"{run.period} rounds", f"{run.circling} brokers")


def _told(case: BalancerCase) -> tuple[str, ...]:
    """What tells findings of one property apart: the goals by kind."""
    kinds = {"hard goals": any(goal.capacity is not None for goal in case.goals),
             "one goal": len(case.goals) == 1}  # fmt: skip
    return tuple(name for name, holds in kinds.items() if holds)


def _brokers_of(actions: Sequence[BalancerAction]) -> int:
    return len({broker for action in actions for broker in (action.source, action.destination)})


def _at_start(case: BalancerCase) -> set[str]:
    kinds = {
        "a broker out of date": any(each.stale for each in case.brokers),
        "at most two eligible brokers": len(case.eligible) <= 2,
        "one goal": len(case.goals) == 1,
        "a hard goal": any(goal.capacity is not None for goal in case.goals),
        "loads that doubles round": not case.is_whole,
    }
    return {name for name, holds in kinds.items() if holds}


SITUATIONS = (
    "rest at once", "rest after several rounds", "a second plan with actions", NOT_ACCEPTED, *DECIDED.values(),
    "several batches", LEAVES_BAND, "a broker out of date", "at most two eligible brokers", "one goal", "a hard goal",
    "loads that doubles round", "a cycle of 2 rounds", "a cycle of 3 rounds", "a cycle of 4 or more rounds",
)  # fmt: skip
"""All situations, in the order of tables."""
