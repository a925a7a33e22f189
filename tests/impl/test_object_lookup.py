"""The objects that a read uses, compared with a search of the metadata for each offset."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from impl.broker.object_index import Span
from impl.broker.object_lookup import Contents, InvalidReadError, Lookup, Part, lookup
from impl.controller.nodes import pack_ranges
from impl.metadata.image import Image
from impl.records import (
    Range,
    RemoveS3StreamObject,
    S3Stream,
    S3StreamObject,
    S3StreamSetObject,
    StreamState,
)
from impl.rules import without

END = 24
SPANS = st.tuples(st.integers(0, END), st.integers(0, END)).map(lambda pair: (min(pair), max(pair)))
CUTS = st.lists(st.tuples(st.integers(1, END), st.integers(0, 2)), max_size=4)
SETS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 5), st.lists(SPANS, max_size=2), st.booleans()), max_size=8)

Sets = list[tuple[int, int, list[Span], bool]]


def image_of(owners: list[tuple[int, int]], sets: Sets, own: list[Span]) -> tuple[Image, Contents]:
    """An image of stream 0, and the contents of objects whose ranges it does not have.

    ``owners``: the end of each range but the last one, and its node. ``sets``: node, order, spans, and whether the
    metadata have them. ``own``: the spans of stream objects.
    """
    image = Image()
    image.apply(S3Stream(0, len(owners), len(owners), 0, StreamState.OPENED))
    start = 0
    for index, (end, node) in enumerate(sorted(owners, key=lambda pair: pair[0])):
        image.apply(Range(0, index, index, start, end, node))
        start = end
    image.apply(Range(0, len(owners), len(owners), start, start, len(owners) % 3))
    contents: dict[int, list[tuple[int, int]]] = {}
    for object_id, (node, order, spans, named) in enumerate(sets):
        ranges = pack_ranges([(each, *span) for span in spans for each in (0, 1)]) if named else b""
        image.apply(S3StreamSetObject(node, object_id, order, 0, ranges))
        if not named:
            contents[object_id] = spans
    for object_id, (first, last) in enumerate(own, 100):
        image.apply(S3StreamObject(0, first, last, object_id))
    return image, contents


def holders(image: Image, contents: Contents, offset: int) -> list[Part]:
    """The objects in which MD-01 finds an offset, the preferred ones first."""
    own = [Part(each, held.start, held.end) for each, held in image.stream_objects.get(0, {}).items()]
    own = [part for part in own if part.start <= offset < part.end]
    if own:
        return own
    ranges = image.ranges[0]
    nodes = [row.node for index, row in ranges.items() if index != max(ranges) and row.start <= offset < row.end]
    nodes = nodes or [ranges[max(ranges)].node] * (offset >= ranges[max(ranges)].start)
    found: list[tuple[int, int, Part]] = []
    for object_id, held in (image.set_objects.get(nodes[0], {}) if nodes else {}).items():
        spans = [(start, end) for start, end in contents.get(object_id, ())]
        for at in range(1, len(held.ranges), 24):
            stream, start, end = (int.from_bytes(held.ranges[at + i : at + i + 8], "big") for i in (0, 8, 16))
            spans += [(start, end)] * (stream == 0)
        found += [(held.order, object_id, Part(object_id, start, end)) for start, end in spans if start <= offset < end]
    return [part for _, _, part in sorted(found, key=lambda each: each[:2])]


@given(CUTS, SETS, st.lists(SPANS, max_size=4), SPANS)
def test_a_lookup_walks_from_object_to_object(
    owners: list[tuple[int, int]], sets: Sets, own: list[Span], wanted: Span
) -> None:
    """In any image, the lookup continues at the end of each object with the best object of that offset."""
    image, contents = image_of(owners, sets, own)
    begin, end = wanted
    found = lookup(image, 0, begin, end, contents)
    assert found.unread is None
    cursor = begin
    for part in found.parts:
        right = holders(image, contents, cursor)
        assert cursor < end
        assert part == (max(right, key=lambda each: each.end) if right[0].object >= 100 else right[0])
        cursor = part.end
    assert found.end == min(cursor, end)
    assert cursor >= end or not holders(image, contents, cursor)


@given(CUTS, SETS, st.lists(SPANS, max_size=4), SPANS)
def test_a_lookup_finds_what_a_look_at_each_offset_finds(
    owners: list[tuple[int, int]], sets: Sets, own: list[Span], wanted: Span
) -> None:
    """If nodes have only what they owned (INV-06), the lookup ends at the first offset without an object.

    Otherwise an object that extends beyond its node's range hides the next ones, since objects are used whole.
    """
    starts = [0, *sorted(end for end, _ in owners)]
    nodes = [*(node for _, node in sorted(owners, key=lambda pair: pair[0])), len(owners) % 3]
    ranges = list(zip(starts, [*starts[1:], END], nodes, strict=True))
    clipped = [
        (
            node,
            order,
            [(max(a, c), min(b, d)) for a, b in spans for c, d, owner in ranges if owner == node and a < d and c < b],
            named,
        )
        for node, order, spans, named in sets
    ]
    image, contents = image_of(owners, clipped, own)
    begin, end = wanted
    held = begin
    while held < end and holders(image, contents, held):
        held += 1
    found = lookup(image, 0, begin, end, contents)
    assert (found.end, found.unread) == (held, None)


@given(CUTS, SETS, st.lists(SPANS, max_size=4), SPANS)
def test_indexes_are_asked_for_one_after_the_other(
    owners: list[tuple[int, int]], sets: Sets, own: list[Span], wanted: Span
) -> None:
    """MD-03. Only indexes that the metadata do not have are read, one after the other, none twice."""
    image, contents = image_of(owners, sets, own)
    known: dict[int, list[tuple[int, int]]] = {}
    while True:
        found = lookup(image, 0, *wanted, known)
        if found.unread is None:
            break
        assert found.unread not in known
        known[found.unread] = list(contents[found.unread])
    assert found == lookup(image, 0, *wanted, contents)


def simple() -> Image:
    """Node 1 owned [0, 10), and node 2 owns the stream since. Each has one object; [4, 6) is a stream object."""
    image, _ = image_of([(10, 1)], [(1, 0, [(0, 4), (6, 10)], True), (2, 1, [(10, 15)], True)], [(4, 6)])
    image.apply(Range(0, 1, 1, 10, 10, 2))
    return image


def test_kinds_of_objects_alternate() -> None:
    """A stream object is preferred; else the objects of the offset's owner are used."""
    found = lookup(simple(), 0, 2, 12)
    assert found == Lookup((Part(0, 0, 4), Part(100, 4, 6), Part(0, 6, 10), Part(1, 10, 15)), 12)


