"""The links in the WALs of a bucket, read from its bytes and not from any node. None that is needed dangles (I-1)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from impl.broker import wal_format
from impl.broker.wal_format import WalPlace, WalRecord, decode_record
from impl.broker.zones import blocks
from impl.broker.zones.links import decode_link, key_of, resolved, span_of
from impl.metadata.image import Image

WAL_FOLDER, CHANNEL_FOLDER = "wal/", "channel/"


def resolve(record: WalRecord, objects: Mapping[str, bytes]) -> WalRecord | None:
    """The record that a link stands for; None if its channel lacks it. Raises DamagedError."""
    link, at = decode_link(record)
    data = objects.get(key_of(at))
    if data is None:
        return None
    begin, end = span_of(at)
    return resolved(record, link, blocks.decode(decode_record(data[begin:end], begin).payload))


def dangling(objects: Mapping[str, bytes], image: Image) -> list[str]:
    """The links that a recovery would have to resolve and could not, in words. ``image``: the committed metadata."""
    return [
        f"the link at {record.base} of stream {record.stream} in the WAL of node {node}"
        for node, places in wal_places(objects).items()
        for record in _replayed(node, places, objects)
        if record.count < 0 and is_needed(node, record, image) and resolve(record, objects) is None
    ]


def is_needed(node: int, record: WalRecord, image: Image) -> bool:
    """Whether a recovery keeps a record: it is not committed, and its stream is open, or sealed behind it (RC-02)."""
    stored = image.streams.get(record.stream)
    entry = image.active_entry(node, record.stream)
    if entry is not None:
        return entry.start < record.end <= entry.to
    return stored is not None and record.stream in image.opened_on.get(node, ()) and record.base >= stored.end


def wal_places(objects: Mapping[str, bytes]) -> dict[int, list[WalPlace]]:
    """By node: the objects of its WAL, sorted."""
    found: dict[int, list[WalPlace]] = {}
    for key in sorted(objects):
        if key.startswith(WAL_FOLDER):
            node = int(key.split("/")[1])
            found.setdefault(node, []).append(wal_format.place_of(key, wal_format.folder_of(node)))
    return {node: sorted(found[node]) for node in sorted(found)}


def _replayed(node: int, places: list[WalPlace], objects: Mapping[str, bytes]) -> Iterator[WalRecord]:
    """The records above the trim, up to the first hole, without late objects of older processes (WL-07, WL-08)."""
    folder = wal_format.folder_of(node)
    kept = [
        place for place in places if not any(each.epoch > place.epoch and each.start < place.end for each in places)
    ]
    trim = wal_format.decode_header(objects[kept[-1].key(folder)]).trim
    end = None
    for place in kept:
        if place.end <= trim:
            continue
        if end is not None and place.start != end:
            return
        end = place.end
        yield from (record for offset, record in wal_format.decode(objects[place.key(folder)]) if offset > trim)
