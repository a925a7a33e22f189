"""Fixtures: an S3 server on this machine, and credentials for it. A folder's ``conftest.py`` imports them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


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
    """Credentials that belong to nobody, set for this test in place of any others."""
    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_ENDPOINT_URL", "AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIATESTOFNOBODY")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret-of-nobody")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    return "AKIATESTOFNOBODY", "secret-of-nobody"
