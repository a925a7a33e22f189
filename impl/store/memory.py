"""An object store in memory."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from hashlib import md5

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


class MemoryStore:
    """Objects by key. An etag is the digest of the bytes, as in S3: two puts of equal bytes have the same etag."""

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self._keys: list[str] = []
        """The keys in ascending order, for lists."""

    def execute(self, operation: Operation) -> Answer:
        """Execute an operation; it always takes effect at once."""
        match operation:
            case Put():
                return self._put(operation)
            case Get(key, begin, end):
                data = self.objects.get(key)
                if data is None:
                    return Missing()
                if begin and begin >= len(data):
                    return Unsure(f"the object has {len(data)} bytes, and none from {begin} on")
                return ObjectData(data[begin:end], _etag(data))
            case List(folder, after):
                return self._list(folder, after)
            case Delete(keys):
                for key in keys:
                    if self.objects.pop(key, None) is not None:
                        del self._keys[bisect_left(self._keys, key)]
                return DeleteResult()

    def _put(self, put: Put) -> Answer:
        before = self.objects.get(put.key)
        if put.new and before is not None:
            return Conflict()
        if put.replaces is not None and (before is None or _etag(before) != put.replaces):
            return Conflict()
        if before is None:
            insort(self._keys, put.key)
        self.objects[put.key] = put.data
        return PutResult(_etag(put.data))

    def _list(self, folder: str, after: str) -> ObjectPage:
        begin = max(bisect_left(self._keys, folder), bisect_right(self._keys, after))
        found: list[ListedObject] = []
        # One object more than a page shows whether another page follows.
        for key in self._keys[begin : begin + PAGE + 1]:
            if not key.startswith(folder):
                break
            found.append(ListedObject(key, len(self.objects[key])))
        return ObjectPage(tuple(found[:PAGE]), len(found) > PAGE)


def _etag(data: bytes) -> str:
    return md5(data, usedforsecurity=False).hexdigest()
