"""Reads the WAL of a main from outside, as a reader of another zone does (ZR-45, ZR-46, ZR-50)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable

from impl.broker.wal_format import ALIGNMENT, MARKER, WalPlace, WalRecord, decode, decode_record, folder_of
from impl.broker.zones.links import ChannelReader
from impl.store.bucket import Bucket
from impl.tasks import FailedError


class WalReplay:
    """``channels``: resolves links."""

    def __init__(self, bucket: Bucket, channels: ChannelReader) -> None:
        self._bucket, self._channels = bucket, channels

    async def records(self, node: int, epoch: int, begin: int, end: int) -> AsyncIterator[WalRecord]:
        """The records with an offset in [begin, end) of the WAL of a process, in their order.

        Whatever cannot be read is left out: it was uploaded before it was trimmed, and is read from objects (ZR-50).
        """
        for start in range(begin // ALIGNMENT * ALIGNMENT, end, ALIGNMENT):
            key = WalPlace(epoch, start, start + ALIGNMENT).key(folder_of(node))
            try:
                found = await self._bucket.find(key)
                listed = [] if found is None else list(decode(found.data))
            except FailedError:
                continue
            kept = [record for offset, record in listed if begin <= offset < end and record.stream != MARKER]
            async for resolved in self._resolved(kept):
                yield resolved

    async def inline(self, encoded: Iterable[bytes]) -> AsyncIterator[WalRecord]:
        """The records that an answer has had, in their order (ZR-42)."""
        async for resolved in self._resolved(map(decode_record, encoded)):
            yield resolved

    async def _resolved(self, records: Iterable[WalRecord]) -> AsyncIterator[WalRecord]:
        for record in records:
            try:
                resolved = await self._channels.resolve(record)
            except FailedError:
                continue
            yield resolved
