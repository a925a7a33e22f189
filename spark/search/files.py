"""The tables of a search on Spark: which files there are, and rows of states in them.

States are split into parts by the highest bits of their hash, as a kernel's store splits them into partitions. A level
has one file for each part with its new states, so the level files of a part are its visited set too. What a search
found before it moved to Spark is one file for each part, level after level. While a level is worked on, each task
leaves its candidates for a part in a file of its own.

A file is written whole, and what it holds follows from the model and from how the search is split; so a task that is
tried again, or twice at once, writes the same file again. Files are NumPy's ``.npy``: 64-bit integers, a row for each
state.
"""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from holdfast.ir.errors import UsageError
from spark.cluster.storage import Folder, Storage, StorageError

Words = NDArray[np.int64]
"""States as rows of words."""

HEADER = "search.json"
"""Where a search stands; written last, after each level."""
KERNEL = "kernel.json"
"""The kernel's source, which executors compile, or find compiled."""
CANDIDATES = "candidates"
"""The folder of what is of no use once a level is settled."""


@attrs.frozen
class Scratch(Folder):
    """A folder for a search that nobody goes on with: what is written need not outlive the machine."""

    def write(self, path: str, data: bytes) -> None:
        place = Path(self.root, path)
        draft = place.with_name(f".{os.getpid()}-{place.name}")
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            draft.write_bytes(data)
            draft.replace(place)
        except OSError as error:
            raise StorageError(f"{self.name}: {path} cannot be written: {error.strerror or error}") from error


def opening(part: int) -> str:
    """A part of what the search found before it moved to Spark."""
    return f"opening/part-{part:03d}.npy"


def level(depth: int, part: int) -> str:
    """A part of the states at a depth."""
    return f"level-{depth:04d}/part-{part:03d}.npy"


def candidates(depth: int, task: int, part: int) -> str:
    """What a task found for a part of the level at a depth."""
    return f"{CANDIDATES}/level-{depth:04d}-task-{task:04d}-part-{part:03d}.npy"


def write_rows(storage: Storage, path: str, rows: Words) -> None:
    """Write a file of states."""
    file = io.BytesIO()
    np.lib.format.write_array(file, rows, allow_pickle=False)
    storage.write(path, file.getvalue())


def read_rows(storage: Storage, path: str, count: int) -> Words:
    """The first so many rows of a file; raises UsageError unless it has them."""
    data = storage.read(path)
    rows = None if data is None else _rows(data)
    if rows is None or len(rows) < count:
        raise UsageError(
            f"{storage.name}: {path} is missing, or is not what this search wrote; start again in another folder"
        )
    return rows[:count]


def _rows(data: bytes) -> Words | None:
    """The rows in the bytes, which are not copied; None if they are no whole file of states."""
    file: Any = io.BytesIO(data)
    try:
        np.lib.format.read_magic(file)
        shape, _, kind = np.lib.format.read_array_header_1_0(file)
        rows = np.frombuffer(data, np.int64, offset=file.tell())
    except (ValueError, EOFError):
        return None
    whole = kind == np.dtype(np.int64) and len(shape) == 2 and rows.size == shape[0] * shape[1]
    return rows.reshape(shape) if whole else None