def test_a_hole_ends_the_lookup() -> None:
    """Objects after a hole are not in the result, even if known (MD-02)."""
    image = simple()
    image.apply(RemoveS3StreamObject(0, 100))
    assert lookup(image, 0, 2, 12) == Lookup((Part(0, 0, 4),), 4)
    assert lookup(image, 0, 4, 12) == Lookup((), 4)


def test_the_current_range_has_no_end() -> None:
    """Commits do not move the current range's end. If it counted, nobody could read the owner's uploads."""
    assert lookup(simple(), 0, 10, 15).end == 15
    with without("MD-01.current"):
        assert lookup(simple(), 0, 10, 15).end == 10


def test_the_objects_of_other_nodes_are_not_used() -> None:
    """An object of a node that did not own the offset has other records than the acknowledged ones."""
    image = simple()
    image.apply(S3StreamSetObject(2, 7, 0, 0, pack_ranges([(0, 0, 15)])))
    assert lookup(image, 0, 0, 10).parts[0] == Part(0, 0, 4)


def test_objects_of_a_node_are_scanned_by_their_order() -> None:
    """Objects are scanned by order, not id: a compaction's output has a newer id and its oldest input's order."""
    image, _ = image_of([(10, 1)], [(1, 5, [(0, 6)], True), (1, 2, [(0, 8)], True)], [])
    assert lookup(image, 0, 0, 8).parts == (Part(1, 0, 8),)


@pytest.mark.parametrize("label", ["MD-01.missing", "MD-01.start"])
def test_what_is_invalid_is_refused(label: str) -> None:
    """A missing stream and a range below the start are refused. Without the rule the answer is only short."""
    image = simple()
    image.apply(S3Stream(0, 1, 1, 3, StreamState.OPENED))
    stream, begin = (1, 0) if label == "MD-01.missing" else (0, 2)
    with pytest.raises(InvalidReadError):
        lookup(image, stream, begin, 12)
    with without(label):
        lookup(image, stream, begin, 12)
