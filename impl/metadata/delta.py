"""The difference of two images over one or several batches, as a broker sees it (RA-13).

A broker that gets several batches at once compares the image after the last one with the image before the first one. So
a row that returns to its old value is no difference.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from impl.metadata.image import Image, Table
from impl.metadata.log import MetadataBatch
from impl.records import MetadataRecord


class RowChange(msgspec.Struct, frozen=True, gc=False):
    """A row that differs: its table, its key, and the row before and after; None where there is none.

    Keys of nested tables are pairs: (stream, index), (stream, object), (node, object), (node, stream).
    """

    table: str
    key: Any
    before: Any
    after: Any


class Delta(msgspec.Struct, frozen=True):
    """The changes, in the order in which their rows were first written."""

    changes: tuple[RowChange, ...]

    def of(self, table: str) -> Iterator[RowChange]:
        """The changes of one table, by the name of the attribute of Image."""
        return (change for change in self.changes if change.table == table)


NESTED = ("ranges", "stream_objects", "set_objects", "entries")
Names = dict[int, tuple[str, tuple[int, ...]]]
"""By the identity of a table: the attribute of Image, and the outer key of a nested table."""

FLAT = ("streams", "nodes", "objects", "kv", "brokers", "topics", "partitions", "ids")


def learn(image: Image, batches: Iterable[MetadataBatch]) -> Delta:
    """Apply batches to the image of a broker, all as one step; returns the difference."""
    mark = image.mark()
    records = [record for batch in batches for record in batch.records]
    for record in records:
        image.apply(record)
    delta = _since(image, mark, _names(image, records))
    image.forget(image.mark())
    return delta


def _since(image: Image, mark: int, names: Names) -> Delta:
    # The oldest change of a row has the row before all batches.
    first: dict[tuple[int, Any], tuple[Table, Any, Any]] = {}
    for table, key, before in image.changes(mark):
        first.setdefault((id(table), key), (table, key, before))
    changes = []
    for table, key, before in first.values():
        after = table.get(key)
        if id(table) in names and before != after:
            name, outer = names[id(table)]
            changes.append(RowChange(name, (*outer, key) if outer else key, before, after))
    return Delta(tuple(changes))


def _names(image: Image, records: Iterable[MetadataRecord]) -> Names:
    """The names of the tables that the records may have written; derived tables have none."""
    names: Names = {id(getattr(image, name)): (name, ()) for name in FLAT}
    keys: set[int] = {getattr(record, name, -1) for record in records for name in ("stream_id", "node_id")}
    for name in NESTED:
        outer = getattr(image, name)
        names.update({id(outer[key]): (name, (key,)) for key in keys if key in outer})
    return names
