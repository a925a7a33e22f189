"""The folder of compiled kernels. What lies there is executed, so only this user may write to it."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

CACHE_VARIABLE = "HOLDFAST_CACHE"
"""The environment variable that names another folder for compiled kernels."""

OWN = 0o700
"""The mode of the folders: nobody else may read or write them."""

OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


def cache_folder() -> Path:
    """The folder of compiled kernels, which may not be there yet."""
    *_, folder = _folders()
    return folder


def cache_problem() -> str | None:
    """One line that says why the folder is not used; None if it is used, or not there.

    It is not used if it belongs to another user, or if others may write to it.
    """
    for folder in _folders():
        try:
            found = folder.stat()
        except OSError:
            return None
        reason = None
        if found.st_uid != os.geteuid():
            reason = f"{folder} belongs to user {found.st_uid}"
        elif stat.S_ISDIR(found.st_mode) and found.st_mode & OTHERS_WRITE:
            reason = f"others may write to {folder} (mode {stat.S_IMODE(found.st_mode):o})"
        if reason is not None:
            return (
                f"the cache of compiled kernels is not used, because {reason}; remove that folder, or name one of your "
                f"own with {CACHE_VARIABLE}"
            )
    return None


def make_cache_folder() -> Path:
    """The folder, which is made if it is missing. Raises OSError if that fails, or if the folder is not to be used."""
    problem = cache_problem()
    if problem is not None:
        raise PermissionError(problem)
    first, *_ = folders = list(_folders())
    first.parent.mkdir(parents=True, exist_ok=True)
    for folder in folders:
        folder.mkdir(mode=OWN, exist_ok=True)
        # An older version made it with the mode that the system proposes, which lets others read.
        if stat.S_IMODE(folder.stat().st_mode) != OWN:
            folder.chmod(OWN)
    return folders[-1]


def _folders() -> Iterator[Path]:
    """The folders of Holdfast, the outer one first."""
    given = os.environ.get(CACHE_VARIABLE) or os.environ.get("XDG_CACHE_HOME")
    folder = (Path(given) if given else Path.home() / ".cache") / "holdfast"
    yield folder
    yield folder / "kernels"
