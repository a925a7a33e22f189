"""The index of an object: the place of each block of data, and the offsets that it holds.

A block has records of one stream without a gap. The index and a footer are the end of an object, so that one ranged
Get finds both. All integers are big-endian.

    entry    stream, first offset, number of offsets, position, size, CRC-32 of the block
    footer   position of the index, its size, its CRC-32, CRC-32 of these three, magic
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Protocol, TypeVar
from zlib import crc32

import msgspec

from impl.broker.wal_format import DamagedError

_MAGIC = b"hfO1"
_ENTRY = struct.Struct(">qqqQII")
_POINTER = struct.Struct(">QQI")
_END = struct.Struct(">I4s")
FOOTER_BYTES = _POINTER.size + _END.size

Span = tuple[int, int]
"""Offsets [first number, second number)."""


class DataBlock(msgspec.Struct, frozen=True, gc=False):
    """A block of an object: ``count`` offsets of a stream from ``start`` on, in ``size`` bytes from ``position`` on."""

    stream: int
    start: int
    count: int
    position: int
    size: int
    crc: int

    @property
    def end(self) -> int:
        """The offset after the last one."""
        return self.start + self.count


class Index:
    """The blocks of an object, by stream, and by start within a stream. ``size``: the bytes of the object."""

    def __init__(self, blocks: Iterable[DataBlock], size: int) -> None:
        self.size = size
        self.streams: dict[int, list[DataBlock]] = {}
        for block in blocks:
            self.streams.setdefault(block.stream, []).append(block)

    def overlapping(self, stream: int, begin: int, end: int) -> list[DataBlock]:
        """The blocks of a stream that have an offset of [begin, end), by start."""
        return [block for block in self.streams.get(stream, ()) if block.start < end and block.end > begin]

    def spans(self, stream: int) -> list[Span]:
        """The offsets of a stream in the object, one span for each run of blocks without a gap."""
        return [(run[0].start, run[-1].end) for run in runs_of(self.streams.get(stream, ()))]


class OffsetSpan(Protocol):
    """Anything with offsets [start, end) of a stream."""

    @property
    def start(self) -> int: ...

    @property
    def end(self) -> int: ...


S = TypeVar("S", bound=OffsetSpan)


def runs_of(spanned: Iterable[S]) -> list[list[S]]:
    """Group blocks into runs without a gap: each block of a run starts where the block before it ends.

    ``spanned``: sorted by start.
    """
    runs: list[list[S]] = []
    for each in spanned:
        if runs and runs[-1][-1].end == each.start:
            runs[-1].append(each)
        else:
            runs.append([each])
    return runs


def encode_end(blocks: Iterable[DataBlock], position: int) -> bytes:
    """The index and the footer of an object whose blocks take ``position`` bytes."""
    index = b"".join(
        _ENTRY.pack(each.stream, each.start, each.count, each.position, each.size, each.crc) for each in blocks
    )
    pointer = _POINTER.pack(position, len(index), crc32(index))
    return index + pointer + _END.pack(crc32(pointer), _MAGIC)


def index_position(tail: bytes, size: int) -> int:
    """The position of the index in an object of ``size`` bytes that ends with ``tail``. Raises DamagedError."""
    return _pointer(tail, size)[0]


def decode_index(tail: bytes, size: int) -> Index:
    """The index of an object of ``size`` bytes, from its last bytes.

    Raises DamagedError, and ValueError if the index begins before ``tail``.
    """
    position, length, checksum = _pointer(tail, size)
    begin = position - (size - len(tail))
    if begin < 0:
        raise ValueError(f"the index begins {-begin} bytes before the given part of the object")
    index = tail[begin : begin + length]
    if crc32(index) != checksum or length % _ENTRY.size:
        raise DamagedError("the index of the object is damaged")
    return Index((DataBlock(*fields) for fields in _ENTRY.iter_unpack(index)), size)


def _pointer(tail: bytes, size: int) -> tuple[int, int, int]:
    """Position, size and CRC-32 of the index."""
    if len(tail) < FOOTER_BYTES:
        raise DamagedError(f"the object has {size} bytes, too few for a footer")
    checksum, magic = _END.unpack_from(tail, len(tail) - _END.size)
    if magic != _MAGIC:
        # The magic is checked first: in another version only its place is sure to be the same.
        raise DamagedError(f"the object is of another kind or of another version: its magic is {magic!r}")
    pointer = tail[len(tail) - FOOTER_BYTES : len(tail) - _END.size]
    if crc32(pointer) != checksum:
        raise DamagedError("the footer of the object is damaged")
    position, length, index_checksum = _POINTER.unpack(pointer)
    if position + length + FOOTER_BYTES != size:
        raise DamagedError(f"the object has {size} bytes, and its footer says {position + length + FOOTER_BYTES}")
    return position, length, index_checksum
