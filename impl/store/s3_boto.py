"""An S3 bucket, accessed with boto3. Credentials and region come from boto3's usual chain."""

from __future__ import annotations

from typing import TYPE_CHECKING

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError

from impl.store.interface import (
    PAGE,
    Answer,
    Conflict,
    Delete,
    DeleteResult,
    Get,
    List,
    ListedObject,
    Missing,
    ObjectData,
    ObjectPage,
    Operation,
    Put,
    PutResult,
    Unsure,
)

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

TIMEOUT_S = 10
_ONCE = Config(connect_timeout=TIMEOUT_S, read_timeout=TIMEOUT_S, retries={"total_max_attempts": 1})
"""One attempt, as ``interface`` demands of all adapters."""


def credentials() -> dict[str, str]:
    """Credentials and region of boto3's usual chain, as the environment variables that every S3 library reads.

    Empty if the chain has none.
    """
    session = boto3.Session()
    region = {"AWS_REGION": session.region_name} if session.region_name else {}
    found = session.get_credentials()
    if found is None:
        return region
    frozen = found.get_frozen_credentials()
    named = {
        "AWS_ACCESS_KEY_ID": frozen.access_key,
        "AWS_SECRET_ACCESS_KEY": frozen.secret_key,
        "AWS_SESSION_TOKEN": frozen.token,
    }
    return {**{name: value for name, value in named.items() if value}, **region}


def _new_client(endpoint: str | None) -> S3Client:
    # A session of its own: the session that boto3 shares keeps the credentials of its first use.
    return boto3.Session().client("s3", endpoint_url=endpoint, config=_ONCE)


def create_bucket(bucket: str, endpoint: str | None = None) -> None:
    """Create a bucket. Raises the errors of boto3."""
    _new_client(endpoint).create_bucket(Bucket=bucket)


def fault_of(bucket: str, endpoint: str | None = None) -> str:
    """The reason why a bucket cannot be used, with its remedy; "" if it can. The text holds no credential."""
    place = f"bucket {bucket} at {endpoint or 'Amazon S3'}"
    try:
        _new_client(endpoint).list_objects_v2(Bucket=bucket, MaxKeys=1)
    except ClientError as error:
        code = error.response["Error"]["Code"]
        if code == "NoSuchBucket":
            return f"{place}: there is no such bucket; create it, or name another with --bucket"
        if error.response["ResponseMetadata"]["HTTPStatusCode"] in (401, 403):
            return f"{place}: the store refuses the credentials ({code}); look at AWS_PROFILE or AWS_ACCESS_KEY_ID"
        return f"{place}: the store answers {code}; look at the store"
    except NoCredentialsError:
        return f"{place}: there are no credentials; set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
    except (BotoCoreError, ValueError) as error:
        return f"{place}: it cannot be reached: {' '.join(str(error).split())}; look at --s3"
    return ""


class BotoStore:
    """The objects of a bucket. ``endpoint``: the URL of a store other than Amazon's. Use it from one thread only."""

    def __init__(self, bucket: str, endpoint: str | None = None) -> None:
        self._bucket = bucket
        self._client = _new_client(endpoint)

    def execute(self, operation: Operation) -> Answer:
        """Execute an operation with one request. A delete takes one request for each thousand keys."""
        try:
            match operation:
                case Put():
                    return self._put(operation)
                case Get():
                    return self._get(operation)
                case List(folder, after):
                    page = self._client.list_objects_v2(
                        Bucket=self._bucket, Prefix=folder, StartAfter=after, MaxKeys=PAGE
                    )
                    entries = tuple(ListedObject(each["Key"], each["Size"]) for each in page.get("Contents", ()))
                    return ObjectPage(entries, page["IsTruncated"])
                case Delete(keys):
                    return self._delete(keys)
        except ClientError as error:
            return _answer(error, operation)
        except BotoCoreError as error:
            return Unsure(str(error))

    def _put(self, put: Put) -> Answer:
        condition = {"IfNoneMatch": "*"} if put.new else {"IfMatch": put.replaces} if put.replaces is not None else {}
        done = self._client.put_object(Bucket=self._bucket, Key=put.key, Body=put.data, **condition)  # type: ignore[arg-type]
        return PutResult(done["ETag"])

    def _get(self, get: Get) -> Answer:
        part = {}
        if (get.begin, get.end) != (0, None):
            # The last byte of an HTTP range belongs to the range.
            part["Range"] = f"bytes={get.begin}-{'' if get.end is None else get.end - 1}"
        found = self._client.get_object(Bucket=self._bucket, Key=get.key, **part)  # type: ignore[arg-type]
        return ObjectData(found["Body"].read(), found["ETag"])

    def _delete(self, keys: tuple[str, ...]) -> Answer:
        for begin in range(0, len(keys), PAGE):
            named = [{"Key": key} for key in keys[begin : begin + PAGE]]
            done = self._client.delete_objects(Bucket=self._bucket, Delete={"Objects": named, "Quiet": True})  # type: ignore[typeddict-item]
            if done.get("Errors"):
                return Unsure(str(done["Errors"][0]))
        return DeleteResult()


def _answer(error: ClientError, operation: Operation) -> Answer:
    """The answer for an error of S3."""
    status, code = error.response["ResponseMetadata"]["HTTPStatusCode"], error.response["Error"]["Code"]
    # If the object to replace is missing, S3 answers the put with 404.
    if isinstance(operation, Put) and (code == "PreconditionFailed" or (status == 404 and code == "NoSuchKey")):
        return Conflict()
    if isinstance(operation, Get) and code == "NoSuchKey":
        return Missing()
    return Unsure(str(error))
