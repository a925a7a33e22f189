"""A bucket of moto's S3, which runs in this process: no server, no network."""

from __future__ import annotations

import boto3
from moto import mock_aws

from impl.store.interface import Answer, Get, List, ObjectData, ObjectPage, Operation
from impl.store.s3_boto import BotoStore

NAME, REGION = "simulated-cluster", "us-east-1"


class MotoBucket:
    """An empty bucket. While it is open, no request of boto3 leaves this process. Close it before opening another."""

    def __init__(self) -> None:
        self._mock = mock_aws()
        self._mock.start()
        boto3.client("s3", region_name=REGION).create_bucket(Bucket=NAME)
        self._store = BotoStore(NAME)

    def execute(self, operation: Operation) -> Answer:
        """Execute an operation once."""
        return self._store.execute(operation)

    def objects(self) -> dict[str, bytes]:
        """All objects, by key."""
        found: dict[str, bytes] = {}
        more, last = True, ""
        while more:
            page = self.execute(List("", last))
            assert isinstance(page, ObjectPage), page
            for entry in page.entries:
                answer = self.execute(Get(entry.key))
                assert isinstance(answer, ObjectData), answer
                found[entry.key] = answer.data
                last = entry.key
            more = page.more
        return found

    def close(self) -> None:
        """Delete the bucket, and let requests out again."""
        self._mock.stop()
