"""Links, and how they are resolved: a link in a WAL stands for a batch that lies in the channel of a proxy (2.6)."""

from __future__ import annotations

import msgspec

from impl.broker.partition import batches
from impl.broker.partition.batches import ABSENT, Batch
from impl.broker.wal_format import ALIGNMENT, DamagedError, WalPlace, WalRecord, decode_record
from impl.broker.zones import blocks
from impl.broker.zones.blocks import ProduceBlock
from impl.broker.zones.recent_blocks import RecentBlocks
from impl.byte_format import EncodingError
from impl.store.bucket import Bucket
from impl.tasks import FailedError
from impl.zone.encodings import ChannelOffset, LinkRecord


class DanglingError(FailedError):
    """The channel has no such record: it was trimmed, or never written."""


def channel_folder(node: int) -> str:
    """The folder of the channel of a node (ZR-16)."""
    return f"channel/{node}/"


def key_of(at: ChannelOffset) -> str:
    """The key of the object that has a channel record. No listing is needed: starts are aligned (ZR-17)."""
    start = at.wal.offset // ALIGNMENT * ALIGNMENT
    return WalPlace(at.wal.wal_epoch, start, start + ALIGNMENT).key(channel_folder(at.owner))


def span_of(at: ChannelOffset) -> tuple[int, int]:
    """The bytes of a channel record in its object: begin and end."""
    begin = at.wal.offset % ALIGNMENT
    return begin, begin + at.wal.size


def link_to(batch: Batch, channel_offset: bytes) -> bytes:
    """The payload of the link for a batch that has its offset (ZR-33). Its batch says no type of timestamp."""
    kind = "none" if batch.timestamp == ABSENT else "create"
    return LinkRecord(batch.end - 1, kind, batch.timestamp, batch.leader_epoch, channel_offset).encode()


def resolved(record: WalRecord, link: LinkRecord, block: ProduceBlock) -> WalRecord:
    """The record that a link stands for: the bytes of the channel, with offset and leader epoch of the main (ZR-34)."""
    count = -record.count
    if block.batch.count != count or link.last_offset < count - 1:
        raise DamagedError(f"the link at {record.base} stands for {count} records, and its batch has others")
    batch = block.batch.placed(link.last_offset - count + 1, link.leader_epoch)
    if link.timestamp_type != "none":
        batch = msgspec.structs.replace(batch, timestamp=link.max_timestamp)
    return WalRecord(record.stream, record.epoch, record.base, count, batches.encode(batch))


def decode_link(record: WalRecord) -> tuple[LinkRecord, ChannelOffset]:
    """The link in a record, and where its batch lies. Raises DamagedError."""
    try:
        link = LinkRecord.decode(record.payload)
        return link, ChannelOffset.decode(link.channel_offset or b"")
    except EncodingError as error:
        raise DamagedError(f"the link at {record.base} of stream {record.stream} is damaged: {error}") from error


class ChannelReader:
    """Reads records of any channel by their offsets. ``recent``: blocks that need no read."""

    def __init__(self, bucket: Bucket, recent: RecentBlocks | None = None) -> None:
        self._bucket, self._recent = bucket, recent

    async def read(self, at: ChannelOffset) -> ProduceBlock:
        """The block at an offset. Raises DanglingError, DamagedError and StoreError."""
        begin, end = span_of(at)
        found = await self._bucket.find(key_of(at), begin, end)
        if found is None:
            raise DanglingError(f"channel {at.owner} has no record at {at.wal.offset}")
        return blocks.decode(decode_record(found.data).payload)

    async def resolve(self, record: WalRecord) -> WalRecord:
        """The record itself, or the one that a link stands for. Raises the errors of ``read``."""
        if record.count > 0:
            return record
        link, at = decode_link(record)
        block = None if self._recent is None else self._recent.take(link.channel_offset or b"")
        return resolved(record, link, block or await self.read(at))
