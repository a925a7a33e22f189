"""A run as text for a person: who did what, in the order of time, and which processes served the stream then.

The timeline of a violation shows only the events of its stream, or of its partition. A line that begins with ``=``
shows the state of a stream in the metadata, and the processes that serve it, whatever the metadata say.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from impl.broker import wal_format
from impl.broker.messages import StepEvent, StoreRequest
from impl.metadata.image import changed
from impl.oracles.verdict import Violation
from impl.records import MetadataRecord, Partition, PartitionChange
from impl.sim.event_log import AppendedBatch, ExecutedRequest
from impl.sim.run import Run
from impl.sim.timeline_rows import Row, faults, operations
from impl.store.interface import Delete, Operation, Put
from impl.wire import (
    Body,
    CloseStreams,
    CommitStreamObject,
    CommitStreamSetObject,
    CreateStreams,
    DeleteStreams,
    GetOpeningStreams,
    ItemAnswer,
    OpenStreams,
    SetBroker,
    TrimStreams,
)

_ZEROS = re.compile(r"\b0+(?=\d)")
_WITHOUT_LINE = {"shut_down", "take_answer", "keep", "evict", "apply"}
"""The steps whose consequences have lines of their own, or that come too often."""
WIDTH = 12
"""The columns of a process's name."""
_HAPPENS = {
    "start": "starts as node {node} with node epoch {epoch}",
    "crash": "crashes",
    "halt": "ends itself: {reason}",
    "pause": "pauses for {ms} ms",
    "resume": "goes on",
    "elected": "leads the controllers in term {term}",
    "failover": "leads no more; {lost} batches of the metadata are lost so far",
}
"""The texts of the events of processes and controllers, by kind."""


def timeline(run: Run, violation: Violation | None = None) -> list[str]:
    """The lines of a run. Times are in seconds from the beginning of the script; earlier times are negative."""
    lines = [_line(time - run.begin, who, text) for time, who, text in rows(run, violation)]
    if violation is not None:
        lines.append(f"{'':10}  {'VIOLATED':{WIDTH}}  {violation.oracle}: {violation.message}")
    return lines


def rows(run: Run, violation: Violation | None = None) -> list[Row]:
    """The rows of a run, in the order of time: time in milliseconds, actor and text."""
    key = -1 if violation is None else violation.key
    found = [*_View(run, key).events(), *operations(run, key), *faults(run.faults)]
    return sorted(found, key=lambda row: row[0])


def _line(time: int, who: str, text: str) -> str:
    return f"{time / 1000:10.3f}  {who:{WIDTH}}  {text}"


# Events -------------------------------------------------------------------------------------------------------------


