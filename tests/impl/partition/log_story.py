"""Batches of clients, and what a log and its meta stream contain."""

from __future__ import annotations

from impl.broker.partition.batches import Batch
from impl.broker.partition.log import PartitionLog
from impl.broker.partition.meta import MetaStream
from impl.rules import RefusedError
from tests.impl.partition.streams_world import OpenStream, World


def batch(*values: str, producer: int = -1, sequence: int = -1, timestamp: int = 7) -> Batch:
    """A batch of a client."""
    epoch = -1 if producer < 0 else 0
    texts = tuple(value.encode() for value in values)
    return Batch(0, texts, timestamp=timestamp, producer=producer, producer_epoch=epoch, sequence=sequence)


async def unless_refused(log: PartitionLog, new: Batch) -> int | None:
    """The offset of a batch; None if the log was closed before it had a data stream."""
    try:
        return await log.append(new)
    except RefusedError:
        return None


def read(world: World, log: PartitionLog) -> list[tuple[int, str]]:
    """All confirmed records: their offsets and values."""
    found = world.run(log.read(log.segments.start, log.confirmed))
    return [(each.base + place, value.decode()) for each in found for place, value in enumerate(each.values)]


def values(world: World) -> MetaStream:
    """The values in the meta stream."""
    found = MetaStream(OpenStream(world, 0))
    world.run(found.load())
    return found
