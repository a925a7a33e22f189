"""A dump of a metadata log as a log of events: its records, divided into operations by a mapping.

A dump is read once, from begin to end. The events are put into a temporary file, from which the judge reads them again;
so standard input can be judged, and memory does not grow with the dump.
"""

from __future__ import annotations

import marshal
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import Any

from holdfast.check.conform.dumps.dump import FORMAT, read_dump
from holdfast.check.conform.dumps.dump_reader import DumpReader
from holdfast.check.conform.dumps.dump_record import END_OFFSETS, DumpBatch, DumpRecord, end_offsets
from holdfast.check.conform.judge.ground import Unjudged
from holdfast.check.conform.judge.judge import Judgement
from holdfast.check.conform.logs.damage import damaged, nearest
from holdfast.check.conform.logs.events import LogEvent
from holdfast.check.conform.logs.log import Log
from holdfast.check.conform.mappings.mapping import Mapping
from holdfast.check.conform.mappings.mapping_event import Kind, cells_of
from holdfast.check.conform.mappings.records import Divider, Fields, MisfitError
from holdfast.ir.errors import Place, UsageError

SOURCE = "controller"
"""The source of all events: the controllers write one log, one after the other."""

CHUNK = 2_000
"""How many events are written to the temporary file at once."""

SHOWN = 6
"""How many types of ignored records are named."""


