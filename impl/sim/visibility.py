"""What proxies show of partitions of other zones: never more than their mains have confirmed (I-10).

The oracle reads the events of a run: the acks of mains, the committed metadata, and the snapshots that proxies apply. A
record may also be confirmed by a recovery, which uploads it without an ack.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from impl.broker.messages import StepEvent
from impl.metadata.image import Image
from impl.metadata.log import replay
from impl.sim.event_log import AppendedBatch, Event


def beyond(events: list[Event]) -> Iterator[str]:
    """The snapshots that show more than is confirmed when they are applied, in words."""
    image = Image()
    acked: Counter[int] = Counter()
    for _, name, _, subject in events:
        if isinstance(subject, AppendedBatch):
            if not subject.lost:
                replay((subject.batch,), image)
        elif isinstance(subject, StepEvent) and subject.action == "ack":
            values = subject.values
            acked[values["stream"]] = max(acked[values["stream"]], values["base"] + values["count"])
        elif isinstance(subject, StepEvent) and subject.action == "show":
            stream, end = subject.values["stream"], subject.values["end"]
            stored = image.streams.get(stream)
            confirmed = max(acked[stream], 0 if stored is None else stored.end)
            if end > confirmed:
                yield f"{name} shows stream {stream} up to {end}, and only {confirmed} is confirmed"
