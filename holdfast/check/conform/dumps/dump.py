"""Read dumps of the metadata log: the output of ``kafka-dump-log.sh --cluster-metadata-decoder``.

A dump shows segments and snapshots. ``read_dump`` gives the records in the order of their offsets. The files may be
named in any order. One file may hold the dump of several segments, as the tool prints them for ``--files A,B``; then A
comes before B in the log.

A snapshot replaces all of the log below its end offset, so it is used only if that part of the log is missing. If the
log begins at offset 0, no snapshot is needed to begin with. Otherwise the reader begins with the oldest snapshot from
which the log continues. A later snapshot is used if segments are missing below its end, and skipped otherwise.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import chain
from pathlib import Path
from typing import IO

from holdfast.check.conform.dumps import dump_line
from holdfast.check.conform.dumps.dump_line import Kind, Start
from holdfast.check.conform.dumps.dump_reader import DumpReader
from holdfast.check.conform.dumps.dump_record import DumpRecord
from holdfast.check.conform.logs.damage import damaged
from holdfast.ir.errors import Place, UsageError
from holdfast.ir.input_file import open_input

STDIN = "-"
FORMAT = "a dump is what kafka-dump-log.sh --cluster-metadata-decoder prints"

_HEAD = 4
"""The number of first lines in which a file may say where it starts."""
_LONGEST = 1 << 16
"""The limit of bytes of one of these lines."""


def read_dump(paths: Sequence[str], reader: DumpReader | None = None) -> Iterator[DumpRecord]:
    """The records of dumps, in the order of the log. ``paths``: the files in any order, ``-`` for standard input.

    ``reader``: a new reader to use, for callers that ask it afterwards where the log begins.

    The records include records of unknown types, and records of a metadata transaction that is aborted later. Raises
    UsageError ``FILE:LINE: …`` if a file is damaged, if segments leave a gap or overlap, and if one is given twice.
    The reader keeps no lines, so its memory does not grow with the dump.
    """
    if not paths:
        raise UsageError(f"no dump is given; name a file, or - for standard input; {FORMAT}")
    files: list[_File] = []
    reader = reader or DumpReader()
    try:
        files.extend(_File(path) for path in paths)
        for file in _ordered(files):
            with closing(file):
                yield from reader.read(file.name, file.lines())
    finally:
        for file in files:
            file.close()


class _File:
    """A file of a dump. Its first lines are read at once, the rest when its turn comes.

    ``kind`` and ``offset``: the kind and the start of its first section, read from line number ``line``. ``kind`` is
    None if none of the first lines gives it.
    """

    def __init__(self, path: str) -> None:
        self.name = "<stdin>" if path == STDIN else path
        self._path = path
        self._head: list[bytes] = []
        self._open: IO[bytes] | None = None
        self.kind: Kind | None = None
        self.offset = 0
        self.line = 1
        try:
            self._open = sys.stdin.buffer if path == STDIN else open_input(Path(path))
            self.key: object = "stdin" if path == STDIN else os.fstat(self._open.fileno())[1:3]
            """Identifies the file by inode and device, whatever path names it."""
            self._read_start(self._open)
            # Do not hold many files open. A pipe cannot be opened again, so it stays open.
            if path != STDIN and self._open.seekable():
                self.close()
        except (OSError, ValueError) as error:
            self.close()
            reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
            raise UsageError(f"{self.name}: cannot be read: {reason}; {FORMAT}") from None

    def lines(self) -> Iterator[bytes]:
        """All lines of the file, from the first one."""
        if self._open is None:
            self._head.clear()
            self._open = open_input(Path(self._path))
        return chain(self._head, self._open)

    def close(self) -> None:
        """Close the file, except standard input. ``lines`` opens it again."""
        if self._open is not None and self._path != STDIN:
            self._open.close()
            self._open = None

    def _read_start(self, file: IO[bytes]) -> None:
        """Read the first lines, until one gives the start of the file."""
        for number in range(1, _HEAD + 1):
            raw = file.readline(_LONGEST)
            self._head.append(raw)
            line = raw.decode(errors="replace")
            start = dump_line.read_start(line)
            if start is None and (match := dump_line.HEADER.fullmatch(line)):
                start = Start("log", int(match[dump_line.FIRST]))
            if start is not None:
                self.kind, self.offset, self.line = start.kind, start.offset, number
                return


def _ordered(files: Sequence[_File]) -> list[_File]:
    """The files in the order in which to read them. Raises UsageError if one is given twice."""
    _refuse_twins(files)
    first = min((file.offset for file in files if file.kind == "log"), default=0)
    ends = [file.offset for file in files if file.kind == "snapshot" and file.offset >= first]
    base = min(ends) if first and ends else 0
    """The end offset of the snapshot to begin with; 0 if the log begins with itself. Older snapshots are not used."""
    used = [file for file in files if file.kind != "snapshot" or file.offset >= base]

    def place(file: _File) -> tuple[bool, bool, int, bool]:
        # Unknown files first, then the base snapshot, then by offset; a snapshot comes before a log at its end offset.
        begins = file.kind == "snapshot" and file.offset == base
        return file.kind is not None, not begins, file.offset, file.kind == "log"

    return sorted(used, key=place)


def _refuse_twins(files: Sequence[_File]) -> None:
    """Raise UsageError if a file, a segment or a snapshot is given twice."""
    seen: dict[object, _File] = {}
    for file in files:
        keys = [file.key, *([(file.kind, file.offset)] if file.kind else [])]
        for key in keys:
            twin = seen.setdefault(key, file)
            if twin is not file:
                what = f"the {file.kind} at offset {file.offset}" if file.kind else "the file"
                damaged(Place(file.name, file.line), f"{what} is given twice, also in {twin.name}", "give each once")
