"""Campaigns without Spark: the executors' work runs in this process, in any order and with any accident."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import attrs
import pyarrow as pa

from holdfast.check.budget import Budget
from holdfast.ir.compile import compile_model
from holdfast.ir.load import load_model
from holdfast.ir.removal import remove_rules
from holdfast.ir.system import System
from spark.campaign.config import Config
from spark.campaign.engine import advance, begin
from spark.campaign.model_target import ModelTarget
from spark.campaign.places import UNIT_TABLES
from spark.cluster.storage import FolderStorage
from spark.cluster.task import Work

TABLE = Path(__file__).parents[1] / "check" / "models" / "table.py"

BROKEN = ("CK-02.epoch",)
"""The rule without which the table lets two processes write."""


@attrs.define
class InlineWorkers:
    """Workers that run each task in this process when the caller waits for it.

    ``order`` permutes the tasks. ``times`` runs each task that often, as retries and speculation do. After
    ``dies_after`` rows the driver dies.
    """

    parallelism: int = 1
    tasks: int | None = None
    order: Callable[[list[pa.RecordBatch]], list[pa.RecordBatch]] = list
    times: int = 1
    dies_after: int | None = None

    def start(self, work: Work, payload: bytes, rows: pa.Table, schema: pa.Schema, partitions: int) -> LazyJob:
        """Return a job that runs when the caller waits."""
        tasks = min(partitions if self.tasks is None else self.tasks, rows.num_rows)
        size = -(-rows.num_rows // tasks)
        parts = rows.combine_chunks().to_batches(max_chunksize=size)

        def run() -> Iterator[pa.RecordBatch]:
            for part in self.order(parts):
                for _ in range(self.times):
                    found = list(work(payload, self._alive(part)))
                yield from found

        return LazyJob(lambda: pa.Table.from_batches(list(run()), schema=schema))

    def _alive(self, part: pa.RecordBatch) -> pa.RecordBatch:
        """The rows before the accident, or all of them if there is none."""
        if self.dies_after is None:
            return part
        if self.dies_after == 0:
            raise DriverDiedError
        alive = part.slice(0, min(self.dies_after, part.num_rows))
        self.dies_after -= alive.num_rows
        return alive


class DriverDiedError(BaseException):
    """The driver's death."""


@attrs.define
class LazyJob:
    """A job that runs when its ``wait`` is called."""

    run: Callable[[], pa.Table]
    found: pa.Table | None = None
    cancelled: bool = False

    def wait(self, seconds: float | None = None) -> bool:  # noqa: ARG002 - it waits for nothing
        """Run the job to its end."""
        self.found = self.run()
        return True

    def cancel(self) -> None:
        """Record the cancellation."""
        self.cancelled = True

    def result(self) -> pa.Table:
        """The job's answer."""
        assert self.found is not None
        return self.found


@contextmanager
def here(_options: object) -> Iterator[InlineWorkers]:
    """A replacement of ``start_cluster`` that starts no Spark."""
    yield InlineWorkers(parallelism=2)


def table_model(removed: tuple[str, ...] = ()) -> System:
    """The stream table, without some of its rules."""
    return remove_rules(compile_model(load_model(str(TABLE))), removed)


def table_target(asked: Config) -> ModelTarget:
    """The stream table as the target of a campaign."""
    return ModelTarget(table_model(asked.removed), asked)


def config(*, removed: tuple[str, ...] = (), traces: int = 700, seed: int = 3, stop_after: int | None = None) -> Config:
    """A campaign whose units have a hundred runs each."""
    return Config(
        target=str(TABLE),
        scope="tiny",
        removed=removed,
        traces=traces,
        depth=30,
        seed=seed,
        stop_after=stop_after,
        traces_per_unit=100,
    )


def place(folder: Path) -> FolderStorage:
    """A storage in a folder."""
    return FolderStorage(name=str(folder), root=str(folder))


def begun(folder: Path, asked: Config) -> FolderStorage:
    """A storage in which a campaign has begun."""
    storage = place(folder)
    begin(storage, asked, table_target(asked))
    return storage


def go_on(storage: FolderStorage, asked: Config, workers: InlineWorkers | None = None) -> str | None:
    """Run the missing units."""
    return advance(
        *(workers or InlineWorkers(), storage, asked, table_target(asked)),
        budget=Budget(),
        progress=lambda _now: None,
    )


def ran(folder: Path, asked: Config, workers: InlineWorkers | None = None) -> FolderStorage:
    """A storage with a complete campaign."""
    storage = begun(folder, asked)
    go_on(storage, asked, workers)
    return storage


def tables(storage: FolderStorage) -> dict[str, bytes]:
    """Every file of a campaign except those with times."""
    paths = ["campaign.parquet", "findings.parquet"]
    paths += [f"{table}/{name}" for table in UNIT_TABLES if table != "timing" for name in storage.list(table)]
    return {path: data for path in paths if (data := storage.read(path)) is not None}
