"""Reads records from the objects that the metadata names, and waits until it names them (PL-13, MD-02)."""

from __future__ import annotations

from collections.abc import Callable

from impl.broker.object_format import decode_block, object_key
from impl.broker.object_index import FOOTER_BYTES, DataBlock, Index, decode_index, index_position
from impl.broker.object_lookup import lookup
from impl.broker.wal_format import DamagedError, WalRecord
from impl.metadata.image import Image
from impl.rules import rule
from impl.store.bucket import Bucket
from impl.tasks import FailedError, Gate, Tasks, TimedOutError

WAIT_MS = 120_000
"""How long a read waits for metadata that covers its range (PL-13)."""
TAIL_BYTES = 64 << 10
"""The number of bytes at the end of an object that are read for its index. A longer index needs a second Get."""
INDEXES = 256
"""The number of indexes that are cached."""


class GoneError(FailedError):
    """The object is not in the store any more: a compaction has replaced it."""


class GapError(FailedError):
    """The records that were read do not cover the range without a gap (PL-13)."""


class Objects:
    """The objects of a bucket, whose bytes never change. The most recently used indexes are cached."""

    def __init__(self, bucket: Bucket, indexes: int = INDEXES, index_bytes: int = TAIL_BYTES) -> None:
        self._bucket, self._most, self._tail = bucket, indexes, index_bytes
        self._indexes: dict[int, Index] = {}
        """By object, in the order of their last use, the least recent one first."""

    async def index(self, object_id: int, size: int = 0) -> Index:
        """The index of an object. ``size``: the size of the object in bytes, from the metadata; 0 if unknown.

        Raises GoneError, DamagedError and StoreError.
        """
        # Popped and stored again, so that it becomes the most recently used one.
        found = self._indexes.pop(object_id, None)
        if found is None:
            found = await self._fetch_index(object_id, max(0, size - self._tail))
        self._indexes[object_id] = found
        while len(self._indexes) > self._most:
            del self._indexes[next(iter(self._indexes))]
        return found

    async def blocks(self, object_id: int, blocks: list[DataBlock]) -> list[bytes]:
        """The bytes of neighbouring blocks of an object, read with one Get. Their checksums are not checked.

        Raises GoneError and StoreError.
        """
        begin = min(block.position for block in blocks)
        end = max(block.position + block.size for block in blocks)
        data = await self._get(object_id, begin, end)
        return [data[block.position - begin : block.position - begin + block.size] for block in blocks]

    async def records(self, object_id: int, size: int, stream: int, begin: int, end: int) -> list[WalRecord]:
        """The records of an object that overlap [begin, end) of a stream, by base.

        Raises GoneError, DamagedError and StoreError.
        """
        index = await self.index(object_id, size)
        blocks = index.overlapping(stream, begin, end)
        if not blocks:
            return []
        data = await self.blocks(object_id, blocks)
        records = (each for block, part in zip(blocks, data, strict=True) for each in decode_block(block, part))
        return [each for each in records if each.base < end and each.base + each.count > begin]

    async def _fetch_index(self, object_id: int, begin: int) -> Index:
        tail = await self._get(object_id, begin)
        size = begin + len(tail)
        if begin and len(tail) < FOOTER_BYTES:
            raise DamagedError(f"object {object_id} has {size} bytes, fewer than the metadata says")
        position = index_position(tail, size)
        if position < begin:
            tail = await self._get(object_id, position)
        return decode_index(tail, size)

    async def _get(self, object_id: int, begin: int, end: int | None = None) -> bytes:
        found = await self._bucket.find(object_key(object_id), begin, end)
        if found is None:
            raise GoneError(f"object {object_id} is not in the store")
        return found.data


class RecordReader:
    """Reads records from object storage. ``image``: the newest image of the node.

    ``indexes``: the number of cached indexes. ``index_bytes``: the bytes at the end of an object read for its index.
    """

    def __init__(
        self,
        tasks: Tasks,
        bucket: Bucket,
        image: Callable[[], Image],
        *,
        indexes: int = INDEXES,
        index_bytes: int = TAIL_BYTES,
    ) -> None:
        self._tasks, self._image = tasks, image
        self._objects = Objects(bucket, indexes, index_bytes)
        self._changed: Gate[None] = Gate(tasks)
        """Opens with the next image."""

    def image_changed(self) -> None:
        """The image has changed, so the reads that wait look again (MD-02)."""
        changed, self._changed = self._changed, Gate(self._tasks)
        changed.open(None)

    async def read(self, stream: int, begin: int, end: int) -> list[WalRecord]:
        """The records of a stream that overlap [begin, end), by base: all of them, without a gap between them.

        If the metadata does not name objects for the whole range, the read waits for it (MD-02).

        Raises TimedOutError when that takes more than two minutes; InvalidReadError for a range below the start of the
        stream (MD-01); GapError, DamagedError and StoreError.
        """
        deadline = self._tasks.now + WAIT_MS
        records: list[WalRecord] = []
        contents: dict[int, list[tuple[int, int]]] = {}
        cursor = begin
        while cursor < end:
            # Taken before the lookup: an image that comes during the reads below opens this gate.
            changed = self._changed
            found = lookup(self._image(), stream, cursor, end, contents)
            try:
                for part in found.parts:
                    size = self._size(part.object)
                    records += await self._objects.records(part.object, size, stream, cursor, min(part.end, end))
                    cursor = part.end
                if found.unread is not None:
                    index = await self._objects.index(found.unread, self._size(found.unread))
                    contents[found.unread] = index.spans(stream)
                    continue
                if cursor >= end or not rule("MD-02"):
                    break
            except GoneError:
                pass  # The newest image names the object that has replaced this one, or will do so soon.
            await self._wait(changed, deadline)
        if rule("PL-13.gap", not _is_complete(records, begin, end)):
            raise GapError(f"the objects do not hold all of [{begin}, {end}) of stream {stream}")
        return records

    def _size(self, object_id: int) -> int:
        stored = self._image().objects.get(object_id)
        return 0 if stored is None else stored.size

    async def _wait(self, changed: Gate[None], deadline: int) -> None:
        left = deadline - self._tasks.now
        if left <= 0:
            raise TimedOutError("the metadata names no objects for the range")
        await changed.wait(left)


def _is_complete(records: list[WalRecord], begin: int, end: int) -> bool:
    """Whether records cover [begin, end), and each record starts where the record before it ends."""
    if begin >= end:
        return True
    if not records or records[0].base > begin:
        return False
    bases = [record.base for record in records[1:]]
    ends = [record.base + record.count for record in records]
    return bases == ends[:-1] and ends[-1] >= end
