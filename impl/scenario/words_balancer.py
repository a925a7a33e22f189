"""The operations of the balancer layer: their arguments, and the keys of their results."""

from __future__ import annotations

from typing import Any

import yaml

from impl.balancer.batches import BatchLimits
from impl.balancer.configuration import Value, short
from impl.balancer.goals import DEVIATION, LIMIT, RESOURCE_OF, TRIVIAL
from impl.balancer.resources import topic_partition
from impl.balancer.samples import METRICS
from impl.balancer.taking import DELAY_MS
from impl.scenario.operation import BOOL, BROKERS, COUNT, INT, TEXT, ScenarioOperation, struct
from impl.scenario.reading import malformed, plain, scalar
from impl.scenario.types import (
    ByNumber,
    ListOf,
    MapOf,
    Nullable,
    Number,
    OneOf,
    Schema,
    String,
    Struct,
    Type,
    UnorderedList,
    may,
    need,
)

_NAME = "^.+-[0-9]+$"


def _checked_name(node: yaml.Node) -> str:
    text = scalar(node, "a partition")
    try:
        topic_partition(text)
    except ValueError as error:
        malformed(node, str(error), None)
    return text


class PartitionWord(String, frozen=True):
    """The name of a partition: its topic, a dash and its number."""

    def value(self, node: yaml.Node) -> str:
        super().value(node)
        return _checked_name(node)

    def schema(self) -> Schema:
        return {"type": "string", "pattern": _NAME}


class ByPartition(MapOf, frozen=True):
    """A map from names of partitions to values."""

    def key(self, node: yaml.Node) -> str:
        return _checked_name(node)

    def schema(self) -> Schema:
        return {
            "type": "object",
            "patternProperties": {_NAME: self.inner.schema()},
            "additionalProperties": False,
        }


class ActionMap(Struct, frozen=True):
    """An action. A SWAP names the partition that comes back, a MOVE does not."""

    def value(self, node: yaml.Node) -> dict[str, Any]:
        given = super().value(node)
        if (given["type"] == "SWAP") != (given["with"] is not None):
            malformed(node, "a SWAP has the partition that comes back, and a MOVE has none", "mend `with`")
        return given


class SettingsWord(Type, frozen=True):
    """Settings by the keys of AutoMQ: numbers, texts, lists."""

    def value(self, node: yaml.Node) -> dict[str, Value]:
        given = plain(node)
        if not isinstance(given, dict):
            malformed(node, "expected a map of settings")
        for key, value in given.items():
            try:
                short(key)
            except ValueError as error:
                malformed(node, str(error), None)
            if value is None or isinstance(value, dict):
                malformed(node, f"{key} has no value", "write a number, a text or a list")
        return given

    def schema(self) -> Schema:
        return {"type": "object"}


NUMBER = Number()
PARTITION = PartitionWord()
NAMES = tuple(RESOURCE_OF)
GOAL = OneOf(NAMES, "goal")
GOALS = ListOf(GOAL)
WAYS = UnorderedList(OneOf(("in", "out"), "resource"))
UNITS = {"B": 1.0, "MiB": float(1 << 20)}

LOADS = Struct({"in": may(NUMBER), "out": may(NUMBER)})
_LOADS = {"in": may(NUMBER, 0), "out": may(NUMBER, 0), "untrusted": may(WAYS, [])}
BROKER = Struct({**_LOADS, "slow": may(BOOL, False), "stale": may(BOOL, False)})
REPLICA = Struct({"broker": need(INT), **_LOADS})

ACTION = {
    "type": may(OneOf(("MOVE", "SWAP"), "type of action"), "MOVE"),
    "partition": need(PARTITION),
    "from": need(INT),
    "to": need(INT),
    "with": may(Nullable(PARTITION)),
}
ACTIONS = need(ListOf(ActionMap({**ACTION, "score": may(Nullable(NUMBER))}, "key of an action")))
FOUND = ListOf(Struct({**ACTION, "score": may(Nullable(NUMBER))}, "key of an action"))
CLUSTER: dict[str, Type] = {"loads": ByNumber(LOADS), "acceptable": MapOf(ByNumber(BOOL))}
"""The results that show the cluster afterwards."""

GOAL_SETTINGS = Struct(
    {
        "goal": need(GOAL),
        "deviation": may(NUMBER, DEVIATION),
        "threshold": may(NUMBER),
        "trivial": may(NUMBER, TRIVIAL),
        "span": may(NUMBER),
        "capacity": may(NUMBER),
        "limit": may(NUMBER, LIMIT),
    },
    "key of a goal",
)
LIMITS = BatchLimits()

