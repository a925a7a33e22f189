"""The encodings of zone routing, to the byte. All integers are big-endian (zone-routing.md 2, 4.1).

``decode`` reads what ``encode`` has written. It raises EncodingError for other bytes: an unknown magic byte or version,
too few bytes, or too many.
"""

from __future__ import annotations

import struct
from typing import ClassVar, Self

import msgspec

from impl.byte_format import EncodingError, check_first, ended, head

TIMESTAMP_TYPES = {"none": -1, "create": 0, "append": 1}
"""The codes of the timestamp types of a link, by name (ZR-33)."""


class WalOffset(msgspec.Struct, frozen=True):
    """Where a record of a channel's WAL lies: 21 bytes (ZR-14). ``size``: of the record, in bytes."""

    FORMAT: ClassVar = struct.Struct(">Bqqi")
    MAGIC: ClassVar = 0xA8

    wal_epoch: int
    offset: int
    size: int

    def encode(self) -> bytes:
        """The bytes."""
        return self.FORMAT.pack(self.MAGIC, self.wal_epoch, self.offset, self.size)

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """The offset that the bytes hold."""
        (magic, *values), rest = head(cls.FORMAT, data)
        check_first(magic, cls.MAGIC, "magic byte")
        ended(rest)
        return cls(*values)


class ChannelOffset(msgspec.Struct, frozen=True):
    """Where a routed record lies: 34 bytes (ZR-14). ``attributes``: the node that the record is for."""

    FORMAT: ClassVar = struct.Struct(">Bhhii")
    MAGIC: ClassVar = 0x86

    channel: int
    order_hint: int
    owner: int
    attributes: int
    wal: WalOffset

    def encode(self) -> bytes:
        """The bytes."""
        front = self.FORMAT.pack(self.MAGIC, self.channel, self.order_hint, self.owner, self.attributes)
        return front + self.wal.encode()

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """The offset that the bytes hold."""
        (magic, *values), rest = head(cls.FORMAT, data)
        check_first(magic, cls.MAGIC, "magic byte")
        channel, order_hint, owner, attributes = values
        return cls(channel, order_hint, owner, attributes, WalOffset.decode(rest))


class LinkRecord(msgspec.Struct, frozen=True):
    """The payload of a link record, 59 bytes (ZR-33); 25 without a channel offset.

    ``timestamp_type``: a name of TIMESTAMP_TYPES. ``channel_offset``: encoded; only what resolves a link reads it.
    """

    FORMAT: ClassVar = struct.Struct(">Bqiqi")
    MAGIC: ClassVar = 0x00

    last_offset: int
    timestamp_type: str
    max_timestamp: int
    leader_epoch: int
    channel_offset: bytes | None

    @property
    def resolved_size(self) -> int | None:
        """The size in bytes of the channel record that the link names; None if it names none."""
        try:
            return None if self.channel_offset is None else ChannelOffset.decode(self.channel_offset).wal.size
        except EncodingError:
            return None

    def encode(self) -> bytes:
        """The bytes."""
        code = TIMESTAMP_TYPES[self.timestamp_type]
        front = self.FORMAT.pack(self.MAGIC, self.last_offset, code, self.max_timestamp, self.leader_epoch)
        return front if self.channel_offset is None else front + self.channel_offset

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """The link that the bytes hold."""
        (magic, last_offset, code, max_timestamp, leader_epoch), rest = head(cls.FORMAT, data)
        check_first(magic, cls.MAGIC, "magic byte")
        names = [name for name, each in TIMESTAMP_TYPES.items() if each == code]
        if not names:
            raise EncodingError(f"unknown timestamp type {code}")
        return cls(last_offset, names[0], max_timestamp, leader_epoch, rest or None)


class Forward(msgspec.Struct, frozen=True):
    """The metadata of a request that a proxy sends to a main (ZR-22). ``offsets``: channel offsets, each encoded."""

    FORMAT: ClassVar = struct.Struct(">Bi")
    LENGTH: ClassVar = struct.Struct(">h")
    MAGIC: ClassVar = 0x02

    node: int
    offsets: tuple[bytes, ...]

    def encode(self) -> bytes:
        """The bytes."""
        each = [self.LENGTH.pack(len(offset)) + offset for offset in self.offsets]
        return self.FORMAT.pack(self.MAGIC, self.node) + b"".join(each)

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """The request that the bytes hold."""
        (magic, node), rest = head(cls.FORMAT, data)
        check_first(magic, cls.MAGIC, "magic byte")
        offsets = []
        while rest:
            (length,), rest = head(cls.LENGTH, rest)
            if not 0 <= length <= len(rest):
                raise EncodingError(f"an offset of {length} bytes, and {len(rest)} are left")
            offsets.append(rest[:length])
            rest = rest[length:]
        return cls(node, tuple(offsets))


class RouteEpochRecord(msgspec.Struct, frozen=True):
    """The value of the cluster's route epochs (4.1). ``bumped_ms``: when ``current`` was last raised."""

    committed: int
    fenced: int
    current: int
    bumped_ms: int

    def encode(self) -> bytes:
        """The bytes."""
        return _versioned(self.committed, self.fenced, self.current, self.bumped_ms)

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """The record that the bytes hold. Zero bytes behind it are ignored: writers store their whole buffer."""
        return cls(*_numbers(data, 4))


class NodeEpochRecord(msgspec.Struct, frozen=True):
    """The value of a node's report: the last route epoch that it has committed (4.1)."""

    epoch: int

    def encode(self) -> bytes:
        """The bytes."""
        return _versioned(self.epoch)

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """The record that the bytes hold, as of RouteEpochRecord."""
        return cls(*_numbers(data, 1))


VERSION = struct.Struct(">h")
"""The version of a record in the metadata log, which is 0."""

LONGEST = 10
"""The most bytes of a varint of 64 bits."""


def _versioned(*numbers: int) -> bytes:
    return VERSION.pack(0) + b"".join(map(_varint, numbers))


def _varint(number: int) -> bytes:
    """A number of 64 bits as a zig-zag varint: seven bits a byte, the lowest first."""
    rest = (number << 1) ^ (number >> 63)
    found = bytearray()
    while rest > 0x7F:
        found.append(rest & 0x7F | 0x80)
        rest >>= 7
    found.append(rest)
    return bytes(found)


def _numbers(data: bytes, count: int) -> list[int]:
    (version,), rest = head(VERSION, data)
    check_first(version, 0, "version")
    numbers = []
    for _ in range(count):
        length = next((place for place, byte in enumerate(rest[:LONGEST], 1) if byte < 0x80), 0)
        if not length:
            raise EncodingError("a number has no end")
        value = sum((byte & 0x7F) << 7 * place for place, byte in enumerate(rest[:length]))
        if value >= 2**64:
            raise EncodingError("a number of more than 64 bits")
        numbers.append((value >> 1) ^ -(value & 1))
        rest = rest[length:]
    ended(rest.strip(b"\0"))
    return numbers
