"""The operations of the stream layer: their arguments, and the keys of their results."""

from __future__ import annotations

from impl.scenario.operation import (
    BOOL,
    COUNT,
    EPOCH,
    INT,
    MUTATES,
    NODE,
    RECORDS,
    RECOVERY,
    STATE,
    TEXT,
    ScenarioOperation,
    given,
    struct,
)
from impl.scenario.types import Integer, ListOf, MapOf, Nullable, OneOf, StructField, may, need

OPENING = struct(stream=INT, epoch=INT, start=INT, end=INT)
DESCRIBED = struct(stream=INT, node=INT, state=STATE, topic=TEXT, partition=INT)
STREAM_OBJECT = given({"object": INT, "stream": INT, "start": INT, "end": INT}, size=INT)
COMMITTED_RANGE = given({"stream": INT, "start": INT, "end": INT})

INJECTED: dict[str, dict[str, StructField]] = {
    "STREAM": {"stream": need(INT), "epoch": may(INT), "index": may(INT), "start": may(INT), "state": may(STATE)},
    "RANGE": {
        "stream": need(INT),
        "index": need(INT),
        "epoch": may(INT),
        "node": may(INT),
        "start": may(INT),
        "end": may(INT),
    },
    "UNC": {"node": need(INT), "stream": need(INT), "from": need(INT), "to": need(INT)},
    "PARTITION": {
        "topic": need(TEXT),
        "partition": need(COUNT),
        "replicas": may(ListOf(INT)),
        "isr": may(ListOf(INT)),
        "leader": may(INT),
        "adding": may(ListOf(INT)),
        "removing": may(ListOf(INT)),
        "leader_epoch": may(INT),
        "partition_epoch": may(INT),
        "recovery": may(RECOVERY),
        "original": may(Nullable(ListOf(INT)), ...),
    },
}

STREAM_OPERATIONS = (
    ScenarioOperation(
        "openings",
        "A node registers its epoch and gets the streams that it has to recover (ND-01 to ND-03).",
        NODE | {"failover": may(BOOL, False)},
        MUTATES | {"streams": ListOf(OPENING)},
    ),
    ScenarioOperation(
        "create",
        "A node creates a stream (ST-01, ST-02), tagged with a partition if a topic is given.",
        NODE | {"topic": may(TEXT), "partition": may(COUNT)},
        MUTATES | {"stream": INT},
    ),
    ScenarioOperation(
        "open",
        "A node opens a stream under an epoch (ST-10 to ST-24).",
        NODE | {"stream": need(INT), "epoch": need(EPOCH)},
        MUTATES | {"start": INT, "next": INT},
    ),
    ScenarioOperation(
        "close",
        "A node closes a stream (ST-30 to ST-38); with `end`, a fast close.",
        NODE | {"stream": need(INT), "epoch": need(EPOCH), "end": may(INT, -1)},
        MUTATES,
    ),
    ScenarioOperation(
        "trim",
        "A node moves the start of a stream up (ST-40 to ST-45).",
        NODE | {"stream": need(INT), "epoch": need(EPOCH), "to": need(INT)},
        MUTATES,
    ),
    ScenarioOperation(
        "delete",
        "A stream is deleted (ST-50 to ST-52). Node and epoch are not checked.",
        {"stream": need(INT), "node": may(INT), "node_epoch": may(EPOCH)},
        MUTATES,
    ),
    ScenarioOperation(
        "prepare",
        "Object ids are reserved for a time (OB-01).",
        {"count": need(Integer(low=0, high=1_000_000)), "ttl_ms": need(INT)},
        MUTATES | {"first": INT},
    ),
    ScenarioOperation(
        "commit",
        "A node commits an upload of its WAL, or a compaction if `compacted` names its inputs (CS-01 to CS-35).",
        {
            "node": need(INT),
            "node_epoch": may(EPOCH, 0),
            "object": need(INT),
            "order": may(INT),
            "size": may(INT, 0),
            "ranges": may(ListOf(COMMITTED_RANGE), ()),
            "stream_objects": may(ListOf(STREAM_OBJECT), ()),
            "compacted": may(ListOf(INT), ()),
            "failover": may(BOOL, False),
        },
        MUTATES,
    ),
    ScenarioOperation(
        "compact_stream",
        "A node commits a compaction of one stream (CO-01 to CO-06).",
        {
            "node": need(INT),
            "node_epoch": may(EPOCH, 0),
            "object": need(INT),
            "size": may(INT, 0),
            "stream": need(INT),
            "epoch": may(EPOCH, -1),
            "start": need(INT),
            "end": need(INT),
            "sources": may(ListOf(INT), ()),
        },
        MUTATES,
    ),
    ScenarioOperation(
        "describe",
        "Streams are listed by id, by node, or by partition (ST-60).",
        {"stream": may(INT), "node": may(INT), "topic": may(TEXT), "partition": may(INT)},
        MUTATES | {"streams": ListOf(DESCRIBED)},
    ),
    ScenarioOperation(
        "register_node",
        "A node registers its WAL configuration and tags (ND-10).",
        NODE | {"wal_config": may(TEXT, ""), "tags": may(MapOf(TEXT), {})},
        MUTATES,
    ),
    ScenarioOperation(
        "lock_node", "The registry tag CIRCUIT_BREAKER of a node becomes OPEN (ND-20).", {"node": need(INT)}, MUTATES
    ),
    ScenarioOperation(
        "unlock_node",
        "The registry tag CIRCUIT_BREAKER of a node becomes CLOSED (ND-20).",
        {"node": need(INT)},
        MUTATES,
    ),
    ScenarioOperation(
        "unregister_node", "The registration of a node is removed (ND-11).", {"node": need(INT)}, MUTATES
    ),
    ScenarioOperation(
        "object_clock",
        "Time passes, then the lifecycle check of objects runs once (OB-04, OB-05).",
        {"advance_ms": need(COUNT), "hold_deletes": may(BOOL, False)},
        {"records": RECORDS, "deletes": ListOf(INT)},
    ),
    ScenarioOperation(
        "scale_in_cleanup",
        "Objects that hold only trimmed data of inactive nodes are removed (ND-40).",
        {},
        {"records": RECORDS},
    ),
    ScenarioOperation(
        "inject",
        "One metadata record is replayed; nothing is checked.",
        {"record": need(OneOf(tuple(INJECTED), "record"))},
        {"records": RECORDS},
        INJECTED,
    ),
)
