"""Makes the record of a tree, and keeps it in ``.mutants/``.

If only test files or their data change, only these tests are recorded again; any other change makes a new record.
"""

from __future__ import annotations

import fcntl
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath

import attrs

from mutants.judge import environment, profile
from mutants.lifeline import LIFELINE
from mutants.record import CoverageRecord, gather
from mutants.recorder import FOLDER
from mutants.tree import copy_tree, digests

KEPT = ".mutants"
"""The folder in the checkout; Git ignores it."""

SPARK = ("accidents", "campaign_cli", "campaign_spark", "session")
IGNORED = tuple(
    f"tests/{name}" for name in ("benchmarks", "docs", "repo", *(f"spark/test_{name}.py" for name in SPARK))
)
"""Tests that are not recorded: they start Spark, or test pages and other texts instead of the engine."""


@attrs.frozen
class Recording:
    """A record, the copy of the recorded tree, and the folder of the kernels that the tests have compiled."""

    record: CoverageRecord
    tree: Path
    kernels: Path


def recorded(root: Path, jobs: int, say: Callable[[str], None]) -> Recording:
    """The record of the tree at ``root``: the stored one, updated if needed, or a new one. ``jobs``: processes to use.

    Raises RuntimeError if pytest breaks down.
    """
    kept = root / KEPT / "record"
    kept.parent.mkdir(exist_ok=True)
    with (root / KEPT / "lock").open("w") as lock:
        # Only one command records at a time. Another one waits here, and then finds the new record.
        fcntl.flock(lock, fcntl.LOCK_EX)
        current = digests(root) | _of_the_tool()
        known = _known(kept)
        if known != current:
            changed = {file for file in known.keys() | current.keys() if known.get(file) != current.get(file)}
            again = bool(known) and all(map(_concerns, changed))
            concerned = set(map(_concerns, changed))
            stale = {file for file in known.keys() | current.keys() if concerned & {file, _folder(file)}}
            files = sorted(filter(_is_test, stale)) if again else ["tests"]
            which = f"the tests in {len(files)} files" if again else "all tests"
            say(f"recording which lines {which} reach, by {jobs} processes; kept in {KEPT}/ until the tree changes")
            draft = root / KEPT / "draft"
            shutil.rmtree(draft, ignore_errors=True)
            draft.mkdir()
            try:
                record = _make(root, draft, jobs, files)
                if again:
                    record = CoverageRecord.read(kept / "record.json").without(stale).with_more(record)
                    shutil.copytree(kept / "kernels", draft / "kernels", dirs_exist_ok=True)
                record.write(draft / "record.json")
                (draft / "digests.json").write_text(json.dumps(current), encoding="utf-8")
                shutil.rmtree(kept, ignore_errors=True)
                draft.rename(kept)
            finally:
                shutil.rmtree(draft, ignore_errors=True)
    return Recording(CoverageRecord.read(kept / "record.json"), kept / "tree", kept / "kernels")


def _of_the_tool() -> dict[str, str]:
    """The other inputs of a record besides the tree, in the form of ``digests``."""
    recorder = Path(__file__).with_name("recorder.py").read_text(encoding="utf-8")
    return {"": "\0".join((platform.python_version(), recorder, *IGNORED))}


def _known(kept: Path) -> dict[str, str]:
    """The digests of the inputs of the stored record; empty if there is no record."""
    try:
        found: dict[str, str] = json.loads((kept / "digests.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found


def _concerns(file: str) -> str | None:
    """The tests to record again if a file changes: the file itself, if it has tests; the folder of tests, if the file
    is their data; or None for any other file, which may concern all tests.

    Tests that use names or data of another folder are not recorded again. That may hide that a test reaches a fault,
    so a fault may go unnoticed; but no fault is wrongly counted as noticed.
    """
    if _is_test(file):
        return file
    return None if file.endswith(".py") else _folder(file)


def _is_test(file: str) -> bool:
    return file.startswith("tests/") and PurePosixPath(file).match("test_*.py")


def _is_ignored(file: str) -> bool:
    """Whether a test file is in IGNORED, or in a folder that is."""
    return any(PurePosixPath(file).is_relative_to(path) for path in IGNORED)


def _folder(file: str) -> str | None:
    """The folder directly in ``tests/`` that contains a file at any depth; None if there is none."""
    parts = file.split("/")
    return "/".join(parts[:2]) if parts[0] == "tests" and len(parts) > 2 else None


def _make(root: Path, draft: Path, jobs: int, files: Sequence[str]) -> CoverageRecord:
    """Record the tests in some files or folders. The folders ``tree`` and ``kernels`` stay in the folder ``draft``."""
    tree, kernels, lines, temporary = (draft / name for name in ("tree", "kernels", "lines", "temporary"))
    copy_tree(root, tree)
    for folder in (kernels, lines, temporary):
        folder.mkdir()
    there = [file for file in files if (tree / file).exists() and not _is_ignored(file)]
    if there:
        _run(tree, lines, temporary, jobs, there)
    record = gather(lines, tree)
    if (lines / "kernels").is_dir():
        kernels.rmdir()
        (lines / "kernels").rename(kernels)
    shutil.rmtree(lines)
    shutil.rmtree(temporary, ignore_errors=True)
    return record


def _run(tree: Path, lines: Path, temporary: Path, jobs: int, files: Sequence[str]) -> None:
    """Run the tests with the recorder, which writes to the folder ``lines``. Raises RuntimeError if pytest fails."""
    parallel = ["--numprocesses", str(jobs), "--dist=worksteal"] if jobs > 1 else ["-p", "no:xdist"]
    options = ["-p", "mutants.recorder", "-p", "no:cacheprovider", "-q", "-m", "not slow", "--tb=short"]
    ignored = [f"--ignore={path}" for path in IGNORED]
    end, other = os.pipe()
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", *options, *parallel, *profile(tree), *ignored, *files],
        cwd=tree,
        env=environment(tree) | {FOLDER: str(lines), LIFELINE: str(end), "TMPDIR": str(temporary)},
        stdin=subprocess.DEVNULL,
        stdout=sys.stderr.fileno(),
        start_new_session=True,
        pass_fds=[end],
    )
    try:
        code = process.wait()
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        os.close(end)
        os.close(other)
    # Exit code 1: some tests fail without any fault; the report names them. Code 5: these files have only slow tests.
    if code not in (0, 1, 5):
        raise RuntimeError(f"pytest ended with {code} while the tests were recorded; its output stands above")
