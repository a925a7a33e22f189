"""Finds the objects that hold the offsets of a stream, in the metadata (MD-01, MD-03)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

import msgspec

from impl.broker.object_index import Span
from impl.controller.nodes import unpack_ranges
from impl.metadata.image import Image, Stream
from impl.rules import rule
from impl.tasks import FailedError

Contents = Mapping[int, Sequence[Span]]
"""By object: the spans of one stream, from the index of the object."""


class InvalidReadError(FailedError):
    """The stream does not exist, or the range begins below its start (MD-01)."""


class Part(msgspec.Struct, frozen=True, gc=False):
    """An object that holds the offsets [start, end) of the stream."""

    object: int
    start: int
    end: int


class Lookup(msgspec.Struct, frozen=True):
    """The result of a lookup. ``parts``: objects without a gap between them. The first part may start before the range,
    and the last part may end after it.

    ``end``: the offset up to which the parts cover the range. It is the end of the range, unless no object is known
    from there on (MD-02). ``unread``: a stream set object whose index is needed to go on with the lookup, or None.
    """

    parts: tuple[Part, ...]
    end: int
    unread: int | None = None


def lookup(image: Image, stream: int, begin: int, end: int, contents: Contents | None = None) -> Lookup:
    """MD-01. The objects with the offsets [begin, end) of a stream, in the order of offsets.

    At each offset a stream object is taken, if there is one. Otherwise the range of that offset names a node, and the
    stream set objects of the node are scanned in their order. ``contents``: the spans of objects whose ranges the
    metadata lacks (MD-03). Raises InvalidReadError.
    """
    row = image.streams.get(stream, Stream())
    if rule("MD-01.missing", stream not in image.streams):
        raise InvalidReadError(f"stream {stream} is missing")
    if rule("MD-01.start", begin < row.start):
        raise InvalidReadError(f"stream {stream} starts at {row.start}, after {begin}")
    own = [Part(each, held.start, held.end) for each, held in sorted(image.stream_objects.get(stream, {}).items())]
    shared: dict[int, list[Part]] = {}
    parts: list[Part] = []
    cursor = begin
    while cursor < end:
        part = _longest_at(own, cursor)
        if part is None:
            node = _node_at(image, stream, cursor)
            if node is None:
                break
            if node not in shared:
                held = _parts_of_sets(image, node, stream, contents or {})
                if isinstance(held, int):
                    return Lookup(tuple(parts), cursor, held)
                shared[node] = held
            part = next((each for each in shared[node] if each.start <= cursor < each.end), None)
        if part is None:
            break
        # The part holds the cursor, so the cursor moves up and the loop ends.
        parts.append(part)
        cursor = part.end
    return Lookup(tuple(parts), min(cursor, end))


def _longest_at(parts: list[Part], offset: int) -> Part | None:
    """Among the parts that hold an offset, the one that ends last."""
    holding = (part for part in parts if part.start <= offset < part.end)
    return max(holding, key=lambda part: part.end, default=None)


def _node_at(image: Image, stream: int, offset: int) -> int | None:
    """The node that owned an offset. The current range has no known end until the stream is closed."""
    current = image.streams[stream].range_index if stream in image.streams else -1
    for index, row in image.ranges.get(stream, {}).items():
        if row.start <= offset and (offset < row.end or rule("MD-01.current", index == current)):
            return row.node
    return None


def _parts_of_sets(image: Image, node: int, stream: int, contents: Contents) -> list[Part] | int:
    """The parts of a stream in a node's stream set objects, in order; or the id of an object with unknown content."""
    parts: list[Part] = []
    for object_id, held in sorted(image.set_objects.get(node, {}).items(), key=lambda pair: (pair[1].order, pair[0])):
        if held.ranges:
            spans: Sequence[Span] = spans_by_stream(held.ranges).get(stream, ())
        elif object_id in contents:
            spans = contents[object_id]
        else:
            return object_id
        parts += (Part(object_id, start, end) for start, end in spans)
    return parts


@lru_cache(4_096)
def spans_by_stream(ranges: bytes) -> dict[int, list[Span]]:
    """The ranges of ``SetObject.ranges``, by stream. Cached, because many lookups decode the same bytes."""
    found: dict[int, list[Span]] = {}
    for stream, start, end in unpack_ranges(ranges):
        found.setdefault(stream, []).append((start, end))
    return found
