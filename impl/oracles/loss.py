"""Nothing acknowledged is lost: a poll reads the acknowledged batches of its range, and the final polls read all."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator

from impl.oracles.calls import StreamCalls, ValueBatch
from impl.oracles.verdict import Violation


def lost(stream: StreamCalls) -> Iterator[Violation]:
    """Find acknowledged batches that a poll of their range did not read, except trimmed and destroyed ones."""
    if stream.gone:
        return
    acked = sorted(batch for batch in stream.acked if batch.end > stream.trimmed)
    for poll in stream.polls:
        read = {batch.base for batch in poll.read}
        # Batches do not overlap (``log`` checks that), so their ends ascend with their bases.
        first = bisect_left(acked, poll.begin, key=_end)
        # A batch that ends where the poll begins is not in its range.
        while first < len(acked) and acked[first].end <= poll.begin:
            first += 1
        for batch in acked[first:]:
            if batch.end > poll.end:
                break
            if batch.base not in read:
                yield Violation(
                    "lost",
                    stream.key,
                    f"value {batch.value} was acknowledged at offset {batch.base} of stream {stream.key}, but "
                    f"{poll.process}, who reads from {poll.begin} to {poll.end} at {poll.ended} ms, does not find it",
                )
    # Each reader has read the stream to its end.
    end = min(stream.final_ends.values(), default=None)
    if end is not None and acked and acked[-1].end > end:
        yield Violation(
            "lost",
            stream.key,
            f"value {acked[-1].value} was acknowledged at offset {acked[-1].base} of stream {stream.key}, but in the "
            f"final poll the stream ends at offset {end}",
        )


def _end(batch: ValueBatch) -> int:
    return batch.end
