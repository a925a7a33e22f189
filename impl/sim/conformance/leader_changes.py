"""What happens to the partitions of a run at their leaders: opens, acks, and what is uploaded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from impl.broker.messages import StepEvent
from impl.broker.partition.host import meta_key
from impl.metadata.image import Image
from impl.metadata.log import replay
from impl.sim.event_log import AppendedBatch, Event

Key = tuple[str, int]


class LeaderChange(msgspec.Struct, frozen=True):
    """A change of a partition.

    ``kind``: "elected" under the leader epoch ``number``; "opened" by the node ``number``; "acked" or "uploaded" up to
    the offset ``number`` of the data stream. A sealed stream counts as uploaded: its node will do it.
    """

    kind: str
    number: int


def leader_changes(events: list[Event], streams: Mapping[Key, int]) -> dict[Key, list[tuple[int, str, LeaderChange]]]:
    """The changes of some partitions in their order, each with the index of its event and its source.

    ``streams``: by partition, its data stream.
    """
    found: dict[Key, list[tuple[int, str, LeaderChange]]] = {key: [] for key in streams}
    key_of = {stream: key for key, stream in streams.items()}
    image, last = Image(), dict[tuple[Key, str], tuple[int, ...]]()
    for index, (_, name, _, subject) in enumerate(events):
        match subject:
            case StepEvent("ack", values) if values["stream"] in key_of:
                change = LeaderChange("acked", values["base"] + values["count"])
                found[key_of[values["stream"]]].append((index, name, change))
            case AppendedBatch(lost=False):
                replay((subject.batch,), image)
                for key, stream in streams.items():
                    for kind, state in _states(image, key, stream):
                        if last.get((key, kind)) != state:
                            last[key, kind] = state
                            found[key].append((index, name, LeaderChange(kind, state[0])))
    return found


def _states(image: Image, key: Key, stream: int) -> Iterator[tuple[str, tuple[int, ...]]]:
    """What the metadata say of a partition: the last change of each kind, with all that tells it from another one."""
    if key in image.partitions:
        yield "elected", (image.partitions[key].leader_epoch,)
    if stream in image.streams:
        yield "uploaded", (image.streams[stream].end,)
    # A partition has no data stream before its first record.
    meta = image.kv.get(meta_key(*key))
    opened = stream if stream in image.streams or meta is None else int.from_bytes(meta)
    for node, streams in image.opened_on.items():
        if opened in streams:
            yield "opened", (node, image.streams[opened].epoch)
