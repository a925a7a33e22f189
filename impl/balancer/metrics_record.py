"""The value of a metrics record of a broker or a partition, to the byte (AB-10)."""

from __future__ import annotations

import struct
from typing import ClassVar, Self

import msgspec

from impl.byte_format import EncodingError, check_first, ended, head

PARTITION, BROKER = 0, 1
_INT, _METRIC = struct.Struct(">i"), struct.Struct(">Bd")


class MetricsRecord(msgspec.Struct, frozen=True):
    """What a broker measured. ``topic`` and ``partition``: None for what concerns the broker itself.

    ``values``: by metric id.
    """

    FORMAT: ClassVar = struct.Struct(">BBqi")
    VERSION: ClassVar = 0

    time_ms: int
    broker: int
    rack: str
    topic: str | None
    partition: int | None
    values: dict[int, float]

    def encode(self) -> bytes:
        """The bytes."""
        parts = [
            self.FORMAT.pack(BROKER if self.topic is None else PARTITION, self.VERSION, self.time_ms, self.broker),
            _text(self.rack),
        ]
        if self.topic is not None and self.partition is not None:
            parts += [_text(self.topic), _INT.pack(self.partition)]
        parts.append(_INT.pack(len(self.values)))
        return b"".join([*parts, *(_METRIC.pack(*each) for each in self.values.items())])

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """The record that the bytes hold. Raises EncodingError for other bytes, and for a larger version."""
        (kind, version, time_ms, broker), rest = head(cls.FORMAT, data)
        check_first(version, cls.VERSION, "version")
        if kind not in (PARTITION, BROKER):
            raise EncodingError(f"the type is {kind}, and 0 and 1 are known")
        rack, rest = _read_text(rest)
        topic = partition = None
        if kind == PARTITION:
            topic, rest = _read_text(rest)
            (partition,), rest = head(_INT, rest)
        (count,), rest = head(_INT, rest)
        values: dict[int, float] = {}
        for _ in range(count):
            (metric, value), rest = head(_METRIC, rest)
            values[metric] = value
        if count < 0 or len(values) != count:
            raise EncodingError(f"{count} metrics, of which {len(values)} differ")
        ended(rest)
        return cls(time_ms, broker, rack, topic, partition, values)


def _text(text: str) -> bytes:
    data = text.encode()
    return _INT.pack(len(data)) + data


def _read_text(data: bytes) -> tuple[str, bytes]:
    (length,), rest = head(_INT, data)
    if not 0 <= length <= len(rest):
        raise EncodingError(f"a text of {length} bytes, and {len(rest)} are left")
    try:
        return rest[:length].decode(), rest[length:]
    except UnicodeDecodeError as error:
        raise EncodingError("a text is not UTF-8") from error
