"""An S3 bucket, accessed with obstore: one wheel without further Python libraries, in a tenth of boto3's time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError, PreconditionError
from obstore.store import S3Store

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
    from obstore import GetOptions, PutMode

TIMEOUT = "10s"


class ObstoreStore:
    """The objects of a bucket. ``endpoint``: the URL of a store other than Amazon's."""

    def __init__(self, bucket: str, endpoint: str | None = None) -> None:
        client = {"allow_http": True, "timeout": TIMEOUT, "connect_timeout": TIMEOUT}
        place = {} if endpoint is None else {"endpoint": endpoint}
        self._store = S3Store(bucket, client_options=client, retry_config={"max_retries": 0}, **place)  # type: ignore[arg-type]

    def execute(self, operation: Operation) -> Answer:
        """Execute an operation once."""
        try:
            match operation:
                case Put():
                    return self._put(operation)
                case Get():
                    return self._get(operation)
                case List(folder, after):
                    return self._list(folder, after)
                case Delete(keys):
                    obstore.delete(self._store, list(keys))
                    return DeleteResult()
        except (AlreadyExistsError, PreconditionError):
            return Conflict()
        except FileNotFoundError as error:
            if "NoSuchBucket" in str(error):
                return _unsure(error)
            # A put fails this way only if the object to replace is missing. A delete never does.
            return Missing() if isinstance(operation, Get) else Conflict()
        except BaseError as error:
            return _unsure(error)

    def _put(self, put: Put) -> Answer:
        mode: PutMode = "create" if put.new else "overwrite"
        if put.replaces is not None:
            mode = {"e_tag": put.replaces}
        done = obstore.put(self._store, put.key, put.data, mode=mode, use_multipart=False)
        return PutResult(str(done["e_tag"]))

    def _get(self, get: Get) -> Answer:
        part: GetOptions = {}
        if get.end is not None:
            part["range"] = (get.begin, get.end)
        elif get.begin:
            part["range"] = {"offset": get.begin}
        found = obstore.get(self._store, get.key, options=part)
        return ObjectData(bytes(found.bytes()), str(found.meta["e_tag"]))

    def _list(self, folder: str, after: str) -> Answer:
        # One object more than a page shows whether another page follows.
        pages = obstore.list(self._store, folder or None, offset=after or None, chunk_size=PAGE + 1)
        found = [ListedObject(each["path"], each["size"]) for each in next(iter(pages), [])]
        return ObjectPage(tuple(found[:PAGE]), len(found) > PAGE)


def _unsure(error: Exception) -> Unsure:
    return Unsure(str(error).partition("\n")[0])
