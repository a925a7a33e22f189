"""Nodes: the checks that every request passes, registration, lock and scale-in (streams.md 2.1, 6)."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

import msgspec

from impl.controller.objects import mark_destroyed
from impl.controller.view import OperationResult, View
from impl.errors import E
from impl.metadata.image import Image, Node, SetObject, Stream
from impl.records import KV, KeyValue, MetadataRecord, RemoveKV, RemoveStreamSetObject
from impl.rules import require, rule

REGISTRY_KEY = "__automq_node/"
"""What the key of a node's row in the registry begins with."""
LOCK_TAG = "CIRCUIT_BREAKER"
RACK_TAG = "rack"
"""The tag of a node that names its rack, which is its zone (ZR-01)."""
LEAVING_GRACE_MS = 60_000
"""How long a fenced node that was shutting down counts as shutting down (ND-30)."""
NO_STREAM = Stream()
"""Stands for a missing stream, so that an operation goes on where a test has switched off the guard against it."""
NO_NODE = Node(-1, failover=False)
"""Stands for an unknown node, for the same reason."""
_NEVER: Mapping[int, int] = MappingProxyType({})
_RANGE = struct.Struct(">qqq")


class Registration(msgspec.Struct, frozen=True, rename={"node": "i", "epoch": "e", "wal_config": "w", "tags": "t"}):
    """The row of a node in the registry (streams.md 1). The registry keeps a node epoch of its own (ND-10)."""

    node: int
    epoch: int
    wal_config: str = ""
    tags: dict[str, str] = {}


# Checks ---------------------------------------------------------------------------------------------------------


def check_node_epoch(image: Image, node: int, node_epoch: int, *, failover_barred: bool) -> None:
    """CK-01. Check the node epoch of a request. An epoch above the stored one passes, and is not stored (AM-04).

    ``failover_barred``: whether to refuse the node while another one fails over for it.
    """
    stored = image.nodes.get(node, NO_NODE)
    require(node in image.nodes, "CK-01.unknown", E.NODE_EPOCH_NOT_EXIST)
    require(stored.epoch <= node_epoch, "CK-01.expired", E.NODE_EPOCH_EXPIRED)  # G-08
    require(not (failover_barred and stored.failover), "CK-01.flag", E.NODE_FENCED)  # G-09


def check_ownership(image: Image, stream: int, epoch: int, node: int) -> None:
    """CK-02. Check that a node owns a stream under an epoch. The stream may be OPENED or CLOSED."""
    stored = image.streams.get(stream, NO_STREAM)
    require(stream in image.streams, "CK-02.missing", E.STREAM_NOT_EXIST)
    require(stored.epoch <= epoch, "CK-02.epoch_old", E.STREAM_FENCED)  # G-12
    require(stored.epoch >= epoch, "CK-02.epoch_new", E.STREAM_INNER_ERROR)  # G-12
    require(image.current_range(stream) is not None, "CK-02.no_range", E.STREAM_INNER_ERROR)
    require(owner_of(image, stream) == node, "CK-02.node", E.STREAM_FENCED)  # G-13


def owner_of(image: Image, stream: int) -> int:
    """The node of the current range, -1 if there is none."""
    current = image.current_range(stream)
    return -1 if current is None else current.node


def has_opening(image: Image, node: int) -> bool:
    """ND-04. Whether a stream is OPENED on the node, or the node has an active entry."""
    if rule("ND-04.opened", bool(image.opened_on.get(node))):
        return True
    entries = image.entries.get(node, {})
    return rule("ND-04.entry", any(image.active_entry(node, stream) is not None for stream in entries))


def is_locked(image: Image, node: int) -> bool:
    """ND-20. Whether the circuit breaker of a node is anything but CLOSED."""
    stored = stored_registration(image, node)
    return stored is not None and stored.tags.get(LOCK_TAG, "CLOSED") != "CLOSED"


def runtime_state(image: Image, node: int, *, now: int = 0, left: Mapping[int, int] = _NEVER) -> str:
    """ND-30. The runtime state of a node.

    ``left``: by node in controlled shutdown, the time of its last heartbeat in milliseconds, which no record holds.
    """
    state = image.brokers.get(node, "gone")
    if state == "fenced" and node in left and rule("ND-30", now - left[node] < LEAVING_GRACE_MS):
        return "CONTROLLED_SHUTDOWN"
    words = {"active": "ACTIVE", "fenced": "FENCED", "shutting_down": "CONTROLLED_SHUTDOWN"}
    return words.get(state, "UNKNOWN")


