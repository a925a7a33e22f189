"""Search on Spark: the same answer as on one machine, whatever fails in between."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from holdfast.check.budget import Budget
from holdfast.check.search.engine import search
from holdfast.ir.compile import compile_model
from holdfast.ir.load import load_model
from holdfast.ir.removal import remove_rules
from holdfast.ir.system import System
from spark.cluster.workers import Workers
from spark.search import frontier
from spark.search.frontier import SparkStore
from tests.kernel.writing import SEARCHED, written
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

# One answer ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("keep_going", [True, False])
@pytest.mark.parametrize("name", SEARCHED)
def test_searches_are_equal(name: str, keep_going: bool, tmp_path: Path) -> None:
    """Cuts, budgets, deadlocks, repetitions and rival violations: the answers are equal, with and without symmetry."""
    system = written(tmp_path, SEARCHED[name])
    for symmetry in (True, False) if name != "states of two words" else (True,):
        options = {"keep_going": keep_going, "symmetry": symmetry}
        found = spark_search(system, "tiny", tmp_path / str(symmetry), **options)
        assert_equal(found, by_interpreter(system, **options))


@pytest.mark.parametrize("parallelism", [1, 3, 40])
@pytest.mark.parametrize("small", [0, 30])
def test_the_answer_depends_on_no_number_of_tasks(
    locks: System, parallelism: int, small: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer is the same for few tasks and for many small ones, and whenever the search moves to files."""
    monkeypatch.setattr(frontier, "SHARE", 3)
    monkeypatch.setattr(frontier, "MOST", 7)
    cluster = InlineCluster(parallelism)

    found = spark_search(locks, "tiny", tmp_path, cluster, small=small)

    assert_equal(found, by_interpreter(locks))
    assert cluster.jobs > 2


def test_a_small_search_needs_no_tasks(locks: System, tmp_path: Path) -> None:
    """A small search runs without tasks, with the same answer, and leaves no file."""
    cluster = InlineCluster()

    assert_equal(spark_search(locks, "tiny", tmp_path, cluster, small=100_000), by_interpreter(locks))

    assert cluster.jobs == 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "order", [lambda rows: [*rows, *rows], lambda rows: rows[::-1]], ids=["every task twice", "in another order"]
)
def test_tasks_that_are_repeated_write_the_same_again(
    locks: System, order: Callable[[range], Any], tmp_path: Path
) -> None:
    """A retried task, or one that runs twice at once, loses no state and counts none twice."""
    spark_search(locks, "tiny", tmp_path / "wanted")

    found = spark_search(locks, "tiny", tmp_path / "found", InlineCluster(order=order))

    assert_equal(found, by_interpreter(locks))
    assert files(tmp_path / "found") == files(tmp_path / "wanted")


def _unmerged(monkeypatch: pytest.MonkeyPatch) -> None:
    true = frontier.merge

    def merge(into: Any, more: Any) -> None:
        more.states[:, 0] = 0
        true(into, more)

    monkeypatch.setattr(frontier, "merge", merge)


def _forgetful(monkeypatch: pytest.MonkeyPatch) -> None:
    true = SparkStore._files
    monkeypatch.setattr(SparkStore, "_files", lambda self, part: list(true(self, part))[1:])


def _unequal(monkeypatch: pytest.MonkeyPatch) -> None:
    true = SparkStore._shares

    def shares(self: SparkStore, rows: Any, depth: int) -> Any:
        return [[(path, first + (last - first > 1), last) for path, first, last in s] for s in true(self, rows, depth)]

    monkeypatch.setattr(SparkStore, "_shares", shares)


