"""Times whole commands as a user runs them: a new process, from its start to its end."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks.clock import now
from benchmarks.programs import output
from holdfast.lower.kernel.cache import CACHE_VARIABLE

ROOT = Path(__file__).parents[1]


@contextmanager
def empty_cache() -> Iterator[str]:
    """A new folder for compiled kernels."""
    with tempfile.TemporaryDirectory(prefix="holdfast-cache-") as folder:
        yield folder


def holdfast(arguments: Sequence[str], cache: str, ends: Collection[int] = (0,)) -> float:
    """The seconds of one command, with compiled kernels in ``cache``.

    Raises RuntimeError, with what it printed, if the exit code of the command is none of ``ends``.
    """
    command = [sys.executable, "-m", "holdfast", *arguments]
    return _timed(command, " ".join(arguments), ROOT, {CACHE_VARIABLE: cache}, ends)


def once(arguments: Sequence[str], ends: Collection[int] = (0,)) -> float:
    """The seconds of one command with no kernel compiled before. Raises RuntimeError as ``holdfast`` does."""
    with empty_cache() as cache:
        return holdfast(arguments, cache, ends)


def fresh_clone(repository: Path = ROOT) -> float:
    """The seconds of `make test` in a fresh clone of the last commit, with the set-up but without the cloning."""
    with tempfile.TemporaryDirectory(prefix="holdfast-clone-") as folder, empty_cache() as cache:
        clone = Path(folder, "clone")
        output(["git", "clone", "--quiet", str(repository), str(clone)], "clone the repository")
        return _timed(["make", "test"], "test a fresh clone", clone, {CACHE_VARIABLE: cache})


def _timed(
    command: Sequence[str], task: str, folder: Path, settings: dict[str, str], ends: Collection[int] = (0,)
) -> float:
    # A search path or an environment of the caller would let another tree than `folder` answer.
    inherited = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "VIRTUAL_ENV"}}
    begun = now()
    output(command, task, folder=str(folder), environment=inherited | settings, ends=ends)
    return now() - begun
