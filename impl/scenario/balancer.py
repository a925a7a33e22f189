"""The operations of the balancer layer on a cluster: goals, scores, phases, plans (autobalancer.md 6 to 8)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from impl.balancer import curve
from impl.balancer.actions import BalancerAction
from impl.balancer.configuration import checked, configured
from impl.balancer.fast_choosing import chooser_for
from impl.balancer.goals import SPAN, THRESHOLD, BalancerGoal, GoalSettings
from impl.balancer.judgement import ActionJudge
from impl.balancer.merging import merge
from impl.balancer.phase import Phase
from impl.balancer.resources import IN, OUT, topic_partition
from impl.balancer.rounds import run_phases
from impl.balancer.snapshot import BrokerLoad, ClusterSnapshot, ReplicaLoad, replica_order
from impl.balancer.stages import StageRecorder
from impl.scenario.balancer_state import BalancerState
from impl.scenario.session import Arguments, Perform, Result, ScenarioSession
from impl.scenario.words_balancer import UNITS

WAYS = {"in": IN, "out": OUT}


def action_of(given: dict[str, Any]) -> BalancerAction:
    """An action of the language."""
    other = None if given["with"] is None else topic_partition(given["with"])
    return BalancerAction(topic_partition(given["partition"]), given["from"], given["to"], other, given.get("score"))


def shown(actions: Iterable[BalancerAction]) -> list[dict[str, Any]]:
    """Actions as the language shows them."""
    return [
        {
            "type": action.kind,
            "partition": str(action.partition),
            "from": action.source,
            "to": action.destination,
            "with": None if action.other is None else str(action.other),
            "score": action.score,
        }
        for action in actions
    ]


def _cluster(session: ScenarioSession, a: Arguments) -> Result:
    state = session.balancer
    state.unit = UNITS[a["unit"]]
    brokers = {
        number: BrokerLoad(number, _loads(state, each), _trusted(each["untrusted"]), each["stale"], each["slow"])
        for number, each in a["brokers"].items()
    }
    for name, each in a["partitions"].items():
        if each["broker"] not in brokers:
            raise ValueError(f"{name} is on broker {each['broker']}, which the cluster lacks; add it to brokers")
        _place(brokers[each["broker"]], name, _loads(state, each), _trusted(each["untrusted"]))
    state.given = True
    state.use(ClusterSnapshot(brokers.values()))
    return {}


def _load(session: ScenarioSession, a: Arguments) -> Result:
    state = session.balancer
    broker = state.broker(a["broker"])
    given = {WAYS[way]: a[way] * state.unit for way in WAYS if a[way] is not None}
    if a["partition"] is None:
        for resource, load in given.items():
            broker.loads[resource] = load
        if a["untrusted"] is not None:
            broker.trusted = _trusted(a["untrusted"])
        broker.slow = broker.slow if a["slow"] is None else a["slow"]
        broker.stale = broker.stale if a["stale"] is None else a["stale"]
        return {}
    if a["slow"] is not None or a["stale"] is not None:
        raise ValueError("slow and stale belong to a broker; leave partition out, or them")
    name = topic_partition(a["partition"])
    known = [each.partitions.pop(name) for each in state.cluster.brokers.values() if name in each.partitions]
    before = known[0] if known else ReplicaLoad(name, (0.0, 0.0))
    loads = [given.get(resource, before.loads[resource]) for resource in (IN, OUT)]
    trusted = list(before.trusted) if a["untrusted"] is None else _trusted(a["untrusted"])
    _place(broker, a["partition"], loads, trusted)
    return {}


def _loads(state: BalancerState, given: dict[str, Any]) -> list[float]:
    return [given["in"] * state.unit, given["out"] * state.unit]


def _trusted(untrusted: list[str]) -> list[bool]:
    return [way not in untrusted for way in WAYS]


def _place(broker: BrokerLoad, name: str, loads: list[float], trusted: list[bool]) -> None:
    partition = topic_partition(name)
    broker.partitions[partition] = ReplicaLoad(partition, (loads[IN], loads[OUT]), (trusted[IN], trusted[OUT]))


def _goals(session: ScenarioSession, a: Arguments) -> Result:
    state = session.balancer
    names = [each["goal"] for each in a["goals"]]
    if len(set(names)) < len(names):
        raise ValueError(f"goals has {', '.join(names)}; name each goal once")
    state.settings = [_settings(state, each) for each in a["goals"]]
    state.over = a["over"]
    if not a["keep_bands"]:
        state.bands.clear()
    bands = {goal.name: goal.band for goal in state.goals()}
    return {
        "bands": {
            name: {key: getattr(bands[name], key) / state.unit for key in ("average", "margin", "low", "high")}
            for name in names
        }
    }


def _settings(state: BalancerState, given: dict[str, Any]) -> GoalSettings:
    settings = GoalSettings(
        given["goal"],
        deviation=given["deviation"],
        threshold=THRESHOLD if given["threshold"] is None else given["threshold"] * state.unit,
        trivial=given["trivial"],
        span=SPAN if given["span"] is None else given["span"] * state.unit,
        capacity=None if given["capacity"] is None else given["capacity"] * state.unit,
        limit=given["limit"],
    )
    return checked(settings, safe=state.safe)


def _goal_config(session: ScenarioSession, a: Arguments) -> Result:
    found = configured(a["settings"], safe=session.balancer.safe).round.goals
    keys = ("goal", "threshold", "deviation", "trivial", "span")
    return {"goals": [{key: getattr(each, key) for key in keys} for each in found]}


def _normalize(_: ScenarioSession, a: Arguments) -> Result:
    if a["kind"] == "linear":
        value = curve.linear(a["value"], a["min"], a["max"])
    else:
        value = curve.stepped(a["value"], a["min"], a["step"], a["step_value"])
    return {"value": 1 - value if a["reverse"] else value}


def _score(session: ScenarioSession, a: Arguments) -> Result:
    goal = session.balancer.goal(a["goal"])
    load = session.balancer.broker(a["broker"]).loads[goal.resource]
    return {"score": goal.score(load), "acceptable": goal.accepts(load)}


def _trivial(session: ScenarioSession, a: Arguments) -> Result:
    return {"value": session.balancer.goal(a["goal"]).is_trivial(a["change"] * session.balancer.unit)}


def _replica_order(session: ScenarioSession, a: Arguments) -> Result:
    goal = session.balancer.goal(a["goal"])
    order = replica_order(session.balancer.broker(a["broker"]), goal.resource)
    return {"partitions": [str(partition.id) for partition in order]}


def _action_score(session: ScenarioSession, a: Arguments) -> Result:
    state = session.balancer
    if (a["type"] == "SWAP") != (a["with"] is not None):
        raise ValueError("a SWAP has the partition that comes back, and a MOVE has none; mend `with`")
    goals = state.goals(a["goals"])
    judged = ActionJudge(goals, goals[0].GROUP, safe=state.safe).judge(state.work_on(), action_of(a))
    return {"score": judged.score, "scores": judged.scores, "allowed": judged.allowed}


def _phase(session: ScenarioSession, a: Arguments) -> Result:
    state = session.balancer
    goal, scoring = state.goal(a["goal"]), state.goals(a["scoring"])
    if all(each.GROUP != goal.GROUP for each in scoring):
        raise ValueError(f"scoring has no goal of the group of {goal.name}; add {goal.name}")
    cluster = state.work_on()
    judge = ActionJudge(scoring, goal.GROUP, safe=state.safe)
    recorder = StageRecorder(cluster)
    actions = Phase(cluster, goal, chooser_for(cluster, judge)).run()
    recorder.after_phase(goal, len(actions))
    state.rounds.append(recorder.stages([goal]))
    return {"actions": shown(actions), **_after(state)}


def _plan(session: ScenarioSession, _: Arguments) -> Result:
    state = session.balancer
    goals, cluster = state.goals(), state.work_on()
    recorder = StageRecorder(cluster)
    actions = run_phases(cluster, goals, safe=state.safe, after_phase=recorder.after_phase)
    state.rounds.append(recorder.stages(goals))
    return {"actions": shown(merge(actions or [])), **_after(state)}


def _after(state: BalancerState) -> Result:
    brokers = state.cluster.brokers
    return {
        "loads": {
            number: {way: broker.loads[resource] / state.unit for way, resource in WAYS.items()}
            for number, broker in brokers.items()
        },
        "acceptable": {goal.name: _acceptable(goal, brokers) for goal in state.goals()},
    }


def _acceptable(goal: BalancerGoal, brokers: dict[int, BrokerLoad]) -> dict[int, bool]:
    return {number: goal.accepts(broker.loads[goal.resource]) for number, broker in brokers.items()}


PERFORM: dict[str, Perform] = {
    "cluster": _cluster,
    "load": _load,
    "goals": _goals,
    "goal_config": _goal_config,
    "normalize": _normalize,
    "score": _score,
    "trivial": _trivial,
    "replica_order": _replica_order,
    "action_score": _action_score,
    "phase": _phase,
    "plan": _plan,
}
