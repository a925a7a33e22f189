"""The operations of the assignment layer: their arguments, and the keys of their results."""

from __future__ import annotations

from impl.scenario.operation import (
    ASSIGNS,
    BOOL,
    BROKER_STATES,
    BROKERS,
    CHANGES,
    COUNT,
    INT,
    RECORDS,
    RECOVERY,
    TEXT,
    ScenarioOperation,
    struct,
)
from impl.scenario.types import ByNumber, ListOf, MapOf, Nullable, OneOf, UnorderedList, may, need

PARTITION = {"topic": need(TEXT), "partition": need(COUNT)}

ASSIGNMENT_OPERATIONS = (
    ScenarioOperation(
        "broker",
        "A broker becomes active, fenced, shutting_down or gone.",
        {"node": need(INT), "state": need(OneOf(BROKER_STATES, "state"))},
        ASSIGNS,
    ),
    ScenarioOperation(
        "drain",
        "One eviction pass over a broker in controlled shutdown moves up to 100 of its elastic partitions.",
        {"node": need(INT)},
        ASSIGNS | {"moved": INT},
    ),
    ScenarioOperation(
        "create_topic",
        "A topic with its partitions; each lists its replicas.",
        {"topic": need(TEXT), "partitions": need(ListOf(ListOf(INT))), "elastic": may(BOOL, False)},
        ASSIGNS,
    ),
    ScenarioOperation(
        "alter",
        "Reassignments start, or are cancelled by null (RA-01 to RA-08, RA-41 to RA-48, CA-20 to CA-54).",
        {"topics": need(MapOf(ByNumber(Nullable(ListOf(INT)))))},
        ASSIGNS | {"topics": UnorderedList(TEXT), "rows": MapOf(TEXT, whole=True)},
    ),
    ScenarioOperation(
        "list",
        "The reassignments in progress, of all topics by default.",
        {"topics": may(MapOf(ListOf(COUNT)))},
        {
            "error": TEXT,
            "reassignments": MapOf(struct(replicas=ListOf(INT), adding=BROKERS, removing=BROKERS), whole=True),
        },
    ),
    ScenarioOperation(
        "isr",
        "A leader changes the ISR (RA-47); the epochs are the current ones by default.",
        PARTITION
        | {
            "broker": need(INT),
            "isr": need(ListOf(INT)),
            "leader_epoch": may(INT),
            "partition_epoch": may(INT),
            "version": may(INT, 3),
        },
        ASSIGNS,
    ),
    ScenarioOperation(
        "elect",
        "The leader of a partition is elected (EL-08).",
        PARTITION | {"kind": may(OneOf(("preferred", "unclean"), "kind"), "preferred")},
        ASSIGNS,
    ),
    ScenarioOperation(
        "tick",
        "Time passes, then the election timers that are due run (EL-01 to EL-06, EL-12, EL-13).",
        {"advance_ms": need(COUNT)},
        {"records": RECORDS, "changes": CHANGES, "fired": ListOf(TEXT)},
    ),
    ScenarioOperation(
        "controller_failover", "Another controller takes over.", {}, {"records": RECORDS, "changes": CHANGES}
    ),
    ScenarioOperation(
        "partition",
        "The registration of a partition.",
        PARTITION,
        {
            "replicas": ListOf(INT),
            "isr": BROKERS,
            "leader": INT,
            "adding": BROKERS,
            "removing": BROKERS,
            "leader_epoch": INT,
            "partition_epoch": INT,
            "recovery": RECOVERY,
            "original": Nullable(ListOf(INT)),
            "marker": Nullable(INT),
        },
    ),
    ScenarioOperation(
        "config",
        "Settings of the controller change.",
        {"min_insync": may(COUNT), "unclean_election": may(BOOL), "object_retention_ms": may(COUNT)},
        {},
    ),
)
