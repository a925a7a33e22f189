"""The objects of a WAL: their keys, headers and records (WL-02).

The end of an object is aligned, so offsets jump from one object to the next. The offset of a record is the start of its
object plus the position of its first byte in the object. All integers are big-endian.

    header   magic, start, length of the records, node, node epoch, trim, CRC-32 of all that
    record   length of the rest, CRC-32 of the rest; stream, stream epoch, base offset, count; payload
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Iterator
from zlib import crc32

import msgspec

from impl.tasks import FailedError

ALIGNMENT = 64 << 20
"""The ends of objects are multiples of this number of bytes (WL-02)."""
NOTHING = -1
"""The trim of a WAL before its first trim."""
MARKER = -1
"""The stream of a record that is written only for the header of its object (WL-06)."""

_MAGIC = b"hfW1"
_HEADER = struct.Struct(">4sqqqqq")
_CRC = struct.Struct(">I")
_FRAME = struct.Struct(">II")
_BODY = struct.Struct(">qqqq")
HEADER_BYTES = _HEADER.size + _CRC.size
LARGEST = ALIGNMENT - HEADER_BYTES
"""The most bytes of the records of an object, which thus takes one slot: its start names it, and of two objects of one
epoch with equal starts the store takes one. Else an object that a dead process puts late could lie beside those of its
successor, and recovery would stop at a hole that is none (AM-15).
"""
_KEY = re.compile(r"(\d{20})/(\d{20})-(\d{20})")


class DamagedError(FailedError):
    """The bytes of an object are not those that were written."""


class WalRecord(msgspec.Struct, frozen=True, gc=False):
    """A batch of a stream, with the offsets [``base``, ``base + count``).

    A link stands for a batch in the channel of a proxy. Its ``count`` is negative: that of the batch is ``-count``
    (ZR-32).
    """

    stream: int
    epoch: int
    base: int
    count: int
    payload: bytes

    @property
    def end(self) -> int:
        """The offset after its last one."""
        return self.base + abs(self.count)

    @property
    def size(self) -> int:
        """The bytes that the record takes in an object."""
        return _FRAME.size + _BODY.size + len(self.payload)


class WalPlace(msgspec.Struct, frozen=True, order=True, gc=False):
    """The name of an object: the epoch of its writer, and its offsets. Places are ordered as WL-03 lists objects."""

    epoch: int
    start: int
    end: int

    def key(self, folder: str) -> str:
        """The key of the object in the folder of its WAL. Numbers have leading zeros, so keys are ordered as places."""
        return f"{folder}{self.epoch:020}/{self.start:020}-{self.end:020}"


class WalHeader(msgspec.Struct, frozen=True, gc=False):
    """The header of an object. ``length``: the bytes of its records.

    ``trim``: the offset of the last trimmed record of the WAL, when the object was written.
    """

    start: int
    length: int
    node: int
    epoch: int
    trim: int


def folder_of(node: int) -> str:
    """The folder of a node's WAL."""
    return f"wal/{node}/"


def place_of(key: str, folder: str) -> WalPlace:
    """The place that a key names. Raises DamagedError for any other key."""
    found = _KEY.fullmatch(key.removeprefix(folder))
    if found is None:
        raise DamagedError(f"{key} is not the key of a WAL object")
    return WalPlace(*map(int, found.groups()))


def encode(start: int, node: int, epoch: int, trim: int, records: Iterable[WalRecord]) -> tuple[bytes, list[int]]:
    """The bytes of an object, and the offset of each record, in the order of ``records``.

    In the object the records are sorted by stream and base.
    """
    given = list(records)
    parts: list[bytes] = []
    offsets, place = [0] * len(given), HEADER_BYTES
    for index in sorted(range(len(given)), key=lambda each: (given[each].stream, given[each].base)):
        record = given[index]
        parts.append(encode_record(record))
        offsets[index] = start + place
        place += record.size
    header = _HEADER.pack(_MAGIC, start, place - HEADER_BYTES, node, epoch, trim)
    return b"".join((header, _CRC.pack(crc32(header)), *parts)), offsets


def encode_record(record: WalRecord) -> bytes:
    """The bytes of a record in an object."""
    body = _BODY.pack(record.stream, record.epoch, record.base, record.count) + record.payload
    return _FRAME.pack(len(body), crc32(body)) + body


def end_of(start: int, size: int) -> int:
    """The end of an object of ``size`` bytes: ``start + size``, rounded up to a multiple of the alignment."""
    return -(-(start + size) // ALIGNMENT) * ALIGNMENT


def decode_header(data: bytes) -> WalHeader:
    """The header of an object; raises DamagedError."""
    if len(data) < HEADER_BYTES or _CRC.unpack_from(data, _HEADER.size)[0] != crc32(data[: _HEADER.size]):
        raise DamagedError("the header of the object is damaged")
    magic, *fields = _HEADER.unpack_from(data)
    if magic != _MAGIC:
        raise DamagedError(f"the object is of another kind: {magic!r}")
    return WalHeader(*fields)


def decode(data: bytes) -> Iterator[tuple[int, WalRecord]]:
    """The records of an object, each with its offset, in their order; raises DamagedError at the first damaged one."""
    header = decode_header(data)
    place, end = HEADER_BYTES, HEADER_BYTES + header.length
    if len(data) != end:
        raise DamagedError(f"the object has {len(data)} bytes, and its header says {end}")
    while place < end:
        begin = place + _FRAME.size
        if begin > end:
            raise DamagedError(f"the record at {place} is cut off")
        size = _FRAME.unpack_from(data, place)[0]
        yield header.start + place, decode_record(data[place : begin + size], place)
        place = begin + size


def decode_record(data: bytes, place: int = 0) -> WalRecord:
    """The record with these bytes; raises DamagedError, which names the place of the record in its object."""
    size, checksum = _FRAME.unpack_from(data) if len(data) >= _FRAME.size else (0, 0)
    body = data[_FRAME.size :]
    if len(body) != size or size < _BODY.size or crc32(body) != checksum:
        raise DamagedError(f"the record at {place} is damaged")
    stream, epoch, base, count = _BODY.unpack_from(body)
    return WalRecord(stream, epoch, base, count, body[_BODY.size :])
