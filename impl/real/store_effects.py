"""What reaches the object store: the operation in a request of S3, and the effect that it had."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, unquote, urlsplit

import msgspec

_NODE = re.compile(r"(?:wal|reservation)/(\d+)(?:/|$)")


class StoreCall(msgspec.Struct, frozen=True):
    """``kind``: put, get, list, delete or other. ``key``: of the object; the folder of a list."""

    kind: str
    key: str

    @property
    def node(self) -> str:
        """The node whose WAL or reservation is meant; "" for any other object."""
        found = _NODE.match(self.key)
        return "" if found is None else found[1]


class StoreOutcome(msgspec.Struct, frozen=True):
    """A call of a process has taken effect at a time in microseconds. ``status``: of HTTP. ``etag``: "" for none."""

    at: int
    process: str
    call: StoreCall
    status: int
    etag: str


def call_of(request_line: str) -> StoreCall:
    """The call that a request line asks for: the bucket is the first part of its path."""
    method, target = request_line.split(" ")[:2]
    parts = urlsplit(target)
    query = parse_qs(parts.query, keep_blank_values=True)
    key = unquote(parts.path.lstrip("/").partition("/")[2])
    if method == "GET" and not key:
        return StoreCall("list", query.get("prefix", [""])[0])
    if method == "POST" and "delete" in query:
        return StoreCall("delete", "")
    kinds = {"PUT": "put", "GET": "get", "DELETE": "delete"}
    return StoreCall(kinds.get(method, "other"), key)
