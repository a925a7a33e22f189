"""Checkpoints of a search on Spark: one small file, written after each level, from which the search can continue.

The states are in files already. The checkpoint lists the complete levels, the counts and findings until then, and the
split of the states. Any other file in the folder belongs to an unfinished level, and will be written again.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from holdfast.check.json_values import ALTERED, sealed, unsealed
from holdfast.check.search.checkpoint import found_row, header_of, refuse_another, restore_found
from holdfast.check.search.kernel_search import SUMMED, KernelSearch
from holdfast.ir.errors import UsageError
from spark.cluster.storage import FileStorage
from spark.search.files import HEADER
from spark.search.frontier import SparkStore

VERSION = 3
SPLIT = ("moved", "parts", "tasks")
"""The attributes of a ``SparkStore`` that, besides the levels, decide which file holds which states."""


class Commits:
    """Writes checkpoints of a search. As long as its states are in memory, one is written only when the search ends."""

    def save_if_due(self, search: KernelSearch) -> None:
        """Write a checkpoint after a level, if the states are in files."""
        if _store(search).near is None:
            self.save(search)

    def save(self, search: KernelSearch) -> None:
        """Write a checkpoint of the search at the end of its last complete level."""
        store, boundary = _store(search), search.boundary
        levels = store.levels[: boundary.levels]
        split = {name: getattr(store, name) for name in SPLIT}
        if store.near is not None:
            levels = store.write_opening(boundary.levels)
            split["moved"] = len(levels)
        content = {
            **_header(search),
            **split,
            "levels": levels,
            "pending": boundary.pending.tolist(),
            "sums": {name: boundary.sums[name].tolist() for name in SUMMED},
            "found": [found_row(each) for each in boundary.found],
        }
        store.storage.write(HEADER, json.dumps(sealed(content)).encode())


def _store(search: KernelSearch) -> SparkStore:
    store = search.store
    assert isinstance(store, SparkStore), "these commits are of searches on Spark"
    return store


def _header(search: KernelSearch) -> dict[str, Any]:
    """The facts that must be equal to resume a search. The user's options come before the versions of the code, so that
    an error is about an option first.
    """
    return header_of(search) | {"version": VERSION}


def refuse_used(storage: FileStorage) -> None:
    """Raise UsageError if the storage already keeps a search: the files of two searches must not be mixed."""
    if storage.read(HEADER) is not None:
        raise UsageError(f"{storage.name} keeps a search already; go on with it by --resume, or choose another folder")


def kept(storage: FileStorage) -> dict[str, Any]:
    """The content of the checkpoint in the storage.

    Raises UsageError if there is none, and for one that is damaged or was altered.
    """
    data, name = storage.read(HEADER), storage.name
    if data is None:
        raise UsageError(f"{name} keeps no search on Spark: there is no {HEADER}; start it with --checkpoint {name}")
    try:
        content: dict[str, Any] = json.loads(data)
        # A checkpoint of an older version has no digest. ``refuse_another`` refuses it by its version.
        if content["version"] == VERSION:
            unsealed(content)
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise _broken(name, error) from error
    return content


def resume(search: KernelSearch) -> None:
    """Restore a search from its checkpoint. Raises UsageError if it is damaged, or belongs to another search."""
    store = _store(search)
    name, content = store.storage.name, kept(store.storage)
    refuse_another(name, content, _header(search))
    try:
        levels = [[(int(first), int(last)) for first, last in level] for level in content["levels"]]
        moved, parts, tasks = (int(content[each]) for each in SPLIT)
        sums = {each: np.array(content["sums"][each], np.int64) for each in SUMMED}
        pending = np.array(content["pending"], np.int64)
        found = content["found"]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise _broken(name, error) from error
    store.restore(levels, moved, parts, tasks)
    store.tidy()
    [notes] = store.notes
    for each, values in sums.items():
        getattr(notes, each)[:] = values
    notes.pending[:] = pending
    for row in found:
        restore_found(search, row)


def _broken(name: str, error: Exception) -> UsageError:
    problem = f": {ALTERED}" if str(error) == ALTERED else " is no checkpoint, or not a whole one"
    return UsageError(f"{name}/{HEADER}{problem}; start again in another folder")
