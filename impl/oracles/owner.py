"""One owner at a time: a send has a higher offset than every send that was acknowledged before it began."""

from __future__ import annotations

from collections.abc import Iterator

from impl.oracles.calls import Send, StreamCalls
from impl.oracles.verdict import Violation


def owner(stream: StreamCalls) -> Iterator[Violation]:
    """Find sends that began after a send at a higher offset was acknowledged, as when two brokers take turns.

    This also checks the sends of one broker: their offsets follow the order in which the clients saw them.
    """
    acked = [(send.batch.base, send) for send in stream.sends if send.batch is not None]
    acked.sort(key=lambda each: each[0])
    later: Send | None = None
    """Among the sends at higher offsets, the one that was acknowledged first."""
    # From the highest offset down, so that ``later`` is about all sends at higher offsets.
    for base, send in reversed(acked):
        if later is not None and later.ended is not None and later.ended < send.begun:
            yield Violation(
                "owner",
                stream.key,
                f"{later.broker} acknowledged value {later.value} of stream {stream.key} at {later.ended} ms; value "
                f"{send.value}, sent afterwards at {send.begun} ms, has the lower offset {base} from {send.broker}",
            )
        if later is None or (send.ended is not None and later.ended is not None and send.ended < later.ended):
            later = send
