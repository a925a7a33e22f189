"""What proxies show of partitions of other zones (I-10, I-11).

The oracle reads the events of a run: the acks of mains, the committed metadata, the objects of WALs, and the snapshots
that proxies apply. It asks no node what its cache holds. A record may also be confirmed by a recovery, which uploads it
without an ack.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator

from impl.broker import wal_format
from impl.broker.messages import StepEvent, StoreRequest
from impl.broker.wal_format import WalRecord
from impl.metadata.image import Image
from impl.metadata.log import replay
from impl.sim.event_log import AppendedBatch, Event, SentSnapshots
from impl.sim.links import WAL_FOLDER
from impl.store.interface import Get, Put

Ends = dict[int, set[int]]
"""By base offset: the ends of records."""


def beyond(events: list[Event]) -> Iterator[str]:
    """The snapshots that show more than is confirmed when they are applied, in words (I-10)."""
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
            confirmed = max(acked[stream], _end(image, stream))
            if end > confirmed:
                yield f"{name} shows stream {stream} up to {end}, and only {confirmed} is confirmed"


def fallen(events: list[Event]) -> Iterator[str]:
    """The snapshots that take back what a proxy has shown: an older leader epoch, or an earlier end (I-10).

    A proxy that has hidden the partition since, as at the end of a session, may show less.
    """
    shown: dict[tuple[str, int], tuple[int, int]] = {}
    for _, name, _, subject in events:
        if not isinstance(subject, StepEvent) or subject.action not in ("show", "hide"):
            continue
        key = name, subject.values["stream"]
        before = shown.pop(key, None)
        if subject.action == "hide":
            continue
        now = shown[key] = subject.values["epoch"], subject.values["end"]
        if before is not None and (now[0] < before[0] or now[1] < before[1]):
            yield (
                f"{name} shows stream {key[1]} under leader epoch {now[0]} up to {now[1]}, and showed it before under "
                f"{before[0]} up to {before[1]}"
            )


def unreadable(events: list[Event]) -> Iterator[str]:
    """The snapshots that show a record which nobody could read then, in words (I-11).

    A record can be read if it is committed, or has to be, since its stream was sealed behind it; or if the proxy has
    read the object of a WAL that has it, or has taken an answer that has it (ZR-42). What the cache of the proxy has
    lost since has to be uploaded (ZR-51).
    """
    image = Image()
    objects: dict[str, list[bytes]] = {}
    held: dict[tuple[str, int], Ends] = {}
    fetched: Counter[tuple[str, str]] = Counter()
    sent: dict[tuple[str, int], tuple[bytes, ...]] = {}
    for _, name, _, subject in events:
        match subject:
            case AppendedBatch(lost=False):
                replay((subject.batch,), image)
            case StoreRequest(_, Put(key, data)) if key.startswith(WAL_FOLDER):
                objects.setdefault(key, []).append(data)
            case StoreRequest(_, Get(key)) if key in objects:
                # A proxy reads the newest object again and again. A Get may overtake the put of its object: then the
                # end of the WAL was shown too early, and ``beyond`` notices.
                for data in objects[key][fetched[name, key] :]:
                    _hold(held, name, (record for _, record in wal_format.decode(data)))
                fetched[name, key] = len(objects[key])
            case SentSnapshots():
                sent[subject.reader, subject.id] = subject.records or ()
            case StepEvent("take_answer", values):
                _hold(held, name, map(wal_format.decode_record, sent.pop((name, values["id"]))))
            case StepEvent("show", values):
                stream = values["stream"]
                gap = _gap(values["spans"], _end(image, stream), held.get((name, stream), {}))
                if gap is not None:
                    yield f"{name} shows stream {stream} up to {values['end']}, and nobody can read {gap} yet"


def _hold(held: dict[tuple[str, int], Ends], name: str, records: Iterable[WalRecord]) -> None:
    for record in records:
        if record.stream != wal_format.MARKER:
            held.setdefault((name, record.stream), {}).setdefault(record.base, set()).add(record.end)


def _gap(spans: Collection[tuple[int, int]], committed: int, ends: Ends) -> int | None:
    """The first offset of some spans that is neither below ``committed`` nor in the records; None if all are."""
    for start, end in spans:
        places, last = {max(start, committed)}, max(start, committed)
        while places:
            place = places.pop()
            last = max(last, place)
            places |= ends.get(place, set())
        if last < end:
            return last
    return None


def _end(image: Image, stream: int) -> int:
    stored = image.streams.get(stream)
    return 0 if stored is None else stored.end
