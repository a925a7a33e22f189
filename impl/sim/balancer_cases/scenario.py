"""The run of a case as a scenario file, which `holdfast scenario run` repeats.

It has the cluster, and the plan of each round.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from impl.balancer.actions import BalancerAction
from impl.balancer.fast_choosing import chooser_for
from impl.balancer.goals import MIB, GoalSettings
from impl.balancer.judgement import ActionJudge
from impl.balancer.phase import Phase
from impl.balancer.rounds import goals_of
from impl.sim.balancer_cases.case import BalancerCase, Placement
from impl.sim.balancer_cases.play import CYCLE, NO_EFFECT, BalancerRun, PlannedRound, title

KEYS = ("deviation", "threshold", "trivial", "span", "capacity", "limit")
IN_UNITS = ("threshold", "span", "capacity")
"""The settings of a goal that the unit of the scenario multiplies."""


def scenario(run: BalancerRun) -> str:
    """The text of the file. Its plans are those of the run, so it passes as long as the planner plans the same.

    Of a cycle it has one round more, which plans what the first round of the cycle planned.
    """
    case, unit = run.case, _unit(run.case)
    lines = [f"name: '{title(run)}'", *(["profile: {balancer: safe}"] if case.safe else []), "steps:"]
    shown = list(run.rounds)
    if run.end == CYCLE:
        shown.append(run.rounds[len(run.rounds) - run.period])
    for number, planned in enumerate(shown):
        # A plan takes the loads of the last one along. Where doubles round, those may not be the sums of the parts.
        if number == 0 or not case.is_whole:
            lines += _cluster(case, planned.placement, unit)
        goals = ", ".join(_map(_goal(goal, unit)) for goal in case.goals)
        lines.append(f"  - {{op: goals, goals: [{goals}]}}")
        phases = _phases(case, planned) if run.end == NO_EFFECT and planned is shown[-1] else []
        lines += phases or ["  - op: plan", "    expect:", *_listed("      actions", list(_actions(planned.moves)))]
    lines += _batches(case, shown[-1])
    return "\n".join([*lines, ""])


def _phases(case: BalancerCase, planned: PlannedRound) -> list[str]:
    """The phases of a round, whose actions the merge of a plan would hide; empty if they depend on each other."""
    snapshot = case.snapshot(planned.placement)
    goals = goals_of(snapshot, case.goals)
    lines, found = [], []
    for goal in goals:
        chooser = chooser_for(snapshot, ActionJudge(goals, goal.GROUP, safe=case.safe))
        actions = Phase(snapshot, goal, chooser).run()
        found += actions
        lines += [
            f"  - op: phase\n    goal: {goal.name}",
            "    expect:",
            *_listed("      actions", list(_actions(actions))),
        ]
    lines += ["  - op: merge", *_listed("    actions", list(_actions(found))), "    expect: {actions: []}"]
    return lines if found == planned.actions else []


def _batches(case: BalancerCase, planned: PlannedRound) -> Iterator[str]:
    """The batches of a round, if there are any."""
    if planned.sizes:
        limits = {"concurrency": case.limits.concurrency, "sources": case.limits.sources}
        yield "  - op: batch"
        yield from _listed("    actions", list(_actions(planned.moves)))
        yield f"    partitions: {_map(dict(sorted(case.topics().items())))}"
        yield from (f"    {name}: {value}" for name, value in limits.items())
        yield f"    expect: {{sizes: [{', '.join(map(str, planned.sizes))}]}}"


def _cluster(case: BalancerCase, placement: Placement, unit: float) -> Iterator[str]:
    snapshot = case.snapshot(placement)
    yield "  - op: cluster"
    yield from ["    unit: MiB"] if unit == MIB else []
    yield "    brokers:"
    for broker in snapshot.brokers.values():
        flags = {name: "true" for name, holds in (("slow", broker.slow), ("stale", broker.stale)) if holds}
        yield f"      {broker.id}: {_map({**_loads(broker.loads, unit), **flags})}"
    yield "    partitions:" if case.partitions else "    partitions: {}"
    for part in case.partitions:
        yield f"      {part.id}: {_map({'broker': placement[part.id], **_loads(part.loads, unit)})}"


def _goal(goal: GoalSettings, unit: float) -> dict[str, object]:
    """The name of a goal, and the settings that are not those of scenarios by default."""
    shipped = GoalSettings(goal.goal)
    found: dict[str, object] = {"goal": goal.goal}
    for key in KEYS:
        value = getattr(goal, key)
        if value != getattr(shipped, key):
            found[key] = _number(value / unit if key in IN_UNITS else value)
    return found


def _unit(case: BalancerCase) -> float:
    """MiB if that divides everything that has the unit bytes per second, else a byte."""
    values = [load for each in case.brokers for load in each.pinned]
    values += [load for each in case.partitions for load in each.loads]
    values += [value for goal in case.goals for key in IN_UNITS if (value := getattr(goal, key)) is not None]
    return float(MIB) if all(value % MIB == 0 for value in values) else 1.0


def _loads(loads: Iterable[float], unit: float) -> dict[str, object]:
    return {way: _number(load / unit) for way, load in zip(("in", "out"), loads, strict=True)}


def _number(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else repr(value)


def _actions(actions: Iterable[BalancerAction]) -> Iterator[str]:
    for action in actions:
        yield _map({"partition": action.partition, "from": action.source, "to": action.destination})


def _map(values: Mapping[str, object]) -> str:
    return f"{{{', '.join(f'{key}: {value}' for key, value in values.items())}}}"


def _listed(key: str, items: list[str]) -> Iterator[str]:
    if not items:
        yield f"{key}: []"
        return
    yield f"{key}:"
    yield from (f"{' ' * (len(key) - len(key.lstrip()))}  - {item}" for item in items)
