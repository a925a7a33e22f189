"""Turns a block of records into objects in four steps: split, prepare, put and commit (PL-21, CS).

The steps are separate functions, because the uploader prepares and commits blocks in their order, but puts their
objects side by side (PL-22).
"""

from __future__ import annotations

import msgspec

from impl import wire
from impl.broker.calls import Calls
from impl.broker.log_cache import CacheBlock
from impl.broker.messages import Identity
from impl.broker.object_format import encode, object_key
from impl.broker.settings import TTL_MS
from impl.broker.wal_format import WalRecord
from impl.controller.commits import CommittedObject, SetCommit
from impl.controller.continuity import CommittedRange
from impl.controller.objects import NOOP
from impl.errors import E
from impl.store.bucket import Bucket
from impl.tasks import Tasks


class Split(msgspec.Struct, frozen=True):
    """The records of a block, by stream. ``alone``: the streams with an object of their own.

    ``together``: the streams that share one object.
    """

    alone: dict[int, list[WalRecord]]
    together: dict[int, list[WalRecord]]

    @property
    def count(self) -> int:
        """The number of objects."""
        return len(self.alone) + bool(self.together)


class BlockObjects(msgspec.Struct, frozen=True):
    """The objects of a block: their bytes by id, and the commit that adds them to the metadata."""

    objects: dict[int, bytes]
    commit: SetCommit


def split(block: CacheBlock, split_bytes: int) -> Split:
    """PL-21. Split a block: its only stream, or a stream with at least ``split_bytes``, gets an object of its own."""
    streams = {stream: block.streams[stream] for stream in sorted(block.streams)}
    if len(streams) == 1:
        return Split(streams, {})
    alone = {
        stream: records
        for stream, records in streams.items()
        if sum(len(record.payload) for record in records) >= split_bytes
    }
    return Split(alone, {stream: records for stream, records in streams.items() if stream not in alone})


class ObjectWriter:
    """Writes the blocks of a process, or of a recovery (``identity``).

    ``thrown``: further errors of the controller that a commit raises, instead of being sent again until it succeeds.
    """

    def __init__(
        self,
        tasks: Tasks,
        bucket: Bucket,
        calls: Calls,
        identity: Identity,
        split_bytes: int,
        thrown: frozenset[E] = frozenset(),
    ) -> None:
        self._thrown = thrown
        self._tasks, self._bucket, self._calls = tasks, bucket, calls
        self._identity, self._split_bytes = identity, split_bytes

    async def prepare(self, block: CacheBlock) -> BlockObjects:
        """Get ids for the objects of a block, and encode them. The shared object gets the first id as id and order."""
        parts = split(block, self._split_bytes)
        answer = await self._calls.call(wire.PrepareObjects(parts.count, TTL_MS))
        first: int = answer.values["first"]
        shared = first if parts.together else NOOP
        ids = {stream: first + bool(parts.together) + place for place, stream in enumerate(parts.alone)}
        objects = {ids[stream]: encode(records) for stream, records in parts.alone.items()}
        if parts.together:
            objects[shared] = encode(record for records in parts.together.values() for record in records)
        stream_objects = tuple(
            CommittedObject(ids[stream], stream, *_span(records), len(objects[ids[stream]]))
            for stream, records in parts.alone.items()
        )
        commit = SetCommit(
            self._identity.node,
            self._identity.epoch,
            shared,
            shared,
            len(objects[shared]) if parts.together else 0,
            failover=self._identity.failover,
            ranges=tuple(CommittedRange(stream, *_span(records)) for stream, records in parts.together.items()),
            stream_objects=stream_objects,
        )
        return BlockObjects(objects, commit)

    async def put(self, prepared: BlockObjects) -> None:
        """Put the objects, side by side. Raises StoreError."""
        puts = [self._tasks.start(self._bucket.put(object_key(each), data)) for each, data in prepared.objects.items()]
        for put in puts:
            await put.wait()

    async def commit(self, prepared: BlockObjects) -> None:
        """Commit the objects. Raises ControllerError."""
        await self._calls.call(wire.CommitStreamSetObject(prepared.commit), thrown=self._thrown)

    async def write(self, block: CacheBlock) -> None:
        """Prepare, put and commit a block, one step after the other (RC-04)."""
        prepared = await self.prepare(block)
        await self.put(prepared)
        await self.commit(prepared)


def _span(records: list[WalRecord]) -> tuple[int, int]:
    return records[0].base, records[-1].base + records[-1].count
