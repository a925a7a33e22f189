"""The queries of the stream layer."""

from __future__ import annotations

from impl.scenario.operation import BOOL, INT, OBJECT_STATES, RUNTIME_STATES, STATE, TEXT, ScenarioOperation, struct
from impl.scenario.types import ListOf, MapOf, OneOf, need

QUERIES = (
    ScenarioOperation(
        "state",
        "A stream with its ranges.",
        {"stream": need(INT)},
        {
            "state": STATE,
            "epoch": INT,
            "index": INT,
            "start": INT,
            "end": INT,
            "owner": INT,
            "ranges": ListOf(struct(index=INT, node=INT, epoch=INT, start=INT, end=INT)),
            "missing": BOOL,
        },
    ),
    ScenarioOperation(
        "entry",
        "The offsets of a stream that a node sealed and still has to commit, as stored, active or not.",
        {"node": need(INT), "stream": need(INT)},
        {"from": INT, "to": INT, "none": BOOL},
    ),
    ScenarioOperation(
        "stream_set_objects",
        "The objects of a node with data of many streams, by ascending order id.",
        {"node": need(INT)},
        {"objects": ListOf(INT), "orders": ListOf(INT), "data_times": ListOf(INT)},
    ),
    ScenarioOperation(
        "stream_objects",
        "The objects with data of one stream, by ascending start.",
        {"stream": need(INT)},
        {"objects": ListOf(struct(object=INT, start=INT, end=INT))},
    ),
    ScenarioOperation(
        "object",
        "The state of an object.",
        {"id": need(INT)},
        {"state": OneOf(OBJECT_STATES, "state"), "size": INT, "missing": BOOL},
    ),
    ScenarioOperation(
        "has_opening",
        "Whether a node has open streams or active entries (ND-04).",
        {"node": need(INT)},
        {"value": BOOL},
    ),
    ScenarioOperation(
        "registration",
        "The registry record of a node, and its runtime state (ND-10, ND-30).",
        {"node": need(INT)},
        {
            "node_epoch": INT,
            "wal_config": TEXT,
            "tags": MapOf(TEXT),
            "state": OneOf(RUNTIME_STATES, "state"),
            "missing": BOOL,
        },
    ),
)
