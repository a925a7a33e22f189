"""The operations of the zone layer on route epochs: their arguments, and the keys of their results."""

from __future__ import annotations

from typing import Any

import yaml

from impl.scenario.operation import BOOL, COUNT, INT, RECORDS, RUNTIME_STATES, TEXT, ScenarioOperation
from impl.scenario.reading import malformed
from impl.scenario.types import ByNumber, Integer, ListOf, MapOf, Nullable, OneOf, Schema, may, need
from impl.zone.commit_manager import STAGES


class PairOf(ListOf, frozen=True):
    """A list of two."""

    def value(self, node: yaml.Node) -> Any:
        found = super().value(node)
        if len(found) != 2:
            malformed(node, f"expected a list of two, found {len(found)}")
        return found

    def schema(self) -> Schema:
        return super().schema() | {"minItems": 2, "maxItems": 2}


LONG = Integer()
EPOCH = need(LONG)
EPOCH_OR_NULL = Nullable(LONG)
NODE = need(INT)
LABEL = need(TEXT)
LABEL_OR_NULL = Nullable(TEXT)
COUNTS = ByNumber(COUNT, whole=True)
PAIR = PairOf(LONG)

EPOCH_OPERATIONS = (
    ScenarioOperation(
        "route_epoch",
        "The cluster's record of route epochs.",
        {"committed": EPOCH, "fenced": EPOCH, "current": EPOCH, "bumped_ms": may(LONG, 0)},
        {},
    ),
    ScenarioOperation(
        "route_node",
        "What the controller knows of a node: its runtime state (ND-30), whether it has opening streams, and its last "
        "report, which stays if it is left out.",
        {
            "node": NODE,
            "state": need(OneOf(RUNTIME_STATES, "state")),
            "opening": need(BOOL),
            "route_epoch": may(EPOCH_OR_NULL),
        },
        {},
    ),
    ScenarioOperation(
        "epoch_tick",
        "A tick of the controller (ZR-54, ZR-55), and the cluster's record after it.",
        {"now_ms": need(COUNT), "active": may(BOOL, True)},
        {"committed": LONG, "fenced": LONG, "current": LONG, "bumped_ms": LONG, "records": RECORDS},
    ),
    ScenarioOperation(
        "deliver",
        "A node applies the newest record (ZR-58). `trimmed`: the record of its channel at whose offset the WAL is "
        "trimmed.",
        {"node": NODE},
        {"trimmed": LABEL_OR_NULL},
    ),
    ScenarioOperation(
        "next_epoch", "The channel of a proxy takes an epoch (ZR-20).", {"proxy": NODE, "epoch": EPOCH}, {}
    ),
    ScenarioOperation(
        "channel_append",
        "A record is appended to a channel. `epoch`: the one that it gets; null while the append is `pending`.",
        {"proxy": NODE, "target": may(INT, 0), "record": LABEL, "pending": may(BOOL, False)},
        {"epoch": EPOCH_OR_NULL},
    ),
    ScenarioOperation(
        "channel_complete",
        "Pending appends end. Their records share one object (ZR-16).",
        {"proxy": NODE, "records": need(ListOf(TEXT))},
        {"epochs": MapOf(LONG, whole=True)},
    ),
    ScenarioOperation(
        "channel_trim",
        "A channel is trimmed up to an epoch (ZR-64).",
        {"proxy": NODE, "epoch": EPOCH},
        {"trimmed": LABEL_OR_NULL},
    ),
    ScenarioOperation(
        "forward",
        "A main gets a request, which stays in flight until `finish`. `read`: its records were read from the channels.",
        {"main": NODE, "epoch": EPOCH, "request": LABEL, "records": may(ListOf(TEXT), [])},
        {"error": TEXT, "read": BOOL},
    ),
    ScenarioOperation(
        "finish", "A main answers a request, with its error.", {"main": NODE, "request": LABEL}, {"error": TEXT}
    ),
    ScenarioOperation(
        "commit_state",
        "The commit manager of a node. `committed`: also its last report, -1 for none. `running`: the epoch whose "
        "commit is under way.",
        {
            "node": NODE,
            "waiting": EPOCH,
            "committed": EPOCH,
            "fenced": EPOCH,
            "inflight": need(ByNumber(COUNT)),
            "running": may(EPOCH_OR_NULL),
        },
        {},
    ),
    ScenarioOperation(
        "commit_tick",
        "A tick of a commit manager (ZR-59, ZR-60). `started`: the epoch whose commit begins.",
        {"node": NODE},
        {"waiting": LONG, "inflight": COUNTS, "started": EPOCH_OR_NULL},
    ),
    ScenarioOperation(
        "commit_done",
        "A commit ends, or a stage of it, `ok` or not. `published`: the epoch that is reported now.",
        {"node": NODE, "ok": may(BOOL, True), "stage": may(Nullable(OneOf(STAGES, "stage")))},
        {"published": EPOCH_OR_NULL},
    ),
    ScenarioOperation("report", "The last report of a node.", {"node": NODE}, {"route_epoch": EPOCH_OR_NULL}),
    ScenarioOperation(
        "wal_recover",
        "The objects of a WAL that are replayed, each a start and an end, and the first offset (WL-07).",
        {"objects": need(ListOf(PAIR)), "trim": EPOCH},
        {"kept": ListOf(PAIR), "first": EPOCH_OR_NULL},
    ),
    ScenarioOperation(
        "recover_records",
        "The records that a recovery uploads, each a stream and an offset. `readable`: false if all records are links "
        "into a channel that cannot be read.",
        {
            "openings": need(ByNumber(LONG)),
            "records": need(ListOf(PAIR)),
            "readable": may(BOOL, True),
        },
        {"kept": ListOf(PAIR), "error": TEXT},
    ),
)
