"""The tables of streams.md 6: the registration of nodes."""

from __future__ import annotations

from collections.abc import Iterator

from impl.errors import E
from impl.metadata.image import Image
from impl.oracles.answers.checks import differs, entry_of, has_streams, is_locked, owner, registry_row
from impl.oracles.answers.expected_answer import ExpectedAnswer, refused, unchanged, written
from impl.records import StreamState
from impl.wire import GetOpeningStreams, RegisterNode


def registered(image: Image, asked: GetOpeningStreams, *, fast: bool) -> ExpectedAnswer:
    """ND-01 to ND-03. ``fast``: whether this version has the fast close."""
    node, row = asked.node, image.nodes.get(asked.node)
    if row is not None and row.epoch > asked.node_epoch:
        return refused(E.NODE_EPOCH_EXPIRED)
    listed = dict(_opened(image, node))
    for stream in image.entries.get(node, {}) if fast else ():
        entry = entry_of(image, node, stream)
        if entry is None:
            continue
        sealed = [
            each
            for each in image.ranges.get(stream, {}).values()
            if each.node == node and each.start <= entry.start < each.end == entry.to
        ]
        if len(sealed) != 1 or stream in listed:
            return refused(E.STREAM_INNER_ERROR)
        listed[stream] = {
            "stream": stream, "epoch": sealed[0].epoch, "start": image.streams[stream].start, "end": entry.start,
        }  # fmt: skip

    def effect(after: Image) -> Iterator[str]:
        here = after.nodes.get(node)
        found = None if here is None else (here.epoch, here.failover)
        yield from differs(f"node {node}", found, (asked.node_epoch, asked.failover))

    return written(effect, streams=[listed[stream] for stream in sorted(listed)])


def _opened(image: Image, node: int) -> Iterator[tuple[int, dict[str, int]]]:
    """ND-02."""
    for stream, row in image.streams.items():
        if row.state is StreamState.OPENED and owner(image, stream) == node:
            epoch = image.ranges[stream][row.range_index].epoch
            yield stream, {"stream": stream, "epoch": epoch, "start": row.start, "end": max(row.end, row.start)}


def in_registry(image: Image, asked: RegisterNode) -> ExpectedAnswer:
    """ND-10."""
    row = registry_row(image, asked.node)
    if row is not None and row["e"] > asked.node_epoch:
        return refused(E.NODE_EPOCH_EXPIRED)

    def effect(after: Image) -> Iterator[str]:
        here = registry_row(after, asked.node) or {}
        found = here.get("e"), here.get("w"), here.get("t")
        yield from differs(f"the row of node {asked.node}", found, (asked.node_epoch, asked.wal_config, asked.tags))

    return written(effect)


def unregistered(image: Image, node: int) -> ExpectedAnswer:
    """ND-11."""
    errors: list[E] = [E.UnregisterNodeWithOpenStreamsException] if has_streams(image, node) else []
    if is_locked(image, node):
        errors.append(E.NodeLockedException)
    if errors:
        return refused(*errors)
    if registry_row(image, node) is None:
        return unchanged()
    return written(lambda after: differs(f"the row of node {node}", registry_row(after, node), None))
