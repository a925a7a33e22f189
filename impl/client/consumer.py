"""A consumer: each poll begins where the poll before it ended."""

from __future__ import annotations

import msgspec

from impl.broker.messages import Consume
from impl.client.contents import SendRecords, runs
from impl.client.leaders import Key
from impl.client.node import ClientNode
from impl.client.routing import ask_until
from impl.errors import E

USUAL = 1_000
"""The number of records that a poll asks for, unless another number is named."""
WHOLE = 1 << 40
"""More records than any partition has. A poll with this limit reads a partition to its end."""
FINAL_ERRORS = frozenset({E.OFFSET_OUT_OF_RANGE_BOUNDS, E.INVALID_REQUEST})
"""The refusals that a repetition would get again."""


class PollResult(msgspec.Struct, frozen=True):
    """The result of a poll. ``runs``: the sends that it read. ``end``: the end of its range.

    ``confirmed``: the high watermark.
    """

    runs: tuple[SendRecords, ...]
    end: int
    confirmed: int


class Consumer:
    """``positions``: the offset at which the next poll of a partition begins; a missing partition begins at 0.

    ``retry_ms``: the time between attempts. ``patience_ms``: how long attempts are repeated after a poll began.
    """

    def __init__(self, node: ClientNode, *, retry_ms: int = 150, patience_ms: int = 60_000) -> None:
        self.positions: dict[Key, int] = {}
        self._node, self._retry_ms, self._patience_ms = node, retry_ms, patience_ms

    async def poll(
        self,
        process: str,
        topic: str,
        partition: int,
        key: int,
        begin: int | None = None,
        most: int = USUAL,
        phase: str | None = None,
    ) -> PollResult | None:
        """Read about ``most`` records, from ``begin`` or from the position on. ``key``: the partition in the history.

        Returns None if the poll failed. A read has no effect, so every attempt may be repeated, and no outcome is
        unknown.

        The offset in the history is the end of the range that the broker had to answer: the high watermark, or less if
        ``most`` has cut the range.
        """
        place = self.positions.get((topic, partition), 0) if begin is None else begin
        recorder = self._node.recorder
        index = recorder.begin(process, "poll", key, offset=place, phase=phase)
        outcome = await ask_until(
            self._node,
            Consume(topic, partition, place, most),
            until=self._node.now + self._patience_ms,
            retry_ms=self._retry_ms,
            repeats_unknown=True,
            final=FINAL_ERRORS,
        )
        if outcome.kind != "ok":
            recorder.end(index, "fail", error=outcome.error)
            return None
        found = runs(outcome.values["batches"], place)
        confirmed: int = outcome.values["confirmed"]
        # Batches are whole, so the last one may end beyond ``most``.
        last = max((base + count for base, count, _ in found), default=place)
        end = min(confirmed, max(place + most, last))
        recorder.end(index, "ok", value=found, offset=end, broker=str(outcome.node))
        self.positions[topic, partition] = max(place, end)
        return PollResult(tuple(found), end, confirmed)
