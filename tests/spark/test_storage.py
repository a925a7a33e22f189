"""Files in a folder and in a bucket: written completely or not at all, under equal names, with errors in one line."""

from __future__ import annotations

import os
import pickle
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from holdfast.ir.errors import UsageError
from spark.cluster import storage
from spark.cluster.storage import FileStorage, StorageError, open_storage

boto3 = pytest.importorskip("boto3")
botocore = pytest.importorskip("botocore.exceptions")


@pytest.fixture(autouse=True)
def own_clients() -> Iterator[None]:
    """Forget the clients of earlier tests."""
    storage._client.cache_clear()
    yield
    storage._client.cache_clear()


@pytest.fixture
def bucket(s3: str, keys: tuple[str, str]) -> str:
    """An empty bucket."""
    del keys
    client = boto3.client("s3", endpoint_url=s3, region_name="us-east-1")
    for found in client.list_buckets()["Buckets"]:
        for page in client.get_paginator("list_objects_v2").paginate(Bucket=found["Name"]):
            for entry in page.get("Contents", []):
                client.delete_object(Bucket=found["Name"], Key=entry["Key"])
    client.create_bucket(Bucket="runs")
    return "runs"


@pytest.fixture(params=["folder", "bucket"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> FileStorage:
    """An empty storage of either kind."""
    if request.param == "folder":
        return open_storage(str(tmp_path / "new" / "runs"), None)
    name = request.getfixturevalue("bucket")
    return open_storage(f"s3://{name}/a/b", request.getfixturevalue("s3"))


def test_what_is_written_is_read(place: FileStorage) -> None:
    """A written file is read back, also by another process: a storage can be pickled."""
    place.check_writable()
    place.write("runs/7", b"seven")
    place.write("runs/7", b"seven again")
    there: FileStorage = pickle.loads(pickle.dumps(place))  # noqa: S301 - as the line says

    assert there.read("runs/7") == b"seven again"
    assert there.read("runs/8") is there.read("other/7") is None
    assert there == place


def test_a_folder_lists_its_own_files(place: FileStorage) -> None:
    """The list is sorted and without subfolders. A deleted file is gone, and deleting it again is no error."""
    for path in ("runs/10", "runs/9", "runs/deep/1", "top"):
        place.write(path, b"")
    assert (place.list("runs"), place.list(""), place.list("none")) == (["10", "9"], ["top"], [])
    assert [name.rstrip("/") for name in place.unlisted()] == ["runs"]
    place.delete("runs/9")
    place.delete("runs/9")
    assert place.list("runs") == ["10"]


def test_checking_leaves_nothing(place: FileStorage) -> None:
    """A check writes a file and deletes it again."""
    place.check_writable()
    assert place.list("") == []


def test_a_long_list_is_followed(bucket: str, s3: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """S3 answers with N names at a time, and the list has all of them."""
    place = open_storage(f"s3://{bucket}/x", s3)
    names = sorted(f"{number}" for number in range(7))
    for name in names:
        place.write(name, b"")
    client = storage._client(s3)
    pages = []

    def paged(name: str) -> Any:
        assert name == "list_objects_v2"
        whole = type(client).get_paginator(client, name)

        class Paginator:
            def paginate(self, **options: Any) -> Iterator[Any]:
                for page in whole.paginate(**options, PaginationConfig={"PageSize": 3}):
                    pages.append(page)
                    yield page

        return Paginator()

    monkeypatch.setattr(client, "get_paginator", paged)
    assert place.list("") == names
    assert len(pages) == 3


def test_an_interrupted_write_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After an interrupted write the old file is there, and no part of the new one."""
    place = open_storage(str(tmp_path), None)
    place.write("one", b"before")

    def interrupted(_number: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        place.write("one", b"after")
    assert place.read("one") == b"before"
    assert [path.name for path in tmp_path.iterdir()] == ["one"]


def test_what_a_killed_writer_left_is_no_file(tmp_path: Path) -> None:
    """The draft that a killed writer leaves is not listed."""
    place = open_storage(str(tmp_path), None)
    (tmp_path / f"{storage._DRAFT}x-1-2-one").write_bytes(b"half")
    assert place.list("") == []


WRONG = [
    ("", None, "--out is empty"),
    ("gs://runs/a", None, r"--out is gs://runs/a; name a folder, or s3://BUCKET/PREFIX"),
    ("runs", "http://127.0.0.1:9", r"--s3 says where s3://BUCKET/PREFIX lies, and --out is runs"),
    ("s3://", None, "write s3://BUCKET/PREFIX"),
    ("s3://Runs/a", None, "the bucket in small letters"),
    ("s3://runs/../a", None, r"has no \. or \.\. in it"),
    ("s3://runs", "127.0.0.1:9000", "write http://HOST:PORT"),
    ("s3://runs", "ftp://host", "--s3 is ftp://host; write http://HOST:PORT"),
    ("s3://runs", "http://host:99999", "--s3 is no address"),
    ("s3://runs", "http://host/runs", "write http://HOST:PORT"),
    ("s3://runs", "http://me:hush@host:9000", "--s3 holds a user or a password; set AWS_ACCESS_KEY_ID"),
    ("s3://me:hush@runs/a", None, "write s3://BUCKET/PREFIX"),
    ("https://me:hush@host/a?key=hush", None, "name a folder, or s3://BUCKET/PREFIX"),
]


@pytest.mark.parametrize(("out", "url", "message"), WRONG)
def test_what_is_no_place_is_one_line(out: str, url: str | None, message: str) -> None:
    """A malformed address is refused before any request, and no password is repeated."""
    with pytest.raises(UsageError, match=message) as refused:
        open_storage(out, url)
    assert "\n" not in str(refused.value)
    assert "hush" not in str(refused.value)


def test_a_place_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    """If a file stands where the folder should be, one line names the option."""
    (tmp_path / "file").touch()
    place = open_storage(str(tmp_path / "file" / "runs"), None, "--checkpoint")
    with pytest.raises(UsageError, match=r"--checkpoint .*file/runs: files cannot be written there: Not a directory"):
        place.check_writable()
    with pytest.raises(StorageError, match=r"runs/1 could not be written: Not a directory"):
        place.write("runs/1", b"")


def test_a_missing_bucket_is_one_line(bucket: str, s3: str) -> None:
    """A missing bucket is one line, with its name and the server."""
    del bucket
    with pytest.raises(UsageError, match=rf"there is no bucket nowhere at {s3}; make it, or name another"):
        open_storage("s3://nowhere/a", s3).check_writable()


def test_an_unreachable_server_is_one_line(keys: tuple[str, str]) -> None:
    """A server that does not listen is one line."""
    del keys
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(UsageError, match=rf"{url} cannot be reached .*; mend --s3, or start what listens there"):
            open_storage("s3://runs/a", url).check_writable()


def test_missing_credentials_are_one_line(s3: str, keys: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Missing credentials are one line that names the variables."""
    del keys
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/dev/null")
    with pytest.raises(UsageError, match="there are no credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"):
        open_storage("s3://runs/a", s3).check_writable()


@pytest.mark.parametrize("code", ["InvalidAccessKeyId", "SignatureDoesNotMatch", "AccessDenied"])
def test_refused_credentials_are_one_line(
    code: str, s3: str, keys: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Refused credentials are one line with code and remedy, without the credentials that S3 quotes."""
    client = storage._client(s3)

    def refusing(**_: Any) -> None:
        raise botocore.ClientError({"Error": {"Code": code, "Message": " ".join(keys)}}, "PutObject")

    monkeypatch.setattr(client, "put_object", refusing)
    with pytest.raises(UsageError, match=rf"\({code}\); (set AWS_ACCESS_KEY_ID|these credentials)") as refused:
        open_storage("s3://runs/a", s3).check_writable()
    assert not any(key in str(refused.value) for key in keys)


def test_no_credential_is_part_of_a_storage(s3: str, keys: tuple[str, str]) -> None:
    """Neither a pickled storage nor its text contains a credential."""
    place = open_storage("s3://runs/a", s3)
    for key in keys:
        assert key.encode() not in pickle.dumps(place)
        assert key not in repr(place)
