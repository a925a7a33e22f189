"""Opens a file that the user names for reading, without an endless wait for the writer of a pipe."""

from __future__ import annotations

import errno
import io
import os
import select
import stat
from pathlib import Path
from typing import IO

PATIENCE = 2.0
"""Seconds that the writer of a named pipe has to open it: it may have been started at the same time."""

ENDLESS = "it is a device that may never end"

NOBODY = "it is a pipe into which nothing writes"


def open_input(path: Path) -> IO[bytes]:
    """The file, opened for reading from its start.

    Raises OSError if it cannot be opened, also for a folder, for a pipe without a writer, and for a device such as
    /dev/zero; ValueError for a path with a zero byte.
    """
    # Without O_NONBLOCK, to open a pipe is to wait for its writer.
    number = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        kind = os.fstat(number).st_mode
        if stat.S_ISDIR(kind):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if stat.S_ISCHR(kind) and not os.isatty(number) and not path.samefile(os.devnull):
            raise OSError(errno.EINVAL, ENDLESS, str(path))
        first = _first(number, path) if stat.S_ISFIFO(kind) else b""
        os.set_blocking(number, True)
        raw = io.FileIO(number, "r")
    except BaseException:
        os.close(number)
        raise
    return io.BufferedReader(_BegunPipe(first, raw) if first else raw)


def _first(pipe: int, path: Path) -> bytes:
    """The first byte of a pipe; empty if its writer has not written yet. Raises OSError if it has no writer."""
    waiting = select.poll()
    waiting.register(pipe, select.POLLIN)
    waiting.poll(PATIENCE * 1000)
    try:
        first = os.read(pipe, 1)
    except BlockingIOError:
        return b""
    if not first:
        raise OSError(errno.ENXIO, NOBODY, str(path))
    return first


class _BegunPipe(io.RawIOBase):
    """A pipe of which the first byte has been read."""

    def __init__(self, first: bytes, rest: io.FileIO) -> None:
        self._first, self._rest = first, rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int | None:  # type: ignore[override]
        if self._first:
            buffer[:1], self._first = self._first, b""
            return 1
        return self._rest.readinto(buffer)

    def fileno(self) -> int:
        return self._rest.fileno()

    def close(self) -> None:
        self._rest.close()
        super().close()
