"""Fixtures for Spark: one session and one S3 server for each process that runs tests."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator

import pytest

from spark.cluster.session import Cluster, start_cluster
from spark.cluster.settings import SparkOptions
from tests.cli.conftest import holdfast
from tests.s3 import keys, s3

__all__ = ["cluster", "holdfast", "keys", "s3"]


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """A session on two cores. It takes seconds to start, and a process can have only one: no test may end it."""
    if importlib.util.find_spec("pyspark") is None:
        pytest.skip("Spark needs the package pyspark")
    with start_cluster(SparkOptions(master="local[2]")) as found:
        yield found
