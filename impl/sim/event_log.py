"""The event log of a run, in the form that ``holdfast conform`` reads: one JSON object a line.

While the run goes on, events are tuples of messages. They become text at the end, which is faster by far.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec

from impl.broker import messages
from impl.metadata.log import MetadataBatch
from impl.rules import missed
from impl.store.interface import Answer as StoreAnswer
from impl.store.interface import Delete, Get, List, Operation, Put
from impl.wire import ItemAnswer, Request

Event = tuple[int, str, str, Any]
"""The time in milliseconds, the process or the controller, the kind, and the subject, whose type goes with the kind."""


class ExecutedRequest:
    """A request that a controller has executed. ``answers`` are None while they wait for the commit.

    ``sender``: the process that asked. ``lost``: the event never happened for the cluster: its batch was lost in a
    failover, or its answer waited for one that was. ``unknown``: it did happen, but its answer was lost.
    ``stale``: another controller led already. ``post``: for each stream that the request names, its id, its row, its
    newest range, and the entry that the node of the request has on it, all after the event. ``stored``: after a
    registration, the epoch and the failover flag that the controller has of the node.
    """

    __slots__ = ("answers", "lost", "post", "request", "sender", "stale", "stored", "unknown")

    def __init__(self, sender: str, request: Request, *, stale: bool) -> None:
        self.sender, self.request, self.stale = sender, request, stale
        self.answers: tuple[ItemAnswer, ...] | None = None
        self.lost = False
        self.unknown = False
        self.post: tuple[tuple[int, Any, Any, Any], ...] = ()
        self.stored: tuple[int, bool] | None = None


class StoreEffect:
    """An operation that has taken effect at the object store, with its answer, which may never arrive."""

    __slots__ = ("answer", "request")

    def __init__(self, request: messages.StoreRequest, answer: StoreAnswer) -> None:
        self.request, self.answer = request, answer


class AppendedBatch:
    """A batch that a controller has appended to the metadata log. ``lost``: it was never committed."""

    __slots__ = ("batch", "index", "lost")

    def __init__(self, index: int, batch: MetadataBatch) -> None:
        self.index, self.batch = index, batch
        self.lost = False


class SentSnapshots(msgspec.Struct, frozen=True):
    """The answer of a main to the request number ``id`` of a reader, which is a process. ``node``: of the main.

    ``commit``: whether the reader has asked for an upload. The rest are the values of ``GetPartitionSnapshot``.
    """

    reader: str
    id: int
    node: int
    commit: bool
    session: int
    session_epoch: int
    partitions: tuple[messages.PartitionSnapshot, ...]
    wal_epoch: int
    wal_end: int
    records: tuple[bytes, ...] | None


class EventLog:
    """The events of a run in the order of time."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def note_missed(self, now: int, source: str) -> None:
        """Log each switched-off rule that would have decided something in the last step."""
        if missed:
            self.events += [(now, source, "missing", {"rule": label}) for label in missed]
            missed.clear()

    def render(self) -> bytes:
        """The log as lines of JSON. Events that a failover has lost are left out; each source is numbered from 1."""
        encode = msgspec.json.Encoder(enc_hook=repr).encode
        numbers: Counter[str] = Counter()
        lines: list[bytes] = []
        for time, source, kind, subject in self.events:
            if isinstance(subject, ExecutedRequest | AppendedBatch) and (subject.lost or _is_open(subject)):
                continue
            numbers[source] += 1
            line = {
                "source": source,
                "seq": numbers[source],
                "t": [time * 1000] * 2,  # In microseconds. An event has no duration.
                "action": kind,
                **_fields(subject),
            }
            lines.append(encode(line))
        return b"\n".join([*lines, b""])


def _is_open(subject: ExecutedRequest | AppendedBatch) -> bool:
    """Whether a request was not answered when the run ended."""
    return isinstance(subject, ExecutedRequest) and subject.answers is None


def _fields(subject: Any) -> dict[str, Any]:
    """The fields of a line that describe its event."""
    match subject:
        case ExecutedRequest():
            assert subject.answers is not None, "open requests are left out"
            body = subject.request.body
            errors = ["?" if subject.unknown else each.error.name for each in subject.answers]
            return {
                "sender": subject.sender,
                "request": type(body).__name__,
                "body": body,
                "error": errors,
                "values": [each.values for each in subject.answers],
                "stale": subject.stale,
                "post": [
                    {"stream": stream, "row": _row(row), "range": _row(newest), "entry": _row(entry)}
                    for stream, row, newest, entry in subject.post
                ],
            }
        case AppendedBatch():
            records = [record.__struct_config__.tag for record in subject.batch.records]
            return {"index": subject.index, "term": subject.batch.term, "records": records}
        case StoreEffect():
            return {"await": subject.request.id, "answer": subject.answer.__struct_config__.tag}
        case messages.StepEvent(action, values):
            return {"step": action, "values": values}
        case Request(_, number, body):
            return {"await": number, "request": type(body).__name__}
        case messages.StoreRequest(number, operation):
            return {"await": number, **_operation(operation)}
        case dict():
            return subject
        case _:
            return {"what": subject}


def _row(row: Any) -> Any:
    """The fields of a row; no line needs the tags."""
    return None if row is None else {name: getattr(row, name) for name in row.__struct_fields__ if name != "tags"}


def _operation(operation: Operation) -> dict[str, Any]:
    match operation:
        case Put(key, data):
            return {"store": "put", "key": key, "size": len(data)}
        case Get(key):
            return {"store": "get", "key": key}
        case List(folder):
            return {"store": "list", "key": folder}
        case Delete(keys):
            return {"store": "delete", "keys": keys}
