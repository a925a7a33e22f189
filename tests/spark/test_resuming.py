"""Searches on Spark that stop: they go on to the same answer, and refuse what does not fit."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pyarrow as pa
import pytest

from holdfast.check.budget import Budget
from holdfast.check.json_values import DIGEST, sealed
from holdfast.cli.app import main
from holdfast.ir.errors import UsageError
from holdfast.ir.removal import remove_rules
from holdfast.ir.system import System
from spark.cluster.storage import open_storage
from spark.search.checkpoint import kept
from spark.search.engine import ProcessTree
from spark.search.files import DIGEST as DIGEST_BYTES
from spark.search.files import read_rows, write_rows
from tests.spark.searching import (
    TESTS,
    InlineCluster,
    assert_equal,
    by_interpreter,
    files,
    locks,
    plain,
    rivals,
    spark_search,
)

__all__ = ["locks", "plain", "rivals"]

# What stops, goes on ------------------------------------------------------------------------------------------------


class PowerCutError(Exception):
    """The driver dies."""


@attrs.define
class FailingCluster(InlineCluster):
    """A cluster that fails after N jobs, when half of the last job's tasks are done."""

    last: int = 0

    def start(self, work: Any, payload: bytes, rows: pa.Table, schema: pa.Schema, partitions: int) -> Any:
        """Run the tasks, or some of them before failing."""
        if self.jobs == self.last:
            self.order = lambda rows: rows[: len(rows) // 2]
            super().start(work, payload, rows, schema, partitions)
            raise PowerCutError
        return super().start(work, payload, rows, schema, partitions)


@pytest.mark.parametrize("last", [0, 1, 2, 3, 4, 5, 11])
def test_what_was_cut_off_goes_on(locks: System, last: int, tmp_path: Path) -> None:
    """A search that is cut off anywhere resumes from its last complete level.

    Its answer and its files are those of an undisturbed search, also on another number of cores.
    """
    spark_search(locks, "tiny", tmp_path / "wanted", lasting=True)
    with pytest.raises(PowerCutError):
        spark_search(locks, "tiny", tmp_path / "found", FailingCluster(last=last), lasting=True)

    if last < 2:
        # Tasks have not worked on any level yet, so nothing of the first level is stored.
        with pytest.raises(UsageError, match="keeps no search on Spark"):
            spark_search(locks, "tiny", tmp_path / "found", lasting=True, resumed=True)
        return
    found = spark_search(locks, "tiny", tmp_path / "found", InlineCluster(5), lasting=True, resumed=True)

    assert_equal(found, by_interpreter(locks))
    assert files(tmp_path / "found") == files(tmp_path / "wanted")


@pytest.mark.parametrize("small", [0, 100_000])
def test_what_ran_out_of_its_budget_goes_on(small: int, locks: System, tmp_path: Path) -> None:
    """A search that ran out of its budget of states resumes and gives the answer, wherever its states were."""
    found = spark_search(locks, "tiny", tmp_path, small=small, lasting=True, budget=Budget(states=100))

    assert (found.verdict, found.exit_code, found.ended_by) == ("out_of_budget", 20, "states: more than 100")
    assert found.figures.waiting > 0
    resumed = spark_search(locks, "tiny", tmp_path, lasting=True, resumed=True)
    assert_equal(resumed, by_interpreter(locks))


def test_what_was_found_before_is_not_forgotten(rivals: System, tmp_path: Path) -> None:
    """The answer has the violations and witnesses of earlier levels, with their runs, also after a complete search."""
    options: dict[str, Any] = {"keep_going": True, "lasting": True}
    wanted = by_interpreter(rivals, keep_going=True)
    limit = wanted.figures.distinct - 2
    partial = spark_search(rivals, "tiny", tmp_path / "found", budget=Budget(states=limit), **options)

    assert partial.findings
    assert partial.verdict == "violated"
    for _ in range(2):
        resumed = spark_search(rivals, "tiny", tmp_path / "found", resumed=True, **options)
        assert_equal(resumed, wanted)


@attrs.define
class Endless(InlineCluster):
    """A cluster whose third job does not end."""

    cancelled: bool = False

    def start(self, work: Any, payload: bytes, rows: pa.Table, schema: pa.Schema, partitions: int) -> Any:
        """Run the tasks; the third job waits."""
        return self if self.jobs == 2 else super().start(work, payload, rows, schema, partitions)

    def wait(self, seconds: float | None = None) -> bool:  # noqa: ARG002 - the shape of a job
        """Raise Ctrl-C, since the job never ends."""
        signal.raise_signal(signal.SIGINT)
        return False

    def cancel(self) -> None:
        """Record the cancellation."""
        self.cancelled = True


def test_an_interruption_ends_a_job(locks: System, tmp_path: Path) -> None:
    """Ctrl-C cancels the running job, and the answer covers the complete levels."""
    cluster = Endless()

    found = spark_search(locks, "tiny", tmp_path, cluster)

    assert cluster.cancelled
    assert (found.exit_code, found.ended_by, found.figures.depth) == (20, "interrupted", 1)
    assert found.figures.waiting == found.figures.distinct - found.figures.initial


def test_the_memory_of_others_counts() -> None:
    """A memory limit includes Java and the tasks on this machine."""
    command = [sys.executable, "-c", "print('ready', flush=True); input()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        family = ProcessTree()
        family()
        grown = family.children
        child.communicate(b"\n")

    assert grown > 1_000_000


# What does not fit --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("symmetry", {"symmetry": False}),
        ("properties", {"properties": ["one_holder"]}),
        ("keep_going", {"keep_going": True}),
        ("fingerprint", {"system": "LS-04"}),
        ("scope", {"scope": "default"}),
    ],
)
def test_another_search_is_refused_by_name(name: str, options: dict[str, Any], locks: System, tmp_path: Path) -> None:
    """A search resumes only with its original settings. A difference is named."""
    spark_search(locks, "tiny", tmp_path, lasting=True, budget=Budget(states=100))
    removed = options.pop("system", None)
    system = locks if removed is None else remove_rules(locks, [removed])
    scope = options.pop("scope", "tiny")

    with pytest.raises(UsageError, match=f"belongs to another search: its {name} is "):
        spark_search(system, scope, tmp_path, lasting=True, resumed=True, **options)


