"""The operations on encodings: bytes from fields, and fields from bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import msgspec

from impl.balancer.metrics_record import MetricsRecord
from impl.byte_format import EncodingError
from impl.scenario.session import Arguments, Perform, Result, ScenarioSession
from impl.zone.encodings import ChannelOffset, Forward, LinkRecord, NodeEpochRecord, RouteEpochRecord, WalOffset


class EncodableRecord(Protocol):
    """A record that has an encoding."""

    def encode(self) -> bytes:
        """The bytes."""
        ...


def _channel_offset(channel: int, order_hint: int, owner: int, attributes: int, **wal: int) -> ChannelOffset:
    return ChannelOffset(channel, order_hint, owner, attributes, WalOffset(**wal))


def _link(channel_offset: str | None, **fields: Any) -> LinkRecord:
    return LinkRecord(channel_offset=None if channel_offset is None else bytes.fromhex(channel_offset), **fields)


def _forward(node: int, offsets: list[str]) -> Forward:
    return Forward(node, tuple(map(bytes.fromhex, offsets)))


MAKE: dict[str, Callable[..., EncodableRecord]] = {
    "wal_offset": WalOffset,
    "channel_offset": _channel_offset,
    "link": _link,
    "forward": _forward,
    "route_epoch": RouteEpochRecord,
    "node_epoch": NodeEpochRecord,
    "metrics": MetricsRecord,
}
"""By kind, what makes a record of the fields that the language has."""

READ: dict[str, Callable[[bytes], msgspec.Struct]] = {
    "wal_offset": WalOffset.decode,
    "channel_offset": ChannelOffset.decode,
    "link": LinkRecord.decode,
    "forward": Forward.decode,
    "route_epoch": RouteEpochRecord.decode,
    "node_epoch": NodeEpochRecord.decode,
    "metrics": MetricsRecord.decode,
}


def _encode(_: ScenarioSession, a: Arguments) -> Result:
    data = MAKE[a["kind"]](**a["fields"]).encode()
    return {"hex": _hex(data), "size": len(data)}


def _decode(_: ScenarioSession, a: Arguments) -> Result:
    further: Result = {"resolved_size": None} if a["kind"] == "link" else {}
    try:
        found = READ[a["kind"]](bytes.fromhex(a["hex"]))
    except EncodingError:
        return {"valid": False, "fields": None, **further}
    if isinstance(found, LinkRecord):
        further["resolved_size"] = found.resolved_size
    return {"valid": True, "fields": _fields(found), **further}


def _fields(record: msgspec.Struct) -> dict[str, Any]:
    """The fields by the names of the language, in which bytes are hex, and a part stands with its whole."""
    found: dict[str, Any] = {}
    for name, value in msgspec.structs.asdict(record).items():
        if isinstance(value, msgspec.Struct):
            found |= _fields(value)
        elif isinstance(value, tuple):
            found[name] = [_hex(each) for each in value]
        else:
            found[name] = _hex(value) if isinstance(value, bytes) else value
    return found


def _hex(data: bytes) -> str:
    return data.hex().upper()


PERFORM: dict[str, Perform] = {"encode": _encode, "decode": _decode}
