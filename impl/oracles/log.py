"""There is one log: an offset has one value, and a value has one offset, in all acknowledgements and reads."""

from __future__ import annotations

from collections.abc import Iterator

from impl.oracles.calls import StreamCalls, ValueBatch
from impl.oracles.verdict import Violation


def log(stream: StreamCalls) -> Iterator[Violation]:
    """Find offsets with two values: compare all batches that were acknowledged or read."""
    seen: dict[int, ValueBatch] = {}
    for batch in (*stream.acked, *(batch for poll in stream.polls for batch in poll.read)):
        known = seen.setdefault(batch.base, batch)
        if known is not batch and known != batch:
            yield Violation(
                "log",
                stream.key,
                f"stream {stream.key} has two batches at offset {batch.base}: value {known.value} up to offset "
                f"{known.end}, and value {batch.value} up to offset {batch.end}",
            )
    before: ValueBatch | None = None
    # In the order of base offsets: if any two batches overlap, two neighbours do.
    for batch in sorted(seen.values()):
        if before is not None and batch.base < before.end:
            yield Violation(
                "log",
                stream.key,
                f"batches of stream {stream.key} overlap: value {before.value} at [{before.base}, {before.end}), "
                f"and value {batch.value} at [{batch.base}, {batch.end})",
            )
        before = batch


def exactly_once(stream: StreamCalls) -> Iterator[Violation]:
    """Find values at two offsets: a send may take effect at most once."""
    places: dict[int, int] = {}
    for batch in (*stream.acked, *(batch for poll in stream.polls for batch in poll.read)):
        known = places.setdefault(batch.value, batch.base)
        if known != batch.base:
            yield Violation(
                "exactly once",
                stream.key,
                f"value {batch.value} has two offsets in stream {stream.key}: {known} and {batch.base}",
            )
