"""Temporary folders that do not outlive their process for long: the next run removes those of killed processes.

A process holds a lock on each of its folders (``flock``). The system takes the lock away when the process ends, however
it ends. So a folder of ours without a lock belongs to nobody.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path

PREFIX = "holdfast-run-"
"""The begin of the names of all such folders."""


class TemporaryFolder:
    """A new temporary folder, removed when the ``with`` block ends. ``kind``: a word in its name, such as ``tlc``.

    It is also removed if nothing refers to this object any more: Ctrl-C may come before the block begins. Raises
    OSError if no folder can be made.
    """

    _lock = -1
    """The descriptor of the lock; negative before there is a folder, and when it is removed."""

    def __init__(self, kind: str) -> None:
        _remove_left_over(tempfile.gettempdir())
        self._process = os.getpid()
        self.path, self._lock = _locked(kind)

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, *_: object) -> None:
        self.remove()

    def __del__(self) -> None:
        # A process that was forked off has a copy of this object, and the folder is not its own.
        if self._lock >= 0 and self._process == os.getpid():
            self.remove()

    def remove(self) -> None:
        """Remove the folder with all that is in it. A second call does nothing."""
        if self._lock >= 0:
            shutil.rmtree(self.path, ignore_errors=True)
            os.close(self._lock)
            self._lock = -1


def _locked(kind: str) -> tuple[Path, int]:
    """A new folder and its lock."""
    while True:
        path = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{kind}-"))
        try:
            with suppress(FileNotFoundError):
                lock = os.open(path, os.O_RDONLY)
                # A file system without locks gives none to ``_remove_left_over`` either.
                with suppress(OSError):
                    fcntl.flock(lock, fcntl.LOCK_EX)
                if path.exists():
                    return path, lock
                os.close(lock)
        except KeyboardInterrupt:
            shutil.rmtree(path, ignore_errors=True)
            raise
        # Another process took the folder for one that was left over, before it had its lock.


@cache
def _remove_left_over(root: str) -> None:
    """Remove the folders in ``root`` whose processes have ended. A process looks once."""
    for path in Path(root).glob(f"{PREFIX}*"):
        with suppress(OSError):
            # A link, or a folder of somebody else, is not ours.
            lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                if os.fstat(lock).st_uid == os.getuid():
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    shutil.rmtree(path, ignore_errors=True)
            finally:
                os.close(lock)
