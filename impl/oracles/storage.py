"""At the end of a run every acknowledged batch is in a live object or in a WAL, and no object is left over."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from impl.oracles.calls import CallsByStream
from impl.oracles.verdict import Violation


class BucketContents(msgspec.Struct, frozen=True):
    """The bucket at the end. ``batches``: by stream key, the batches in live objects and WALs: base, end, value.

    ``orphans``: the keys of objects in the bucket that the metadata do not know. ``missing``: the ids of committed
    objects that the bucket lacks.
    """

    batches: dict[int, frozenset[tuple[int, int, int]]]
    orphans: tuple[str, ...] = ()
    missing: tuple[int, ...] = ()


def storage(calls: CallsByStream, stored: BucketContents) -> Iterator[Violation]:
    """Find acknowledged batches and committed objects that the bucket lacks, and objects that belong to nobody."""
    for stream in calls.streams.values():
        there = stored.batches.get(stream.key, frozenset())
        for batch in stream.acked:
            if stream.gone or batch.end <= stream.trimmed or (batch.base, batch.end, batch.value) in there:
                continue
            yield Violation(
                "storage",
                stream.key,
                f"value {batch.value}, acknowledged at offset {batch.base} of stream {stream.key}, is neither in a "
                "live object nor in a WAL",
            )
    if stored.missing:
        names = ", ".join(map(str, stored.missing[:4]))
        yield Violation("storage", -1, f"{len(stored.missing)} committed objects are not in the bucket: {names}")
    if stored.orphans:
        names = ", ".join(stored.orphans[:4])
        yield Violation("storage", -1, f"{len(stored.orphans)} objects belong to nobody: {names}")


def unresolved(dangling: Sequence[str]) -> Iterator[Violation]:
    """Find links to batches that were gone when a process ended, though a recovery would have needed them (I-1)."""
    for each in dangling:
        yield Violation("storage", -1, f"{each} dangles")
