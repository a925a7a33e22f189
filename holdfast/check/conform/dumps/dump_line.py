"""The kinds of lines that ``kafka-dump-log.sh --cluster-metadata-decoder`` prints.

``DumpLogSegments`` prints for each file: ``Dumping FILE``; a line with the start of the file; then for each batch a
header and a line for each of its records. Releases before 3.3 spell some words differently; these are known too.
"""

from __future__ import annotations

import re
from typing import Literal

import attrs

_N = "([0-9]{1,19})"
_SIGNED = "-?[0-9]{1,19}"

DUMPING = "Dumping "
RECORD = re.compile(
    rf"\| offset: {_N} [A-Za-z]+: (-?[0-9]{{1,19}}) key[sS]ize: {_SIGNED} value[sS]ize: {_SIGNED} "
    rf"sequence: {_SIGNED} headerKeys: \[\] (payload: |)"
)
"""The begin of a record's line, up to its payload. Groups: offset, time, and ``payload: ``, empty for control records.
"""

HEADER = re.compile(
    rf"baseOffset: {_N} lastOffset: {_N} count: {_N} baseSequence: {_SIGNED} lastSequence: {_SIGNED} "
    rf"producerId: {_SIGNED} producerEpoch: {_SIGNED} partitionLeaderEpoch: ({_SIGNED}) "
    rf"isTransactional: (?:true|false) isControl: (true|false) (?:deleteHorizonMs: \S+ )?position: {_N} "
    rf"[A-Za-z]+: {_SIGNED} size: {_N} magic: {_N} compresscodec: \S+ crc: {_SIGNED} isvalid: (true|false)\s*"
)
"""The header of a batch. Groups: first and last offset, count, epoch, whether control, whether the checksum is right.
"""
FIRST, LAST, COUNT, EPOCH, CONTROL_BATCH, VALID = 1, 2, 3, 4, 5, 9

CONTROL = re.compile(
    r"(?:controlType: [A-Z_]+\(-?[0-9]+\)|endTxnMarker: [A-Z_]+(?: coordinatorEpoch: -?[0-9]+)?"
    r"|(?P<json>LeaderChange|SnapshotHeader|SnapshotFooter|KRaftVersion|KRaftVoters):? \{.*\})\s*"
)
"""The end of a control record's line. The quorum writes these records for itself."""

INVALID_BYTES = re.compile(r"Found [0-9]+ invalid bytes at the end of ")
WITHOUT_OFFSET = re.compile(r"\| (?:key|payload): ")

_LOG = re.compile(rf"(?:Log s|S)tarting offset: {_N}\s*")
_SNAPSHOT = re.compile(rf"Snapshot end offset: {_N}, epoch: {_SIGNED}\s*")
_BOOTSTRAP = re.compile(r"KRaft bootstrap snapshot\s*")

Kind = Literal["log", "snapshot", "bootstrap"]


@attrs.frozen
class Start:
    """The kind and start of a file, from the line after its name.

    ``offset`` of a log is its first offset. ``offset`` of a snapshot is its end: the first offset that it does not
    hold. A bootstrap snapshot has none; the first controller writes its records to the log as well.
    """

    kind: Kind
    offset: int


def read_start(line: str) -> Start | None:
    """The start of a file; None for any other line."""
    if match := _LOG.fullmatch(line):
        return Start("log", int(match[1]))
    if match := _SNAPSHOT.fullmatch(line):
        return Start("snapshot", int(match[1]))
    return Start("bootstrap", 0) if _BOOTSTRAP.fullmatch(line) else None
