"""The records of a partition's meta stream: keys with values (reassignment.md 3). The last value of a key counts.

    record   magic byte 0, int32 length of the key, key in UTF-8, value; integers are big-endian

A record takes one offset of the stream. It has no checksum of its own: the WAL and the objects have theirs.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping

import msgspec

from impl.broker.wal_format import DamagedError

_MAGIC = 0
_HEAD = struct.Struct(">bi")


class LatestValue(msgspec.Struct, frozen=True, gc=False):
    """The last value of a key, and the offset of its record."""

    value: bytes
    offset: int


class Compaction(msgspec.Struct, frozen=True, gc=False):
    """``records``: the records to append. ``trim``: the new start of the stream, once all appends are confirmed."""

    records: tuple[bytes, ...]
    trim: int


def encode(key: str, value: bytes) -> bytes:
    """The bytes of a record."""
    name = key.encode()
    return _HEAD.pack(_MAGIC, len(name)) + name + value


def decode(data: bytes) -> tuple[str, bytes]:
    """The key and the value of a record. Raises DamagedError."""
    if len(data) < _HEAD.size:
        raise DamagedError(f"the record of the meta stream has {len(data)} bytes, too few for a key")
    magic, length = _HEAD.unpack_from(data)
    if magic != _MAGIC:
        raise DamagedError(f"the record of the meta stream is of another version: its magic byte is {magic}")
    value = _HEAD.size + length
    if not _HEAD.size <= value <= len(data):
        raise DamagedError(f"the key of the record is said to have {length} bytes of {len(data) - _HEAD.size}")
    try:
        return data[_HEAD.size : value].decode(), data[value:]
    except UnicodeDecodeError as error:
        raise DamagedError("the key of the record is no UTF-8") from error


def replay(records: Iterable[tuple[int, bytes]]) -> dict[str, LatestValue]:
    """The last value of each key. ``records``: the offset and the bytes of each record, in any order.

    Raises DamagedError.
    """
    latest: dict[str, LatestValue] = {}
    for offset, data in records:
        key, value = decode(data)
        known = latest.get(key)
        if known is None or known.offset < offset:
            latest[key] = LatestValue(value, offset)
    return latest


def compaction(latest: Mapping[str, LatestValue], start: int) -> Compaction | None:
    """The rewrite of a meta stream before its close (RA-18). None if each of its records is the last one of its key.

    ``latest``: the last values of the whole stream. ``start``: its first offset. The caller appends all last values
    again, in the order of their offsets, and then trims the records before them. A crash before the trim leaves equal
    values at two offsets, so nothing is lost. From the replay to the last of these appends, the caller may append no
    other record: an older value would come after it.
    """
    # Each record takes one offset. With as many records as keys, no key has two records.
    end = 1 + max((each.offset for each in latest.values()), default=start - 1)
    if end - start == len(latest):
        return None
    keys = sorted(latest, key=lambda key: latest[key].offset)
    return Compaction(tuple(encode(key, latest[key].value) for key in keys), end)
