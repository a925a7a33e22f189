"""The compaction of the stream objects of one stream, by its owner (CP-02)."""

from __future__ import annotations

from impl import wire
from impl.broker.messages import Identity
from impl.broker.object_copy import Caller, Copier, is_covered
from impl.broker.object_index import Span, decode_index
from impl.controller.commits import StreamCommit
from impl.controller.objects import NOOP, InputTreatment
from impl.metadata.image import Image, Stream, StreamObject
from impl.rules import rule

TTL_MS = 3_600_000
"""How long a prepared object of a compaction of stream objects is kept (OB-01)."""
PER_COMMIT = 1_000
"""The maximum number of dead objects in one commit (CP-02)."""

HeldObject = tuple[int, StreamObject]
"""A stream object, with its id."""


async def compact_stream(
    image: Image, copier: Copier, calls: Caller, identity: Identity, stream: int, epoch: int, most_bytes: int
) -> bool:
    """Destroy the stream objects below the start of a stream, then merge neighbours up to ``most_bytes`` into one.

    Returns whether there was anything to do. Nothing is committed unless the node owns the stream under this epoch, nor
    an object without all blocks of its inputs (CP-01). Raises FailedError; the commits before the failure stand.
    """
    if rule("CP-02.owner", not _owns(image, identity.node, stream, epoch)):
        return False
    start = image.streams.get(stream, Stream()).start
    live: list[HeldObject] = []
    dead: list[int] = []
    # By start, so that neighbours in the list are neighbours in the stream.
    for each, held in sorted(image.stream_objects.get(stream, {}).items(), key=lambda pair: (pair[1].start, pair[0])):
        if rule("CP-02.live", held.end > start):
            live.append((each, held))
        else:
            dead.append(each)
    sizes = {each: stored.size for each, _ in live if (stored := image.objects.get(each)) is not None}
    groups = [group for group in _groups(live, sizes, most_bytes) if len(group) > 1]

    async def commit(
        object_id: int, size: int, span: Span, sources: tuple[int, ...], operation: InputTreatment
    ) -> None:
        operations = (operation,) * len(sources)
        node, node_epoch = identity.node, identity.epoch
        body = StreamCommit(node, node_epoch, object_id, size, stream, epoch, *span, sources, operations=operations)
        await calls.call(wire.CommitStreamObject(body))

    for at in range(0, len(dead), PER_COMMIT):
        await commit(NOOP, 0, (0, 0), tuple(dead[at : at + PER_COMMIT]), InputTreatment.DEEP_DELETE)
    for group in groups:
        inputs = tuple(each for each, _ in group)
        object_id = await copier.prepare(1, TTL_MS)
        sources = [source for each in inputs for source in await copier.sources(each, sizes.get(each, 0))]
        data = await copier.copy(sources, object_id)
        if rule("CP-01.sanity", not is_covered(sources, [decode_index(data, len(data))])):
            continue
        await commit(object_id, len(data), (group[0][1].start, group[-1][1].end), inputs, InputTreatment.DELETE)
    return bool(dead or groups)


def _owns(image: Image, node: int, stream: int, epoch: int) -> bool:
    """Whether the newest range of a stream is on the node, under this epoch of the stream."""
    row, current = image.streams.get(stream), image.current_range(stream)
    return row is not None and row.epoch == epoch and current is not None and current.node == node


def _groups(live: list[HeldObject], sizes: dict[int, int], most_bytes: int) -> list[list[HeldObject]]:
    """Group objects, sorted by start, without a gap. A group of several objects has at most ``most_bytes``."""
    groups: list[list[HeldObject]] = []
    size = 0
    for each, held in live:
        own = sizes.get(each, 0)
        apart = not groups or rule("CP-02.contiguous", groups[-1][-1][1].end != held.start)
        if apart or size + own > most_bytes:
            groups.append([])
            size = 0
        groups[-1].append((each, held))
        size += own
    return groups
