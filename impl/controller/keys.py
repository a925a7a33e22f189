"""Keys that brokers put into the metadata: where the meta stream of a partition is (reassignment.md 3)."""

from __future__ import annotations

from impl.controller.view import OperationResult, View
from impl.records import KV, KeyValue


def put_if_absent(view: View, key: str, value: bytes) -> OperationResult:
    """Put a key unless it exists. The answer holds its stored ``value``, which is that of the first put."""
    known = view.image.kv.get(key)
    if known is not None:
        return OperationResult(values={"value": known})
    return OperationResult((KV((KeyValue(key, value),)),), values={"value": value})
