"""The operations of the balancer layer around a plan: merge, batches, requests, metrics (autobalancer.md 3 to 5, 9)."""

from __future__ import annotations

from impl.balancer.batches import BatchLimits, batches
from impl.balancer.configuration import check_limits
from impl.balancer.execution import request
from impl.balancer.merging import UnmatchedMovesError, merge
from impl.balancer.resources import IN, OUT, topic_partition
from impl.balancer.samples import METRICS, OF_BROKER, OF_PARTITION
from impl.balancer.taking import stale_partitions, take_snapshot
from impl.controller.nodes import is_locked
from impl.scenario.balancer import action_of, shown
from impl.scenario.session import Arguments, Perform, Result, ScenarioSession

UNMATCHED = "IllegalStateException"
"""The exception of AutoMQ for moves that do not follow on from each other."""


def _merge(_: ScenarioSession, a: Arguments) -> Result:
    try:
        return {"actions": shown(merge(map(action_of, a["actions"]))), "error": "NONE"}
    except UnmatchedMovesError:
        return {"actions": [], "error": UNMATCHED}


def _batch(session: ScenarioSession, a: Arguments) -> Result:
    limits = BatchLimits(a["concurrency"], a["topic_ratio"], a["sources"])
    if session.balancer.safe:
        check_limits(limits)
    found = batches(map(action_of, a["actions"]), a["partitions"], limits)
    return {"sizes": [len(batch) for batch in found]}


def _requests(session: ScenarioSession, a: Arguments) -> Result:
    brokers = session.controller.image.brokers
    # A broker that no step has named counts as active.
    found = request(map(action_of, a["actions"]), lambda broker: brokers.get(broker) not in ("fenced", "gone"))
    return {"requests": [found] if found else []}


def _metrics(session: ScenarioSession, a: Arguments) -> Result:
    partition = None if a["partition"] is None else topic_partition(a["partition"])
    values = {name: value for name, value in a["values"].items() if value is not None}
    known, whose = (OF_BROKER, "broker") if partition is None else (OF_PARTITION, "partition")
    for name in values:
        if name not in known:
            raise ValueError(f"{name} is no metric of a {whose}; known: {', '.join(known)}")
    model = session.balancer.feed(session.controller.log)
    by_id = {METRICS[name]: value for name, value in values.items()}
    return {"accepted": model.report(a["broker"], a["time_ms"], by_id, partition)}


def _snapshot(session: ScenarioSession, a: Arguments) -> Result:
    state, image = session.balancer, session.controller.image
    model = state.feed(session.controller.log)
    locked = {broker for broker in model.brokers if is_locked(image, broker)}
    found = take_snapshot(
        model,
        a["now_ms"],
        a["delay_ms"],
        locked.union(a["exclude_brokers"]),
        a["exclude_topics"],
        safe=state.safe,
    )
    if not state.given:
        state.use(found)
    return {
        "brokers": {
            broker.id: {
                "in": broker.loads[IN] / state.unit,
                "out": broker.loads[OUT] / state.unit,
                "stale": broker.stale,
                "slow": broker.slow,
            }
            for broker in found.brokers.values()
        },
        "partitions": {str(name): broker.id for broker in found.brokers.values() for name in broker.partitions},
        "stale_partitions": set(map(str, stale_partitions(model, found, a["now_ms"], a["delay_ms"]))),
    }


PERFORM: dict[str, Perform] = {
    "merge": _merge,
    "batch": _batch,
    "requests": _requests,
    "metrics": _metrics,
    "snapshot": _snapshot,
}
