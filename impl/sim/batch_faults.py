"""What a fault does to the batches of the metadata on their way to a broker."""

from __future__ import annotations

import msgspec

from impl.metadata.log import MetadataBatch
from impl.records import S3StreamSetObject
from impl.sim.faults import UNNAMED
from impl.sim.tape import Tape


def delivered(tape: Tape, now: int, node: int, batches: tuple[MetadataBatch, ...]) -> tuple[MetadataBatch, ...]:
    """The batches as a node gets them: a fault takes the ranges of stream set objects out."""
    fault = tape.site(f"names/{node}", tuple(UNNAMED)).decide(now)
    if fault is None:
        return batches
    without = tuple(map(without_ranges, batches))
    if without != batches:
        tape.happened(fault)
    return without


def without_ranges(batch: MetadataBatch) -> MetadataBatch:
    """The batch without the ranges of its stream set objects, whose indexes hold these, too (MD-03)."""
    records = (
        msgspec.structs.replace(each, ranges=b"") if isinstance(each, S3StreamSetObject) else each
        for each in batch.records
    )
    return msgspec.structs.replace(batch, records=tuple(records))
