"""Checkpoints: a kernel search saved between two levels. A resumed search gives the same answer.

The file holds the states of every level, the counts and the discoveries. It is written under a draft name and then
renamed, so that a crash while writing leaves the previous checkpoint.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from pathlib import Path
from typing import Any

import attrs
import numpy as np

from holdfast import __version__
from holdfast.check.search.kernel_search import SUMMED, KernelSearch
from holdfast.ir.errors import UsageError
from holdfast.lower.kernel.store import Store
from holdfast.runs.rebuilding import Discovery
from holdfast.runs.selection import DEADLOCK, idempotence

VERSION = 2


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
                np.savez(file, allow_pickle=False, **_content(search))
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


def resume(search: KernelSearch, path: Path) -> None:
    """Restore a search from a file. Raises UsageError for a file that does not fit or cannot be read."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as content:
            arrays = {name: content[name] for name in content.files}
        header = json.loads(str(arrays["header"]))
        levels, states = arrays["levels"], arrays["states"]
    except OSError as error:
        raise UsageError(f"checkpoint {path} cannot be read: {error.strerror or 'it is no checkpoint'}") from error
    except (KeyError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise UsageError(f"{path} is no checkpoint, or not a whole one; start again without --resume") from error
    refuse_another(str(path), header, header_of(search))
    assert isinstance(search.store, Store), "as above"
    search.store.restore([[(int(a), int(b)) for a, b in level] for level in levels], states)
    # The sums of all cores go to the first core, since they will be summed again.
    first = search.store.notes[0]
    for name in SUMMED:
        getattr(first, name)[:] = arrays[name]
    for notes in search.store.notes:
        notes.pending[:] = arrays["pending"]
    for row in header["found"]:
        restore_found(search, row)


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
