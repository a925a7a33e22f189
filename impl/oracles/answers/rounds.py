"""What a controller does by itself, once a second: the life of objects, failovers, the cleanup of nodes."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Iterator, Mapping

from impl.metadata.image import Image, SetObject
from impl.oracles.answers.checks import has_streams, registry_row
from impl.records import ObjectState

FAILOVERS = "__a.failover"
MIN_AGE_MS = 60_000
"""FO-01."""
GRACE_MS = 60_000
"""ND-30."""
ROUND = 2_000
"""The most objects that a round expires or deletes."""
_RANGE = struct.Struct(">qqq")


def wrong_changes(image: Image, mark: int, now: int) -> Iterator[str]:
    """The changes since a mark that a round may not make."""
    fenced: list[int] = []
    for table, key, before in image.changes(mark):
        after = table.get(key)
        if table is image.objects and before is not None and after is None:
            yield f"object {key} leaves the metadata before the store has deleted it (OB-05)"
        elif table is image.objects and before is not None and before.state is ObjectState.PREPARED:
            if now <= before.timestamp:
                yield f"object {key} expires at {now}, and its deadline is {before.timestamp} (OB-04)"
        elif table is image.brokers and after == "fenced":
            fenced.append(key)
        for node, held in image.set_objects.items():
            if table is held and after is None and before is not None:
                yield from _needed(image, node, key, before)
    if fenced and not any(state in ("active", "shutting_down") for state in image.brokers.values()):
        yield f"brokers {fenced} are fenced, and no other one is left (ND-31)"


def _needed(image: Image, node: int, number: int, row: SetObject) -> Iterator[str]:
    """ND-40. Why the cleanup may not remove an object of a node."""
    if image.brokers.get(node) == "active":
        yield f"object {number} of node {node} is removed, and the node is active (ND-40)"
    for stream, _, end in _RANGE.iter_unpack(row.ranges[1:]):
        if stream in image.streams and image.streams[stream].start < end:
            yield f"object {number} of node {node} is removed, and stream {stream} needs it (ND-40)"


def too_early(image: Image, objects: Iterable[int], now: int, retention: int) -> Iterator[str]:
    """OB-05. The objects that are deleted before their retention is over, or that nobody has marked."""
    for number in objects:
        row = image.objects.get(number)
        if row is None or row.state is not ObjectState.MARK_DESTROYED:
            yield f"object {number} is deleted, and nobody has marked it (OB-05)"
        elif now - row.timestamp <= retention:
            yield f"object {number} is deleted {now - row.timestamp} ms after its mark (OB-05)"


def overdue(image: Image, mark: int, now: int, since: int, retention: int) -> Iterator[str]:
    """OB-04, OB-05. Objects that a round ought to have ended. ``since``: when the last deletion was over.

    Rounds of many objects need more time, so a round that has changed as many is passed over.
    """
    if len({key for table, key, _ in image.changes(mark) if table is image.objects}) >= ROUND:
        return
    for number, row in image.objects.items():
        if row.state is ObjectState.PREPARED and now > row.timestamp:
            yield f"object {number} is prepared at {now}, and its deadline was {row.timestamp} (OB-04)"
        # Marked before a swap, deleted after the next one: two retentions, and a third one for the pace of the rounds.
        elif row.state is ObjectState.MARK_DESTROYED and now - max(since, row.timestamp) > 3 * retention:
            yield f"object {number} was marked at {row.timestamp}, and is still there at {now} (OB-05)"


def wrong_failovers(image: Image, now: int) -> Iterator[str]:
    """FO-01 to FO-03. The failovers that ought not to be there after a round."""
    stored = json.loads(image.kv.get(FAILOVERS, b"[]"))
    if len(stored) > 1:
        yield f"{len(stored)} failovers go on at one time (FO-02)"
    for each in stored:
        node, target, row = each["n"], each["t"], image.nodes.get(each["n"])
        if row is None or row.epoch != each["e"]:
            yield f"the failover of node {node} goes on, and its process {each['e']} is not the newest (FO-03)"
        elif now - row.epoch <= MIN_AGE_MS:
            yield f"node {node} fails over {now - row.epoch} ms after its start (FO-01)"
        if registry_row(image, node) is None or image.brokers.get(node) != "fenced" or not has_streams(image, node):
            yield f"node {node} fails over, and is not registered, not fenced, or has no streams (FO-01)"
        if image.brokers.get(target) != "active":
            yield f"node {target} fails over for node {node}, and is not active (FO-03)"


def early_failovers(image: Image, heard: Mapping[int, int], now: int) -> Iterator[str]:
    """FO-01, ND-30. The failovers of nodes that count as shutting down, though they are fenced.

    ``heard``: when the controller last heard of each node in controlled shutdown.
    """
    for each in json.loads(image.kv.get(FAILOVERS, b"[]")):
        silence = now - heard.get(each["n"], -GRACE_MS)
        if silence < GRACE_MS:
            yield f"node {each['n']} fails over {silence} ms after the last heartbeat of its shutdown (ND-30)"