@pytest.mark.parametrize("damage", ["empty", "text", "a list", "a part"])
def test_a_broken_checkpoint_is_refused(damage: str, locks: System, tmp_path: Path) -> None:
    """An incomplete checkpoint is one line that names it."""
    spark_search(locks, "tiny", tmp_path, lasting=True, budget=Budget(states=100))
    header = tmp_path / "search.json"
    content = json.loads(header.read_text())
    match damage:
        case "empty":
            header.write_bytes(b"")
        case "text":
            header.write_bytes(b"\xff\xfe no checkpoint")
        case "a list":
            header.write_text("[1]")
        case "a part":
            del content["levels"]
            header.write_text(json.dumps(sealed({key: value for key, value in content.items() if key != DIGEST})))

    with pytest.raises(UsageError, match=r"search\.json is no checkpoint"):
        spark_search(locks, "tiny", tmp_path, lasting=True, resumed=True)


@pytest.mark.parametrize("key", ["levels", "pending", "sums", "found", "moved", DIGEST])
def test_an_altered_checkpoint_is_refused(key: str, locks: System, tmp_path: Path) -> None:
    """A checkpoint whose values somebody has changed is one line, before Spark starts."""
    spark_search(locks, "tiny", tmp_path, lasting=True, budget=Budget(states=100))
    header = tmp_path / "search.json"
    content = json.loads(header.read_text())
    header.write_text(json.dumps(content | {key: 0 if key == "moved" else []}))

    with pytest.raises(UsageError, match=r"search\.json: its digest does not fit its content"):
        kept(open_storage(str(tmp_path), None))
    with pytest.raises(UsageError, match=r"search\.json: its digest does not fit its content"):
        spark_search(locks, "tiny", tmp_path, lasting=True, resumed=True)


@pytest.mark.parametrize("damage", ["missing", "empty", "cut", "foreign", "a flipped bit"])
def test_a_broken_file_of_states_is_refused(damage: str, locks: System, tmp_path: Path) -> None:
    """An incomplete file of states ends the search with the file's name, not with a wrong answer."""
    spark_search(locks, "tiny", tmp_path, lasting=True, budget=Budget(states=100))
    path = min(tmp_path.glob("level-*/*.npy"))
    match damage:
        case "missing":
            path.unlink()
        case "empty":
            path.write_bytes(b"")
        case "cut":
            path.write_bytes(path.read_bytes()[:-8])
        case "foreign":
            path.write_text("no states")
        case "a flipped bit":
            data = bytearray(path.read_bytes())
            data[-DIGEST_BYTES - 1] ^= 1
            path.write_bytes(data)

    with pytest.raises(UsageError, match=f"{path.relative_to(tmp_path)} is missing, or is not what this search wrote"):
        spark_search(locks, "tiny", tmp_path, lasting=True, resumed=True)


def test_rows_keep(tmp_path: Path) -> None:
    """States are read back from a file unchanged. A file with fewer rows than expected is an error."""
    storage = open_storage(str(tmp_path), None)
    rows = np.arange(6, dtype=np.int64).reshape(3, 2)
    write_rows(storage, "a/b.npy", rows)

    assert read_rows(storage, "a/b.npy", 3).tolist() == rows.tolist()
    with pytest.raises(UsageError, match=r"a/b\.npy"):
        read_rows(storage, "a/b.npy", 4)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--cores", "2"], "--cores is for one machine"),
        (["--graph", "g.dot"], "--graph draws what this machine explores"),
        (["--master", "spark://h:1"], "has executors on other machines; name a folder"),
        (["--s3", "http://h"], "--s3 says where"),
        (["--conf", "memory"], "write KEY=VALUE"),
        (["--checkpoint", "a"], "a checkpoint belongs to one scope"),
        (["--scope", "tiny", "--checkpoint", "a", "--resume", "b"], "goes on in its own folder"),
        (["--scope", "tiny", "--checkpoint", "used"], "keeps a search already"),
        (["--scope", "tiny", "--resume", "unused"], "unused keeps no search on Spark"),
    ],
)
def test_options_that_do_not_fit(
    options: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Options that exclude each other are one line, before Spark starts."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "used").mkdir()
    (tmp_path / "used" / "search.json").write_text("{}")

    code = main(["check", str(TESTS / "differential" / "lock_service.py"), "--engine", "spark", *options])

    errors = capsys.readouterr().err
    assert (code, errors.count("\n")) == (2, 1)
    assert said in errors


@pytest.mark.parametrize("option", ["--master", "--conf", "--s3"])
def test_options_of_spark_alone(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Other engines refuse Spark's options."""
    assert main(["check", str(TESTS / "differential" / "lock_service.py"), option, "x"]) == 2
    assert f"{option} is for --engine spark" in capsys.readouterr().err
