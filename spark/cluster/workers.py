"""What campaigns and searches need of a cluster: tests give them other workers than Spark's."""

from __future__ import annotations

from typing import Protocol

import pyarrow as pa

from spark.cluster.task import Work


class Job(Protocol):
    """A running job: see ``session.SparkJob``."""

    def wait(self, seconds: float | None = None) -> bool:
        """Wait for at most ``seconds``. Returns whether the job is done."""

    def cancel(self) -> None:
        """End the job."""

    def result(self) -> pa.Table:
        """The answer of the job; raises its error."""


class Workers(Protocol):
    """The part of a cluster that starts jobs: see ``session.Cluster``. ``parallelism``: the tasks at a time."""

    parallelism: int

    def start(self, work: Work, payload: bytes, rows: pa.Table, schema: pa.Schema, partitions: int) -> Job:
        """Start tasks that do the work in the background."""
