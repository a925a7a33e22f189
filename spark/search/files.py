"""The files of a search on Spark, and the rows of states in them.

States are split into parts by the highest bits of their hash, as a kernel's store splits them into partitions. There
are three kinds of files of states:

- opening files: one for each part, with the states found before the search moved to Spark, level after level;
- level files: one for each later level and part, with the level's new states. The opening file and the level files of a
  part are together its visited set;
- candidate files: one for each task and part, while a level is explored.

A file is written atomically, and its content depends only on the model and on the split. So a task that is retried, or
that runs twice at once, writes the same file again. Files are NumPy's ``.npy``: 64-bit integers, a row for each state.
A digest stands behind the rows, so that an altered file is not read.
"""

from __future__ import annotations

import hashlib
import io
import os
from pathlib import Path
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from holdfast.ir.errors import UsageError
from spark.cluster.storage import FileStorage, FolderStorage, StorageError

Words = NDArray[np.int64]
"""States, one a row: an array of shape (states, words of a state)."""

HEADER = "search.json"
"""The checkpoint of a search; written after each level, when all its other files are written."""
KERNEL = "kernel.json"
"""The kernel's source. Executors compile it, unless they find it compiled."""
DIGEST = 32
"""The bytes of the digest behind the rows of a file."""
CANDIDATES = "candidates"
"""The folder of the candidate files, which are useless once their level is settled."""


@attrs.frozen
class Scratch(FolderStorage):
    """A folder for a search that will not be resumed. Its files need not survive a crash, so ``fsync`` is left out."""

    def write(self, path: str, data: bytes) -> None:
        place = Path(self.root, path)
        draft = place.with_name(f".{os.getpid()}-{place.name}")
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            draft.write_bytes(data)
            draft.replace(place)
        except OSError as error:
            raise StorageError(
                f"{self.name}: {path} cannot be written: {error.strerror or error}; mend that, and start again"
            ) from error


def opening(part: int) -> str:
    """The path of a part of the states that the search found before it moved to Spark."""
    return f"opening/part-{part:03d}.npy"


def level(depth: int, part: int) -> str:
    """The path of a part of the states of a level."""
    return f"level-{depth:04d}/part-{part:03d}.npy"


def candidates(depth: int, task: int, part: int) -> str:
    """The path of the states that a task found for a part of the level at ``depth``."""
    return f"{CANDIDATES}/level-{depth:04d}-task-{task:04d}-part-{part:03d}.npy"


def write_rows(storage: FileStorage, path: str, rows: Words) -> None:
    """Write a file of states."""
    file = io.BytesIO()
    np.lib.format.write_array(file, rows, allow_pickle=False)
    file.write(_digest(file.getbuffer()))
    storage.write(path, file.getvalue())


def read_rows(storage: FileStorage, path: str, count: int) -> Words:
    """The first ``count`` rows of a file. Raises UsageError if it has fewer, is no file of states, or was altered."""
    data = storage.read(path)
    rows = None if data is None else _rows(data)
    if rows is None or len(rows) < count:
        raise UsageError(
            f"{storage.name}: {path} is missing, or is not what this search wrote; start again in another folder"
        )
    return rows[:count]


def _rows(data: bytes) -> Words | None:
    """The rows in the bytes of a file, without a copy; None if it is no complete file of states."""
    if len(data) < DIGEST or _digest(memoryview(data)[:-DIGEST]) != data[-DIGEST:]:
        return None
    file: Any = io.BytesIO(data)
    try:
        np.lib.format.read_magic(file)
        shape, _, kind = np.lib.format.read_array_header_1_0(file)
        rows = np.frombuffer(memoryview(data)[:-DIGEST], np.int64, offset=file.tell())
    except (ValueError, EOFError):
        return None
    whole = kind == np.dtype(np.int64) and len(shape) == 2 and rows.size == shape[0] * shape[1]
    return rows.reshape(shape) if whole else None


def _digest(data: memoryview) -> bytes:
    return hashlib.blake2b(data, digest_size=DIGEST).digest()
