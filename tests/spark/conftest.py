"""What tests of this folder share: one session on Spark and one server of S3 for each process that runs tests."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator

import pytest

from spark.session import Cluster, start_cluster
from spark.settings import SparkOptions
from tests.cli.conftest import holdfast

__all__ = ["cluster", "holdfast", "keys", "s3"]


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """A session on two cores. It takes seconds to start, and there can be one only: no test may end it."""
    if importlib.util.find_spec("pyspark") is None:
        pytest.skip("Spark needs the package pyspark")
    with start_cluster(SparkOptions(master="local[2]")) as found:
        yield found


@pytest.fixture(scope="session")
def s3() -> Iterator[str]:
    """The address of a server of S3 on this machine."""
    server = pytest.importorskip("moto.server").ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    """Credentials of nobody, set for this test, and no others."""
    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_ENDPOINT_URL", "AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIATESTOFNOBODY")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret-of-nobody")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    return "AKIATESTOFNOBODY", "secret-of-nobody"
