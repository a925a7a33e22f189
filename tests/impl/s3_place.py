"""An empty bucket of moto, as a fixture: in this process, or in moto's server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from impl.store.interface import ObjectStore

STORES = ("boto in process", "boto", "obstore")
"""The parameters of the fixture ``place``: an adapter, and where moto runs if it is not a server."""
NAME = "cluster"
Place = tuple[ObjectStore, Any]
"""An adapter, and its bucket through boto3."""


@pytest.fixture
def place(request: pytest.FixtureRequest, keys: tuple[str, str]) -> Iterator[Place]:
    """An empty bucket of one of STORES. Without the S3 extras the test is skipped."""
    del keys
    boto3, moto = pytest.importorskip("boto3"), pytest.importorskip("moto")
    pytest.importorskip("obstore")
    from impl.store.s3_boto import BotoStore  # noqa: PLC0415 - an extra
    from impl.store.s3_obstore import ObstoreStore  # noqa: PLC0415 - an extra

    if request.param == "boto in process":
        with moto.mock_aws():
            bucket = boto3.resource("s3", region_name="us-east-1").create_bucket(Bucket=NAME)
            yield BotoStore(NAME), bucket
        return
    endpoint = request.getfixturevalue("s3")
    bucket = boto3.resource("s3", endpoint_url=endpoint, region_name="us-east-1").create_bucket(Bucket=NAME)
    yield (BotoStore if request.param == "boto" else ObstoreStore)(NAME, endpoint), bucket
    bucket.objects.delete()
    bucket.delete()