class _View:
    """The rows of the events that concern a key, or of all events if it is -1; after them, rows of changed streams."""

    def __init__(self, run: Run, key: int) -> None:
        self._run, self._key = run, key
        self._has_partitions = run.simulation.options.partitions > 0
        self._keys: dict[int, int] = run.simulation.load.keys()
        """By stream: its key, which is the clients' number of it, or the number of its partition."""
        self._streams = {stream for stream, each in self._keys.items() if each == key}
        self._partitions: dict[int, Partition] = {}
        """By number: the partitions as the metadata have them."""
        self._serving: dict[int, dict[str, int]] = {}
        """By stream: the processes that serve it, each with its epoch."""
        self._known: dict[int, str] = {}
        """By stream: its state in the metadata, as text."""
        self._changed: set[int] = set()

    def events(self) -> Iterator[Row]:
        is_hidden, before = False, 0
        for time, source, kind, subject in self._run.log.events:
            # A missing rule belongs to the request that was executed just before, and is hidden with it.
            if kind == "missing" and is_hidden:
                continue
            if kind != "missing":
                yield from self._states(before)
            texts = list(self._texts(source, kind, subject))
            is_hidden, before = kind == "execute" and not texts, time
            for text in texts:
                yield time, source, text
        yield from self._states(before)

    def _texts(self, source: str, kind: str, subject: Any) -> Iterator[str]:
        match subject:
            case ExecutedRequest():
                yield from self._executed(subject)
            case StepEvent(action, values):
                yield from self._step(source, action, values)
            case StoreRequest(_, operation):
                yield from self._stored(operation)
            case AppendedBatch(batch=batch, lost=False):
                for record in batch.records:
                    yield from self._record(record)
            case {"rule": label}:
                yield f"rule {label} is switched off; it would have decided here"
            case dict() if kind in _HAPPENS:
                if kind in ("crash", "halt"):
                    self._ends(source)
                yield _HAPPENS[kind].format_map(subject)

    def _executed(self, executed: ExecutedRequest) -> Iterator[str]:
        """A request at its controller."""
        body = executed.request.body
        answers = executed.answers or ()
        suffix = ""
        if executed.lost or executed.answers is None:
            suffix = " (a failover loses it)" if executed.lost and not executed.stale else " (it does not lead)"
        elif executed.unknown:
            suffix = " (it stopped leading; outcome unknown)"
        for text in self._requests(body, answers):
            yield f"{text} for {executed.sender}{_said(answers)}{suffix}"
        if not suffix:
            for stream, row, newest, *_ in executed.post:
                if row is not None and self._concerns(stream):
                    owner = "" if newest is None else f", node {newest.node} from offset {newest.start}"
                    self._learn(stream, f"{row.state.name}, epoch {row.epoch}{owner}")

    def _requests(self, body: Body, answers: Sequence[ItemAnswer]) -> list[str]:
        """The texts of a request, one for each stream that is shown."""
        found: list[tuple[int | None, str]] = []
        match body:
            case CreateStreams():
                found = [(each.values["stream"], "creates stream {}") for each in answers if "stream" in each.values]
            case OpenStreams(_, _, items):
                found = [(each.stream, f"opens stream {{}} under epoch {each.epoch}") for each in items]
            case CloseStreams(_, _, items):
                found = [
                    (each.stream, f"closes stream {{}} under epoch {each.epoch}{_at_end(each.end)}") for each in items
                ]
            case TrimStreams(_, _, items):
                found = [(each.stream, f"trims stream {{}} to offset {each.to}") for each in items]
            case DeleteStreams(_, _, streams):
                found = [(each, "deletes stream {}") for each in streams]
            case CommitStreamSetObject(commit):
                # Formatted twice: here with the offsets, at the end with the stream.
                text = f"{'compacts' if commit.compacted else 'commits'} [{{}}, {{}}) of stream {{{{}}}}".format
                found = [(each.stream, text(each.start, each.end)) for each in commit.ranges]
                found += [(each.stream, text(each.start, each.end)) for each in commit.stream_objects]
            case CommitStreamObject(commit):
                found = [(commit.stream, "compacts stream {}")]
            case GetOpeningStreams(node, epoch, failover):
                why = " in a failover" if failover else ""
                return [f"registers node {node} with node epoch {epoch}{why}"]
            case SetBroker(node, state):
                return [f"sets node {node} to {state}"]
        return [text.format(self._name(each)) for each, text in found if each is not None and self._concerns(each)]

    def _record(self, record: MetadataRecord) -> Iterator[str]:
        """A change of a partition that the leader of the controllers has written."""
        if not isinstance(record, Partition | PartitionChange) or self._key not in (-1, record.partition):
            return
        before = self._partitions.get(record.partition)
        after = record if isinstance(record, Partition) else changed(before, record) if before is not None else None
        if after is not None:
            self._partitions[record.partition] = after
            leader = "nobody" if after.leader < 0 else f"node {after.leader}"
            yield (
                f"writes that partition {after.partition} belongs to node {after.replicas[0]} and is led by {leader}, "
                f"leader epoch {after.leader_epoch}"
            )

    def _step(self, source: str, action: str, values: dict[str, Any]) -> Iterator[str]:
        """A step inside a process."""
        stream = values.get("stream")
        if action == "serve":
            if self._key in (-1, values["partition"]):
                yield f"serves partition {values['partition']}, opened under leader epoch {values['leader_epoch']}"
            return
        if "partition" in values or action in _WITHOUT_LINE:
            return
        if stream is None:
            numbers = "".join(f" {name} {value}" for name, value in values.items())
            yield f"{action.replace('_', ' ')}{numbers}"
            return
        if not self._concerns(stream):
            return
        name, epoch = self._name(stream), values.get("epoch")
        match action:
            case "show":
                yield f"shows stream {name} up to {values['end']} to its zone"
            case "hide":
                yield f"shows stream {name} no more"
            case "hear":
                self._serve(source, stream, epoch)
                yield f"serves stream {name} under epoch {epoch} from offset {values['next']} on"
            case "ack":
                yield f"acknowledges [{values['base']}, {values['base'] + values['count']}) of stream {name}"
            case "send_close":
                self._serve(source, stream, None)
                yield f"asks to close stream {name} under epoch {epoch}{_at_end(values['end'])}"
            case "fail":
                self._serve(source, stream, None)
                yield f"gives stream {name} up under epoch {epoch}"
            case _:
                yield f"{action.replace('_', ' ')} of stream {name} under epoch {epoch}"

    def _stored(self, operation: Operation) -> Iterator[str]:
        """A change of the object store that a process asks for."""
        match operation:
            case Put(key, data) if key.startswith("wal/"):
                batches = [
                    f"{_linked(record)}[{record.base}, {record.end}) of stream {self._name(record.stream)}"
                    for _, record in wal_format.decode(data)
                    if record.stream != wal_format.MARKER and self._concerns(record.stream)
                ]
                if batches or self._key == -1:
                    yield f"puts {_short(key)}: {', '.join(batches) or 'no batch'}"
            case Put(key, _):
                yield f"puts {_short(key)}"
            case Delete(keys):
                yield f"deletes {', '.join(map(_short, keys))}"

    # Who serves a stream ----------------------------------------------------------------------------------------

    def _concerns(self, stream: int) -> bool:
        return self._key == -1 or stream in self._streams

    def _name(self, stream: int) -> str:
        key = self._keys.get(stream, stream)
        return f"{stream} of partition {key}" if self._has_partitions and stream in self._keys else str(key)

    def _learn(self, stream: int, state: str) -> None:
        if self._known.get(stream) != state:
            self._known[stream] = state
            self._changed.add(stream)

    def _serve(self, process: str, stream: int, epoch: int | None) -> None:
        serving = self._serving.setdefault(stream, {})
        if epoch is None:
            serving.pop(process, None)
        else:
            serving[process] = epoch
        self._changed.add(stream)

    def _ends(self, process: str) -> None:
        """A process has ended, and serves no stream any more."""
        for stream, serving in self._serving.items():
            if serving.pop(process, None) is not None:
                self._changed.add(stream)

    def _states(self, time: int) -> Iterator[Row]:
        """A row for each stream that has changed since the last call: its state, and who serves it."""
        for stream in sorted(self._changed):
            serving = sorted(self._serving.get(stream, {}).items())
            by = ", ".join(f"{process} under epoch {epoch}" for process, epoch in serving) or "nobody"
            yield time, "=", f"stream {self._name(stream)} is {self._known.get(stream, 'unknown')}; served by {by}"
        self._changed.clear()


def _short(key: str) -> str:
    """The key of an object without the leading zeros of its numbers."""
    return _ZEROS.sub("", key)


def _at_end(end: int) -> str:
    return "" if end == -1 else f" at offset {end}"


def _said(answers: Sequence[ItemAnswer]) -> str:
    """The errors of an answer; nothing if there are none."""
    errors = sorted({each.error.name for each in answers} - {"NONE"})
    return f": refused, {', '.join(errors)}" if errors else ""


def _linked(record: wal_format.WalRecord) -> str:
    return "a link to " if record.count < 0 else ""
