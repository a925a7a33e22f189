"""Checkpoints: a kernel search saved between two levels. A resumed search gives the same answer.

The file holds the states of every level, the counts and the discoveries, and a digest of them. It is written under a
draft name and then renamed, so that a crash while writing leaves the previous checkpoint.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from holdfast import __version__
from holdfast.check.json_values import ALTERED
from holdfast.check.search.kernel_search import SUMMED, KernelSearch
from holdfast.ir.errors import UsageError
from holdfast.ir.input_file import open_input
from holdfast.lower.kernel.store import Store
from holdfast.runs.rebuilding import Discovery
from holdfast.runs.selection import DEADLOCK, idempotence

VERSION = 4


@attrs.define
class Checkpoint:
    """The file to write and the time of the next save.

    Saves are at least a second apart, and take at most about a twentieth of the time.
    """

    path: Path
    due: float = 1.0

    def save_if_due(self, search: KernelSearch) -> None:
        """Save the search between two levels, if the time has come."""
        if search.meter.seconds >= self.due:
            self.save(search)

    def save(self, search: KernelSearch) -> None:
        """Save the search as of its last complete level. Raises UsageError if the file cannot be written."""
        begun = search.meter.seconds
        draft = self.path.with_name(f"{self.path.name}.draft")
        try:
            with draft.open("wb") as file:
                content = _content(search)
                np.savez(file, allow_pickle=False, **content, digest=np.array(_digest(content)))
            draft.replace(self.path)
        except OSError as error:
            raise UsageError(
                f"checkpoint {self.path} cannot be written: {error.strerror}; give another file"
            ) from error
        now = search.meter.seconds
        self.due = now + max(1.0, 20 * (now - begun))


def _content(search: KernelSearch) -> dict[str, Any]:
    store, boundary = search.store, search.boundary
    assert isinstance(store, Store), "what holds its states elsewhere keeps them there"
    # States of a level that is not complete are left out: the search finds them again.
    counts = [last for _, last in store.levels[boundary.levels - 1]]
    return {
        "header": np.array(json.dumps(header_of(search) | {"found": [found_row(each) for each in boundary.found]})),
        "levels": np.array(store.levels[: boundary.levels], np.int64),
        "states": store.states(counts),
        "pending": boundary.pending,
        **boundary.sums,
    }


def _digest(content: Mapping[str, NDArray[Any]]) -> str:
    """A digest of the arrays: of their names, types, shapes and values."""
    hashed = hashlib.blake2b(digest_size=16)
    for name, array in sorted(content.items()):
        hashed.update(f"{name} {array.dtype.str} {array.shape}\0".encode())
        # Bytes in one dimension are all that hashlib takes.
        hashed.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return hashed.hexdigest()


def header_of(search: KernelSearch) -> dict[str, Any]:
    """The header of a checkpoint, as JSON values: all that decides what the search stores, checks and answers.

    A search resumes only from a file with an equal header. The choices of the user come before the versions of the
    code, because ``refuse_another`` reports the first difference.
    """
    system, scope, selection = search.machine.system, search.machine.scope, search.selection
    content = {
        "version": VERSION,
        "model": system.name,
        "fingerprint": system.fingerprint,
        "variants": system.chosen,
        "removed": system.removed,
        "scope": scope.name,
        "sizes": dict(sorted(scope.sizes.items())),
        "budgets": dict(sorted(scope.budgets.items())),
        "given": dict(sorted(scope.given.items())),
        "symmetry": search.reduced or search.group is None,
        "properties": [f"{prop.kind} {prop.name}" for prop in selection.properties],
        "idempotent": [action.name for action in selection.idempotent],
        "deadlock": selection.deadlock,
        "ghosts": [var.name for var in system.variables if var.ghost and var.name not in search.machine.layout.dropped],
        "keep_going": search.keep_going,
        "holdfast": __version__,
        "kernel": hashlib.blake2b(search.kernel.source.encode(), digest_size=12).hexdigest(),
    }
    # Through JSON and back: tuples become lists, so that the header compares equal to one that was read from a file.
    as_json: dict[str, Any] = json.loads(json.dumps(content))
    return as_json


def found_row(found: Discovery) -> dict[str, Any]:
    """A discovery as JSON values."""
    before = None if found.before is None else found.before.hex()
    return {
        "name": found.claim.name,
        "kind": found.claim.kind,
        "depth": found.depth,
        "before": before,
        "last": found.last.hex(),
    }


@attrs.frozen(eq=False)
class StoredSearch:
    """The content of a checkpoint: its header, and its arrays by name. ``path`` is for messages."""

    path: Path
    header: dict[str, Any]
    arrays: dict[str, NDArray[Any]]


def read_checkpoint(path: Path) -> StoredSearch:
    """The content of a file. Raises UsageError for a file that cannot be read, is no checkpoint, or was altered."""
    try:
        with open_input(path) as file, np.load(file, allow_pickle=False) as content:
            arrays = {name: content[name] for name in content.files}
        digest = str(arrays.pop("digest", ""))
        header = dict(json.loads(str(arrays["header"])))
        # A checkpoint of an older version has no digest. ``refuse_another`` refuses it by its version.
        altered = header["version"] == VERSION and digest != _digest(arrays)
    except OSError as error:
        reason = error.strerror or "it is no checkpoint"
        raise UsageError(f"checkpoint {path} cannot be read: {reason}; start again without --resume") from error
    except Exception as error:
        raise _broken(path) from error
    if altered:
        raise UsageError(f"checkpoint {path}: {ALTERED}; start again without --resume")
    return StoredSearch(path, header, arrays)


def resume(search: KernelSearch, stored: StoredSearch) -> None:
    """Restore a search from a checkpoint, whose arrays are dropped. Raises UsageError if it does not fit the search."""
    refuse_another(str(stored.path), stored.header, header_of(search))
    try:
        _restore(search, stored.header, stored.arrays)
    except (KeyError, TypeError, ValueError, IndexError, StopIteration) as error:
        raise _broken(stored.path) from error
    stored.arrays.clear()


def _restore(search: KernelSearch, header: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    assert isinstance(search.store, Store), "what holds its states elsewhere keeps them there"
    levels, states = arrays["levels"], arrays["states"]
    search.store.restore([[(int(a), int(b)) for a, b in level] for level in levels], states)
    # The sums of all cores go to the first core, since they will be summed again.
    first = search.store.notes[0]
    for name in SUMMED:
        getattr(first, name)[:] = arrays[name]
    for notes in search.store.notes:
        notes.pending[:] = arrays["pending"]
    for row in header["found"]:
        restore_found(search, row)


def _broken(path: Path) -> UsageError:
    return UsageError(f"{path} is no checkpoint, or not a whole one; start again without --resume")


def refuse_another(name: str, header: dict[str, Any], wanted: dict[str, Any]) -> None:
    """Raise UsageError unless the header of a checkpoint has all the wanted values."""
    for key, value in wanted.items():
        if header.get(key) != value:
            raise UsageError(
                f"checkpoint {name} belongs to another search: its {key} is {header.get(key)!r}, here it is {value!r}; "
                "resume with the command and the model that wrote it, or start again without --resume"
            )


def restore_found(search: KernelSearch, row: dict[str, Any]) -> None:
    """Add a saved discovery to the search again."""
    name, kind, depth, last = row["name"], row["kind"], int(row["depth"]), bytes.fromhex(row["last"])
    if kind == DEADLOCK:
        search.violations[name] = search.found_end(last, None, depth)
        return
    if kind == "idempotent":
        system = search.machine.system
        idempotent = [action for action in search.actions if action.idempotent is not None]
        index = search.actions.index(next(each for each in idempotent if idempotence(system, each).name == name))
        search.violations[name] = search.found_repeat(index, bytes.fromhex(row["before"]), last, depth)
        return
    prop = next(prop for prop in search.selection.properties if prop.name == name)
    if kind == "step":
        search.violations[name] = search.found_step(prop, bytes.fromhex(row["before"]), last, depth)
    else:
        into = search.reached if kind == "witness" else search.violations
        into[name] = search.found_state(prop, last, None, depth)
