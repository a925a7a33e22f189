"""Making the record of a tree, once: it is kept in ``.mutants/`` until a source or a test changes."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import attrs

from mutants.judge import environment, profile
from mutants.lifeline import LIFELINE
from mutants.record import Record, gather
from mutants.recorder import FOLDER
from mutants.tree import copy_tree, fingerprint

KEPT = ".mutants"
"""The folder in the checkout; Git ignores it."""

SPARK = ("accidents", "campaign_cli", "campaign_spark", "session")
LEFT_OUT = ("benchmarks", "docs", "repo", *(f"spark/test_{name}.py" for name in SPARK))
"""Tests that are not recorded: they start Spark, or judge texts and not the engine."""


@attrs.frozen
class Recorded:
    """A record, the copy of the tree that it is of, and the kernels that the tests have compiled."""

    record: Record
    tree: Path
    kernels: Path


def recorded(root: Path, jobs: int, say: Callable[[str], None]) -> Recorded:
    """The record of the tree at ``root``: the kept one, or a new one, made by so many processes.

    Raises RuntimeError if pytest breaks down.
    """
    recorder = Path(__file__).with_name("recorder.py").read_text(encoding="utf-8")
    folder = root / KEPT / fingerprint(root, recorder, *LEFT_OUT)
    (root / KEPT).mkdir(exist_ok=True)
    with (root / KEPT / "lock").open("w") as lock:
        # One run records at a time; another one waits here and then finds the record.
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.is_dir():
            say(f"recording which tests reach which lines, by {jobs} processes; kept in {KEPT}/ until the tree changes")
            for old in (root / KEPT).glob("*/"):
                shutil.rmtree(old, ignore_errors=True)
            draft = root / KEPT / "draft"
            draft.mkdir()
            try:
                _make(root, draft, jobs)
                draft.rename(folder)
            finally:
                shutil.rmtree(draft, ignore_errors=True)
    return Recorded(Record.read(folder / "record.json"), folder / "tree", folder / "kernels")


def _make(root: Path, draft: Path, jobs: int) -> None:
    """Record into a folder: ``tree``, ``kernels`` and ``record.json``."""
    tree, lines, temporary = draft / "tree", draft / "lines", draft / "temporary"
    copy_tree(root, tree)
    for folder in (lines, temporary, draft / "kernels"):
        folder.mkdir()
    parallel = ["--numprocesses", str(jobs), "--dist=worksteal"] if jobs > 1 else ["-p", "no:xdist"]
    options = ["-p", "mutants.recorder", "-p", "no:cacheprovider", "-q", "-m", "not slow", "--tb=short"]
    ignored = [f"--ignore=tests/{name}" for name in LEFT_OUT]
    end, other = os.pipe()
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", *options, *parallel, *profile(tree), *ignored, "tests"],
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
    # 1: some tests fail without any fault; the report names them.
    if code not in (0, 1):
        raise RuntimeError(f"pytest ended with {code} while the tests were recorded; its output stands above")
    gather(lines, tree).write(draft / "record.json")
    if (lines / "kernels").is_dir():
        (lines / "kernels").rename(draft / "kernels-made")
        (draft / "kernels").rmdir()
        (draft / "kernels-made").rename(draft / "kernels")
    shutil.rmtree(lines)
    shutil.rmtree(temporary, ignore_errors=True)
