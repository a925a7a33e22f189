"""The events of one process as lines of a file, in the terms of the simulator's event log."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

import msgspec

from impl import wire
from impl.broker import messages
from impl.errors import E
from impl.metadata.log import MetadataBatch
from impl.metadata.rows import Entry, Stream, StreamRange
from impl.real.line_file import LineFile, read_lines
from impl.real.problems import DamagedLineError
from impl.rules import missed
from impl.store.interface import Put

WAL_FOLDER, OBJECT_FOLDER = "wal/", "object/"
StreamPost = tuple[int, Stream | None, StreamRange | None, Entry | None]
"""A stream after a request, as in ``ExecutedRequest.post``."""


class RequestExecution(msgspec.Struct, frozen=True, gc=False, tag=True):
    """A controller has executed a request of ``sender``; ``delivery`` is its number. The rest: ``ExecutedRequest``."""

    sender: str
    delivery: int
    request: wire.Request
    post: tuple[StreamPost, ...] = ()
    stored: tuple[int, bool] | None = None


class RequestAnswer(msgspec.Struct, frozen=True, gc=False, tag=True):
    """The controller answers the request with the number ``delivery``: one error for each item."""

    delivery: int
    errors: tuple[E, ...]


class BatchAppend(msgspec.Struct, frozen=True, gc=False, tag=True):
    """The controller is about to append a batch to its log."""

    index: int
    batch: MetadataBatch


class ObjectAnswer(msgspec.Struct, frozen=True, gc=False, tag=True):
    """The object store has answered a request. ``answer``: the kind of the answer. ``etag``: of the object, or ""."""

    id: int
    answer: str
    etag: str = ""


class ProcessNote(msgspec.Struct, frozen=True, gc=False, tag=True):
    """Any other event, with its fields."""

    fields: dict[str, Any]


EventSubject = (
    messages.StoreRequest
    | messages.StepEvent
    | wire.Request
    | RequestExecution
    | RequestAnswer
    | BatchAppend
    | ObjectAnswer
    | ProcessNote
)


class EventLine(msgspec.Struct, frozen=True, gc=False):
    """An event: its time in microseconds, its number in the file from 1, its process, its kind, and its subject."""

    at: int
    number: int
    process: str
    kind: str
    subject: EventSubject


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(EventLine).decode


class EventFile:
    """The file of one life of ``process``. Raises ClusterError if an event cannot be written."""

    def __init__(self, path: Path, process: str) -> None:
        self._file, self._process = LineFile(path), process
        self._number = 0

    def add(self, at: int, kind: str, subject: EventSubject, process: str = "") -> None:
        """Add an event of this process, or of another one about which this process knows."""
        self._number += 1
        self._file.append(_encode(EventLine(at, self._number, process or self._process, kind, _packed(subject))))

    def note(self, at: int, kind: str, process: str = "", **fields: Any) -> None:
        """Add an event that has only fields."""
        self.add(at, kind, ProcessNote(fields), process)

    def note_missed(self, at: int) -> None:
        """Add each switched-off rule that would have decided something in the last step."""
        if missed:
            for label in missed:
                self.note(at, "missing", rule=label)
            missed.clear()


def read_events(path: Path) -> tuple[list[EventLine], bool]:
    """The events of a file, and whether its last line is torn. Raises ClusterError and DamagedLineError."""
    texts, size = read_lines(path)
    found: list[EventLine] = []
    for number, text in enumerate(texts, 1):
        try:
            line = _decode(text)
        except msgspec.DecodeError as error:
            raise DamagedLineError(f"{path}:{number}: {error}; use the Holdfast that has written the file") from None
        if line.number != number:
            raise DamagedLineError(f"{path}:{number}: the line has the number {line.number}; restore the file")
        found.append(msgspec.structs.replace(line, subject=_unpacked(line.subject)))
    return found, size < path.stat().st_size


def _packed(subject: EventSubject) -> EventSubject:
    """The subject as it is written: bytes of WAL objects are compressed, and those of other objects left out."""
    if not isinstance(subject, messages.StoreRequest) or not isinstance(subject.operation, Put):
        return subject
    key, data = subject.operation.key, subject.operation.data
    if key.startswith(WAL_FOLDER):
        return _with(subject, zlib.compress(data, 1))
    return _with(subject, b"") if key.startswith(OBJECT_FOLDER) else subject


def _unpacked(subject: EventSubject) -> EventSubject:
    if not isinstance(subject, messages.StoreRequest) or not isinstance(subject.operation, Put):
        return subject
    key, data = subject.operation.key, subject.operation.data
    return _with(subject, zlib.decompress(data)) if key.startswith(WAL_FOLDER) else subject


def _with(subject: messages.StoreRequest, data: bytes) -> messages.StoreRequest:
    operation = msgspec.structs.replace(subject.operation, data=data)
    return messages.StoreRequest(subject.id, operation)