@pytest.mark.parametrize("fault", [_unmerged, _forgetful, _unequal])
def test_faults_are_seen(
    fault: Callable[[pytest.MonkeyPatch], None], rivals: System, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lost notes, unread files and unexpanded states change the answer."""
    wanted = by_interpreter(rivals, keep_going=True)
    fault(monkeypatch)

    found = spark_search(
        rivals, "tiny", tmp_path / "found", keep_going=True, budget=Budget(states=2 * wanted.figures.distinct)
    )

    with pytest.raises(AssertionError):
        assert_equal(found, wanted)


def title(entry: dict[str, Any]) -> str:
    """The name of a pinned configuration in reports."""
    return " ".join((entry["model"], entry["scope"], *entry.get("variants", ()), *entry.get("without", ())))


PINNED = [
    entry
    for entry in json.loads((TESTS.parent / "models" / "manifest.json").read_text())
    if entry.get("engine", "check") == "check"
]
CHOSEN = (
    *("ownership tiny", "ownership default", "ownership tiny ST-14", "ownership tiny late_answers"),
    *("stream_log tiny", "wal large", "fast_close tiny late_close"),
    *("reassignment tiny", "controller_tables tiny"),
)
"""A sample. All would take more than an hour: Spark runs a job for each level, and compiles in each process."""
ON_SPARK = [entry for entry in PINNED if title(entry) in CHOSEN]
FEW = [entry for entry in PINNED if entry.get("without") in (["ST-13"], ["CS-29b"]) and entry["model"] == "ownership"]


def pinned(entry: dict[str, Any]) -> System:
    """The system of an entry of the manifest."""
    system = compile_model(load_model(entry["model"]), variants=tuple(entry.get("variants", ())))
    return remove_rules(system, tuple(entry.get("without", ())))


@pytest.mark.parametrize("entry", FEW, ids=title)
def test_pinned_violations(entry: dict[str, Any], tmp_path: Path) -> None:
    """A violation of a real protocol has the pinned figures and the same run."""
    system = pinned(entry)

    found = spark_search(system, entry["scope"], tmp_path)

    assert (found.figures.distinct, found.figures.depth) == (entry["states"], entry["depth"])
    assert_equal(found, by_interpreter(system, entry["scope"]))


def test_spark_answers_the_same(cluster: Workers, locks: System, tmp_path: Path) -> None:
    """Spark itself, with compiled kernels, gives the same answer."""
    # This process searches the first levels, so that it compiles the kernel once, not every task at the same time.
    assert_equal(spark_search(locks, "tiny", tmp_path, cluster, small=50), by_interpreter(locks))


@pytest.mark.slow
@pytest.mark.parametrize("entry", ON_SPARK, ids=title)
def test_pinned_configurations(cluster: Workers, entry: dict[str, Any], tmp_path: Path) -> None:
    """Spark finds the manifest's pinned results, and answers as the kernel does."""
    system = pinned(entry)
    small = 300 if entry["scope"] == "tiny" else 5_000

    found = spark_search(system, entry["scope"], tmp_path, cluster, small=small)

    assert (found.verdict, found.figures.distinct, found.figures.depth) == (
        entry["verdict"], entry["states"], entry["depth"]
    )  # fmt: skip
    assert_equal(found, search(system, system.scopes[entry["scope"]], engine="kernel"))


@pytest.mark.slow
def test_the_command() -> None:
    """``check --engine spark`` prints what ``check`` prints, for both default scopes, and nothing else."""

    def printed(*options: str) -> tuple[int, list[dict[str, Any]], str]:
        command = [sys.executable, "-m", "holdfast", "check", "stream_log", "--json", *options]
        found = subprocess.run(command, cwd=TESTS.parent, capture_output=True, text=True, check=False)
        rows = [json.loads(line) for line in found.stdout.splitlines()]
        for row in rows:
            del row["timing"]
        return found.returncode, rows, found.stderr

    code, rows, errors = printed("--engine", "spark")

    assert (code, rows, errors) == printed("--engine", "kernel")
    wanted = {entry["scope"]: entry for entry in PINNED if title(entry) in ("stream_log tiny", "stream_log default")}
    assert {row["scope"]: (row["figures"]["distinct"], row["figures"]["depth"]) for row in rows} == {
        scope: (entry["states"], entry["depth"]) for scope, entry in wanted.items()
    }
    assert errors == ""
