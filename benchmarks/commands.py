"""Times whole commands as a user runs them: a new process, from its start to its end."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
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


def holdfast(arguments: Sequence[str], cache: str) -> float:
    """The seconds of one command, with compiled kernels in ``cache``.

    Raises RuntimeError, with what it printed, if the command ends with another code than 0.
    """
    return _timed([sys.executable, "-m", "holdfast", *arguments], " ".join(arguments), ROOT, {CACHE_VARIABLE: cache})


def once(arguments: Sequence[str]) -> float:
    """The seconds of one command with no kernel compiled before."""
    with empty_cache() as cache:
        return holdfast(arguments, cache)


def fresh_clone(repository: Path = ROOT) -> float:
    """The seconds of `make test` in a fresh clone of the last commit, with the set-up but without the cloning."""
    with tempfile.TemporaryDirectory(prefix="holdfast-clone-") as folder, empty_cache() as cache:
        clone = Path(folder, "clone")
        output(["git", "clone", "--quiet", str(repository), str(clone)], "clone the repository")
        return _timed(["make", "test"], "test a fresh clone", clone, {CACHE_VARIABLE: cache})


def _timed(command: Sequence[str], task: str, folder: Path, settings: dict[str, str]) -> float:
    # A search path or an environment of the caller would let another tree than `folder` answer.
    inherited = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "VIRTUAL_ENV"}}
    begun = now()
    output(command, task, folder=str(folder), environment=inherited | settings)
    return now() - begun
