"""The metadata log as ``kafka-dump-log.sh --cluster-metadata-decoder`` prints it: written, and read back.

A line of a record ends with ``payload: {"type":...,"version":...,"data":{...}}``; ``data`` is JSON with camelCase names
and base64 for bytes. The headers of batches give their boundaries. Lines of the quorum's own records are skipped.
Records about brokers, topics and partitions have Kafka's own form (``impl.metadata.kafka``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from impl import records as r
from impl.metadata.kafka import TYPES, KafkaRecords
from impl.metadata.log import MetadataBatch
from impl.records import MetadataRecord

VERSIONS = {r.S3Stream.TYPE: 1, r.S3StreamObject.TYPE: 1, r.S3StreamSetObject.TYPE: 1, r.S3Object.TYPE: 1}
"""The versions that are not 0 (streams.md 15). An S3StreamSetObject with ranges has version 0."""

_PAYLOAD = " payload: "
_OFFSET = re.compile(r"\| offset: (\d+) CreateTime: (\d+) ")
_HEADER = re.compile(r"baseOffset: (\d+) lastOffset: (\d+) count: (\d+) ")
_TERM = re.compile(r" partitionLeaderEpoch: (\d+) ")
_CONTROL = re.compile(
    r" (?:endTxnMarker: \w+|(?:LeaderChange|SnapshotHeader|SnapshotFooter|KRaftVersion|KRaftVoters):? \{)"
)
_PREAMBLE = ("Dumping ", "Log starting offset: ", "Snapshot end offset: ")


class DumpError(ValueError):
    """A dump has a wrong line, or lacks lines. The message begins with the number of the line."""


def write_dump(batches: Iterable[MetadataBatch], begin: int = 0) -> Iterator[str]:
    """The lines of a dump of the batches; the first record has the offset ``begin``."""
    offset = begin
    kafka = KafkaRecords()
    for batch in batches:
        count = len(batch.records)
        yield (
            f"baseOffset: {offset} lastOffset: {offset + count - 1} count: {count} baseSequence: -1 lastSequence: -1 "
            f"producerId: -1 producerEpoch: -1 partitionLeaderEpoch: {batch.term} isTransactional: false "
            f"isControl: false deleteHorizonMs: OptionalLong.empty position: 0 CreateTime: {batch.time} size: 0 "
            "magic: 2 compresscodec: none crc: 0 isvalid: true"
        )
        for record in batch.records:
            payload = write_record(record, kafka, offset)
            yield (
                f"| offset: {offset} CreateTime: {batch.time} keySize: -1 valueSize: {len(payload)} sequence: -1 "
                f"headerKeys: []{_PAYLOAD}{payload}"
            )
            offset += 1


def write_record(record: MetadataRecord, kafka: KafkaRecords, offset: int) -> str:
    """The payload of a record: its type, version and data as JSON. ``kafka``: has written all earlier ones."""
    kind, version, data = kafka.write(record, offset) or _own(record)
    return msgspec.json.encode({"type": kind, "version": version, "data": data}).decode()


def _own(record: MetadataRecord) -> tuple[str, int, dict[str, Any]]:
    """The type, version and fields of one of AutoMQ's own records."""
    version = VERSIONS.get(record.TYPE, 0)
    if isinstance(record, r.S3StreamSetObject) and record.ranges:
        version = 0
    data = msgspec.to_builtins(record)
    del data["type"]
    return record.TYPE, version, data


def read_dump(lines: Iterable[str]) -> Iterator[MetadataBatch]:
    """The batches of a dump, with the records of the kinds that an image knows.

    Records of other types are skipped. If a dump begins in the middle, changes of brokers and partitions that no
    earlier record has named are skipped, too. Raises DumpError, with the number of the line, for a line that is neither
    a record nor a header, for a record that lacks a field or has a wrong one, and where lines are missing.
    """
    reader = _Reader()
    number = 0
    for number, line in enumerate(lines, start=1):
        try:
            batch = reader.read(line.rstrip("\r\n"))
        except KeyError as error:
            raise DumpError(f"line {number}: Object missing required field `{error.args[0]}`") from error
        except (ValueError, msgspec.MsgspecError) as error:
            raise DumpError(f"line {number}: {error}") from error
        if batch is not None:
            yield batch
    if reader.missing:
        raise DumpError(f"line {number}: the dump ends, but {reader.missing} records of the last batch are missing")


class _Reader:
    """Reads a dump line by line, and assembles its batches."""

    def __init__(self) -> None:
        self.missing = 0
        """The number of records of the present batch that are still to come."""
        self._offset = -1
        self._term = 0
        self._time = 0
        self._records: list[MetadataRecord] = []
        self._kafka = KafkaRecords()

    def read(self, line: str) -> MetadataBatch | None:
        """The batch of which this is the last line; None for any other line, or if all its records were skipped."""
        if not line.strip() or line.startswith(_PREAMBLE):
            return None
        if header := _HEADER.match(line):
            self._begin(header, line)
            return None
        place = _OFFSET.match(line)
        if place is None:
            raise ValueError(f"a record or the header of a batch is expected, not {line[:60]!r}")
        self._place(place)
        self._take(line)
        if self.missing or not self._records:
            return None
        batch = MetadataBatch(tuple(self._records), self._term, self._time)
        self._records = []
        return batch

    def _begin(self, header: re.Match[str], line: str) -> None:
        first, last, count = map(int, header.groups())
        if self.missing:
            raise ValueError(f"a batch begins, but {self.missing} records of the last one are missing")
        # A batch may skip offsets, so it has at most one record for each.
        if first <= self._offset or last - first + 1 < count or count < 0:
            raise ValueError(f"a batch of {count} records with the offsets {first} to {last} after {self._offset}")
        self._offset, self.missing = first - 1, count
        term = _TERM.search(line)
        self._term = int(term[1]) if term else 0

    def _place(self, place: re.Match[str]) -> None:
        offset = int(place[1])
        if not self.missing:
            raise ValueError(f"offset {offset} belongs to no batch; a header is expected before it")
        if offset <= self._offset:
            raise ValueError(f"offset {offset} comes after offset {self._offset}")
        self._offset, self._time = offset, int(place[2])
        self.missing -= 1

    def _take(self, line: str) -> None:
        _, found, payload = line.partition(_PAYLOAD)
        if found:
            record = read_record(payload, self._kafka)
            if record is not None:
                self._records.append(record)
        elif not _CONTROL.search(line):
            raise ValueError("the line has no payload")


class _Payload(msgspec.Struct, frozen=True):
    type: str
    version: int
    data: dict[str, Any]


_decoder = msgspec.json.Decoder(_Payload)


def read_record(payload: str, kafka: KafkaRecords) -> MetadataRecord | None:
    """The record of a payload; None for a type that an image does not know. ``kafka``: has read all earlier ones.

    Raises KeyError, ValueError or msgspec.MsgspecError.
    """
    read = _decoder.decode(payload)
    if read.type in TYPES:
        return kafka.read(read.type, read.data)
    kind = r.BY_TYPE.get(read.type)
    return None if kind is None else msgspec.convert(read.data, kind, str_keys=True)
