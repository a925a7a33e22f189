"""The operations on encodings: their arguments, and the keys of their results."""

from __future__ import annotations

import re
from typing import Any

import yaml

from impl.scenario.operation import BOOL, COUNT, TEXT, ScenarioOperation
from impl.scenario.reading import is_null, malformed, scalar
from impl.scenario.types import ByNumber, Integer, ListOf, Nullable, Number, OneOf, Struct, Type, may, need
from impl.zone.encodings import TIMESTAMP_TYPES


class Hex(Type, frozen=True):
    """Bytes, as pairs of digits and of capitals from A to F without spaces."""

    def value(self, node: yaml.Node) -> str:
        text = scalar(node, "bytes in hex")
        if is_null(node) or not re.fullmatch("([0-9A-F]{2})*", text):
            malformed(node, f"expected bytes in hex, found {text!r}", "write two digits or capitals a byte, no spaces")
        return text

    def schema(self) -> dict[str, Any]:
        # A plain scalar of digits is a number for a YAML library.
        return {"anyOf": [{"type": "string", "pattern": "^([0-9A-F]{2})*$"}, {"type": "number"}]}


class MetricsFields(Struct, frozen=True):
    """The fields of a metrics record: both a topic and a partition, or neither, and ids of a byte."""

    def value(self, node: yaml.Node) -> dict[str, Any]:
        given = super().value(node)
        if (given["topic"] is None) != (given["partition"] is None):
            malformed(node, "a topic and a partition go together", "give both, or neither")
        for metric in given["values"]:
            if not 0 <= metric <= 255:
                malformed(node, f"expected the id of a metric from 0 to 255, found {metric}")
        return given


HEX = Hex()
SHORT = Integer(low=-(2**15), high=2**15 - 1)
INT = Integer(low=-(2**31), high=2**31 - 1)
LONG = Integer()

_WAL_OFFSET: dict[str, Type] = {"wal_epoch": LONG, "offset": LONG, "size": INT}

REQUIRED: dict[str, dict[str, Type]] = {
    "wal_offset": _WAL_OFFSET,
    "channel_offset": {"channel": SHORT, "order_hint": SHORT, "owner": INT, "attributes": INT, **_WAL_OFFSET},
    "link": {
        "last_offset": LONG,
        "timestamp_type": OneOf(tuple(TIMESTAMP_TYPES), "timestamp type"),
        "max_timestamp": LONG,
        "leader_epoch": INT,
        "channel_offset": Nullable(HEX),
    },
    "forward": {"node": INT, "offsets": ListOf(HEX)},
    "route_epoch": {"committed": LONG, "fenced": LONG, "current": LONG, "bumped_ms": LONG},
    "node_epoch": {"epoch": LONG},
    "metrics": {"time_ms": LONG, "broker": INT, "rack": TEXT, "values": ByNumber(Number())},
}
"""The fields that each kind needs."""

OPTIONAL: dict[str, dict[str, Type]] = {"metrics": {"topic": Nullable(TEXT), "partition": Nullable(INT)}}

FIELDS = {
    kind: (MetricsFields if kind == "metrics" else Struct)(
        {name: need(each) for name, each in fields.items()}
        | {name: may(each) for name, each in OPTIONAL.get(kind, {}).items()},
        f"field of {kind}",
    )
    for kind, fields in REQUIRED.items()
}
KIND = need(OneOf(tuple(FIELDS), "kind"))

ENCODING_OPERATIONS = (
    ScenarioOperation(
        "encode",
        "The bytes of a record, in hex, and how many they are.",
        {"kind": KIND},
        {"hex": HEX, "size": COUNT},
        {kind: {"fields": need(fields)} for kind, fields in FIELDS.items()},
        selector="kind",
    ),
    ScenarioOperation(
        "decode",
        "What the bytes hold. Bytes that no writer makes are not `valid` and have no `fields`. `resolved_size`: of the "
        "channel record that a link names, in bytes.",
        {"kind": KIND, "hex": need(HEX)},
        {"valid": BOOL},
        {kind: {} for kind in FIELDS},
        {
            kind: {"fields": Nullable(fields), **({"resolved_size": Nullable(COUNT)} if kind == "link" else {})}
            for kind, fields in FIELDS.items()
        },
        selector="kind",
    ),
)
