"""A bucket of moto's S3, which runs in this process: no server, no network."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import boto3
from moto import mock_aws

from impl.store.interface import Answer, Delete, Get, List, ObjectData, ObjectPage, Operation
from impl.store.s3_boto import BotoStore

NAME, REGION = "simulated-cluster", "us-east-1"


@contextmanager
def moto_bucket() -> Iterator[MotoBucket]:
    """An empty bucket. In the meantime no request of boto3 leaves this process."""
    with mock_aws():
        boto3.client("s3", region_name=REGION).create_bucket(Bucket=NAME)
        yield MotoBucket()


class MotoBucket:
    """The bucket as an object store. Only ``moto_bucket`` makes one."""

    def __init__(self) -> None:
        self._store = BotoStore(NAME)

    def execute(self, operation: Operation) -> Answer:
        """Execute an operation once."""
        return self._store.execute(operation)

    def objects(self) -> dict[str, bytes]:
        """All objects, by key."""
        found: dict[str, bytes] = {}
        for key in self._keys():
            answer = self.execute(Get(key))
            assert isinstance(answer, ObjectData), answer
            found[key] = answer.data
        return found

    def clear(self) -> None:
        """Delete all objects."""
        self.execute(Delete(tuple(self._keys())))

    def _keys(self) -> list[str]:
        found: list[str] = []
        more = True
        while more:
            page = self.execute(List("", found[-1] if found else ""))
            assert isinstance(page, ObjectPage), page
            found += [entry.key for entry in page.entries]
            more = page.more
        return found
