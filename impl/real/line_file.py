"""Files of lines that a process only appends to: the events of a process, and the metadata log of a controller.

A line is the CRC-32 of a JSON text in eight hexadecimal digits, a space, and the text. Each line is one write, so a
process that is killed leaves at most one line behind that has no end. Such a *torn* line was never finished, and is
left out. Any other line that differs from what was written is *damaged*, which is an error.
"""

from __future__ import annotations

import os
from pathlib import Path
from zlib import crc32

from impl.real.problems import ClusterError, DamagedLineError, reason

_DIGITS = 8


class LineFile:
    """A file that this process appends to. Raises ClusterError if the file cannot be opened."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        except OSError as error:
            raise self._fault(error) from error

    def append(self, text: bytes) -> None:
        """Append a line. Raises ClusterError if it cannot be written as a whole, as on a full disk."""
        line = b"%08x %b\n" % (crc32(text), text)
        try:
            written = os.write(self._file, line)
        except OSError as error:
            raise self._fault(error) from error
        if written < len(line):
            raise ClusterError(f"{self.path}: only a part of a line could be written; free space on its disk")

    def sync(self) -> None:
        """Return when all lines are on the disk. Raises ClusterError."""
        try:
            os.fsync(self._file)
        except OSError as error:
            raise self._fault(error) from error

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)

    def _fault(self, error: OSError) -> ClusterError:
        return ClusterError(f"{self.path}: cannot be written: {reason(error)}; free space on its disk, or name another")


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
