"""The storage for the files of a campaign or a search: a folder, or a bucket on S3. No other code here accesses them.

Writes are atomic (a reader sees the whole file or none) and idempotent. A storage is a small value that is sent to the
executors, which write through it.
"""

from __future__ import annotations

import errno
import os
import re
import socket
import threading
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urlsplit

import attrs

from holdfast.ir.errors import HoldfastError, UsageError

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

_DRAFT = ".draft-"
"""The prefix of a file's name while the file is incomplete."""

_CONNECTING = 10
"""Seconds for S3 to accept a connection."""

_READING = 60
"""Seconds that S3 may pause within an answer."""

_TRIES = 4
"""How often a request is made before its failure counts."""


class StorageError(HoldfastError):
    """A file could not be read or written, although the storage worked before (exit code 20)."""

    exit_code = 20


class FileStorage(Protocol):
    """A place for files; paths use ``/``. All methods but ``check_writable`` raise StorageError if access fails."""

    @property
    def name(self) -> str:
        """The place as the user wrote it; used in messages."""

    def read(self, path: str) -> bytes | None:
        """The bytes of the file; None if it does not exist."""

    def write(self, path: str, data: bytes) -> None:
        """Write the file atomically; replace it if it exists."""

    def list(self, folder: str) -> list[str]:
        """The sorted names of the files in a folder; empty if the folder does not exist."""

    def unlisted(self) -> tuple[str, ...]:
        """The sorted names of what lies in the place itself and is not in ``list("")``: folders, links to nothing,
        pipes, and files whose name says that they are incomplete.
        """

    def delete(self, path: str) -> None:
        """Remove the file if it exists."""

    def check_writable(self) -> None:
        """Raise UsageError if a file cannot be written."""


@attrs.frozen
class FolderStorage:
    """A folder on this machine, or a folder that all machines share."""

    name: str
    root: str
    """The absolute path of the folder: an executor may have another working directory."""
    option: str = "--out"
    """The option that named the folder; used in messages."""

    def read(self, path: str) -> bytes | None:
        try:
            return self._at(path).read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            if error.errno == errno.ENAMETOOLONG:
                raise UsageError(f"{self.option} {self.name}: {error.strerror}; name a shorter path") from error
            raise self._failed("read", path, error) from error

    def write(self, path: str, data: bytes) -> None:
        place = self._at(path)
        # Several threads, tasks or machines may write the same file at the same time. Each writes its own draft, and
        # renaming the draft is atomic.
        draft = place.with_name(f"{_DRAFT}{socket.gethostname()}-{os.getpid()}-{threading.get_ident()}-{place.name}")
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            try:
                with draft.open("wb") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())
                draft.replace(place)
            except BaseException:
                with suppress(OSError):
                    draft.unlink()
                raise
        except OSError as error:
            raise self._failed("written", path, error) from error

    def list(self, folder: str) -> list[str]:
        try:
            with os.scandir(self._at(folder)) as found:
                return sorted(entry.name for entry in found if entry.is_file() and not entry.name.startswith(_DRAFT))
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            raise self._failed("listed", folder, error) from error

    def unlisted(self) -> tuple[str, ...]:
        try:
            names = os.listdir(self.root)  # noqa: PTH208 - a name as it is
        except (FileNotFoundError, NotADirectoryError):
            return ()
        except OSError as error:
            raise self._failed("listed", "", error) from error
        return tuple(sorted(set(names) - set(self.list(""))))

    def delete(self, path: str) -> None:
        try:
            self._at(path).unlink(missing_ok=True)
        except OSError as error:
            raise self._failed("deleted", path, error) from error

    def check_writable(self) -> None:
        probe = f"{_DRAFT}probe"
        try:
            self.write(probe, b"")
            self.delete(probe)
        except StorageError as error:
            cause = error.__cause__
            reason = cause.strerror if isinstance(cause, OSError) else error
            raise UsageError(
                f"{self.option} {self.name}: files cannot be written there: {reason}; choose another folder"
            ) from error

    def _at(self, path: str) -> Path:
        return Path(self.root, path)

    def _failed(self, what: str, path: str, error: OSError) -> StorageError:
        return StorageError(
            f"{self.name}: {path} could not be {what}: {error.strerror or error}; mend that, and start again"
        )


