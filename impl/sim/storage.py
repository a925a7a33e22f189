"""The contents of the object store after a run, for the storage oracle: read from the bucket, not from any node."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from impl.broker import wal_format
from impl.broker.object_format import decode_block, object_key
from impl.broker.object_index import decode_index
from impl.broker.partition.batches import decode
from impl.broker.wal_format import DamagedError, WalRecord
from impl.client.contents import runs
from impl.metadata.image import Image
from impl.records import ObjectState
from impl.sim.links import resolve, wal_places
from impl.sim.neighbours import LONER, is_of_neighbour

OBJECT_FOLDER = "object/"


class Contents(msgspec.Struct, frozen=True):
    """``objects``: the batches of committed objects. ``wal``: those in WALs that are not trimmed, old ones included.

    ``orphans``: the keys of objects that no metadata names. ``missing``: committed objects that the bucket lacks.
    """

    objects: tuple[WalRecord, ...]
    wal: tuple[WalRecord, ...]
    orphans: tuple[str, ...]
    missing: tuple[int, ...]


def contents(objects: dict[str, bytes], image: Image) -> Contents:
    """The contents of a bucket by the metadata. Raises DamagedError for bytes that no node has written."""
    # A neighbour writes no data, so its objects are not in the bucket.
    live = {
        each
        for number, rows in image.stream_objects.items()
        if number not in image.streams or not is_of_neighbour(image, number)
        for each in rows
    }
    live |= {each for node, rows in image.set_objects.items() if node != LONER for each in rows}
    live = {each for each in live if _is_committed(image, each)}
    named = {object_key(each) for each in image.objects}
    missing = sorted(each for each in live if object_key(each) not in objects)
    stored = [
        record
        for each in sorted(live.difference(missing))
        for record in _records(objects[object_key(each)])
        if record.stream in image.streams
    ]
    orphans = sorted(key for key in objects if key.startswith(OBJECT_FOLDER) and key not in named)
    return Contents(tuple(stored), tuple(_wal(objects)), tuple(orphans), tuple(missing))


def sends_of(record: WalRecord) -> list[tuple[int, int, int]]:
    """The sends in a stored batch of a partition: base offset, number of records and value of each.

    A record of the meta stream or of an index holds none.
    """
    try:
        batch = decode(record.payload)
    except DamagedError:
        return []
    return runs([(batch.base, batch.values)], batch.base)


def _is_committed(image: Image, object_id: int) -> bool:
    row = image.objects.get(object_id)
    return row is not None and row.state is ObjectState.COMMITTED


def _records(data: bytes) -> Iterator[WalRecord]:
    """The records of an object of streams."""
    for blocks in decode_index(data, len(data)).streams.values():
        for block in blocks:
            yield from decode_block(block, data[block.position : block.position + block.size])


def _wal(objects: dict[str, bytes]) -> Iterator[WalRecord]:
    """The records of all WALs above their trims. A link is replaced by its batch, or left out if that is gone."""
    for node, places in wal_places(objects).items():
        folder = wal_format.folder_of(node)
        # The newest object has the newest trim of the WAL.
        trim = wal_format.decode_header(objects[places[-1].key(folder)]).trim
        for place in places:
            for offset, record in wal_format.decode(objects[place.key(folder)]):
                if offset > trim and record.stream != wal_format.MARKER:
                    # A link without its batch holds no data; whether there may be one, ``dangling`` decides.
                    found = record if record.count > 0 else resolve(record, objects)
                    if found is not None:
                        yield found