class DumpLog(Log):
    """The events of a dump. ``paths``: its files in any order, ``-`` for standard input.

    ``misfit``: the first records that are no operation, known after the survey. The events end before them.
    ``operations``: how often each operation of the mapping was met.
    """

    def __init__(self, paths: Sequence[str], mapping: Mapping) -> None:
        assert mapping.records is not None, "the mapping is one of a dump"
        self.header = None
        self.misfit: MisfitError | None = None
        self._paths, self._mapping = list(paths), mapping
        self._snapshot = Divider(mapping.snapshot) if mapping.snapshot is not None else None
        self._divider = Divider(mapping.records, self._snapshot)
        self._types = self._divider.types | (self._snapshot.types if self._snapshot is not None else frozenset())
        self._events = tempfile.TemporaryFile()  # noqa: SIM115 - close()
        self._chunks: list[tuple[int, int]] = []
        """Where each chunk of events begins in the temporary file, and how many bytes it has."""
        self._names: list[str] = []
        self._kinds: dict[int, Kind] = {}
        """By the identity of a kind, since two operations may have equal ones."""
        self._pending: list[DumpRecord] = []
        """The records of a snapshot since the last one that leads an operation."""
        self._count = 0
        self._read: Counter[str] = Counter()
        self.operations = self._divider.met
        self._ignored: Counter[str] = Counter()

    def close(self) -> None:
        """Delete the temporary file."""
        self._events.close()

    @property
    def sources(self) -> tuple[str, ...]:
        """The one source."""
        return (SOURCE,)

    def count(self, source: str) -> int:  # noqa: ARG002 - the only one
        """The number of events, known after the survey."""
        return self._count

    def survey(self, visit: Callable[[LogEvent], object]) -> None:
        """Read the dump and call ``visit`` for each event.

        Raises UsageError where the dump is damaged, and Unjudged if the begin of the log is not there.
        """
        reader = DumpReader()
        rows: list[Any] = []
        for batch in self._batches(reader):
            if self.misfit is not None:
                continue
            for record, row in self._rows(batch):
                event = self._event(row, self._count + 1)
                try:
                    visit(event)
                except UsageError as error:
                    if not _has_negative([event.args, event.pre, event.post]):
                        raise
                    self.misfit = MisfitError(record, str(error))
                    break
                rows.append(row)
                self._count += 1
            if len(rows) >= CHUNK:
                self._write(rows)
                rows = []
        self._write(rows)
        if not self._count and self.misfit is None:
            raise UsageError(f"{', '.join(self._paths)}: no record says anything about the model; {FORMAT}")

    def _batches(self, reader: DumpReader) -> Iterator[list[DumpRecord]]:
        """The relevant records, one list for each batch of the log, and one for each part of a snapshot."""
        begun: int | None = None
        for batch, records in groupby(read_dump(self._paths, reader), key=_batch):
            if not reader.whole:
                raise Unjudged(
                    f"{batch.file}: the log begins at offset {batch.first}, and what was before is not known; give all "
                    "segments from offset 0, or a snapshot from which they go on"
                )
            used = [record for record in records if self._is_used(record)]
            if batch.snapshot is None:
                if self._pending:
                    yield self._pending
                    self._pending = []
                begun = -1
                yield used
                continue
            if self._snapshot is None or begun not in (None, batch.snapshot):
                missing = "segments are missing before it" if self._snapshot is not None else "the mapping reads none"
                raise Unjudged(f"{batch.file}: there is a snapshot at offset {batch.snapshot}, and {missing}")
            begun = batch.snapshot
            for record in used:
                if self._pending and self._snapshot.leads(record):
                    yield self._pending
                    self._pending = []
                self._pending.append(record)
        if self._pending:
            yield self._pending

    def events_of(self, source: str) -> Iterator[LogEvent]:  # noqa: ARG002 - the only one
        """All events, in their order."""
        number = 0
        for start, size in self._chunks:
            self._events.seek(start)
            # marshal.load would read the file byte by byte.
            for row in marshal.loads(self._events.read(size)):  # noqa: S302 - written here
                number += 1
                yield self._event(row, number)

    def notes(self) -> Iterator[str]:
        """What the verdict has to say about the dump."""
        read, passed = self._read.total(), self._ignored.total()
        kinds = ", ".join(f"{name} {count:,}" for name, count in self._ignored.most_common(SHOWN))
        more = ", …" if len(self._ignored) > SHOWN else ""
        others = f"; {passed:,} others say nothing about the model: {kinds}{more}" if passed else ""
        yield f"{read:,} records were divided into operations{others}"
        for text in self._mapping.unseen:
            yield f"not in a dump, and so not judged: {text}"

    def conclude(self, judgement: Judgement) -> None:
        """Add to an answer what the dump says besides its events: it is impossible if they end before a misfit."""
        judgement.notes += self.notes()
        if self.misfit is not None and judgement.kind == "conforms":
            record = self.misfit.record
            where = f"{record.batch.file}:{record.line} (offset {record.offset})"
            judgement.kind = "impossible"
            judgement.reason = f"the records from {where} are no operation of {self._mapping.file}: {self.misfit}"

    def _is_used(self, record: DumpRecord) -> bool:
        """Whether an operation may have the record; counts it. Raises UsageError for a type that nobody knows."""
        if record.type in self._mapping.ignore:
            self._ignored[record.type] += 1
            return False
        if record.type not in self._types:
            known = sorted({*self._types, *self._mapping.ignore})
            damaged(
                record.at,
                f"{record.type} at offset {record.offset} is neither in records nor in ignore of {self._mapping.file}",
                f"add it; {nearest(record.type, known)}",
            )
        if record.type == END_OFFSETS:
            record.data["ends"] = [{"streamId": stream, "endOffset": end} for stream, end in end_offsets(record)]
        self._read[record.type] += 1
        return True

    def _rows(self, batch: Sequence[DumpRecord]) -> Iterator[tuple[DumpRecord, Any]]:
        """The events of a batch, as the temporary file has them."""
        begins = bool(batch) and batch[0].batch.snapshot is not None
        divider = self._snapshot if begins and self._snapshot is not None else self._divider
        try:
            for record, kind, scope in divider.events(batch):
                yield record, self._row(record, kind, scope)
        except MisfitError as misfit:
            if begins:
                damaged(
                    misfit.record.at, f"the snapshot does not fit: {misfit}", f"see snapshot in {self._mapping.file}"
                )
            self.misfit = misfit

    def _row(self, record: DumpRecord, kind: Kind, scope: Fields) -> Any:
        at = record.at
        if not self._names or self._names[-1] != at.file:
            self._names.append(at.file)
        self._kinds.setdefault(id(kind), kind)
        pre, post = cells_of(kind.pre, scope, at), cells_of(kind.post, scope, at)
        offset = record.offset if record.batch.snapshot is None else None
        return len(self._names) - 1, at.line, offset, id(kind), kind.arguments(scope, at), pre, post

    def _event(self, row: Any, number: int) -> LogEvent:
        file, line, offset, kind, args, pre, post = row
        at = Place(self._names[file], line)
        action = self._kinds[kind].action
        return LogEvent(at, SOURCE, number, number, number, None, action, args, None, None, pre, post, offset)

    def _write(self, rows: list[Any]) -> None:
        if rows:
            start = self._events.seek(0, 2)
            self._chunks.append((start, self._events.write(marshal.dumps(rows))))


def _batch(record: DumpRecord) -> DumpBatch:
    return record.batch


def _has_negative(value: Any) -> bool:
    """Whether JSON contains a number below 0. No model has one, so no run of a model writes it."""
    if isinstance(value, dict):
        value = list(value.values())
    return any(map(_has_negative, value)) if isinstance(value, list) else type(value) is int and value < 0