@attrs.frozen
class BucketStorage:
    """A bucket on S3, below a prefix. boto3 finds the credentials itself; they are never part of this value."""

    name: str
    bucket: str
    prefix: str
    """The prefix of every file's key: empty, or ending in a slash."""
    url: str | None
    """The address of S3; None for boto3's default."""
    option: str = "--out"
    """The option that named the bucket; used in messages."""

    def read(self, path: str) -> bytes | None:
        try:
            found = _client(self.url).get_object(Bucket=self.bucket, Key=self.prefix + path)
            return found["Body"].read()
        except Exception as error:
            if _code(error) in {"NoSuchKey", "404"}:
                return None
            raise self._failed("read", path, error) from error

    def write(self, path: str, data: bytes) -> None:
        try:
            _client(self.url).put_object(Bucket=self.bucket, Key=self.prefix + path, Body=data)
        except Exception as error:
            raise self._failed("written", path, error) from error

    def list(self, folder: str) -> list[str]:
        prefix = self.prefix + (f"{folder.strip('/')}/" if folder.strip("/") else "")
        names = []
        try:
            pages = _client(self.url).get_paginator("list_objects_v2")
            for page in pages.paginate(Bucket=self.bucket, Prefix=prefix, Delimiter="/"):
                names += [found["Key"].removeprefix(prefix) for found in page.get("Contents", [])]
        except Exception as error:
            raise self._failed("listed", folder, error) from error
        # Some tools create an empty object for the folder itself; its name here is empty.
        return sorted(name for name in names if name and not name.startswith(_DRAFT))

    def unlisted(self) -> tuple[str, ...]:
        names = []
        try:
            pages = _client(self.url).get_paginator("list_objects_v2")
            for page in pages.paginate(Bucket=self.bucket, Prefix=self.prefix, Delimiter="/"):
                names += [found["Prefix"].removeprefix(self.prefix) for found in page.get("CommonPrefixes", [])]
                names += [found["Key"].removeprefix(self.prefix) for found in page.get("Contents", [])]
        except Exception as error:
            raise self._failed("listed", "", error) from error
        return tuple(sorted(name for name in names if name.endswith("/") or name.startswith(_DRAFT)))

    def delete(self, path: str) -> None:
        try:
            _client(self.url).delete_object(Bucket=self.bucket, Key=self.prefix + path)
        except Exception as error:
            raise self._failed("deleted", path, error) from error

    def check_writable(self) -> None:
        probe = f"{_DRAFT}probe"
        try:
            client = _client(self.url)
            client.put_object(Bucket=self.bucket, Key=self.prefix + probe, Body=b"")
            client.delete_object(Bucket=self.bucket, Key=self.prefix + probe)
        except UsageError:
            raise
        except Exception as error:
            raise UsageError(f"{self.option} {self.name}: files cannot be written there: {self._why(error)}") from error

    def _failed(self, what: str, path: str, error: Exception) -> HoldfastError:
        if isinstance(error, HoldfastError):
            return error
        return StorageError(f"{self.name}: {path} could not be {what}: {self._why(error)}")

    def _why(self, error: Exception) -> str:
        """The cause of an error and its remedy. Of boto3's message only codes are quoted: its text may hold keys."""
        where = self.url or "S3"
        code = _code(error)
        kind = type(error).__name__
        if code in {"NoSuchBucket", "404"}:
            return f"there is no bucket {self.bucket} at {where}; make it, or name another"
        if code in {"InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "InvalidToken", "AuthFailure"}:
            return f"{where} refused the credentials ({code}); set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY anew"
        if code in {"AccessDenied", "403", "AllAccessDisabled"}:
            return f"{where} does not allow it ({code}); these credentials need the right to it"
        if kind in {"NoCredentialsError", "PartialCredentialsError", "CredentialRetrievalError"}:
            return "there are no credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE"
        if kind == "ProfileNotFound":
            return "AWS_PROFILE names a profile that is not there; mend it, or unset it"
        if kind in {"EndpointConnectionError", "ConnectTimeoutError", "ReadTimeoutError", "ConnectionClosedError"}:
            return f"{where} cannot be reached ({kind}); mend --s3, or start what listens there"
        if kind in {"SSLError", "ProxyConnectionError"}:
            return f"{where} cannot be reached ({kind}); mend its certificate, or the proxy"
        return f"{where} said {code or kind}; look there, and start again"


def open_storage(out: str, s3: str | None, option: str = "--out") -> FileStorage:
    """The storage that the option's value ``out`` and ``--s3`` name. Raises UsageError for invalid values."""
    if not out.startswith("s3://"):
        if "://" in out:
            raise UsageError(f"{option} is {_without_user(out)}; name a folder, or s3://BUCKET/PREFIX")
        if s3 is not None:
            raise UsageError(f"--s3 says where s3://BUCKET/PREFIX lies, and {option} is {out}; leave one out")
        if not out:
            raise UsageError(f"{option} is empty; name a folder, or s3://BUCKET/PREFIX")
        if os.path.isfile(out):  # noqa: PTH113 - as below
            raise UsageError(f"{option} is {out}, which is a file; name a folder, or s3://BUCKET/PREFIX")
        return FolderStorage(name=out, root=os.path.abspath(out), option=option)  # noqa: PTH100 - a link stays a link
    found = re.fullmatch(r"s3://([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:/(.*))?", out)
    if found is None:
        raise UsageError(f"{option} is {_without_user(out)}; write s3://BUCKET/PREFIX, the bucket in small letters")
    parts = [part for part in (found[2] or "").split("/") if part]
    if any(part in {".", ".."} for part in parts):
        raise UsageError(f"{option} is {out}, and a prefix has no . or .. in it; leave them out")
    prefix = "".join(f"{part}/" for part in parts)
    return BucketStorage(
        name=out, bucket=found[1], prefix=prefix, url=None if s3 is None else _read_url(s3), option=option
    )


def _read_url(text: str) -> str:
    """The address of S3. Raises UsageError if the text is no address, or contains a user or a password."""
    try:
        parts = urlsplit(text)
        _ = parts.port
    except ValueError:
        raise UsageError("--s3 is no address; write http://HOST:PORT or https://HOST") from None
    if "@" in parts.netloc:
        raise UsageError("--s3 holds a user or a password; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY instead")
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.path.strip("/") or parts.query:
        raise UsageError(f"--s3 is {_without_user(text)}; write http://HOST:PORT or https://HOST")
    return text.rstrip("/")


def _without_user(address: str) -> str:
    """An address without user, password and query, so that a message may quote it."""
    return re.sub(r"//[^/]*@", "//…@", address).partition("?")[0]


def _code(error: Exception) -> str:
    """The error code in S3's answer; empty if the error does not come from S3."""
    response = getattr(error, "response", None)
    return str(response.get("Error", {}).get("Code", "")) if isinstance(response, dict) else ""


@cache
def _client(url: str | None) -> S3Client:
    """The client for an address; cached, so that a process has one for each address."""
    try:
        import boto3  # noqa: PLC0415 - half a second that only S3 costs
        from botocore.config import Config  # noqa: PLC0415 - as boto3
    except ImportError as error:
        raise UsageError("s3:// needs boto3; pip install 'holdfast[s3]'") from error
    config = Config(
        connect_timeout=_CONNECTING,
        read_timeout=_READING,
        retries={"total_max_attempts": _TRIES, "mode": "standard"},
        # A server other than Amazon's has the bucket in the path of the address, not in the host name.
        s3={"addressing_style": "path"} if url else {},
    )
    # boto3 requires a region, even for a server that has none.
    region = None if url is None else os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION", "us-east-1")
    return boto3.session.Session().client("s3", endpoint_url=url, region_name=region, config=config)
