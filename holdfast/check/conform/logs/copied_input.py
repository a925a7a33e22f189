"""Copies a log that can be read only once to a temporary file. A limit keeps an endless one from filling the disk."""

from __future__ import annotations

import shutil
import tempfile
from typing import IO

from holdfast.ir.errors import UsageError

MOST_COPIED = 8 * 10**9
"""The limit in bytes, unless --copy-limit says another one: more than a day's log, less than most disks have free."""

SHARE = 2
"""At most this part of the free space of the temporary folder is taken: one half."""

PIECE = 1 << 16
"""Bytes that are read at once."""


def copied(stream: IO[bytes], name: str, limit: int) -> IO[bytes]:
    """A temporary file with all bytes of a stream. ``name``: the stream's name in a message.

    The file has no name, so it is gone as soon as it is closed, or the process ends. Raises UsageError as soon as the
    stream has more than ``limit`` bytes, or more than half of the space that is free.
    """
    folder = tempfile.gettempdir()
    room = shutil.disk_usage(folder).free // SHARE
    most = min(limit, room)
    copy = tempfile.TemporaryFile(buffering=PIECE)  # noqa: SIM115 - the caller closes it
    try:
        size = 0
        while piece := stream.read(min(PIECE, most - size + 1)):
            size += len(piece)
            if size > most:
                raise _too_long(name, limit, room, folder)
            copy.write(piece)
    except BaseException:
        copy.close()
        raise
    return copy


def _too_long(name: str, limit: int, room: int, folder: str) -> UsageError:
    problem = f"{name}: cannot be read twice, so it is copied to {folder} first, and it has more than"
    if room < limit:
        return UsageError(f"{problem} half of what is free there; save it to a file on another disk, and name that")
    return UsageError(f"{problem} {limit:,} bytes; save it to a file and name that, or raise --copy-limit")
