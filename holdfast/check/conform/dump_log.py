"""A dump of a metadata log as a log of events: a mapping divides its records into operations.

A dump is read once, from begin to end. Its events go into a temporary file, from which the judge reads them again. So
standard input can be judged, and memory does not grow with the dump.
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
from holdfast.check.conform.judge.ground import UnjudgedError
from holdfast.check.conform.judge.judge import Judgement
from holdfast.check.conform.logs.damage import damaged, nearest
from holdfast.check.conform.logs.events import LogEvent
from holdfast.check.conform.logs.log import Log
from holdfast.check.conform.mappings.mapping import Mapping
from holdfast.check.conform.mappings.mapping_event import Kind, cells_of
from holdfast.check.conform.mappings.records import Divider, Fields, MisfitError
from holdfast.ir.errors import Place, UsageError

SOURCE = "controller"
"""The source of all events. The controllers take turns to write one log, so there is only one source."""

CHUNK = 2_000
"""The number of events that are written to the temporary file at once."""

SHOWN = 6
"""The limit of types of ignored records that are named."""


class DumpLog(Log):
    """The events of a dump. ``paths``: its files in any order, ``-`` for standard input.

    ``misfit``: the first records that fit no operation, known after the survey. The events end before them.
    ``operations``: how often each operation of the mapping occurred.
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
        """For each chunk of events, its position in the temporary file and its size in bytes."""
        self._names: list[str] = []
        self._kinds: dict[int, Kind] = {}
        """By the identity of a kind, because two operations may have equal kinds."""
        self._pending: list[DumpRecord] = []
        """The records of a snapshot since the last record that begins an operation."""
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

        Raises UsageError if the dump is damaged, and Unjudged if the begin of the log is missing.
        """
        reader = DumpReader()
        rows: list[Any] = []
        for batch in self._batches(reader):
            if self.misfit is not None:
                # Read on to find damage in the rest of the dump, but make no more events.
                continue
            for record, row in self._rows(batch):
                event = self._event(row, self._count + 1)
                try:
                    visit(event)
                except UsageError as error:
                    # A negative number fits no model, so the record is a misfit. Other errors are damage.
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
        """The relevant records: one list for each batch of the log, and one for each operation of a snapshot.

        Raises Unjudged if the begin of the log, or segments before a snapshot, are missing.
        """
        begun: int | None = None
        # None: nothing read; -1: inside the log; otherwise the end offset of the snapshot being read.
        for batch, records in groupby(read_dump(self._paths, reader), key=_batch):
            if not reader.whole:
                raise UnjudgedError(
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
                raise UnjudgedError(f"{batch.file}: there is a snapshot at offset {batch.snapshot}, and {missing}")
            begun = batch.snapshot
            for record in used:
                # A snapshot has no batches of operations: each leading record begins a new list.
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
            # marshal.load would read the file byte by byte, so read each chunk at once.
            for row in marshal.loads(self._events.read(size)):  # noqa: S302 - written here
                number += 1
                yield self._event(row, number)

    def notes(self) -> Iterator[str]:
        """The sentences that the verdict adds about the dump."""
        read, passed = self._read.total(), self._ignored.total()
        kinds = ", ".join(f"{name} {count:,}" for name, count in self._ignored.most_common(SHOWN))
        more = ", …" if len(self._ignored) > SHOWN else ""
        others = f"; not about the model: {passed:,} ({kinds}{more})" if passed else ""
        yield f"{read:,} records were divided into operations{others}"
        for text in self._mapping.unseen:
            yield f"not in a dump, and so not judged: {text}"

    def conclude(self, judgement: Judgement) -> None:
        """Complete a judgement with facts about the dump: its notes, and the misfit, which makes a log impossible."""
        judgement.notes += self.notes()
        if self.misfit is not None and judgement.kind == "conforms":
            record = self.misfit.record
            where = f"{record.batch.file}:{record.line} (offset {record.offset})"
            judgement.kind = "impossible"
            judgement.reason = f"the records from {where} are no operation of {self._mapping.file}: {self.misfit}"

    def _is_used(self, record: DumpRecord) -> bool:
        """Whether an operation may contain the record; also counts it. Raises UsageError for an unknown type."""
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
        """The events of a batch, each with its record, in the form that the temporary file stores."""
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
    """Whether a JSON value contains a number below 0. No model has negative numbers, so no run contains them."""
    if isinstance(value, dict):
        value = list(value.values())
    return any(map(_has_negative, value)) if isinstance(value, list) else type(value) is int and value < 0
