"""Copies blocks of old objects into new objects, for all kinds of compaction (OB-01, CP-03)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

import msgspec

from impl import wire
from impl.broker.object_format import check_block, object_key, pack
from impl.broker.object_index import DataBlock, Index, runs_of
from impl.broker.reader import Objects
from impl.rules import rule
from impl.store.bucket import Bucket, StoreError


class Caller(Protocol):
    """Calls the controller until it answers without an error. Raises a FailedError if it refuses."""

    async def call(self, body: wire.Body) -> wire.ItemAnswer:
        """The answer to a request."""
        ...


class Source(msgspec.Struct, frozen=True, gc=False):
    """A block, and the object that has it."""

    object: int
    block: DataBlock

    @property
    def start(self) -> int:
        """The first offset."""
        return self.block.start

    @property
    def end(self) -> int:
        """The offset after the last one."""
        return self.block.end


class Copier:
    """Reads blocks of objects, and puts new objects."""

    def __init__(self, bucket: Bucket, calls: Caller) -> None:
        self._bucket, self._calls = bucket, calls
        self._objects = Objects(bucket)

    async def sources(self, object_id: int, size: int) -> list[Source]:
        """The blocks of an object of ``size`` bytes, sorted by stream and start.

        Raises GoneError, DamagedError and StoreError.
        """
        index = await self._objects.index(object_id, size)
        return [Source(object_id, block) for blocks in index.streams.values() for block in blocks]

    async def prepare(self, count: int, ttl_ms: int) -> int:
        """The first of ``count`` new ids of objects; the others follow. They expire after ``ttl_ms`` (OB-01)."""
        if not count:
            return 0
        answer = await self._calls.call(wire.PrepareObjects(count, ttl_ms))
        first: int = answer.values["first"]
        return first

    async def copy(self, sources: Iterable[Source], object_id: int) -> bytes:
        """Put an object with the given blocks, and return its bytes.

        Raises StoreError, also if it is unknown whether the object exists; GoneError; DamagedError.
        """
        held: dict[int, list[DataBlock]] = {}
        for source in sources:
            held.setdefault(source.object, []).append(source.block)
        copied: list[tuple[DataBlock, bytes]] = []
        for source_id, blocks in held.items():
            copied += await self._read(source_id, blocks)
        data = pack(copied)
        try:
            await self._bucket.put(object_key(object_id), data)
        except StoreError:
            if rule("CP-03.put"):
                raise
        return data

    async def _read(self, object_id: int, blocks: list[DataBlock]) -> list[tuple[DataBlock, bytes]]:
        """Read and check blocks of an object. One Get reads all blocks that are neighbours in the object."""
        found: list[tuple[DataBlock, bytes]] = []
        for run in runs_of(sorted((_Bytes(block) for block in blocks), key=lambda each: each.start)):
            wanted = [each.block for each in run]
            found += zip(wanted, await self._objects.blocks(object_id, wanted), strict=True)
        for block, data in found:
            check_block(block, data)
        return found


def is_covered(sources: list[Source], outputs: list[Index]) -> bool:
    """Whether the outputs of a compaction hold all offsets of the given blocks."""
    spans: dict[int, list[tuple[int, int]]] = {}
    for index in outputs:
        for stream in index.streams:
            spans.setdefault(stream, []).extend(index.spans(stream))
    return all(
        any(start <= source.start and source.end <= end for start, end in spans.get(source.block.stream, ()))
        for source in sources
    )


class _Bytes:
    """A block as the bytes [start, end) of its object."""

    def __init__(self, block: DataBlock) -> None:
        self.block = block
        self.start, self.end = block.position, block.position + block.size
