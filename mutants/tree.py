"""Copies of the tree: faults are planted in them, never in the checkout."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator
from importlib.util import cache_from_source
from pathlib import Path

from mutants.faults import PlantedFault

NOT_COPIED = shutil.ignore_patterns(".*", "__pycache__", "build", "dist", "*.egg-info", "mutants")
NOT_TESTED = "changelog.d"
"""A folder that no test reads, so a change in it leaves the record valid."""


def copy_tree(root: Path, to: Path) -> None:
    """Copy the files that the tests need. The copies keep their times, so that compiled files stay valid."""
    shutil.copytree(root, to, ignore=NOT_COPIED)


def digests(root: Path) -> dict[str, str]:
    """For each file that the record depends on, by its path in the tree: a digest of its bytes."""
    return {
        path.relative_to(root).as_posix(): hashlib.blake2b(path.read_bytes(), digest_size=12).hexdigest()
        for path in _files(root)
    }


def plant(root: Path, fault: PlantedFault) -> None:
    """Plant a fault in the tree at ``root``, and remove the compiled file.

    Python compares times to decide whether a compiled file is valid, and those may be equal after a quick edit.
    """
    path = root / fault.file
    path.write_bytes(fault.planted(path.read_bytes()))
    Path(cache_from_source(str(path))).unlink(missing_ok=True)


def _files(folder: Path) -> Iterator[Path]:
    """The files that are copied and that tests may read, sorted."""
    entries = sorted(folder.iterdir())
    left_out = NOT_COPIED(str(folder), [entry.name for entry in entries])
    for entry in entries:
        if entry.name in left_out or entry.name == NOT_TESTED:
            continue
        if entry.is_dir():
            yield from _files(entry)
        else:
            yield entry
