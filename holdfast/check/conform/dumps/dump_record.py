"""A record of the metadata log, as a dump shows it, and the decoding of its fields that hold bytes."""

from __future__ import annotations

import struct
from base64 import b64decode
from collections.abc import Callable
from typing import Any, NoReturn

import attrs
import msgspec

from holdfast.check.conform.logs.damage import damaged, shown
from holdfast.check.conform.logs.strict_json import STRICT, StrictError, quick
from holdfast.ir.errors import Place

END_OFFSETS = "S3_STREAM_END_OFFSETS_RECORD"
DECODER = "print the dump with --cluster-metadata-decoder, by the tool of the release that wrote the log"

_PAIR = struct.Struct(">qq")
_PACKED_VERSION = b"\x01"
_SKIPPED = "Error at "
"""The begin of a payload that the tool could not decode."""


@attrs.frozen
class DumpBatch:
    """Records that the controller appended at once. ``first`` and ``last``: the offsets of the first and last record.

    ``epoch``: the epoch of the controller that appended them. ``snapshot``: None for a batch of the log; for a batch of
    a snapshot, the end offset of that snapshot. Records of a snapshot replace all of the log below its end offset, and
    their own offsets count from 0.
    """

    file: str
    first: int
    last: int
    epoch: int
    snapshot: int | None = None


class DumpRecord(msgspec.Struct, frozen=True, gc=False):
    """A record with its place in the log.

    ``time``: the time of its append, in milliseconds. ``line``: its line in the file. ``data``: the fields by their
    names in the dump; fields of bytes are decoded from base64.
    """

    type: str
    version: int
    data: dict[str, Any]
    offset: int
    time: int
    batch: DumpBatch
    line: int

    @property
    def at(self) -> Place:
        """The line of the record."""
        return Place(self.batch.file, self.line)


def end_offsets(record: DumpRecord) -> tuple[tuple[int, int], ...]:
    """The streams of an S3_STREAM_END_OFFSETS_RECORD, each with its committed end, in the record's order.

    The bytes are one byte 1, then for each stream its id and its end, as big-endian int64. Raises UsageError for bytes
    of another form.
    """
    packed = record.data.get("endOffsets")
    if not isinstance(packed, bytes):
        damaged(record.at, f"endOffsets is {shown(packed)}", "it holds the ends of streams, as base64")
    if packed[:1] != _PACKED_VERSION:
        damaged(record.at, f"endOffsets begins with the bytes {packed[:8].hex()!r}", "its first byte is 1")
    if (len(packed) - 1) % _PAIR.size:
        damaged(record.at, f"endOffsets has {len(packed)} bytes", "after the first byte, each stream has 16")
    pairs = tuple(_PAIR.iter_unpack(packed[1:]))
    for stream, end in pairs:
        if stream < 0 or end < 0:
            damaged(record.at, f"endOffsets says that stream {stream} ends at {end}", "neither is below 0")
    return pairs


# Payloads -----------------------------------------------------------------------------------------------------------


def read_payload(line: bytes, at: Callable[[], Place]) -> tuple[str, int, dict[str, Any]]:
    """Type, version and data of a payload, which is the end of a line.

    ``at``: makes the place of the line, for an error. Raises UsageError for a payload of another form.
    """
    payload = quick(line)
    # The quick decoder reads the usual payload. The strict one is slower, but says what is wrong.
    if payload is None:
        payload = _read_strictly(line.decode(), at())
    kind, version, data = payload.get("type"), payload.get("version"), payload.get("data")
    if type(kind) is not str or type(version) is not int or type(data) is not dict or not kind:
        damaged(at(), f"the payload is {shown(payload)}", 'it is {"type": a text, "version": a number, "data": {…}}')
    decode = _BYTES.get(kind)
    if decode is not None:
        try:
            decode(data)
        except (AttributeError, TypeError, ValueError):
            damaged(at(), f"{kind}: {shown(data)} has bytes that are no base64", DECODER)
    return kind, version, data


def _read_strictly(text: str, at: Place) -> dict[str, Any]:
    """The object of a payload; raises UsageError that names the error in it."""
    try:
        payload = STRICT.decode(text)
    except StrictError as error:
        damaged(at, str(error), DECODER)
    except (ValueError, RecursionError):
        _undecoded(text, at)
    if type(payload) is not dict:
        _undecoded(text, at)
    return payload


def _undecoded(text: str, at: Place) -> NoReturn:
    """Raise UsageError about a payload that is no JSON object."""
    if text.startswith(_SKIPPED):
        damaged(at, f"kafka-dump-log could not decode the record: {shown(text.strip())}", DECODER)
    if not text.endswith("\n"):
        damaged(at, f"the dump ends within the payload {shown(text)}", "print the whole dump")
    damaged(at, f"the payload {shown(text.strip())} is no JSON object", DECODER)


def _decode_field(name: str) -> Callable[[dict[str, Any]], None]:
    """A function that decodes one field in place, if the record has it."""

    def decode(data: dict[str, Any]) -> None:
        if data.get(name) is not None:
            data[name] = b64decode(data[name], validate=True)

    return decode


def _decode_values(data: dict[str, Any]) -> None:
    """Decodes the value of each pair of a KVRECORD."""
    for pair in data.get("keyValues") or ():
        if pair.get("value") is not None:
            pair["value"] = b64decode(pair["value"], validate=True)


_BYTES: dict[str, Callable[[dict[str, Any]], None]] = {
    END_OFFSETS: _decode_field("endOffsets"),
    "S3_STREAM_SET_OBJECT_RECORD": _decode_field("ranges"),
    "KVRECORD": _decode_values,
}
"""The records with fields of bytes (streams.md 15), by type."""
