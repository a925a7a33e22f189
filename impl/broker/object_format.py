"""The bytes of a stream object and of a stream set object: blocks of records, and an index at the end.

Both kinds have the same form; a stream object has one stream. The index has the CRC-32 of each block.

    record   stream epoch, base offset, count, bytes of the payload; payload
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from zlib import crc32

from impl.broker.object_index import DataBlock, encode_end
from impl.broker.wal_format import DamagedError, WalRecord

BLOCK_BYTES = 1 << 20
"""The maximum number of bytes of a block with more than one record."""

_RECORD = struct.Struct(">qqqI")


def object_key(object_id: int) -> str:
    """The key of an object in the bucket."""
    return f"object/{object_id}"


def encode(records: Iterable[WalRecord], block_bytes: int = BLOCK_BYTES) -> bytes:
    """The bytes of an object with the given records, sorted by stream and base.

    A block ends before a gap of offsets, and before a record that would lift its size above ``block_bytes``.
    Raises ValueError for a record with a negative count.
    """
    return pack(_blocks(sorted(records, key=lambda record: (record.stream, record.base)), block_bytes))


def pack(blocks: Iterable[tuple[DataBlock, bytes]]) -> bytes:
    """The bytes of an object with the given blocks, sorted by stream and start. Their old positions are ignored."""
    placed: list[DataBlock] = []
    parts: list[bytes] = []
    position = 0
    for block, data in sorted(blocks, key=lambda pair: (pair[0].stream, pair[0].start)):
        placed.append(DataBlock(block.stream, block.start, block.count, position, block.size, block.crc))
        parts.append(data)
        position += len(data)
    return b"".join((*parts, encode_end(placed, position)))


def check_block(block: DataBlock, data: bytes) -> None:
    """Raise DamagedError unless ``data`` has the CRC-32 of the block."""
    if crc32(data) != block.crc:
        raise DamagedError(f"the block of stream {block.stream} at offset {block.start} is damaged")


def decode_block(block: DataBlock, data: bytes) -> Iterator[WalRecord]:
    """The records of a block, in their order. Raises DamagedError."""
    check_block(block, data)
    place, offset = 0, block.start
    while place < len(data):
        payload = place + _RECORD.size
        if payload > len(data):
            raise DamagedError(f"the record at {place} of a block is cut off")
        epoch, base, count, size = _RECORD.unpack_from(data, place)
        place = payload + size
        if base != offset or place > len(data):
            raise DamagedError(f"the block of stream {block.stream} at offset {block.start} has a wrong record")
        offset += count
        yield WalRecord(block.stream, epoch, base, count, data[payload:place])
    if offset != block.end:
        raise DamagedError(f"the block of stream {block.stream} ends at {offset}, and the index says {block.end}")


def _blocks(records: list[WalRecord], block_bytes: int) -> Iterator[tuple[DataBlock, bytes]]:
    """Cut sorted records into blocks."""
    begin, size = 0, 0
    for place, record in enumerate(records):
        if record.count < 0:
            raise ValueError(f"the record of stream {record.stream} at {record.base} has {record.count} offsets")
        own = _RECORD.size + len(record.payload)
        if place > begin and (not _continues(records[place - 1], record) or size + own > block_bytes):
            yield _block(records[begin:place])
            begin, size = place, 0
        size += own
    if records:
        yield _block(records[begin:])


def _continues(before: WalRecord, record: WalRecord) -> bool:
    return record.stream == before.stream and record.base == before.base + before.count


def _block(records: list[WalRecord]) -> tuple[DataBlock, bytes]:
    data = b"".join(
        _RECORD.pack(each.epoch, each.base, each.count, len(each.payload)) + each.payload for each in records
    )
    first, last = records[0], records[-1]
    count = last.base + last.count - first.base
    # The position is 0 until ``pack`` places the block.
    return DataBlock(first.stream, first.base, count, 0, len(data), crc32(data)), data
