"""The checks that several requests have in common (streams.md 2.1), and what the rows of the metadata say."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from impl.errors import E
from impl.metadata.image import Entry, Image, StreamRange
from impl.records import StreamState


def node_check(image: Image, node: int, epoch: int, *, failover_passes: bool = False) -> E:
    """CK-01. The error of a request with a node epoch. ``failover_passes``: whether the failover flag is no matter."""
    row = image.nodes.get(node)
    if row is None:
        return E.NODE_EPOCH_NOT_EXIST
    if row.epoch > epoch:
        return E.NODE_EPOCH_EXPIRED
    return E.NODE_FENCED if row.failover and not failover_passes else E.NONE


def owner_check(image: Image, stream: int, epoch: int, node: int) -> E:
    """CK-02. The error of a request of a node that says it owns a stream under an epoch."""
    row, newest = image.streams.get(stream), newest_range(image, stream)
    if row is None:
        return E.STREAM_NOT_EXIST
    if row.epoch != epoch:
        return E.STREAM_FENCED if row.epoch > epoch else E.STREAM_INNER_ERROR
    if newest is None:
        return E.STREAM_INNER_ERROR
    return E.NONE if newest.node == node else E.STREAM_FENCED


def newest_range(image: Image, stream: int) -> StreamRange | None:
    """The range whose index the stream has (streams.md 1); None without one."""
    row = image.streams.get(stream)
    return None if row is None else image.ranges.get(stream, {}).get(row.range_index)


def owner(image: Image, stream: int) -> int:
    """The node of the newest range, -1 if there is none."""
    newest = newest_range(image, stream)
    return -1 if newest is None else newest.node


def entry_of(image: Image, node: int, stream: int) -> Entry | None:
    """CK-03. What a node still has to commit of a stream that it has sealed; None if that is nothing."""
    row, entry = image.streams.get(stream), image.entries.get(node, {}).get(stream)
    if row is None or entry is None or max(row.start, entry.start) >= entry.to:
        return None
    return Entry(max(row.start, entry.start), entry.to)


def has_streams(image: Image, node: int) -> bool:
    """ND-04. Whether a node has streams to close, or sealed data to commit."""
    opened = any(
        row.state is StreamState.OPENED and owner(image, stream) == node for stream, row in image.streams.items()
    )
    return opened or any(entry_of(image, node, stream) is not None for stream in image.entries.get(node, {}))


def differs(what: str, found: Any, wanted: Any) -> Iterator[str]:
    """The difference of two values, in words."""
    if found != wanted:
        yield f"{what} is {found}, and had to be {wanted}"


def registry_row(image: Image, node: int) -> dict[str, Any] | None:
    """The row of a node in the registry (streams.md 1), as its JSON has it; None if the node is not registered."""
    data = image.kv.get(f"__automq_node/{node}")
    return None if data is None else msgspec.json.decode(data, type=dict[str, Any])


def is_locked(image: Image, node: int) -> bool:
    """ND-20. Whether a node is locked."""
    row = registry_row(image, node)
    return row is not None and row.get("t", {}).get("CIRCUIT_BREAKER", "CLOSED") != "CLOSED"
