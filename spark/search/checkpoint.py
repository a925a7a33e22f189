"""A search on Spark between two levels: one small file, written last, from which it goes on.

The states are on file already. This file says which levels are whole, what was counted and found by then, and how the
states are split; whatever else lies in the folder is of a level that was not finished, and is written again.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from holdfast.check.search.checkpoint import found_row, header_of, refuse_another, restore_found
from holdfast.check.search.kernel_search import SUMMED, KernelSearch
from holdfast.ir.errors import UsageError
from spark.cluster.storage import Storage
from spark.search.files import HEADER
from spark.search.frontier import SparkStore

VERSION = 2
SPLIT = ("moved", "parts", "tasks")
"""What decides which file has which states, beside the levels: see ``SparkStore``."""


class Commits:
    """Keeps a search in its storage. Before the search moves there, it is kept only when it is ended."""

    def save_if_due(self, search: KernelSearch) -> None:
        """After a level."""
        if _store(search).near is None:
            self.save(search)

    def save(self, search: KernelSearch) -> None:
        """Keep the search as it stood when its last level was complete."""
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
        store.storage.write(HEADER, json.dumps(content).encode())


def _store(search: KernelSearch) -> SparkStore:
    store = search.store
    assert isinstance(store, SparkStore), "these commits are of searches on Spark"
    return store


def _header(search: KernelSearch) -> dict[str, Any]:
    """What must be equal for a search to go on; what a user may have chosen otherwise comes before the code."""
    return header_of(search) | {"version": VERSION}


def refuse_used(storage: Storage) -> None:
    """Raise UsageError where a search is kept already: its files must not be mixed with others."""
    if storage.read(HEADER) is not None:
        raise UsageError(f"{storage.name} keeps a search already; go on with it by --resume, or choose another folder")


def kept(storage: Storage) -> bytes:
    """What the storage says of where its search stands. Raises UsageError if there is none."""
    data = storage.read(HEADER)
    if data is None:
        name = storage.name
        raise UsageError(f"{name} keeps no search on Spark: there is no {HEADER}; start it with --checkpoint {name}")
    return data


def resume(search: KernelSearch) -> None:
    """Put a search where its folder says it stood. Raises UsageError for a folder that does not fit."""
    store = _store(search)
    name, data = store.storage.name, kept(store.storage)
    try:
        content = json.loads(data)
        refuse_another(name, content, _header(search))
        levels = [[(int(first), int(last)) for first, last in level] for level in content["levels"]]
        moved, parts, tasks = (int(content[each]) for each in SPLIT)
        sums = {each: np.array(content["sums"][each], np.int64) for each in SUMMED}
        pending = np.array(content["pending"], np.int64)
        found = content["found"]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UsageError(
            f"{name}/{HEADER} is no checkpoint, or not a whole one; start again in another folder"
        ) from error
    store.restore(levels, moved, parts, tasks)
    store.tidy()
    [notes] = store.notes
    for each, values in sums.items():
        getattr(notes, each)[:] = values
    notes.pending[:] = pending
    for row in found:
        restore_found(search, row)
