"""Random edits of a dump: one record is removed, changed, or moved to another place.

Each edit returns its name, with the record's type and the changed field, and the batches after the edit.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from impl import records as r
from impl.metadata.log import MetadataBatch
from impl.records import MetadataRecord

Name = tuple[str, ...]
Edited = tuple[Name, list[MetadataBatch]]
Edit = Callable[[random.Random, Sequence[MetadataBatch], frozenset[str]], Edited]


def removed(draw: random.Random, batches: Sequence[MetadataBatch], used: frozenset[str]) -> Edited:
    """Remove a record of one of the used types."""
    batch, place = _choose(draw, batches, used)
    record, after = _without(batches, batch, place)
    return ("removed", record.TYPE), [each for each in after if each.records]


def changed(draw: random.Random, batches: Sequence[MetadataBatch], used: frozenset[str]) -> Edited:
    """Give one field of a record another value."""
    batch, place = _choose(draw, batches, used)
    records = list(batches[batch].records)
    record = records[place]
    fields = [name for name in record.__struct_fields__ if name not in ("tags", "ranges")]
    field = draw.choice(fields)
    records[place] = msgspec.structs.replace(record, **{field: _other(draw, getattr(record, field))})
    name = record.__struct_encode_fields__[record.__struct_fields__.index(field)]
    return ("changed", record.TYPE, name), _with(batches, batch, records)


def moved(draw: random.Random, batches: Sequence[MetadataBatch], used: frozenset[str]) -> Edited:
    """Move a record some used records earlier or later."""
    places = _places(batches, used)
    index = draw.randrange(len(places))
    other = min(max(index + draw.choice([-3, -2, -1, 1, 2, 3]), 0), len(places) - 1)
    (batch, place), (to, at) = places[index], places[other]
    record, after = _without(batches, batch, place)
    records = list(after[to].records)
    records.insert(at, record)
    found = [each for each in _with(after, to, records) if each.records]
    return ("moved", record.TYPE), found


def _places(batches: Sequence[MetadataBatch], used: frozenset[str]) -> list[tuple[int, int]]:
    return [
        (batch, place)
        for batch, each in enumerate(batches)
        for place, record in enumerate(each.records)
        if record.TYPE in used
    ]


def _choose(draw: random.Random, batches: Sequence[MetadataBatch], used: frozenset[str]) -> tuple[int, int]:
    """A place in the dump; each type of record is equally likely."""
    places = _places(batches, used)
    kind = draw.choice(sorted({batches[batch].records[place].TYPE for batch, place in places}))
    return draw.choice([(batch, place) for batch, place in places if kind == batches[batch].records[place].TYPE])


def _with(batches: Sequence[MetadataBatch], batch: int, records: Sequence[MetadataRecord]) -> list[MetadataBatch]:
    after = list(batches)
    after[batch] = msgspec.structs.replace(batches[batch], records=tuple(records))
    return after


def _without(batches: Sequence[MetadataBatch], batch: int, place: int) -> tuple[MetadataRecord, list[MetadataBatch]]:
    records = list(batches[batch].records)
    record = records.pop(place)
    return record, _with(batches, batch, records)


def _other(draw: random.Random, value: Any) -> Any:
    """Another value of the same kind."""
    match value:
        case bool():
            return not value
        case r.StreamState():
            return r.StreamState(1 - value)
        case bytes():
            ends = r.unpack_end_offsets(value)
            stream = draw.choice(list(ends))
            ends[stream] += draw.choice([1, 50])
            return r.pack_end_offsets(ends)
        case tuple():
            place = draw.randrange(len(value))
            entry = value[place]
            field = draw.choice(entry.__struct_fields__)
            entries = list(value)
            entries[place] = msgspec.structs.replace(entry, **{field: _other(draw, getattr(entry, field))})
            return tuple(entries)
        case _:
            return value + draw.choice([-1, 1, 40]) if value > 0 else value + draw.choice([1, 40])
