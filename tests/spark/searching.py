"""Searches with their states in files, with tasks that run in this process, without Spark."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import pyarrow as pa
import pytest

from holdfast.check.result import Result, to_json
from holdfast.check.search.engine import search
from holdfast.check.summary import render_result
from holdfast.ir.compile import compile_model
from holdfast.ir.load import load_model
from holdfast.ir.system import System
from spark.cluster.storage import open_storage
from spark.cluster.task import Work
from spark.cluster.workers import Workers
from spark.search import tasks as search_tasks
from spark.search.engine import SparkSearch
from spark.search.files import Scratch
from tests.kernel.plain import plain_build, use_python
from tests.kernel.writing import SEARCHED, written

TESTS = Path(__file__).parents[1]


@attrs.frozen
class FinishedTasks:
    """Tasks that have already run."""

    table: pa.Table

    def wait(self, seconds: float | None = None) -> bool:  # noqa: ARG002 - the shape of a job
        """Return at once: they have run."""
        return True

    def cancel(self) -> None:
        """Do nothing: they have run."""

    def result(self) -> pa.Table:
        """Their answers."""
        return self.table


@attrs.define
class InlineCluster:
    """A cluster in this process. ``order`` maps the rows to those that its tasks get: permuted, or repeated."""

    parallelism: int = 2
    jobs: int = 0
    order: Any = list

    def start(self, work: Work, payload: bytes, rows: pa.Table, schema: pa.Schema, partitions: int) -> FinishedTasks:
        """Run the tasks. The answers are in the order of the rows, however often each row was run."""
        assert partitions > 0
        self.jobs += 1
        answers: dict[int, list[pa.RecordBatch]] = {}
        for number in self.order(range(rows.num_rows)):
            [batch] = rows.slice(number, 1).combine_chunks().to_batches()
            answers[number] = list(work(payload, batch))
        batches = [batch for number in sorted(answers) for batch in answers[number]]
        return FinishedTasks(pa.Table.from_batches(batches, schema))


def interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run kernels in Python from now on, also in tasks."""
    use_python(monkeypatch)
    monkeypatch.setattr(search_tasks, "build", plain_build)
    monkeypatch.setattr(search_tasks, "_machines", {})


@pytest.fixture(autouse=True)
def plain(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run kernels in Python, unless a test starts Spark."""
    if "cluster" not in request.fixturenames:
        interpreted(monkeypatch)


@pytest.fixture(scope="module")
def locks() -> System:
    """A lock service with some hundred states and a symmetry group of four."""
    return compile_model(load_model(str(TESTS / "differential" / "lock_service.py")))


@pytest.fixture
def rivals(tmp_path: Path) -> System:
    """A model with several violations at once."""
    return written(tmp_path, SEARCHED["several violations of equal length"])


def spark_search(
    system: System,
    scope: str,
    folder: Path,
    cluster: Workers | None = None,
    *,
    small: int = 0,
    lasting: bool = False,
    resumed: bool = False,
    **options: Any,
) -> Result:
    """A search with its states in the folder. ``small``: the number of states after which it moves there."""
    explorer = partial(
        SparkSearch,
        cluster=cluster or InlineCluster(),
        storage=open_storage(str(folder), None) if lasting else Scratch(str(folder), str(folder)),
        lasting=lasting,
        resumed=resumed,
        small=small,
    )
    return search(system, system.scopes[scope], explorer=explorer, **options)


def by_interpreter(system: System, scope: str = "tiny", **options: Any) -> Result:
    """The interpreter's answer, which all others must equal."""
    return search(system, system.scopes[scope], engine="interpreter", **options)


def assert_equal(found: Result, wanted: Result) -> None:
    """Both answers are equal in every figure and every text, except times."""
    found = attrs.evolve(found, timing=wanted.timing)
    assert to_json(found) == to_json(wanted)
    assert render_result(found) == render_result(wanted)


def files(folder: Path) -> dict[str, bytes]:
    """All files of levels below a folder, with their contents."""
    found: Sequence[Path] = sorted(folder.glob("*/part-*.npy"))
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}
