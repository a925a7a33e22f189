"""Files of lines that a process only appends to: the events of a process, and the metadata log of a controller.

A line is the CRC-32 of a JSON text in eight hexadecimal digits, a space, and the text. Each line is one write, so a
process that is killed leaves at most one line behind that has no end. Such a *torn* line was never finished, and is
left out. Any other line that differs from what was written is *damaged*, which is an error.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NoReturn
from zlib import crc32

from impl.real.problems import ClusterError, DamagedLineError, reason

_DIGITS = 8


class LineFile:
    """A file that this process appends to. Raises ClusterError if the file cannot be opened.

    After the first error it takes no more lines: one that follows a torn line would be damage, and a log with a gap
    would tell another run.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._error: ClusterError | None = None
        try:
            self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        except OSError as error:
            raise self._fault(reason(error)) from error

    def append(self, text: bytes) -> None:
        """Append a line. Raises ClusterError if it cannot be written as a whole, as on a full disk."""
        self._check()
        line = b"%08x %b\n" % (crc32(text), text)
        try:
            written = os.write(self._file, line)
        except OSError as error:
            self._fail(reason(error))
        else:
            if written < len(line):
                self._fail("only a part of a line has room")

    def sync(self) -> None:
        """Return when all lines are on the disk. Raises ClusterError."""
        self._check()
        try:
            os.fsync(self._file)
        except OSError as error:
            self._fail(reason(error))

    def _check(self) -> None:
        if self._error is not None:
            raise self._error

    def _fail(self, why: str) -> NoReturn:
        self._error = self._fault(why)
        raise self._error

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)

    def _fault(self, why: str) -> ClusterError:
        return ClusterError(f"{self.path}: cannot be written: {why}; free space on its disk, or name another")


def read_lines(path: Path) -> tuple[list[bytes], int]:
    """The texts of all finished lines, and the number of bytes of these lines.

    The file is longer than that if its last line is torn. Raises DamagedLineError, and ClusterError if it cannot be
    read.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ClusterError(f"{path}: cannot be read: {reason(error)}; name the folder of a cluster") from error
    lines = data.split(b"\n")
    torn = lines.pop()  # Nothing, if the last line has its end.
    return [_text(path, number, line) for number, line in enumerate(lines, 1)], len(data) - len(torn)


def _text(path: Path, number: int, line: bytes) -> bytes:
    digits, text = line[:_DIGITS], line[_DIGITS + 1 :]
    if line[_DIGITS : _DIGITS + 1] != b" " or digits != b"%08x" % crc32(text):
        raise DamagedLineError(f"{path}:{number}: the line is damaged; restore the file, since no process wrote this")
    return text