def unfenced(image: Image) -> list[int]:
    """The brokers that may lead partitions, ascending: the active ones, and those in controlled shutdown."""
    return sorted(node for node, state in image.brokers.items() if state in ("active", "shutting_down"))


def heartbeat(view: View, node: int) -> OperationResult:
    """Answer a heartbeat with the state of the broker. If that is not active, a broker that goes on has to register."""
    return OperationResult(values={"state": view.image.brokers.get(node, "gone")})


# Registry -------------------------------------------------------------------------------------------------------


def register_node(
    view: View, node: int, node_epoch: int, wal_config: str = "", tags: Mapping[str, str] | None = None
) -> OperationResult:
    """ND-10. Store the row of a node. The registry keeps a node epoch of its own, which CK-01 does not read."""
    stored = stored_registration(view.image, node)
    require(stored is None or stored.epoch <= node_epoch, "ND-10", E.NODE_EPOCH_EXPIRED)
    return OperationResult((_row(Registration(node, node_epoch, wal_config, dict(tags or {}))),))


def lock_node(view: View, node: int) -> OperationResult:
    """ND-20. Open the circuit breaker of a node; an unknown node is registered with epoch 0."""
    return _set_lock(view, node, "OPEN")


def unlock_node(view: View, node: int) -> OperationResult:
    """ND-20. Close the circuit breaker of a node."""
    return _set_lock(view, node, "CLOSED")


def unregister_node(view: View, node: int) -> OperationResult:
    """ND-11. Remove the row of a node from the registry. The node epoch that CK-01 reads stays."""
    require(not has_opening(view.image, node), "ND-11.opening", E.UnregisterNodeWithOpenStreamsException)
    require(not is_locked(view.image, node), "ND-11.locked", E.NodeLockedException)
    known = stored_registration(view.image, node) is not None
    return OperationResult((RemoveKV((registry_key(node),)),) if known else ())


def registration(view: View, node: int, *, left: Mapping[int, int] = _NEVER) -> dict[str, Any]:
    """The row of a node and its runtime state; ``missing`` if it has no row. ``left``: as in ``runtime_state``."""
    stored = stored_registration(view.image, node)
    if stored is None:
        return {"missing": True}
    state = runtime_state(view.image, node, now=view.now, left=left)
    return {"node_epoch": stored.epoch, "wal_config": stored.wal_config, "tags": stored.tags, "state": state}


def registry_key(node: int) -> str:
    """The key of a node's row in the registry."""
    return f"{REGISTRY_KEY}{node}"


def stored_registration(image: Image, node: int) -> Registration | None:
    """The registry's row of a node; None if it is not registered."""
    data = image.kv.get(registry_key(node))
    return None if data is None else msgspec.json.decode(data, type=Registration)


def _set_lock(view: View, node: int, value: str) -> OperationResult:
    stored = stored_registration(view.image, node) or Registration(node, 0)
    return OperationResult((_row(msgspec.structs.replace(stored, tags={**stored.tags, LOCK_TAG: value})),))


def _row(row: Registration) -> KV:
    return KV((KeyValue(registry_key(row.node), msgspec.json.encode(row, order="sorted")),))


# Scale-in -------------------------------------------------------------------------------------------------------


def pack_ranges(ranges: Iterable[tuple[int, int, int]]) -> bytes:
    """The ranges of an object in the form of S3StreamSetObject. ``ranges``: the stream, start and end of each.

    The form is ours: a byte 0x01, then three big-endian int64 for each range.
    """
    return b"\x01" + b"".join(_RANGE.pack(*each) for each in ranges)


def unpack_ranges(data: bytes) -> list[tuple[int, int, int]]:
    """The stream, start and end of each range of an object."""
    return list(_RANGE.iter_unpack(data[1:]))


def scale_in_cleanup(view: View) -> OperationResult:
    """ND-40. Destroy objects of inactive nodes that no stream needs. A node without a broker counts as inactive."""
    records: list[MetadataRecord] = []
    for node in sorted(view.image.set_objects):
        if rule("ND-40.active", view.image.brokers.get(node) == "active"):
            continue
        for object_id, held in sorted(view.image.set_objects[node].items()):
            if rule("ND-40.needed", _is_needed(view.image, held)):
                continue
            # An object that is gone or marked already only loses its row.
            records += mark_destroyed(view, (object_id,)) or []
            records.append(RemoveStreamSetObject(node, object_id))
    return OperationResult(tuple(records))


def _is_needed(image: Image, held: SetObject) -> bool:
    """Whether the object has data that can be read: some existing stream starts below the end of its range there."""
    ends = ((image.streams.get(stream), end) for stream, _, end in unpack_ranges(held.ranges))
    return any(stored is not None and stored.start < end for stored, end in ends)