BALANCER_OPERATIONS = (
    ScenarioOperation(
        "cluster",
        "The cluster on which the operations below work. The loads of brokers are taken as given, apart from those of "
        "their partitions. `unit`: that of all loads, thresholds, spans and changes of the scenario.",
        {
            "brokers": need(ByNumber(BROKER)),
            "partitions": may(ByPartition(REPLICA), {}),
            "unit": may(OneOf(tuple(UNITS), "unit"), "B"),
        },
        {},
    ),
    ScenarioOperation(
        "load",
        "Change what is named of a broker, or of a partition, which is new on the broker if it is unknown.",
        {
            "broker": need(INT),
            "partition": may(PARTITION),
            "in": may(NUMBER),
            "out": may(NUMBER),
            "untrusted": may(WAYS),
            "slow": may(BOOL),
            "stale": may(BOOL),
        },
        {},
    ),
    ScenarioOperation(
        "goals",
        "Configure the goals, by default NW_IN and NW_OUT (AB-23 to AB-27). CAPACITY_IN and CAPACITY_OUT are hard and "
        "need a `capacity`. `over`: the brokers that make the average, by default the eligible ones; later changes of "
        "loads leave average and band as they are, and so do these goals with `keep_bands`.",
        {"goals": need(ListOf(GOAL_SETTINGS)), "over": may(BROKERS), "keep_bands": may(BOOL, False)},
        {"bands": MapOf(struct(average=NUMBER, margin=NUMBER, low=NUMBER, high=NUMBER))},
    ),
    ScenarioOperation(
        "goal_config",
        "The goals that settings configure (AB-26). Their numbers are bytes, whatever the unit.",
        {"settings": need(SettingsWord())},
        {"goals": ListOf(struct(goal=GOAL, threshold=NUMBER, deviation=NUMBER, trivial=NUMBER, span=NUMBER))},
    ),
    ScenarioOperation(
        "normalize",
        "A part of the score curve (AB-29). `linear`: how far the value is from `min` to `max`. `step`: linear up to "
        "`step_value` at `step`, a logarithm beyond.",
        {"kind": need(OneOf(("linear", "step"), "kind")), "value": need(NUMBER), "min": may(NUMBER, 0)},
        {"value": NUMBER},
        {
            "linear": {"max": need(NUMBER), "reverse": may(BOOL, False)},
            "step": {"step": need(NUMBER), "step_value": may(NUMBER, 0.9), "reverse": may(BOOL, False)},
        },
        selector="kind",
    ),
    ScenarioOperation(
        "score",
        "The score of a broker (AB-28), and whether the goal accepts it (AB-27).",
        {"goal": need(GOAL), "broker": need(INT)},
        {"score": NUMBER, "acceptable": BOOL},
    ),
    ScenarioOperation(
        "trivial",
        "Whether a change of a broker's load is trivial (AB-44).",
        {"goal": need(GOAL), "change": need(NUMBER)},
        {"value": BOOL},
    ),
    ScenarioOperation(
        "replica_order",
        "The partitions of a broker in the order in which a goal tries them (AB-43).",
        {"goal": need(GOAL), "broker": need(INT)},
        {"partitions": ListOf(PARTITION)},
    ),
    ScenarioOperation(
        "action_score",
        "The scores of an action (AB-32 to AB-36), which is not applied. `score`: of the first goal's group, -1 if the "
        "action is refused, and then it is not `allowed`. `goals`: those that judge, by default all.",
        {**ACTION, "goals": may(GOALS)},
        {"score": NUMBER, "scores": MapOf(NUMBER), "allowed": BOOL},
    ),
    ScenarioOperation(
        "phase",
        "Run the phase of a goal, and apply its actions (AB-40 to AB-44). `scoring`: the goals that judge, by default "
        "all. `loads` and `acceptable` are those afterwards.",
        {"goal": need(GOAL), "scoring": may(GOALS)},
        {"actions": FOUND, **CLUSTER},
    ),
    ScenarioOperation(
        "plan",
        "Run the phases of all goals, apply their actions and merge them (AB-39, AB-48).",
        {},
        {"actions": FOUND, **CLUSTER},
    ),
    ScenarioOperation(
        "merge",
        "Merge actions (AB-48). Where they do not follow on from each other, there is the error IllegalStateException.",
        {"actions": ACTIONS},
        {"actions": FOUND, "error": TEXT},
    ),
    ScenarioOperation(
        "batch",
        "Cut actions into batches (AB-49 to AB-51). `partitions`: by topic, how many it has. `sizes`: how many of the "
        "actions, in order, each batch takes.",
        {
            "actions": ACTIONS,
            "partitions": need(MapOf(COUNT)),
            "concurrency": may(COUNT, LIMITS.concurrency),
            "topic_ratio": may(NUMBER, LIMITS.topic_ratio),
            "sources": may(COUNT, LIMITS.sources),
        },
        {"sizes": ListOf(COUNT)},
    ),
    ScenarioOperation(
        "requests",
        "The request for the actions as one batch (AB-53), or none if nothing is left of it. Actions to a broker that "
        "`broker` has fenced or unregistered are left out.",
        {"actions": ACTIONS},
        {"requests": ListOf(MapOf(ByNumber(ListOf(INT), whole=True), whole=True))},
    ),
    ScenarioOperation(
        "metrics",
        "A sample arrives, of a partition or of a broker (AB-13, AB-14). `accepted`: it is taken.",
        {
            "broker": need(INT),
            "partition": may(PARTITION),
            "time_ms": need(INT),
            "values": need(Struct({name: may(NUMBER) for name in METRICS}, "metric")),
        },
        {"accepted": BOOL},
    ),
    ScenarioOperation(
        "snapshot",
        "The snapshot of the cluster model, which follows `broker`, `create_topic`, `inject` and moves (AB-15 to "
        "AB-22). `partitions`: those that may move. In a scenario without `cluster`, planning works on it.",
        {
            "now_ms": need(INT),
            "delay_ms": may(COUNT, DELAY_MS),
            "exclude_brokers": may(BROKERS, []),
            "exclude_topics": may(UnorderedList(TEXT), []),
        },
        {
            "brokers": ByNumber(Struct({**LOADS.fields, "stale": may(BOOL), "slow": may(BOOL)}), whole=True),
            "partitions": ByPartition(INT, whole=True),
            "stale_partitions": UnorderedList(PARTITION),
        },
    ),
)
