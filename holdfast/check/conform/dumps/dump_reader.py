"""Reads dumps line by line: the records of the log in the order of their offsets, each exactly once.

A dump file may hold several *sections*, one for each segment or snapshot that ``kafka-dump-log.sh`` was given. A
segment continues where the previous one ends. A snapshot replaces all of the log below its end offset.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from re import Match
from typing import NoReturn

from holdfast.check.conform.dumps import dump_line
from holdfast.check.conform.dumps.dump_line import Start
from holdfast.check.conform.dumps.dump_record import DumpBatch, DumpRecord, read_payload
from holdfast.check.conform.logs.damage import damaged, shown
from holdfast.ir.errors import Place


class DumpReader:
    """Reads one file after the other, and keeps its position in the log between files."""

    def __init__(self) -> None:
        self._next: int | None = None
        """The offset at which the log continues; None before the first segment, and after a snapshot replaced it."""
        self._from_snapshot: int | None = None
        """The end offset of the last used snapshot: the log's own records are used from there on."""
        self._whole = False
        """Whether the log that was read begins at offset 0, or with a snapshot."""
        self._begin_file("")

    @property
    def whole(self) -> bool:
        """Whether the records so far begin with offset 0, or with a snapshot, so that none before them is missing."""
        return self._whole or self._from_snapshot is not None

    def read(self, file: str, lines: Iterable[bytes]) -> Iterator[DumpRecord]:
        """The records of a file. Raises UsageError at the first line that is damaged or does not fit the lines before.

        Only the offsets are checked of the quorum's own records, and of records that a snapshot replaces.
        """
        self._begin_file(file)
        match_record, place = dump_line.RECORD.match, self._place
        for number, raw in enumerate(lines, 1):
            self._line = number
            try:
                line = raw.decode()
            except UnicodeDecodeError:
                self._damaged("the line is no text", "give what kafka-dump-log.sh prints, not the segment itself")
            match = match_record(line)
            if match is None:
                self._read_other(line)
                continue
            offset = int(match[1])
            if offset != self._offset or not self._missing:
                self._misplaced(offset)
            self._offset += 1
            self._missing -= 1
            if not match[3] or self._control:
                self._read_control(line, match)
            elif self._used:
                # The text before the payload is ASCII, so columns are bytes.
                kind, version, data = read_payload(raw[match.end() :], place)
                yield DumpRecord(kind, version, data, offset, int(match[2]), self._batch, number)
        self._line = max(self._line, 1)
        self._end_section()
        if self._start is None:
            self._damaged("the dump says nothing", "give what kafka-dump-log.sh --cluster-metadata-decoder prints")

    # Sections -------------------------------------------------------------------------------------------------

    def _begin_file(self, file: str) -> None:
        self._file = file
        self._line = 0
        self._named = False
        """Whether the last line named a segment or snapshot; the next line must give its start."""
        self._start: Start | None = None
        """The start of the current section."""
        self._footer = True
        """Whether the current snapshot has shown its footer; always True outside a snapshot."""
        self._offset = 0
        """The offset of the next record in the section."""
        self._missing = 0
        """The number of records of the current batch that are still to come."""
        self._control = False
        """Whether the current batch holds control records."""
        self._used = False
        """Whether the records of the current batch are returned; a snapshot may replace or repeat them."""
        self._batch = DumpBatch(file, 0, -1, 0)

    def _begin_section(self, start: Start) -> None:
        """Begin a segment or a snapshot."""
        self._named = False
        self._start = start
        self._offset = 0
        self._footer = start.kind != "snapshot"
        if start.kind == "log":
            self._begin_log(start.offset)
        elif start.kind == "snapshot" and self._reaches(start.offset):
            if self._next is not None and not self._whole:
                self._damaged(
                    f"the snapshot ends at {start.offset}, but the log before it was read up to {self._next}",
                    "give each segment and snapshot in a file of its own; they are read in the right order then",
                )
            self._footer = True  # The log already holds what the snapshot holds, so the snapshot is skipped.
            self._start = Start("bootstrap", start.offset)
        elif start.kind == "snapshot":
            self._from_snapshot, self._next = start.offset, None

    def _reaches(self, offset: int) -> bool:
        """Whether the log read so far, or the last snapshot, reaches that end offset of another snapshot."""
        reached = self._from_snapshot if self._next is None else self._next
        return reached is not None and offset <= reached

    def _begin_log(self, offset: int) -> None:
        """Begin a segment. It must begin where the log continues, or not after the end of the last snapshot."""
        begins = self._from_snapshot
        if self._next is not None and offset != self._next:
            self._apart(offset, self._next)
        if self._next is None and begins is not None and offset > begins:
            self._apart(offset, begins)
        if self._next is None:
            self._whole = offset == 0 or begins is not None
        self._next = self._offset = offset

    def _apart(self, offset: int, expected: int) -> NoReturn:
        """Raise UsageError about a segment or batch that does not begin at the ``expected`` offset."""
        if offset > expected:
            last = f" to {offset - 1}" if offset - 1 > expected else ""
            self._damaged(f"the log goes on at offset {offset}; {expected}{last} is missing", "give the whole log")
        self._damaged(
            f"the log goes on at offset {offset}, but it was read up to {expected}", "give each segment once, in order"
        )

    def _end_section(self) -> None:
        """Check that the current section is complete."""
        if self._missing:
            self._damaged(
                f"{self._missing} records of the batch at offset {self._batch.first} are missing",
                "print the whole dump with --cluster-metadata-decoder, and without --max-bytes",
            )
        if self._named:
            self._damaged("the start of the segment or snapshot is missing", "print the dump again")
        if not self._footer:
            self._damaged("the snapshot has no SnapshotFooter, so it is not complete", "give another snapshot")
        if self._start is not None and self._start.kind == "log":
            self._next = self._offset

    # Lines that are no records ----------------------------------------------------------------------------------

    def _read_other(self, line: str) -> None:
        """Read a line that is no record."""
        if self._named or self._start is None:
            start = dump_line.read_start(line) if line.endswith("\n") else None
            if start is not None:
                self._begin_section(start)
                return
            if self._named:
                self._unknown(line)
        if match := dump_line.HEADER.fullmatch(line):
            self._begin_batch(match)
        elif line.startswith(dump_line.DUMPING) and line.endswith("\n"):
            self._end_section()
            self._named = True
        elif dump_line.INVALID_BYTES.match(line):
            remedy = "the log is cut there; delete this line to judge what stands before it"
            self._damaged(f"kafka-dump-log says {shown(line.strip())}", remedy)
        elif line.strip():
            self._unknown(line)

    def _begin_batch(self, match: Match[str]) -> None:
        """Read the header of a batch."""
        first, last, count = int(match[dump_line.FIRST]), int(match[dump_line.LAST]), int(match[dump_line.COUNT])
        if self._start is None:  # The dump has no lines that name the segment.
            self._begin_section(Start("log", first))
        assert self._start is not None
        if self._missing:
            self._end_section()
        if first != self._offset:
            self._apart(first, self._offset)
        if count != last - first + 1 or count < 1:
            self._damaged(f"a batch of {count} records has the offsets {first} to {last}", "give the whole log")
        if match[dump_line.VALID] == "false":
            self._damaged(f"the batch at offset {first} is damaged (isvalid: false)", "dump another controller's log")
        kind, end = self._start.kind, self._from_snapshot
        # A batch is atomic, so a snapshot of the same log never ends within one.
        if kind == "log" and end is not None and first < end <= last:
            self._damaged(f"the snapshot ends at {end}, within this batch", "give a snapshot of the same log")
        self._missing = count
        self._control = match[dump_line.CONTROL_BATCH] == "true"
        self._used = kind == "snapshot" or (kind == "log" and (end is None or first >= end))
        snapshot = self._start.offset if kind == "snapshot" else None
        self._batch = DumpBatch(self._file, first, last, int(match[dump_line.EPOCH]), snapshot)

    def _read_control(self, line: str, match: Match[str]) -> None:
        """Read a record of the quorum, or report a record without the parts that it needs."""
        if not self._control:
            self._unknown(line)
        control = dump_line.CONTROL.fullmatch(line, match.end())
        if control is None:
            self._unknown(line)
        self._footer = self._footer or control["json"] == "SnapshotFooter"

    # Errors -----------------------------------------------------------------------------------------------------

    def _place(self) -> Place:
        return Place(self._file, self._line)

    def _damaged(self, problem: str, remedy: str) -> NoReturn:
        damaged(self._place(), problem, remedy)

    def _misplaced(self, offset: int) -> NoReturn:
        """Raise UsageError about a record that is in no batch, or has an unexpected offset."""
        if not self._missing:
            self._damaged(f"the record at offset {offset} belongs to no batch", "print the dump again")
        self._damaged(f"the record has offset {offset}, but {self._offset} comes next", "give the whole log, in order")

    def _unknown(self, line: str) -> NoReturn:
        """Raise UsageError about a line that the tool does not print, or not at this place."""
        if not line.endswith("\n"):
            self._damaged(f"the dump ends within the line {shown(line)}", "print the whole dump")
        if dump_line.WITHOUT_OFFSET.match(line):
            self._damaged("the record has no offset", "print the dump without --skip-record-metadata")
        self._damaged(
            f"{shown(line.strip())} is no line of a dump here",
            "give what kafka-dump-log.sh --cluster-metadata-decoder prints, and nothing else",
        )
